/* check_tasks.c - rows of tasks that came from elsewhere. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/task_names.h"
#include "store/check.h"

static int bad(struct err *err, const char *column, uint32_t row, const char *what)
{
	return err_set(err, -EBADMSG, "table %s, row %u: %s", column, row, what);
}

/* Adds, unless the sum reaches 2^63. */
static bool add(uint64_t *sum, uint64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

static int check_task(const struct task_row *t, struct err *err)
{
	if (t->id <= TASK_RUN)
		return bad(err, "task, column id", t->id, "1 is the whole run");
	if (t->kind >= TASK_KIND_COUNT)
		return bad(err, "task, column kind", t->id, "there is no such kind");
	if (t->state >= TASK_STATE_COUNT)
		return bad(err, "task, column state", t->id, "there is no such state");
	if (t->name.len > TASK_NAME_MOST_BYTES)
		return bad(err, "task, column name", t->id, "too long");
	if (t->end_ns < t->begin_ns)
		return bad(err, "task, column end_ns", t->id, "before its beginning");
	if (t->batches > BATCH_COUNT)
		return bad(err, "task, column batches", t->id, "out of range");
	return 0;
}

static int check_rows(const struct recording *r, struct err *err)
{
	uint64_t weight_ns = 0, ticks = 0, lost = 0;

	for (uint32_t i = 0; i < r->task_count; i++) {
		const struct task_row *t = &r->tasks[i];
		int rc = check_task(t, err);

		if (rc != 0)
			return rc;
		if (!add(&weight_ns, t->weight_ns) || !add(&ticks, t->ticks) ||
		    !add(&lost, t->lost) || t->kept > t->ticks)
			return bad(err, "task, column ticks", t->id,
				   "it and the columns beside it are out of range");
	}
	return 0;
}

static int check_names(const struct recording *r, struct err *err)
{
	uint64_t begun = 0, total_ns = 0;

	if (r->task_name_count > TASK_NAMES_MOST + 1)
		return err_set(err, -EBADMSG, "table task_name has more rows than there can be");
	for (uint32_t i = 0; i < r->task_name_count; i++) {
		const struct task_name_row *n = &r->task_names[i];
		uint64_t counted = 0;
		bool is_good = true;

		for (uint32_t b = 0; b < BATCH_COUNT && is_good; b++)
			is_good = add(&counted, n->log2_count[b]);
		if (!is_good || counted != n->ended || n->ended > n->begun)
			return bad(err, "task_name, column log2_count", n->id,
				   "it does not count what ended");
		if (!add(&begun, n->begun) || !add(&total_ns, n->total_ns) ||
		    n->longest_ns > n->total_ns)
			return bad(err, "task_name, column total_ns", n->id,
				   "it and the columns beside it are out of range");
	}
	return 0;
}

/* Slots and contexts are of the run, or of a task that has a row. */
static int check_owners(const struct recording *r, struct err *err)
{
	for (uint32_t i = 0; i < r->slot_count + r->task_slot_count; i++)
		if (r->slots[i].task != TASK_RUN && recording_task(r, r->slots[i].task) == NULL)
			return bad(err, "slot, column task", i, "the task does not exist");
	for (uint32_t i = 0; i < r->context_count + r->task_context_count; i++)
		if (r->contexts[i].task != TASK_RUN &&
		    recording_task(r, r->contexts[i].task) == NULL)
			return bad(err, "context, column task", i, "the task does not exist");
	return 0;
}

int check_tasks(const struct recording *r, struct err *err)
{
	int rc = check_rows(r, err);

	if (rc == 0)
		rc = check_names(r, err);
	return rc == 0 ? check_owners(r, err) : rc;
}
