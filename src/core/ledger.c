/* ledger.c - what measuring took, in rows that merge when they are full. */
#include "core/ledger.h"

#include <errno.h>

int ledger_init(struct ledger *l)
{
	*l = (struct ledger){ .dirty = DIRTY_EMPTY };
	return dirty_init(&l->dirty, LEDGER_WINDOWS);
}

void ledger_free(struct ledger *l)
{
	dirty_free(&l->dirty);
	*l = (struct ledger){ .dirty = DIRTY_EMPTY };
}

/* Sums add; the period is the later one's; the id stays. */
static void add_row(struct ledger_row *to, const struct ledger_row *later)
{
	to->window_ns += later->window_ns;
	to->sample_ns += later->sample_ns;
	to->kernel_ns += later->kernel_ns;
	to->save_ns += later->save_ns;
	to->start_ns += later->start_ns;
	to->fixed_ns += later->fixed_ns;
	to->ticks += later->ticks;
	to->kept += later->kept;
	to->lost += later->lost;
	to->period_ns = later->period_ns;
}

static void halve(struct ledger *l)
{
	l->used /= 2;
	for (uint32_t i = 0; i < l->used; i++) {
		struct ledger_row merged = { .id = i };

		add_row(&merged, &l->rows[2 * i]);
		add_row(&merged, &l->rows[2 * i + 1]);
		l->rows[i] = merged;
	}
	l->halvings++;
	l->has_shrunk = true;
	dirty_set_all(&l->dirty);
}

/* The last row, with room for one more window. */
static struct ledger_row *open_row(struct ledger *l)
{
	if (l->used > 0 && l->open_windows < UINT64_C(1) << l->halvings)
		return &l->rows[l->used - 1];
	if (l->used == LEDGER_WINDOWS)
		halve(l);
	l->rows[l->used] = (struct ledger_row){ .id = l->used };
	l->open_windows = 0;
	return &l->rows[l->used++];
}

void ledger_add(struct ledger *l, const struct ledger_row *window)
{
	struct ledger_row *row = open_row(l);

	add_row(row, window);
	l->open_windows++;
	dirty_set(&l->dirty, row->id);
}

struct ledger_row ledger_total(const struct ledger *l)
{
	struct ledger_row total = { .id = 0 };

	for (uint32_t i = 0; i < l->used; i++)
		add_row(&total, &l->rows[i]);
	return total;
}

int ledger_changes(const struct ledger *l, struct changes *out)
{
	for (uint32_t i = dirty_next(&l->dirty, 0); i < l->used; i = dirty_next(&l->dirty, i + 1)) {
		struct ledger_row *row = changes_ledger(out);

		if (row == NULL)
			return -ENOMEM;
		*row = l->rows[i];
	}
	if (l->has_shrunk)
		out->ledger_from = l->used;
	return 0;
}

void ledger_saved(struct ledger *l)
{
	dirty_clear(&l->dirty);
	l->has_shrunk = false;
}
