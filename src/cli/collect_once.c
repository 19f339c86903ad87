/* collect_once.c - `tare collect --once`: one cycle of all servers of the settings, or two looks at the one that a URL names, and a small report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/collect_pass.h"
#include "cli/payload.h"
#include "core/fleet_analysis.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "fleet/visit.h"

#define SHOWN_STATEMENTS 10u
#define TEXT_COLUMNS	 72u
#define TEXT_MOST	 (UINT64_C(1) << 20)

/* ---- rows into an analysis ---- */

static int take_rows(const struct collect_pass *p, struct fleet_analysis *a,
		     const struct table *only, bool is_only)
{
	int rc = 0;

	for (size_t i = 0; i < p->count && rc == 0; i++)
		for (size_t at = 0; at < p->batches[i].block_count && rc == 0; at++) {
			const struct fleet_block *block = &p->batches[i].blocks[at];

			if (block->verb != BLOCK_PUT || (block->table == only) != is_only)
				continue;
			for (size_t row = 0; row < block->count && rc == 0; row++)
				rc = fleet_analysis_take(a, block->table,
							 (const char *)block->rows +
								 row * block->table->row_bytes);
		}
	return rc;
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static int take_servers(const struct collect_pass *p, struct fleet_analysis *a)
{
	int rc = 0;

	for (size_t i = 0; i < p->fleet.member_count && rc == 0; i++) {
		const struct fleet_member *m = &p->fleet.members[i];
		struct server_row row = { .server = m->id,
					  .seat = m->seat,
					  .name = str_of(m->name),
					  .kind = str_of(p->fleet.settings.servers[i].kind) };

		rc = fleet_analysis_take(a, &table_server, &row);
	}
	return rc;
}

/* Statements last: what they are joined with must be known. */
static int analyse(const struct collect_pass *p, struct fleet_analysis *a)
{
	int rc = fleet_analysis_open(0, INT64_MAX, a);

	if (rc == 0)
		rc = take_servers(p, a);
	if (rc == 0)
		rc = take_rows(p, a, &table_statement, false);
	if (rc == 0)
		rc = take_rows(p, a, &table_statement, true);
	return rc == 0 ? fleet_analysis_close_input(a) : rc;
}

/* ---- texts ---- */

static const struct payload_row *find_payload(const struct collect_pass *p, uint32_t server,
					      const struct digest *digest)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct fleet_block *block =
			fleet_batch_block(&p->batches[i], &table_payload, BLOCK_PUT);
		const struct payload_row *rows = block != NULL ? block->rows : NULL;

		for (size_t row = 0; block != NULL && row < block->count; row++)
			if (rows[row].server == server && rows[row].content.len > 0 &&
			    memcmp(&rows[row].digest, digest, sizeof(*digest)) == 0)
				return &rows[row];
	}
	return NULL;
}

/* Statements get their texts, which are the caller's to free; NULL: no memory, and they stay without. */
static struct text *give_texts(const struct collect_pass *p, struct fleet_analysis *a)
{
	struct text *texts = calloc(a->statement_count + 1, sizeof(*texts));

	for (size_t i = 0; texts != NULL && i < a->statement_count; i++) {
		struct fleet_statement *s = &a->statements[i];
		const struct payload_row *row =
			s->query != NULL ? find_payload(p, s->server, &s->query->text) : NULL;

		if (row != NULL && payload_read(row, TEXT_MOST, &texts[i]) == 0)
			s->text = (struct str){ texts[i].bytes, (uint32_t)texts[i].len };
	}
	return texts;
}

static void free_texts(struct text *texts, size_t count)
{
	for (size_t i = 0; texts != NULL && i < count; i++)
		text_free(&texts[i]);
	free(texts);
}

/* ---- the report ---- */

static uint64_t value_of(const struct fleet_statement *s, enum statement_counter which)
{
	return IS_MEASURED(s->sums[which]) ? s->sums[which].value : 0;
}

static void put_ms(struct text *out, uint64_t ns, int columns)
{
	text_printf(out, "%*llu.%03llu", columns - 4, (unsigned long long)(ns / NS_PER_MS),
		    (unsigned long long)(ns / NS_PER_US % 1000));
}

static void put_plan(const struct fleet_statement *s, struct text *out)
{
	if (s->plan != NULL)
		text_printf(out, ", plan of cost %.0f", s->plan->total_cost);
	else if (s->no_plan != NULL)
		text_printf(out, ", no plan: %s", fleet_reason_word(s->no_plan->reason));
}

static void put_statements(const struct fleet_analysis *a, struct text *out)
{
	size_t shown = 0;

	text_put(out, "     total ms       calls     mean ms  statement\n");
	for (size_t i = 0; i < a->statement_count && shown < SHOWN_STATEMENTS; i++) {
		const struct fleet_statement *s = &a->statements[i];
		uint64_t exec_ns = value_of(s, STATEMENT_EXEC_NS);
		uint64_t calls = value_of(s, STATEMENT_CALLS);

		if (calls == 0)
			continue;
		shown++;
		put_ms(out, exec_ns, 13);
		text_printf(out, "%12llu", (unsigned long long)calls);
		put_ms(out, fleet_mean_ns(exec_ns, calls), 12);
		text_put(out, "  ");
		fleet_put_statement(out, s, TEXT_COLUMNS);
		if (s->key.queryid != 0)
			text_printf(out, " (%lld", (long long)s->key.queryid);
		put_plan(s, out);
		text_put(out, s->key.queryid != 0 ? ")\n" : "\n");
	}
	if (shown == 0)
		text_put(out,
			 "  no statement ran, or none could be compared with an earlier look\n");
}

static void put_cost(const struct fleet_analysis *a, struct text *out)
{
	text_put(out,
		 "\nwhat collecting took:\n"
		 "  reading        runs  ms on the server      our ms       rows       bytes\n");
	for (size_t i = 0; i < a->reading_count; i++) {
		const struct fleet_reading *r = &a->readings[i];

		if (r->reading == READING_VISIT)
			continue;
		text_printf(out, "  %-12s %6llu  ", reading_name((enum reading_id)r->reading),
			    (unsigned long long)r->runs);
		put_ms(out, r->server_ns, 16);
		put_ms(out, r->own_ns, 12);
		text_printf(out, " %10llu  %10llu\n", (unsigned long long)r->rows,
			    (unsigned long long)r->bytes);
	}
}

static void put_failures(const struct collect_pass *p, struct text *out, size_t *out_failed)
{
	for (size_t i = 0; i < p->fleet.member_count; i++) {
		const struct fleet_member *m = &p->fleet.members[i];
		const struct run_row *visit = collect_pass_run_row(p, m->id, READING_VISIT);

		if (collect_pass_is_well(p, m->id))
			continue;
		++*out_failed;
		text_put(out, "not visited: ");
		text_put_name(out, str_of(m->name));
		text_put(out, ": ");
		text_put_name(out, visit != NULL && visit->reason.len > 0
					   ? visit->reason
					   : STR_LITERAL("it took too long"));
		text_put(out, "\n");
	}
}

static int report(struct app *app, struct collect_pass *p, struct err *err)
{
	SCOPED(fleet_analysis_free) struct fleet_analysis a = { .from_wall_ns = 0 };
	SCOPED(text_free) struct text out = TEXT_EMPTY;
	struct text *texts = NULL;
	size_t failed = 0;
	int rc = analyse(p, &a);

	if (rc == 0) {
		texts = give_texts(p, &a);
		fleet_verdict_put(&out, &a);
		text_put(&out, ".\n\n");
		put_statements(&a, &out);
		put_cost(&a, &out);
		put_failures(p, &out, &failed);
		free_texts(texts, a.statement_count);
	}
	if (rc < 0 || out.has_failed)
		return err_set(err, -ENOMEM, "cannot report: no memory");
	if (!app->has_utf8)
		text_make_ascii(&out);
	fputs(text_chars(&out), app->out);
	return failed == 0 ? EXIT_OK : EXIT_NO;
}

/* Has a look of this pass something to compare with? */
static bool has_difference(const struct collect_pass *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct fleet_block *block =
			fleet_batch_block(&p->batches[i], &table_statement, BLOCK_PUT);
		const struct statement_row *rows = block != NULL ? block->rows : NULL;

		for (size_t row = 0; block != NULL && row < block->count; row++)
			if (rows[row].span_ns > 0)
				return true;
	}
	return false;
}

/* A second look, since counters say nothing without an earlier one. */
static int look_again(struct collect_pass *p, uint64_t wait_ns, struct err *err)
{
	struct timespec pause = { (time_t)(wait_ns / NS_PER_S), (long)(wait_ns % NS_PER_S) };
	struct text line = TEXT_EMPTY;

	text_put(&line, "counters are compared over ");
	text_put_duration(&line, wait_ns);
	collect_say(p->fleet.app, text_chars(&line));
	text_free(&line);
	while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
		;
	return collect_pass_run(p, err);
}

/* Settings of a URL: every look captures, and two looks are two cycles. */
static int from_url(const struct collect_opts *o, struct collect_settings *out, struct err *err)
{
	int rc;

	if (o->wait_ns < NS_PER_S || o->wait_ns > 3600 * NS_PER_S) {
		err_set(err, -EINVAL, "cannot wait so long or short between two looks");
		return err_mend(err, "--wait takes a time from 1s to 1h");
	}
	rc = settings_from_url(o->argument, out, err);
	if (rc < 0)
		return rc;
	out->one_in = 1;
	out->cycle_ns = o->wait_ns;
	out->spool[0] = '\0'; /* nobody comes back for it */
	return 0;
}

int collect_once(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(settings_free) struct collect_settings settings = { .store = NULL };
	SCOPED(collect_pass_close) struct collect_pass p = { .batches = NULL };
	const char *store = o->output;
	int rc;

	rc = o->argument != NULL ? from_url(o, &settings, err)
				 : collect_load(app, o, &settings, err);
	if (rc < 0)
		return rc;
	if (o->argument == NULL && store == NULL)
		store = settings.store;
	store = store != NULL ? strdupa(store) : NULL;
	rc = collect_pass_open(&p, app, &settings, store, err);
	if (rc == 0)
		rc = collect_pass_run(&p, err);
	if (rc == 0 && o->argument != NULL && collect_pass_is_well(&p, p.fleet.members[0].id) &&
	    !has_difference(&p))
		rc = look_again(&p, o->wait_ns, err);
	return rc < 0 ? rc : report(app, &p, err);
}
