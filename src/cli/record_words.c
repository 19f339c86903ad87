/* record_words.c - what `tare record` says while it runs and when it ends. */
#include <stdio.h>
#include <string.h>

#include "cli/record.h"
#include "core/scoped.h"
#include "format/json.h"

#define SUMMARY_SCHEMA_VERSION 1

/* What measuring takes, in millionths of one CPU, as the price is kept: saves and start-up count over ten minutes. */
static uint64_t running_ppm(const struct session *s, struct mono now)
{
	uint64_t elapsed_ns = mono_elapsed_ns(s->run.start, now),
		 spread_ns = PRICE_SPREAD_WINDOWS * NS_PER_S;
	const struct label *l = &s->run.label;

	return run_share_ppm(l->sample_ns + l->kernel_ns + l->fixed_ns, elapsed_ns) +
	       run_share_ppm(l->save_ns + l->start_ns,
			     elapsed_ns > spread_ns ? elapsed_ns : spread_ns);
}

static void append(char *out, size_t size, const char *part)
{
	size_t used = strlen(out);

	snprintf(out + used, size - used, "%s%s", used > 0 ? " · " : "", part);
}

static void lost_share(const struct session *s, char *out, size_t size)
{
	uint64_t seen = s->run.label.ticks + s->run.label.lost;

	if (s->run.label.lost == 0)
		snprintf(out, size, "lost 0");
	else
		snprintf(out, size, "lost %.2f %%",
			 100.0 * (double)s->run.label.lost / (double)seen);
}

/* The parts of the line, so that the middle can go on a narrow terminal. */
struct status_parts {
	char clock[32], ticks[96], price[96], file[96], slot[48], lost[32], paused[80];
};

static void fill_parts(const struct session *s, struct mono now, struct status_parts *p)
{
	char a[32], b[32];

	units_format_clock(mono_elapsed_ns(s->run.start, now), p->clock, sizeof(p->clock));
	units_format_count(s->run.label.ticks, a, sizeof(a));
	units_format_count(s->run.label.kept, b, sizeof(b));
	snprintf(p->ticks, sizeof(p->ticks), "%s ticks, %s kept", a, b);
	units_format_price(running_ppm(s, now), a, sizeof(a));
	units_format_price(s->run.opts->price_ppm, b, sizeof(b));
	snprintf(p->price, sizeof(p->price), "price %s of %s", a, b);
	units_format_size_of(s->run.file_bytes, s->run.opts->max_bytes, a, sizeof(a));
	snprintf(p->file, sizeof(p->file), "file %s for ever", a);
	units_format_duration(s->run.label.slot_ns, a, sizeof(a));
	snprintf(p->slot, sizeof(p->slot), "slot %s", a);
	lost_share(s, p->lost, sizeof(p->lost));
	p->paused[0] = '\0';
	if (s->run.is_paused) {
		units_format_duration(mono_elapsed_ns(s->run.paused_since, now), a, sizeof(a));
		snprintf(p->paused, sizeof(p->paused), "saves held up by a reader for %s", a);
	}
}

void record_status(const void *session, struct mono now, unsigned columns, char *out, size_t size)
{
	const struct session *s = session;
	bool is_wide = columns == 0 || columns >= 125;
	struct status_parts p;

	fill_parts(s, now, &p);
	out[0] = '\0';
	append(out, size, p.clock);
	append(out, size, p.ticks);
	append(out, size, p.price);
	if (is_wide) {
		append(out, size, p.file);
		append(out, size, p.slot);
	}
	if (p.paused[0] != '\0')
		append(out, size, p.paused);
	else
		append(out, size, p.lost);
	if (columns == 0 || columns >= 72)
		append(out, size, "Ctrl-C ends");
}

void record_summary(const void *session)
{
	const struct session *s = session;
	struct mono end = { s->run.start.ns + s->run.label.elapsed_ns };
	const struct label *l = &s->run.label;
	char all[32], start[32];
	struct status_parts p;

	fill_parts(s, end, &p);
	units_format_price(run_share_ppm(l->own_cpu_ns + l->kernel_ns, l->elapsed_ns), all,
			   sizeof(all));
	units_format_price(run_share_ppm(l->start_ns, l->elapsed_ns), start, sizeof(start));
	snprintf(p.price, sizeof(p.price), "price %s, of which %s to start", all, start);
	fprintf(s->run.app->talk, "tare record: %s · %s · %s · %s · %s\n", p.clock, p.ticks,
		p.price, p.file, p.lost);
	fprintf(s->run.app->talk, "%s\nlook: tare report %s\n", s->run.path, s->run.path);
}

void record_json(const void *session)
{
	const struct session *s = session;
	const struct label *l = &s->run.label;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "elapsed_ns", l->elapsed_ns },
		{ "ticks", l->ticks },
		{ "kept", l->kept },
		{ "lost", l->lost },
		{ "clock_ns", l->clock_ns },
		{ "weight_ns", l->weight_ns },
		{ "own_cpu_ns", l->own_cpu_ns },
		{ "kernel_ns", l->kernel_ns },
		{ "price_limit_ppm", l->price_limit_ppm },
		{ "file_bytes", s->run.file_bytes },
		{ "size_limit_bytes", l->size_limit_bytes },
	};
	struct json j;

	json_begin(&j, json_to_file, s->run.app->out, 0);
	json_open_object(&j);
	json_key(&j, "schema_version");
	json_u64(&j, SUMMARY_SCHEMA_VERSION);
	json_key(&j, "file");
	json_chars(&j, s->run.path);
	json_key(&j, "ended_by");
	json_str(&j, l->ended_by);
	json_key(&j, "exit_status");
	if (l->exit_status < 0)
		json_null(&j);
	else
		json_i64(&j, l->exit_status);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		json_key(&j, numbers[i].key);
		json_u64(&j, numbers[i].value);
	}
	json_close(&j);
	json_end(&j);
}
