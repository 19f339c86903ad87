/* places_refused.c - names that every C library and run-time gives to the functions that a return probe would break. */
#include "sense/places_refused.h"

#include <stdbool.h>
#include <string.h>

#include "core/scoped.h"

enum reason { NOT_CALLED, RETURNS_TWICE, UNWINDS, LOOKS_BACK };

static const struct str reasons[] = {
	[NOT_CALLED] = STR_LITERAL("it is not called but jumped to: there is nowhere to return to"),
	[RETURNS_TWICE] =
		STR_LITERAL("it returns twice, or to another stack: a return probe would break it"),
	[UNWINDS] = STR_LITERAL("it unwinds its own stack: a return probe would break it"),
	[LOOKS_BACK] =
		STR_LITERAL("it looks at where it was called from: a return probe would change it"),
};

static const struct {
	const char *name; /* with a star at its end: whatever begins so */
	enum reason reason;
} refused[] = {
	{ "_start", NOT_CALLED },
	{ "_dl_start_user", NOT_CALLED },
	{ "_dl_runtime_*", NOT_CALLED },
	{ "_dl_tlsdesc_*", NOT_CALLED },
	{ "__restore", NOT_CALLED },
	{ "__restore_rt", NOT_CALLED },
	{ "__start_context", NOT_CALLED },
	{ "__morestack*", NOT_CALLED },
	{ "setjmp", RETURNS_TWICE },
	{ "_setjmp", RETURNS_TWICE },
	{ "__setjmp", RETURNS_TWICE },
	{ "sigsetjmp", RETURNS_TWICE },
	{ "_sigsetjmp", RETURNS_TWICE },
	{ "__sigsetjmp*", RETURNS_TWICE },
	{ "savectx", RETURNS_TWICE },
	{ "vfork", RETURNS_TWICE },
	{ "__vfork", RETURNS_TWICE },
	{ "__libc_vfork", RETURNS_TWICE },
	{ "getcontext", RETURNS_TWICE },
	{ "__getcontext", RETURNS_TWICE },
	{ "swapcontext", RETURNS_TWICE },
	{ "__swapcontext", RETURNS_TWICE },
	{ "jump_fcontext", RETURNS_TWICE },
	{ "ontop_fcontext", RETURNS_TWICE },
	{ "zend_jump_fcontext", RETURNS_TWICE },
	{ "coro_transfer", RETURNS_TWICE },
	{ "_Unwind_*", UNWINDS },
	{ "__cxa_throw", UNWINDS },
	{ "__cxa_rethrow", UNWINDS },
	{ "backtrace", UNWINDS },
	{ "__backtrace", UNWINDS },
	{ "dlopen", LOOKS_BACK },
	{ "__dlopen", LOOKS_BACK },
	{ "dlmopen", LOOKS_BACK },
	{ "__dlmopen", LOOKS_BACK },
	{ "dlsym", LOOKS_BACK },
	{ "__dlsym", LOOKS_BACK },
	{ "dlvsym", LOOKS_BACK },
	{ "__dlvsym", LOOKS_BACK },
	{ "_dl_sym", LOOKS_BACK },
	{ "_dl_vsym", LOOKS_BACK },
	{ "_dl_open", LOOKS_BACK },
	{ "mcount", LOOKS_BACK },
	{ "_mcount", LOOKS_BACK },
	{ "__fentry__", LOOKS_BACK },
	{ "__cyg_profile_func_*", LOOKS_BACK },
};

static bool is_meant(const char *name, struct str symbol)
{
	size_t len = strlen(name);

	if (name[len - 1] == '*')
		return symbol.len >= len - 1 && memcmp(symbol.bytes, name, len - 1) == 0;
	return symbol.len == len && memcmp(symbol.bytes, name, len) == 0;
}

struct str refused_why(struct str symbol)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (is_meant(refused[i].name, symbol))
			return reasons[refused[i].reason];
	return STR_EMPTY;
}

struct str refused_why_entry(void)
{
	return reasons[NOT_CALLED];
}
