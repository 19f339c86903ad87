/* delta.c - differences of counters, and why there is none. */
#include "core/delta.h"

enum delta_life delta_between(const struct delta_visit *before, const struct delta_visit *now)
{
	if (before == NULL)
		return DELTA_FIRST;
	if (before->system_id != now->system_id && before->system_id != 0 && now->system_id != 0)
		return DELTA_OTHER;
	if (before->started_server_ns != now->started_server_ns)
		return DELTA_RESTARTED;
	if (now->at_server_ns <= before->at_server_ns)
		return DELTA_CLOCK;
	if ((uint64_t)(now->at_server_ns - before->at_server_ns) > DELTA_GAP_MOST_NS)
		return DELTA_GAP;
	/* A reset time that was not known before is no news of a reset, unless it lies behind the last visit. */
	if (now->reset_server_ns != before->reset_server_ns && now->reset_server_ns != 0 &&
	    (before->reset_server_ns != 0 || now->reset_server_ns > before->at_server_ns))
		return DELTA_RESET;
	return DELTA_SAME;
}

static bool has_shrunk(const struct delta_row *old, const struct delta_row *row)
{
	for (size_t i = 0; i < row->count; i++)
		if (IS_MEASURED(old->counters[i]) && IS_MEASURED(row->counters[i]) &&
		    row->counters[i].value < old->counters[i].value)
			return true;
	return false;
}

static struct delta none(enum delta_life life, const struct delta_row *row, struct counter *out)
{
	for (size_t i = 0; i < row->count; i++)
		out[i] = NOT_MEASURED;
	return (struct delta){ life, 0, false };
}

/* The whole value: all of it was counted behind `from_ns`. */
static struct delta whole(enum delta_life life, int64_t from_ns, const struct delta_visit *now,
			  const struct delta_row *row, struct counter *out)
{
	bool is_idle = true;

	if (now->at_server_ns <= from_ns)
		return none(DELTA_CLOCK, row, out);
	for (size_t i = 0; i < row->count; i++) {
		out[i] = row->counters[i];
		is_idle = is_idle && (!IS_MEASURED(out[i]) || out[i].value == 0);
	}
	return (struct delta){ life, (uint64_t)(now->at_server_ns - from_ns), is_idle };
}

static struct delta difference(const struct delta_visit *before, const struct delta_visit *now,
			       const struct delta_row *old, const struct delta_row *row,
			       struct counter *out)
{
	bool is_idle = true;

	for (size_t i = 0; i < row->count; i++) {
		bool is_measured = IS_MEASURED(old->counters[i]) && IS_MEASURED(row->counters[i]);

		out[i] = is_measured ? COUNTER(row->counters[i].value - old->counters[i].value)
				     : NOT_MEASURED;
		is_idle = is_idle && (!is_measured || out[i].value == 0);
	}
	return (struct delta){ DELTA_SAME, (uint64_t)(now->at_server_ns - before->at_server_ns),
			       is_idle };
}

/* A row that was not there at the last visit, in a life or after a restart: what is absent from a whole reading began
 * after it. */
static struct delta appeared(const struct delta_visit *before, const struct delta_visit *now,
			     const struct delta_row *row, struct counter *out)
{
	if (before->is_complete)
		return whole(DELTA_BEGAN, before->at_server_ns, now, row, out);
	return none(before->evictions != now->evictions ? DELTA_EVICTED : DELTA_FIRST, row, out);
}

struct delta delta_row_between(const struct delta_visit *before, const struct delta_visit *now,
			       const struct delta_row *old, const struct delta_row *row,
			       struct counter *out)
{
	enum delta_life life = delta_between(before, now);
	bool is_of_same_system =
		life == DELTA_SAME || life == DELTA_RESET || life == DELTA_RESTARTED;

	if (!is_of_same_system || now->at_server_ns <= before->at_server_ns)
		return none(is_of_same_system ? DELTA_CLOCK : life, row, out);
	if ((uint64_t)(now->at_server_ns - before->at_server_ns) > DELTA_GAP_MOST_NS)
		return none(DELTA_GAP, row, out);
	/* The server itself says since when it counts. */
	if (row->since_ns > before->at_server_ns)
		return whole(DELTA_BEGAN, row->since_ns, now, row, out);
	if (life == DELTA_RESET && now->reset_server_ns > before->at_server_ns)
		return whole(DELTA_RESET, now->reset_server_ns, now, row, out);
	if (old == NULL && row->since_ns == 0 && life != DELTA_RESET)
		return appeared(before, now, row, out);
	if (life != DELTA_SAME)
		return none(life, row, out);
	if (old == NULL)
		return none(DELTA_FIRST, row,
			    out); /* it counted before the last visit, and we did not see it */
	/* Counters of one life never go down: it fell out and came back behind the last visit. */
	if (has_shrunk(old, row))
		return whole(DELTA_SHRUNK, before->at_server_ns, now, row, out);
	/* What was not known before, or is not any more (another release of the extension), is no news of another life. */
	if (row->since_ns != old->since_ns && row->since_ns != 0 && old->since_ns != 0)
		return none(DELTA_EVICTED, row, out);
	return difference(before, now, old, row, out);
}
