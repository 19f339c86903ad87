/* runner_rows.c - the run log's rows of visits as a whole, rows of marks, and what is said to a person. */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "fleet/runner_own.h"

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

/* Hands a batch over; it is the owner's from here. */
static void ship(struct runner *r, struct fleet_batch *batch)
{
	r->owner.visited(r->owner.owner, batch);
}

void rows_skipped(struct station *s, int64_t cycle, const char *why)
{
	struct runner *r = s->runner;
	struct fleet_batch batch = { .server = s->id, .cycle = (uint64_t)cycle };
	struct wall due = beat_at(&s->beat, cycle);
	bool is_due = s->is_on && cadence_is_due(&r->pace, gate_slot_of(r, due), s->gate.seat,
						 READING_STATEMENTS, &s->gate.mark);
	struct run_row row = { .server = s->id,
			       .reading = READING_VISIT,
			       .at_wall_ns = loop_wall().ns,
			       .cycle = (uint64_t)cycle,
			       .outcome = RUN_SKIPPED,
			       .capture = is_due ? CAPTURE_MISSED : CAPTURE_NONE,
			       .reason = str_of(why) };

	r->skipped++;
	if (fleet_batch_add(&batch, &table_run, BLOCK_PUT, &row) != 0) {
		runner_say(r, s, "skipped, and not written down", "out of memory");
		fleet_batch_free(&batch);
		return;
	}
	ship(r, &batch);
}

static enum run_capture capture_of(const struct visit *v, const struct visit_end *end)
{
	if (v->settings.capture == CADENCE_OFF)
		return CAPTURE_NONE;
	if (v->settings.capture == CADENCE_GATED)
		return CAPTURE_GATED;
	if (end->outcome != RUN_SUCCESS || !v->has_captured)
		return CAPTURE_MISSED;
	return v->settings.capture == CADENCE_OWED ? CAPTURE_OWED : CAPTURE_SCHEDULED;
}

int rows_visit(struct visit *v, const struct visit_end *end)
{
	struct run_row row = { .server = v->station->id,
			       .reading = READING_VISIT,
			       .at_wall_ns = v->settings.at.ns,
			       .cycle = v->settings.cycle,
			       .outcome = end->outcome,
			       .capture = capture_of(v, end),
			       .sqlstate = str_of(end->sqlstate),
			       .reason = str_of(end->reason),
			       .rows = v->rows,
			       .bytes = v->bytes,
			       .server_ns = v->server_ns,
			       .own_ns = v->own_ns,
			       .wall_ns = loop_now().ns - v->began_ns };

	return fleet_batch_add(&v->batch, &table_run, BLOCK_PUT, &row);
}

int rows_mark(struct station *s, struct fleet_batch *batch)
{
	struct capture_row row = { .server = s->id,
				   .reading = READING_STATEMENTS,
				   .captured_wall_ns = s->gate.mark.captured_wall_ns,
				   .tried_wall_ns = s->gate.mark.tried_wall_ns,
				   .is_first_sight = s->is_first_sight };
	int code;

	if (!s->is_mark_new)
		return 0;
	code = fleet_batch_add(batch, &table_capture, BLOCK_PUT, &row);
	s->is_mark_new = code != 0;
	return code;
}

void runner_say(struct runner *r, const struct station *s, const char *what, const char *why)
{
	struct text text = TEXT_EMPTY;

	if (r->owner.say == NULL)
		return;
	text_put(&text, "server '");
	text_put_name(&text, str_of(s->settings.name));
	text_printf(&text, "': %s", what);
	if (why[0] != '\0') {
		text_put(&text, ": ");
		text_put_name(&text, str_of(why));
	}
	if (!text.has_failed)
		r->owner.say(r->owner.owner, text_chars(&text));
	text_free(&text);
}
