/* fleet_time_cover.c - how much of a fleet's time is covered by differences, and how sure a share of it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/delta.h"
#include "core/fleet_time_parts.h"

int fleet_moments_join(struct fleet_moments *m, const struct fleet_moment *moment)
{
	struct fleet_moment *last;

	if (m->count == 0)
		return fleet_moments_add(m, moment);
	last = &m->rows[m->count - 1];
	if (last->server != moment->server || last->at_wall_ns != moment->at_wall_ns)
		return fleet_moments_add(m, moment);
	last->span_ns = moment->span_ns > last->span_ns ? moment->span_ns : last->span_ns;
	return 0;
}

int fleet_moments_add(struct fleet_moments *m, const struct fleet_moment *moment)
{
	struct fleet_moment *more;

	if (m->count == m->room) {
		more = reallocarray(m->rows, m->room > 0 ? m->room * 2 : 64, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		m->rows = more;
		m->room = m->room > 0 ? m->room * 2 : 64;
	}
	m->rows[m->count++] = *moment;
	return 0;
}

void fleet_moments_free(struct fleet_moments *m)
{
	free(m->rows);
	*m = (struct fleet_moments){ .rows = NULL };
}

static int by_moment(const void *x, const void *y)
{
	const struct fleet_moment *a = x, *b = y;

	if (a->server != b->server)
		return a->server < b->server ? -1 : 1;
	return (a->at_wall_ns > b->at_wall_ns) - (a->at_wall_ns < b->at_wall_ns);
}

static void sort(struct fleet_moments *m)
{
	if (m->count > 1)
		qsort(m->rows, m->count, sizeof(*m->rows), by_moment);
}

static const struct fleet_moment *moment_at(const struct fleet_moments *m, uint32_t server,
					    int64_t at_ns)
{
	struct fleet_moment wanted = { server, at_ns, 0 };

	return m->count > 0 ? bsearch(&wanted, m->rows, m->count, sizeof(wanted), by_moment) : NULL;
}

/* Adds the part of (from, to] that is in each slot, as time that is there or as time that is covered. */
static void add_time(const struct fleet_time *t, size_t server, int64_t from_ns, int64_t to_ns,
		     bool is_covered)
{
	const struct fleet_slots *s = &t->slots;
	struct fleet_cover *line = t->covers + server * s->count;

	for (uint32_t i = 0; i < s->count; i++) {
		int64_t begin = s->from_wall_ns + (int64_t)(s->slot_ns * i);
		int64_t end = begin + (int64_t)s->slot_ns;

		begin = begin > from_ns ? begin : from_ns;
		end = end < to_ns ? end : to_ns;
		if (end <= begin)
			continue;
		if (is_covered)
			line[i].covered_ns += (uint64_t)(end - begin);
		else
			line[i].present_ns += (uint64_t)(end - begin);
	}
}

/* Where the difference of a server's first visit begins: its longest span, or the visit itself where nothing ran. */
static int64_t first_begin(const struct fleet_time *t, const struct fleet_moment *visit)
{
	const struct fleet_moment *span =
		moment_at(&t->index->spans, visit->server, visit->at_wall_ns);

	if (span == NULL || span->span_ns > DELTA_GAP_MOST_NS)
		return visit->at_wall_ns;
	return visit->at_wall_ns - (int64_t)span->span_ns;
}

/* The time in which a server was there to be covered. A first and a last visit that are where its place in the cycle puts them
 * leave nothing uncovered beside them. */
static void settle_window(const struct fleet_time *t, size_t server, int64_t first_ns,
			  int64_t last_ns)
{
	const struct server_row *row = t->a->servers[server].row;
	int64_t from_ns = t->slots.from_wall_ns, to_ns = t->a->last_wall_ns;
	int64_t near_ns = (int64_t)(t->slots.visit_ns * 3 / 2);

	if (row != NULL && row->first_wall_ns > from_ns && row->first_wall_ns < to_ns)
		from_ns = row->first_wall_ns;
	if (first_ns != 0 && first_ns - from_ns <= near_ns + (int64_t)t->slots.slot_ns)
		from_ns = first_ns;
	if (last_ns != 0 && to_ns - last_ns <= near_ns)
		to_ns = last_ns;
	add_time(t, server, from_ns, to_ns, false);
}

/* What is lost of one statement alone: not in a visit that knows nothing of its server's time, nor in the first one, in front of which
 * there is no time that could be covered. */
static void settle_hidden(const struct fleet_time *t)
{
	const struct fleet_moments *hidden = &t->index->hidden, *visits = &t->index->visits;

	for (size_t i = 0; i < hidden->count; i++) {
		const struct fleet_moment *row = &hidden->rows[i];
		const struct fleet_moment *visit = moment_at(visits, row->server, row->at_wall_ns);

		if (visit == NULL || visit == visits->rows || visit[-1].server != row->server ||
		    moment_at(&t->index->breaks, row->server, row->at_wall_ns) != NULL)
			continue;
		t->statements[row->span_ns].hidden++;
	}
}

static void settle_server(const struct fleet_time *t, const struct fleet_moment *visits,
			  size_t count)
{
	uint32_t server = visits[0].server;
	int64_t before_ns = first_begin(t, &visits[0]);

	settle_window(t, server, before_ns, visits[count - 1].at_wall_ns);
	for (size_t i = 0; i < count; i++) {
		int64_t at_ns = visits[i].at_wall_ns;

		if (at_ns - before_ns <= (int64_t)DELTA_GAP_MOST_NS &&
		    moment_at(&t->index->breaks, server, at_ns) == NULL)
			add_time(t, server, before_ns, at_ns, true);
		before_ns = at_ns;
	}
}

void fleet_time_close_input(struct fleet_time *t)
{
	const struct fleet_moments *visits = &t->index->visits;
	size_t end;

	sort(&t->index->visits);
	sort(&t->index->breaks);
	sort(&t->index->spans);
	settle_hidden(t);
	for (size_t i = 0; i < visits->count; i = end) {
		for (end = i;
		     end < visits->count && visits->rows[end].server == visits->rows[i].server;)
			end++;
		settle_server(t, visits->rows + i, end - i);
	}
	for (size_t i = 0; t->slots.count > 0 && i < t->a->server_count; i++) {
		bool was_visited = false;

		for (uint32_t s = 0; s < t->slots.count && !was_visited; s++)
			was_visited = t->covers[i * t->slots.count + s].present_ns > 0;
		if (!was_visited && t->a->servers[i].visits > 0)
			settle_window(t, i, 0, 0);
	}
}

struct fleet_cell fleet_time_sum(const struct fleet_time *t, const struct fleet_cell *line)
{
	struct fleet_cell sum = { 0 };

	for (uint32_t i = 0; i < t->slots.count; i++) {
		sum.calls += line[i].calls;
		sum.exec_ns += line[i].exec_ns;
		sum.unknown += line[i].unknown;
		sum.hidden += line[i].hidden;
	}
	return sum;
}

static struct fleet_cover cover_of(const struct fleet_time *t, size_t server)
{
	struct fleet_cover sum = { 0 };

	for (uint32_t i = 0; i < t->slots.count; i++) {
		sum.present_ns += t->covers[server * t->slots.count + i].present_ns;
		sum.covered_ns += t->covers[server * t->slots.count + i].covered_ns;
	}
	return sum;
}

static double part(const struct fleet_cover *c)
{
	return c->present_ns > 0 ? (double)c->covered_ns / (double)c->present_ns : 0;
}

double fleet_time_covered_of(const struct fleet_time *t, size_t server)
{
	struct fleet_cover c = cover_of(t, server);

	return part(&c);
}

double fleet_time_covered(const struct fleet_time *t)
{
	struct fleet_cover sum = { 0 };

	for (size_t i = 0; i < t->a->server_count; i++) {
		struct fleet_cover c = cover_of(t, i);

		if (c.covered_ns == 0)
			continue; /* never reached: nothing of it is in any share, and it is told apart */
		sum.present_ns += c.present_ns;
		sum.covered_ns += c.covered_ns;
	}
	return part(&sum);
}

struct share fleet_time_share(const struct fleet_time *t, size_t i)
{
	struct fleet_cell sum = fleet_time_sum(t, t->statements + i * t->slots.count);
	struct fleet_cell all = fleet_time_sum(t, t->all);
	double covered = fleet_time_covered(t), whole_ns, hidden;
	struct share out = { .kept = sum.calls };

	for (size_t s = 0; s < t->a->server_count; s++) {
		double own = fleet_time_covered_of(t, s);

		if (t->a->servers[s].server == t->a->statements[i].server && own < covered)
			covered = own;
	}
	whole_ns = (double)t->slots.slot_ns * t->slots.count;
	hidden = whole_ns > 0 ? (double)sum.hidden * (double)t->slots.visit_ns / whole_ns : 1;
	out.value = all.exec_ns > 0 ? (double)sum.exec_ns / (double)all.exec_ns : 0;
	out.error = covered <= 0 || hidden >= 1 ? 1 : out.value * (1 - covered * (1 - hidden));
	return out;
}

void fleet_time_put_share(struct text *t, struct share share)
{
	if (share.value <= 0)
		text_put(t, "0");
	else if (share.error < 0.00005)
		text_put_exact_share(t, (uint64_t)(share.value * 1e9 + 0.5), 1000000000);
	else
		text_put_share(t, share, UINT64_MAX);
}
