/* questions.h - the questions of a script, written down: to compare what two visits ask, word by word. Failures fail the running cmocka
 * test. */
#ifndef TARE_TESTS_FLEET_QUESTIONS_H
#define TARE_TESTS_FLEET_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "fleet/script.h"

/* A question, with copies of all that it borrows. */
struct question {
	struct ask ask;
};

struct questions {
	struct question *rows; /* owned */
	size_t count;
};

#define QUESTIONS_EMPTY ((struct questions){ .rows = NULL })

/* Writes a question down behind the others, of a chain each one; `owner` is a struct questions. As struct drive's on_ask. */
void questions_note(void *owner, const struct ask *ask);

/* Forgets all. Accepts the empty value, and may run twice. */
void questions_free(struct questions *q);

/* Fails, with both questions, where the first `count` of `a` and of `b` differ in anything. */
void questions_assert_same(const struct questions *a, const struct questions *b, size_t count);

/* How many have `word` in their SQL; are of this kind. */
size_t questions_with(const struct questions *q, const char *word);
size_t questions_of_kind(const struct questions *q, enum ask_kind kind);

#endif
