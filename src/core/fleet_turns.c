/* fleet_turns.c - the cycle, the turn slots and the owed captures of a fleet, from its rows. */
#include "core/fleet_turns.h"

#include "core/recording.h"
#include "core/units.h"

#define CYCLE_MOST_NS (UINT64_C(86400) * NS_PER_S) /* a longer one is foreign */

void fleet_beat_take(struct fleet_beat *b, const struct run_row *row)
{
	if (row->reading != READING_VISIT || row->at_wall_ns <= 0)
		return;
	if (b->at_wall_ns != 0 && b->server == row->server && row->cycle > b->cycle &&
	    row->at_wall_ns > b->at_wall_ns) {
		b->sum_ns += (uint64_t)(row->at_wall_ns - b->at_wall_ns);
		b->cycles += row->cycle - b->cycle;
	}
	b->server = row->server;
	b->cycle = row->cycle;
	b->at_wall_ns = row->at_wall_ns;
}

uint64_t fleet_beat_measured_ns(const struct fleet_beat *b)
{
	return b->cycles > 0 ? b->sum_ns / b->cycles : 0;
}

static uint64_t to_ms(uint64_t ns)
{
	return (ns + NS_PER_MS / 2) / NS_PER_MS * NS_PER_MS;
}

uint64_t fleet_beat_cycle_ns(const struct fleet_beat *b)
{
	uint64_t measured_ns = fleet_beat_measured_ns(b), exact_ns;

	if (measured_ns == 0)
		return 0;
	exact_ns = b->cycle > 0 ? to_ms((uint64_t)b->at_wall_ns / b->cycle) : 0;
	if (exact_ns > measured_ns - measured_ns / 10 && exact_ns < measured_ns + measured_ns / 10)
		return exact_ns;
	return to_ms(measured_ns);
}

const struct collector_row *fleet_newest_minute(const struct fleet_analysis *a)
{
	const struct fleet_block *block = fleet_batch_block(&a->rows, &table_collector, BLOCK_PUT);
	const struct collector_row *newest = NULL;

	for (size_t i = 0; block != NULL && i < block->count; i++) {
		const struct collector_row *row = fleet_block_row(block, i);

		if (newest == NULL || row->at_wall_ns >= newest->at_wall_ns)
			newest = row;
	}
	return newest;
}

const struct capture_row *fleet_capture_of(const struct fleet_analysis *a, uint32_t server)
{
	const struct fleet_block *block = fleet_batch_block(&a->rows, &table_capture, BLOCK_PUT);

	for (size_t i = 0; block != NULL && i < block->count; i++) {
		const struct capture_row *row = fleet_block_row(block, i);

		if (row->server == server && row->reading == READING_STATEMENTS &&
		    row->captured_wall_ns > 0)
			return row;
	}
	return NULL;
}

void fleet_turns_open(const struct fleet_analysis *a, uint64_t cycle_ns, struct fleet_turns *out)
{
	const struct collector_row *minute = fleet_newest_minute(a);

	*out = (struct fleet_turns){ .now = { a->last_wall_ns } };
	for (size_t i = 0; i < a->server_count; i++)
		out->servers += a->servers[i].row != NULL && a->servers[i].row->seat != NO_ID;
	if (minute == NULL || cycle_ns == 0 || cycle_ns > CYCLE_MOST_NS || minute->one_in == 0 ||
	    minute->one_in > CADENCE_N_MOST || minute->turn_slots == 0 ||
	    minute->turn_slots > CADENCE_K_MOST)
		return;
	out->pace = (struct cadence_pace){ .cycle_ns = cycle_ns,
					   .n_given = minute->one_in,
					   .n = minute->one_in,
					   .k = minute->turn_slots };
	out->first = cadence_slot(&out->pace, out->now) - (int64_t)FLEET_TURNS_SHOWN + 1;
	/* F and what may be made up for: with nothing scheduled all of it. */
	out->most = cadence_allowance(&out->pace, out->servers, 0);
}

void fleet_turns_take(struct fleet_turns *t, const struct run_row *row)
{
	int64_t i;

	if (t->pace.n == 0 || row->reading != READING_VISIT)
		return;
	i = cadence_slot(&t->pace, (struct wall){ row->at_wall_ns }) - t->first;
	if (i < 0 || i >= (int64_t)FLEET_TURNS_SHOWN)
		return;
	t->turns[i].scheduled += row->capture == CAPTURE_SCHEDULED;
	t->turns[i].owed += row->capture == CAPTURE_OWED;
	t->turns[i].missed += row->capture == CAPTURE_MISSED;
}

bool fleet_turns_is_owed(const struct fleet_turns *t, const struct server_row *server,
			 const struct capture_row *capture, int64_t *out_since_wall_ns)
{
	struct cadence_mark mark;
	int64_t slot, now;

	if (t->pace.n == 0 || server == NULL || server->seat == NO_ID || capture == NULL)
		return false;
	mark = (struct cadence_mark){ capture->captured_wall_ns, capture->tried_wall_ns };
	now = cadence_slot(&t->pace, t->now);
	if (!cadence_is_due(&t->pace, now, server->seat, READING_STATEMENTS, &mark) ||
	    cadence_is_scheduled(&t->pace, now, server->seat, READING_STATEMENTS))
		return false;
	/* Its turn began in the first scheduled slot behind the last capture. */
	slot = cadence_slot(&t->pace, (struct wall){ capture->captured_wall_ns }) + 1;
	while (slot < now &&
	       !cadence_is_scheduled(&t->pace, slot, server->seat, READING_STATEMENTS))
		slot++;
	*out_since_wall_ns = slot * (int64_t)cadence_slot_ns(&t->pace);
	return true;
}
