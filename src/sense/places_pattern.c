/* places_pattern.c - patterns, read and compared. */
#include "sense/places_pattern.h"

#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "core/text.h"
#include "sense/places_glob.h"
#include "sense/places_types.h"

static bool is_one_of(char c, const char *bytes)
{
	return c != '\0' && strchr(bytes, c) != NULL;
}

static bool has_byte(struct str s, char c)
{
	return memchr(s.bytes, c, s.len) != NULL;
}

static struct str from(struct str s, uint32_t at)
{
	return (struct str){ s.bytes + at, s.len - at };
}

static struct str up_to(struct str s, uint32_t len)
{
	return (struct str){ s.bytes, len };
}

/* Words of demangled names that the mangled ones have in other letters, or not at all. */
static const char *const unsaid_words[] = {
	"allocator",
	"basic_string",
	"basic_istream",
	"basic_ostream",
	"basic_iostream",
	"iostream",
	"char_traits",
	"operator",
	"anonymous",
	"namespace",
	"unsigned",
	"signed",
	"short",
	"double",
	"float128",
	"char",
	"wchar_t",
	"char8_t",
	"char16_t",
	"char32_t",
	"int128",
	"const",
	"volatile",
	"restrict",
	"decltype",
	"nullptr_t",
	"auto",
	"lambda",
	"unnamed",
	"typename",
	"clone",
	"virtual",
	"thunk",
	"covariant",
	"return",
	"guard",
	"variable",
	"initialization",
	"reference",
	"temporary",
	"function",
	"typeinfo",
	"vtable",
	"structure",
	"delete",
	"noexcept",
	"throw",
	"decimal32",
	"complex",
	"imaginary",
	"sizeof",
	"alignof",
	"false",
	"string",
	"mutable",
	"extern",
	"closure",
	"shim",
	"usize",
	"isize",
	"unsafe",
	"impl",
	"bool",
	"long",
	"void",
	"non",
	"std",
	"str",
	"dyn",
	"VTT",
	"transaction",
	"enable_if",
	"template",
	"parameter",
	"object",
	"construction",
	"wrapper",
	"initializer",
	"resource",
	"hidden",
	"alias",
	"default",
	"true",
	"new",
	"for",
	"u128",
	"i128",
	"global",
	"constructors",
	"destructors",
	"keyed",
	"module",
	"friend",
	"requires",
	"pack",
};

static bool may_be_unsaid(struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(unsaid_words); i++)
		if (memmem(unsaid_words[i], strlen(unsaid_words[i]), word.bytes, word.len) != NULL)
			return true;
	return word.bytes[0] >= '0' && word.bytes[0] <= '9';
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The longest word outside of brackets that every mangled name of what is meant has in it. */
static struct str needle_of(struct str name)
{
	static const struct str operator_word = STR_LITERAL("operator");
	struct str plain = text_without_arguments(name), best = STR_EMPTY;
	uint32_t end = forms_find_word(plain, operator_word), depth = 0;

	for (uint32_t i = 0; i < end; i++) {
		struct str word = { plain.bytes + i, 0 };
		char c = plain.bytes[i];

		if (is_one_of(c, "<({["))
			depth++;
		else if (is_one_of(c, ">)}]") && depth > 0)
			depth--;
		while (i < end && is_word_byte(plain.bytes[i])) {
			word.len++;
			i++;
		}
		if (word.len > 0)
			i--;
		if (depth == 0 && word.len > best.len && !may_be_unsaid(word))
			best = word;
	}
	return best;
}

/* Parts "lib.so:" from the name: the first colon that is none of "::". */
static uint32_t module_length(struct str text)
{
	for (uint32_t i = 1; i < text.len; i++) {
		if (text.bytes[i] != ':')
			continue;
		if (i + 1 == text.len || text.bytes[i + 1] != ':')
			return i;
		i++;
	}
	return 0;
}

/* "/x/", but not "/usr/lib/libc.so:/x/". */
static bool is_bare_regex(struct str text)
{
	return text.len > 1 && text.bytes[0] == '/' && text.bytes[text.len - 1] == '/' &&
	       memmem(text.bytes, text.len, ":/", 2) == NULL;
}

/* Is the star at `at`, among arguments, the one of a pointer? "f(char*, int)" but not "f(*)", "f(char*". */
static bool is_pointer(struct str name, uint32_t at)
{
	uint32_t before = at, behind = at + 1;

	while (before > 0 && name.bytes[before - 1] == ' ')
		before--;
	while (behind < name.len && name.bytes[behind] == ' ')
		behind++;
	return before > 0 && behind < name.len &&
	       (is_word_byte(name.bytes[before - 1]) || is_one_of(name.bytes[before - 1], ">*")) &&
	       (is_one_of(name.bytes[behind], "),*&") ||
		forms_find_word(from(name, behind), STR_LITERAL("const")) == 0);
}

/* Is there a sign that stands for others, and not for itself as in "operator[]" and "f(char*)"? */
static bool is_glob(struct str name)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < name.len; i++) {
		char c = name.bytes[i];

		depth += c == '(';
		depth -= c == ')' && depth > 0;
		if (c == '?' || (c == '*' && (depth == 0 || !is_pointer(name, i))))
			return true;
		if (c == '[' && (i + 1 == name.len || name.bytes[i + 1] != ']'))
			return true;
	}
	return false;
}

static void split(struct pattern *p)
{
	uint32_t len = is_bare_regex(p->whole) ? 0 : module_length(p->whole);
	const char *at;

	if (len > 0)
		p->module = up_to(p->whole, len);
	p->name = from(p->whole, len > 0 ? len + 1 : 0);
	if (p->name.len > 1 && p->name.bytes[0] == '/') {
		p->kind = PATTERN_REGEX;
		return;
	}
	at = memchr(p->name.bytes, '@', p->name.len);
	if (at != NULL && at > p->name.bytes) {
		len = (uint32_t)(at - p->name.bytes);
		p->is_default = len + 1 < p->name.len && at[1] == '@';
		p->version = from(p->name, len + (p->is_default ? 2 : 1));
		p->name = up_to(p->name, len);
	}
	p->kind = is_glob(p->name) ? PATTERN_GLOB : PATTERN_EXACT;
}

void pattern_free(struct pattern *p)
{
	regex_close(&p->regex);
}

static int refuse(const struct pattern *p, struct err *err, const char *why)
{
	return err_set(err, -EINVAL, "cannot read pattern '%.*s': %s", (int)p->whole.len,
		       p->whole.bytes, why);
}

static void squeeze(struct pattern *p)
{
	char moved[PATTERN_MAX_BYTES];
	struct str name = { moved, types_move_const(p->name, moved) };

	p->squeezed_len = types_shorten(p->squeezed, forms_squeeze(name, p->squeezed));
}

int pattern_parse(const char *text, struct pattern *out, struct err *err)
{
	struct pattern p = { .whole = { text, (uint32_t)strnlen(text, PATTERN_MAX_BYTES + 1) } };

	if (p.whole.len > PATTERN_MAX_BYTES)
		return err_set(err, -EINVAL, "cannot read pattern '%.60s...': longer than %u bytes",
			       text, PATTERN_MAX_BYTES);
	if (p.whole.len == 0)
		return err_set(err, -EINVAL, "cannot read pattern '': it is empty");
	split(&p);
	if (p.name.len == 0)
		return refuse(&p, err, "there is no function's name behind the colon");
	if (p.kind == PATTERN_REGEX) {
		if (p.name.bytes[p.name.len - 1] != '/')
			return refuse(&p, err, "'/' is missing at its end");
		if (p.name.len < 3)
			return refuse(&p, err, "it is empty");
		int rc =
			regex_open((struct str){ p.name.bytes + 1, p.name.len - 2 }, &p.regex, err);

		if (rc < 0)
			return rc;
	} else {
		squeeze(&p);
		p.has_arguments = p.kind == PATTERN_GLOB
					  ? has_byte(p.name, '(')
					  : text_without_arguments(p.name).len < p.name.len;
		p.has_template = has_byte(p.name, '<');
		p.needle = needle_of(p.name);
	}
	*out = p;
	return 0;
}

/* What is left of a file's name without ".6", "8.2", "-2.31". */
static struct str without_version(struct str file)
{
	uint32_t len = file.len;

	while (len > 1 && is_one_of(file.bytes[len - 1], "0123456789.-"))
		len--;
	return up_to(file, len);
}

static struct str without_so(struct str file)
{
	bool has_so = file.len > 3 && memcmp(file.bytes + file.len - 3, ".so", 3) == 0;

	return has_so ? up_to(file, file.len - 3) : file;
}

static bool takes_file_name(struct str glob, struct str file)
{
	struct str plain = without_version(file), bare = without_so(plain);

	return pattern_glob(glob, file) || pattern_glob(glob, plain) || pattern_glob(glob, bare) ||
	       pattern_glob(glob, without_version(bare));
}

bool pattern_takes_file(const struct pattern *p, struct str path, struct str alias)
{
	const char *slash = memrchr(path.bytes, '/', path.len);

	if (p->module.len == 0)
		return true;
	if (memchr(p->module.bytes, '/', p->module.len) != NULL)
		return pattern_glob(p->module, path);
	if (slash != NULL)
		path = from(path, (uint32_t)(slash - path.bytes) + 1);
	return takes_file_name(p->module, path) ||
	       (alias.len > 0 && takes_file_name(p->module, alias));
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

static bool has_needle(const struct pattern *p, const struct forms *name)
{
	return name->is_mangled &&
	       (p->needle.len == 0 || memmem(name->symbol.bytes, name->symbol.len, p->needle.bytes,
					     p->needle.len) != NULL);
}

static enum pattern_match takes_exact(const struct pattern *p, struct forms *name)
{
	struct str squeezed = { p->squeezed, p->squeezed_len };

	if (is_same(name->symbol, p->name))
		return PATTERN_LITERAL;
	if (!has_needle(p, name))
		return is_same(up_to(name->symbol, name->base_len), p->name) ? PATTERN_YES
									     : PATTERN_NO;
	forms_fill(name);
	if (is_same(name->signature, squeezed) || is_same(name->full, p->name))
		return PATTERN_LITERAL;
	if (p->has_arguments)
		return PATTERN_NO;
	return is_same(name->plain, squeezed) || (!p->has_template && is_same(name->bare, squeezed))
		       ? PATTERN_YES
		       : PATTERN_NO;
}

static enum pattern_match takes_glob(const struct pattern *p, struct forms *name)
{
	struct str squeezed = { p->squeezed, p->squeezed_len };
	enum pattern_match exact = takes_exact(p, name);

	if (exact != PATTERN_NO)
		return PATTERN_LITERAL;
	if (pattern_glob(p->name, name->symbol))
		return PATTERN_YES;
	if (!has_needle(p, name))
		return PATTERN_NO;
	forms_fill(name);
	return pattern_glob(squeezed, name->plain) || pattern_glob(squeezed, name->bare) ||
			       (p->has_arguments && pattern_glob(squeezed, name->signature))
		       ? PATTERN_YES
		       : PATTERN_NO;
}

enum pattern_match pattern_takes_name(struct pattern *p, struct forms *name)
{
	switch (p->kind) {
	case PATTERN_EXACT:
		return takes_exact(p, name);
	case PATTERN_GLOB:
		return takes_glob(p, name);
	case PATTERN_REGEX:
		break;
	}
	if (regex_takes(&p->regex, name->symbol))
		return PATTERN_YES;
	if (!name->is_mangled)
		return PATTERN_NO;
	forms_fill(name);
	return regex_takes(&p->regex, name->full) ? PATTERN_YES : PATTERN_NO;
}

bool pattern_takes_version(const struct pattern *p, struct str version, bool is_default)
{
	if (p->version.len == 0)
		return true;
	if (version.len == 0 || (p->is_default && !is_default))
		return false;
	return pattern_glob(p->version, version) ||
	       (version.len > p->version.len && version.bytes[p->version.len] == '_' &&
		memcmp(version.bytes, p->version.bytes, p->version.len) == 0);
}
