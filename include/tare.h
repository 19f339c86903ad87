/* tare.h - let a recorder outside see named scopes, frames and tasks of this process.
 * Thread-safe. Nothing here prints, exits, starts a thread or touches a signal handler. C11 or C++11, with GNU
 * attributes (gcc, clang). Until a recorder attaches, each call costs one predictable branch. */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_API __attribute__((visibility("default")))

/* One place in a program that names a scope. Static; all zero but for `name`, which is borrowed for as long as the place
 * exists. */
struct tare_site {
	const char *name;
	uint32_t id; /* the library's */
};

/* A scope that is open, on its caller's stack. Its members are the library's; all zero when nothing waits for its end. */
struct tare_scope {
	uint32_t serial;
	uint32_t depth;
};

/* Where a thread stands with one name; in memory shared with the recorder. */
struct tare_pace {
	uint64_t calls, due, window, spare;
};

/* One thread's places; the first `ready` names have theirs. All zero: none has. */
struct tare_places {
	struct tare_pace *paces;
	uint32_t ready, spare;
};

/* The number of the window that a recorder has open; what it points to is 0 while none is attached. Never NULL. Not to
 * be written. */
TARE_API extern const uint64_t *tare_window;

/* The calling thread's. Not to be written. */
TARE_API extern __thread struct tare_places tare_places __attribute__((tls_model("initial-exec")));

/* For the macros below: opens a scope that has no place yet, or lies in one that is timed. Allocates nothing but for the
 * first use in a thread. */
TARE_API void tare_scope_begin(struct tare_scope *scope, struct tare_site *site);

/* For the macros below: a call that is counted, and due to be timed. */
TARE_API void tare_scope_due(struct tare_scope *scope, uint32_t id);

/* For the macros below: closes a scope, and scopes inside it that were left open. On the thread that opened it. */
TARE_API void tare_scope_end(struct tare_scope *scope);

/* For tare_frame(): marks a frame while a recorder is attached. */
TARE_API void tare_frame_mark(void);

/* For tare_task_begin(): what it does while a recorder is attached. */
TARE_API int tare_task_open(const char *name);

/* Ends the calling thread's task. Does nothing when there is none. */
TARE_API void tare_task_end(void);

/* Whether a recorder is attached. */
static inline int tare_is_watched(void)
{
	const uint64_t *window = __atomic_load_n(&tare_window, __ATOMIC_RELAXED);

	return __builtin_expect(__atomic_load_n(window, __ATOMIC_RELAXED) != 0, 0);
}

/* Begins a task on the calling thread: it lasts until tare_task_end() or the next tare_task_begin(), and each run of a
 * task is timed. `name` is borrowed during the call and cut at 255 bytes. A task begun while no recorder was attached is
 * not counted.
 * Returns 0, or -ENOMEM when the shared mapping has no place for this thread or this name (the task then goes uncounted
 * and the recording says so). */
static inline int tare_task_begin(const char *name)
{
	return tare_is_watched() ? tare_task_open(name) : 0;
}

/* Marks the boundary between two frames of the calling thread: the time between two marks is a frame. */
static inline void tare_frame(void)
{
	if (tare_is_watched())
		tare_frame_mark();
}

/* For the macros below: counts a call. One thread writes the word; on x86 by one instruction, so that a signal handler that
 * counts too loses nothing. */
static inline uint64_t tare_count(struct tare_pace *pace)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq $1, %0" : "+m"(pace->calls) : : "cc");
	return __atomic_load_n(&pace->calls, __ATOMIC_RELAXED);
#else
	uint64_t calls = __atomic_load_n(&pace->calls, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&pace->calls, calls, __ATOMIC_RELAXED);
	return calls;
#endif
}

/* For the macros below: opens a scope. Most calls are counted here and end here. */
static inline void tare_scope_enter(struct tare_scope *scope, struct tare_site *site)
{
	uint64_t window =
		__atomic_load_n(__atomic_load_n(&tare_window, __ATOMIC_RELAXED), __ATOMIC_RELAXED);

	if (__builtin_expect(window != 0, 0)) {
		uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED) - 1;

		if (__builtin_expect(id < tare_places.ready, 1)) {
			struct tare_pace *pace = &tare_places.paces[id];

			if (__builtin_expect(
				    tare_count(pace) >=
						    __atomic_load_n(&pace->due, __ATOMIC_RELAXED) ||
					    __atomic_load_n(&pace->window, __ATOMIC_RELAXED) !=
						    window,
				    0))
				tare_scope_due(scope, id);
		} else {
			tare_scope_begin(scope, site);
		}
	}
}

/* For TARE_WATCH in C: closes the scope if its end is waited for. */
static inline void tare_scope_leave(struct tare_scope *scope)
{
	if (__builtin_expect(scope->serial != 0, 0))
		tare_scope_end(scope);
}

#define TARE_JOIN_(a, b) a##b
#define TARE_JOIN(a, b)	 TARE_JOIN_(a, b)

/* TARE_WATCH_BEGIN(handle, "name"); ... TARE_WATCH_END(handle);
 * A scope with a name of the caller's for it. Both stand in the same function; "name" is a string literal. A scope that
 * is never ended (return, longjmp) is counted and not timed. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared bears none */
#define TARE_WATCH_BEGIN(handle, literal)                                          \
	static struct tare_site TARE_JOIN(handle, _tare_site) = { "" literal, 0 }; \
	struct tare_scope handle = { 0, 0 };                                       \
	tare_scope_enter(&handle, &TARE_JOIN(handle, _tare_site))

/* NOLINTEND(bugprone-macro-parentheses) */

#define TARE_WATCH_END(handle) tare_scope_leave(&(handle))

#ifdef __cplusplus
}

namespace tare
{
/* What TARE_WATCH is in C++: closed by its destructor, also when an exception passes. */
class scope
{
      public:
	explicit scope(struct tare_site *site) : open()
	{
		tare_scope_enter(&open, site);
	}
	~scope()
	{
		tare_scope_leave(&open);
	}

      private:
	scope(const scope &);
	scope &operator=(const scope &);
	struct tare_scope open;
};
} /* namespace tare */

#define TARE_WATCH_AT(literal, line)                                             \
	static struct tare_site TARE_JOIN(tare_site_, line) = { "" literal, 0 }; \
	tare::scope TARE_JOIN(tare_scope_, line)(&TARE_JOIN(tare_site_, line))
#else
#define TARE_WATCH_AT(literal, line)                                             \
	static struct tare_site TARE_JOIN(tare_site_, line) = { "" literal, 0 }; \
	struct tare_scope TARE_JOIN(tare_scope_, line)                           \
		__attribute__((cleanup(tare_scope_leave))) = { 0, 0 };           \
	tare_scope_enter(&TARE_JOIN(tare_scope_, line), &TARE_JOIN(tare_site_, line))
#endif

/* TARE_WATCH("name"); at the start of a block: calls of the block are counted from here to its end, by whatever way it
 * is left but longjmp(), and a sample of them is timed. "name" is a string literal, cut at 255 bytes; two scopes of one
 * name are one row. A statement of its own, not the body of an if. */
#define TARE_WATCH(literal) TARE_WATCH_AT(literal, __LINE__)

#endif
