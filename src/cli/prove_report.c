/* prove_report.c - what `tare prove` says: a table and a verdict for each price, or the same as JSON. */
#include <errno.h>
#include <string.h>

#include "cli/prove.h"
#include "cli/report.h"
#include "cli/run.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "format/json.h"

#define PROVE_SCHEMA_VERSION 1u
#define MEASURED_AT	     29u
#define CLAIMED_AT	     51u

static void put_head(struct screen *s, const struct prove_opts *o, const struct prove *p)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct str job = run_str(o->command[0]);

	text_printf(&t, "tare prove: tare %s of ", o->is_watch ? "watch" : "record");
	text_put_cut(&t, job, 40);
	text_put(&t, ", ");
	text_put_counted(&t, p->outcomes[0].pairs, "pair");
	text_printf(&t, " at each price, seed %llu, ", (unsigned long long)o->seed);
	text_put_duration(&t, p->run_cpu_ns);
	text_put(&t, " of CPU a run");
	if (strcmp(p->ended_by, "time") == 0)
		text_put(&t, "; the time was over");
	if (strcmp(p->ended_by, "interrupt") == 0)
		text_put(&t, "; interrupted");
	screen_wrap(s, text_chars(&t), 0);
	s->has_failed |= t.has_failed;
}

static void put_rung(struct screen *s, const struct prove_opts *o, const struct prove_outcome *out)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	if (out->rung.is_dear)
		text_printf(&t, "at %u times that, ", PROVE_TIMES);
	else
		text_put(&t, "at a price of ");
	text_put_price(&t, out->rung.price_ppm);
	if (out->rung.is_dear && !o->is_watch)
		text_put(&t, " --every 200us --full");
	if (o->engine != NULL)
		text_printf(&t, " --engine %s", o->engine);
	screen_put(s, text_chars(&t));
	screen_to(s, CLAIMED_AT);
	screen_put(s, "by the label");
	screen_end(s);
	s->has_failed |= t.has_failed;
}

static void put_row(struct screen *s, const char *what, const struct text *measured,
		    const struct text *claimed)
{
	screen_to(s, 2);
	screen_put(s, what);
	screen_to(s, MEASURED_AT);
	screen_put(s, text_chars(measured));
	screen_to(s, CLAIMED_AT);
	screen_put(s, text_chars(claimed));
	screen_end(s);
	s->has_failed |= measured->has_failed || claimed->has_failed;
}

static void put_own(struct screen *s, const struct prove_outcome *o)
{
	SCOPED(text_free) struct text measured = TEXT_EMPTY;
	SCOPED(text_free) struct text claimed = TEXT_EMPTY;

	text_put_price(&measured, run_share_ppm(o->own_cpu_ns, o->elapsed_ns));
	text_put_price(&claimed, run_share_ppm(o->label_cpu_ns, o->elapsed_ns));
	put_row(s, "tare's own, of one CPU", &measured, &claimed);
}

static void put_outcome(struct screen *s, const struct prove_opts *opts,
			const struct prove_outcome *o)
{
	SCOPED(text_free) struct text measured = TEXT_EMPTY;
	SCOPED(text_free) struct text claimed = TEXT_EMPTY;
	SCOPED(text_free) struct text later = TEXT_EMPTY;
	SCOPED(text_free) struct text nothing = TEXT_EMPTY;
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	screen_end(s);
	put_rung(s, opts, o);
	prove_put_slowdown(&measured, &o->found.slowdown);
	prove_put_claim(&claimed, &o->found);
	put_row(s, "the job's CPU time", &measured, &claimed);
	prove_put_slowdown(&later, &o->later);
	put_row(s, "the job's time to its end", &later, &nothing);
	put_own(s, o);
	prove_put_verdict(&verdict, &o->found);
	screen_to(s, 2);
	screen_wrap(s, text_chars(&verdict), 2);
	s->has_failed |= verdict.has_failed;
}

int prove_print(struct app *app, const struct prove_opts *opts, const struct prove *p)
{
	SCOPED(screen_free) struct screen s = report_screen(app);

	put_head(&s, opts, p);
	for (size_t i = 0; i < PROVE_RUNGS; i++)
		put_outcome(&s, opts, &p->outcomes[i]);
	return s.has_failed ? -ENOMEM : 0;
}

/* ---- JSON ---- */

static void json_slowdown(struct json *j, const char *key, const struct prove_slowdown *s)
{
	json_key(j, key);
	json_open_object(j);
	json_put_double(j, "value", s->value);
	json_key(j, "error");
	if (s->has_interval)
		json_double(j, s->error);
	else
		json_null(j);
	json_close(j);
}

static void json_pair(struct json *j, const struct prove *p, const struct prove_outcome *o,
		      uint32_t at)
{
	json_open_object(j);
	json_put_bool(j, "is_with_first", p->is_with_first[at]);
	json_put_u64(j, "bare_cpu_ns", o->cpu[at].bare_ns);
	json_put_u64(j, "with_cpu_ns", o->cpu[at].with_ns);
	json_put_u64(j, "claim_ns", o->cpu[at].claim_ns);
	json_put_u64(j, "bare_wall_ns", o->wall[at].bare_ns);
	json_put_u64(j, "with_wall_ns", o->wall[at].with_ns);
	json_close(j);
}

static void json_outcome(struct json *j, const struct prove *p, const struct prove_outcome *o)
{
	const struct prove_found *f = &o->found;

	json_open_object(j);
	json_put_u64(j, "price_ppm", o->rung.price_ppm);
	json_put_bool(j, "is_dear", o->rung.is_dear);
	json_put_chars(j, "verdict", prove_word(f->verdict));
	json_slowdown(j, "slowdown", &f->slowdown);
	json_put_double(j, "claimed", f->claim);
	json_key(j, "more_pairs");
	if (f->verdict == PROVE_CANNOT_TELL && f->more_pairs > 0)
		json_u64(j, f->more_pairs);
	else
		json_null(j);
	json_slowdown(j, "wall", &o->later);
	json_put_u64(j, "own_cpu_ns", o->own_cpu_ns);
	json_put_u64(j, "label_cpu_ns", o->label_cpu_ns);
	json_put_u64(j, "elapsed_ns", o->elapsed_ns);
	json_key(j, "pairs");
	json_open_array(j);
	for (uint32_t i = 0; i < o->pairs; i++)
		json_pair(j, p, o, i);
	json_close(j);
	json_close(j);
}

int prove_print_json(struct app *app, const struct prove_opts *opts, const struct prove *p)
{
	struct json j;

	json_begin(&j, json_to_file, app->out, 3);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", PROVE_SCHEMA_VERSION);
	json_put_chars(&j, "instrument", opts->is_watch ? "watch" : "record");
	json_put_chars(&j, "command", opts->command[0]);
	json_put_u64(&j, "seed", opts->seed);
	json_put_chars(&j, "ended_by", p->ended_by);
	json_put_u64(&j, "run_cpu_ns", p->run_cpu_ns);
	json_key(&j, "prices");
	json_open_array(&j);
	for (size_t i = 0; i < PROVE_RUNGS; i++)
		json_outcome(&j, p, &p->outcomes[i]);
	json_close(&j);
	json_close(&j);
	return json_end(&j);
}
