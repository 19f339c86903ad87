/* report_page_collect_load.c - reads a store once more for its page: first what visits came to, then what ran when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_page_collect.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "core/units.h"

/* The place of a server in the analysis; its count: it is not there. Rows come server by server: it is looked for from the last one on. */
static size_t place_of(struct collect_page *p, uint32_t server)
{
	const struct fleet_analysis *a = &p->r->a;

	for (size_t n = 0; n < a->server_count; n++) {
		size_t i = (p->place + n) % a->server_count;

		if (a->servers[i].server == server)
			return p->place = i;
	}
	return a->server_count;
}

static char mark_of(const struct run_row *row)
{
	if (row->outcome == RUN_SKIPPED)
		return '-';
	if (row->outcome != RUN_SUCCESS)
		return 'x';
	return row->capture == CAPTURE_SCHEDULED || row->capture == CAPTURE_OWED ? 'c' : 'v';
}

/* Moves a server's marks up to its next cycle; cycles without a row leave holes. */
static void take_mark(struct collect_page *p, const struct run_row *row)
{
	size_t i = place_of(p, row->server);
	uint64_t steps;

	if (row->reading != READING_VISIT || i == p->r->a.server_count)
		return;
	steps = p->cycles[i] != 0 && row->cycle > p->cycles[i] ? row->cycle - p->cycles[i] : 1;
	steps = steps < COLLECT_PAGE_MARKS ? steps : COLLECT_PAGE_MARKS;
	memmove(p->marks[i], p->marks[i] + steps, COLLECT_PAGE_MARKS - steps);
	memset(p->marks[i] + COLLECT_PAGE_MARKS - steps, 0, steps);
	p->marks[i][COLLECT_PAGE_MARKS - 1] = mark_of(row);
	p->cycles[i] = row->cycle;
}

static int take_visit(void *owner, const void *row)
{
	struct collect_page *p = owner;

	fleet_beat_take(&p->beat, row);
	take_mark(p, row);
	return fleet_log_take(&p->log, row);
}

static int take_run(void *owner, const void *row)
{
	struct collect_page *p = owner;

	fleet_turns_take(&p->turns, row);
	return fleet_time_take(&p->time, &table_run, row);
}

static int take_statement(void *owner, const void *row)
{
	return fleet_time_take(&((struct collect_page *)owner)->time, &table_statement, row);
}

static int take_function(void *owner, const void *row)
{
	return fleet_time_take(&((struct collect_page *)owner)->time, &table_function, row);
}

static int scan(struct collect_page *p, const struct table *t, fleet_row_fn *take, struct err *err)
{
	struct fleet_range range = FLEET_RANGE_ALL;
	int rc;

	range.from_wall_ns = p->r->a.from_wall_ns;
	range.to_wall_ns = p->r->a.to_wall_ns;
	rc = p->r->ops->scan(p->r->db, t, &range, take, p, err);
	if (rc == -ENOMEM && err->code == 0)
		return err_set(err, rc, "cannot read '%s': out of memory", p->r->path);
	return rc;
}

static int open_time(struct collect_page *p, struct err *err)
{
	const struct fleet_analysis *a = &p->r->a;
	struct fleet_slots slots =
		fleet_slots_of(a->first_wall_ns, a->last_wall_ns, fleet_beat_cycle_ns(&p->beat));

	fleet_turns_open(a, fleet_beat_cycle_ns(&p->beat), &p->turns);
	if (fleet_time_open(a, &slots, COLLECT_PAGE_LINES, COLLECT_PAGE_LINES, &p->time) != 0)
		return err_set(err, -ENOMEM, "cannot read '%s': out of memory", p->r->path);
	return 0;
}

static size_t filled(const struct collect_page *p, const struct fleet_cell *line)
{
	size_t cells = 0;

	for (uint32_t i = 0; i < p->time.slots.count; i++)
		cells += line[i].calls > 0 || line[i].exec_ns > 0;
	return cells;
}

/* The dearest have lines while there is room. */
static size_t lines_of(const struct collect_page *p, const struct fleet_cell *first, size_t count,
		       size_t room)
{
	size_t lines = 0, cells = 0;

	for (; lines < count; lines++) {
		cells += filled(p, first + lines * p->time.slots.count);
		if (cells > room)
			break;
	}
	return lines;
}

size_t collect_page_rows(const struct collect_page *p, size_t count)
{
	size_t rows = count >> p->halvings;

	return rows > 0 || count == 0 ? rows : 1;
}

bool collect_page_was_reached(const struct collect_page *p, size_t server)
{
	return p->covered[server] > 0;
}

bool collect_page_is_owed(const struct collect_page *p, size_t server, int64_t *out_since_wall_ns)
{
	const struct fleet_server_sum *s = &p->r->a.servers[server];

	return fleet_turns_is_owed(&p->turns, s->row, fleet_capture_of(&p->r->a, s->server),
				   out_since_wall_ns);
}

struct share collect_page_share(const struct collect_page *p, size_t i)
{
	return i < p->time.statement_count ? fleet_time_share(&p->time, i)
					   : (struct share){ .error = 1 };
}

int collect_page_open(struct fleet_report *r, struct collect_page *out, struct err *err)
{
	SCOPED(collect_page_close) struct collect_page p = { .r = r };
	int rc = 0;

	p.marks = calloc(r->a.server_count + 1, sizeof(*p.marks));
	p.cycles = calloc(r->a.server_count + 1, sizeof(*p.cycles));
	p.covered = calloc(r->a.server_count + 1, sizeof(*p.covered));
	if (p.marks == NULL || p.cycles == NULL || p.covered == NULL)
		return err_set(err, -ENOMEM, "cannot read '%s': out of memory", r->path);
	if (r->a.last_wall_ns > 0)
		rc = scan(&p, &table_run, take_visit, err);
	fleet_log_close_input(&p.log);
	rc = rc == 0 ? open_time(&p, err) : rc;
	if (rc == 0 && p.time.slots.count > 0) {
		rc = scan(&p, &table_statement, take_statement, err);
		rc = rc == 0 ? scan(&p, &table_function, take_function, err) : rc;
		rc = rc == 0 ? scan(&p, &table_run, take_run, err) : rc;
	}
	if (rc != 0)
		return rc;
	fleet_time_close_input(&p.time);
	for (size_t i = 0; i < r->a.server_count; i++)
		p.covered[i] = fleet_time_covered_of(&p.time, i);
	p.lines = lines_of(&p, p.time.statements, p.time.statement_count, COLLECT_PAGE_CELLS);
	p.function_lines =
		lines_of(&p, p.time.functions, p.time.function_count, COLLECT_PAGE_CELLS / 4);
	*out = p;
	p = COLLECT_PAGE_EMPTY;
	return 0;
}

void collect_page_close(struct collect_page *p)
{
	free(p->marks);
	free(p->cycles);
	free(p->covered);
	fleet_log_free(&p->log);
	fleet_time_free(&p->time);
	*p = COLLECT_PAGE_EMPTY;
}
