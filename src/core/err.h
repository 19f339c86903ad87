/* err.h - one failure, described where its cause is known: what failed, what still works, how to mend it.
 * Pure: nothing is printed here. A struct err is owned by its caller; one thread at a time. */
#ifndef TARE_CORE_ERR_H
#define TARE_CORE_ERR_H

/* The empty value is all zero: no failure. */
struct err {
	int code;	 /* 0, or a negative errno */
	char msg[1024];	 /* "cannot <verb> '<subject>' ...": lower case, no full stop */
	char works[512]; /* what still works; may be empty */
	char mend[512];	 /* the least-privilege way to mend it; may be empty */
};

#define ERR_EMPTY ((struct err){ .code = 0 })

/* Records a failure and returns `code`, so that callers write `return err_set(...)`. `works` and `mend`
 * are cleared. `err` may be NULL. A message that does not fit ends in "...". */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__
/* clang-tidy reads one file at a time: it would take it that 0 may come back. */
#define err_set(err, code, ...) ((void)err_set(err, code, __VA_ARGS__), (code))
#endif

/* Adds the second line, what still works. `err` may be NULL. Returns err->code (0 for NULL). */
int err_works(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds the third line, the least-privilege way to mend it. `err` may be NULL. Returns err->code (0 for NULL). */
int err_mend(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
