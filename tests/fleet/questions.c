/* questions.c - writes questions down and compares them. */
#include "fleet/questions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *copy_of(const char *chars)
{
	char *copy;

	if (chars == NULL)
		return NULL;
	copy = strdup(chars);
	assert_non_null(copy);
	return copy;
}

static void note_one(struct questions *q, const struct ask *ask)
{
	struct question *rows = reallocarray(q->rows, q->count + 1, sizeof(*rows));
	struct ask *copy;

	assert_non_null(rows);
	q->rows = rows;
	copy = &rows[q->count++].ask;
	*copy = *ask;
	copy->sql = copy_of(ask->sql);
	copy->name = copy_of(ask->name);
	for (uint32_t i = 0; i < ask->param_count; i++)
		copy->params[i] = copy_of(ask->params[i]);
}

void questions_note(void *owner, const struct ask *ask)
{
	if (ask->kind != ASK_CHAIN)
		note_one(owner, ask);
	for (uint32_t i = 0; i < ask->link_count; i++) {
		struct ask link = ask->links[i];

		link.reading = ask->reading;
		link.deadline_ns = ask->deadline_ns;
		note_one(owner, &link);
	}
}

void questions_free(struct questions *q)
{
	for (size_t i = 0; i < q->count; i++) {
		struct ask *ask = &q->rows[i].ask;

		free((char *)ask->sql);
		free((char *)ask->name);
		for (uint32_t p = 0; p < ask->param_count; p++)
			free((char *)ask->params[p]);
	}
	free(q->rows);
	*q = QUESTIONS_EMPTY;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_same(const struct ask *a, const struct ask *b)
{
	if (a->kind != b->kind || !is_same_text(a->sql, b->sql) ||
	    !is_same_text(a->name, b->name) || a->param_count != b->param_count ||
	    a->reading != b->reading || a->deadline_ns != b->deadline_ns ||
	    a->most_rows != b->most_rows)
		return false;
	for (uint32_t i = 0; i < a->param_count; i++)
		if (!is_same_text(a->params[i], b->params[i]))
			return false;
	return true;
}

/* The parts that differ, cut: cmocka prints a thousand bytes. */
static void print_difference(const struct ask *a, const struct ask *b)
{
	if (!is_same_text(a->sql, b->sql))
		print_message("sql: %.400s\nsql: %.400s\n", a->sql, b->sql);
	if (!is_same_text(a->name, b->name))
		print_message("name: %.400s\nname: %.400s\n", a->name, b->name);
	for (uint32_t i = 0; i < a->param_count && i < b->param_count; i++)
		if (!is_same_text(a->params[i], b->params[i]))
			print_message("$%u: %.400s\n$%u: %.400s\n", i + 1, a->params[i], i + 1,
				      b->params[i]);
}

void questions_assert_same(const struct questions *a, const struct questions *b, size_t count)
{
	assert_true(a->count >= count && b->count >= count);
	for (size_t i = 0; i < count; i++) {
		if (is_same(&a->rows[i].ask, &b->rows[i].ask))
			continue;
		print_difference(&a->rows[i].ask, &b->rows[i].ask);
		fail_msg("question %zu is another", i);
	}
}

size_t questions_with(const struct questions *q, const char *word)
{
	size_t count = 0;

	for (size_t i = 0; i < q->count; i++)
		count += q->rows[i].ask.sql != NULL && strstr(q->rows[i].ask.sql, word) != NULL;
	return count;
}

size_t questions_of_kind(const struct questions *q, enum ask_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < q->count; i++)
		count += q->rows[i].ask.kind == kind;
	return count;
}
