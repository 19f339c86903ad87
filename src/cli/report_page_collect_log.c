/* report_page_collect_log.c - the run log of a page: what did not go through; what is the same one behind the other is one row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_page_collect.h"

#define LOOK_BACK 12u /* rows: readings of a visit, and the visit itself */
#define ROOM_MOST (4u * COLLECT_PAGE_RUNS)

static bool is_same_str(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool is_same(const struct run_row *a, const struct run_row *b)
{
	return a->server == b->server && a->reading == b->reading && a->outcome == b->outcome &&
	       is_same_str(a->sqlstate, b->sqlstate) && is_same_str(a->reason, b->reason);
}

static int newest_first(const void *x, const void *y)
{
	const struct run_row *a = &((const struct fleet_same_runs *)x)->last,
			     *b = &((const struct fleet_same_runs *)y)->last;

	if (a->at_wall_ns != b->at_wall_ns)
		return a->at_wall_ns < b->at_wall_ns ? 1 : -1;
	if (a->server != b->server)
		return a->server < b->server ? -1 : 1;
	return (a->reading > b->reading) - (a->reading < b->reading);
}

static void same_free(struct fleet_same_runs *s)
{
	text_free(&s->reason);
	text_free(&s->sqlstate);
}

void fleet_log_close_input(struct fleet_log *l)
{
	if (l->count > 1)
		qsort(l->same, l->count, sizeof(*l->same), newest_first);
	while (l->count > COLLECT_PAGE_RUNS) {
		l->left_out += l->same[l->count - 1].count;
		same_free(&l->same[--l->count]);
	}
}

static int make_room(struct fleet_log *l)
{
	size_t room = l->room > 0 ? l->room * 2 : 32;
	struct fleet_same_runs *more;

	if (l->count >= ROOM_MOST)
		fleet_log_close_input(l);
	if (l->count < l->room)
		return 0;
	more = reallocarray(l->same, room, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	l->same = more;
	l->room = room;
	return 0;
}

static struct str keep_str(struct text *t, struct str from)
{
	text_add(t, from.bytes, from.len);
	return (struct str){ text_chars(t), (uint32_t)t->len };
}

int fleet_log_take(struct fleet_log *l, const struct run_row *row)
{
	struct fleet_same_runs *same;

	if (row->outcome == RUN_SUCCESS)
		return 0;
	for (size_t i = 0; i < LOOK_BACK && i < l->count; i++) {
		same = &l->same[l->count - 1 - i];
		if (!is_same(&same->last, row))
			continue;
		same->count++;
		if (row->at_wall_ns > same->last.at_wall_ns)
			same->last.at_wall_ns = row->at_wall_ns;
		return 0;
	}
	if (make_room(l) != 0)
		return -ENOMEM;
	same = &l->same[l->count++];
	*same = (struct fleet_same_runs){ .last = *row,
					  .first_wall_ns = row->at_wall_ns,
					  .count = 1 };
	same->last.reason = keep_str(&same->reason, row->reason);
	same->last.sqlstate = keep_str(&same->sqlstate, row->sqlstate);
	return same->reason.has_failed || same->sqlstate.has_failed ? -ENOMEM : 0;
}

void fleet_log_free(struct fleet_log *l)
{
	for (size_t i = 0; i < l->count; i++)
		same_free(&l->same[i]);
	free(l->same);
	*l = (struct fleet_log){ .same = NULL };
}
