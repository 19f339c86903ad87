/* run_words.c - what every instrument says while it runs and when it ends. What it counted is its own. */
#include <stdio.h>
#include <string.h>

#include "cli/run.h"
#include "core/scoped.h"
#include "format/json.h"

#define SUMMARY_SCHEMA_VERSION 1
#define WIDE_COLUMNS	       125u /* room for the file's size and the axis of time */
#define HINT_COLUMNS	       72u

static void append(char *out, size_t size, const char *part)
{
	size_t used = strlen(out);

	snprintf(out + used, size - used, "%s%s", used > 0 ? " · " : "", part);
}

static void put_file(const struct run *r, char *out, size_t size)
{
	char room[32];

	units_format_size_of(r->file_bytes, r->opts->max_bytes, room, sizeof(room));
	snprintf(out, size, "file %s for ever", room);
}

static void put_price(const struct run *r, const struct run_words *words, char *out, size_t size)
{
	char spent[32], limit[32];

	units_format_price(words->running_ppm, spent, sizeof(spent));
	units_format_price(r->opts->price_ppm, limit, sizeof(limit));
	snprintf(out, size, "price %s of %s", spent, limit);
}

static void put_paused(const struct run *r, struct mono now, char *out, size_t size)
{
	char since[32];

	units_format_duration(mono_elapsed_ns(r->paused_since, now), since, sizeof(since));
	snprintf(out, size, "saves held up by a reader for %s", since);
}

void run_status(const struct run *r, const struct run_words *words, unsigned columns, char *out,
		size_t size)
{
	bool is_wide = columns == 0 || columns >= WIDE_COLUMNS;
	char clock[32], part[96];

	out[0] = '\0';
	units_format_clock(mono_elapsed_ns(r->start, words->now), clock, sizeof(clock));
	append(out, size, clock);
	append(out, size, words->counted);
	put_price(r, words, part, sizeof(part));
	append(out, size, part);
	if (is_wide) {
		put_file(r, part, sizeof(part));
		append(out, size, part);
		append(out, size, words->axis);
	}
	if (r->is_paused)
		put_paused(r, words->now, part, sizeof(part));
	append(out, size, r->is_paused ? part : words->lost);
	if (columns == 0 || columns >= HINT_COLUMNS)
		append(out, size, "Ctrl-C ends");
}

struct mono run_end(const struct run *r)
{
	return (struct mono){ r->start.ns + r->label.elapsed_ns };
}

void run_summary(const struct run *r, const struct run_words *words)
{
	const struct label *l = &r->label;
	char clock[32], all[32], start[32], file[96];

	units_format_clock(l->elapsed_ns, clock, sizeof(clock));
	units_format_price(run_share_ppm(l->own_cpu_ns + l->kernel_ns, l->elapsed_ns), all,
			   sizeof(all));
	units_format_price(run_share_ppm(l->start_ns, l->elapsed_ns), start, sizeof(start));
	put_file(r, file, sizeof(file));
	fprintf(r->app->talk, "tare %s: %s · %s · price %s, of which %s to start · %s · %s\n",
		r->instrument->name, clock, words->counted, all, start, file, words->lost);
	fprintf(r->app->talk, "%s\nlook: tare report %s\n", r->path, r->path);
}

void run_json(const struct run *r, const struct run_number *numbers, size_t count)
{
	const struct label *l = &r->label;
	struct json j;

	json_begin(&j, json_to_file, r->app->out, 0);
	json_open_object(&j);
	json_key(&j, "schema_version");
	json_u64(&j, SUMMARY_SCHEMA_VERSION);
	json_key(&j, "file");
	json_chars(&j, r->path);
	json_key(&j, "ended_by");
	json_str(&j, l->ended_by);
	json_key(&j, "exit_status");
	if (l->exit_status < 0)
		json_null(&j);
	else
		json_i64(&j, l->exit_status);
	for (size_t i = 0; i < count; i++) {
		json_key(&j, numbers[i].key);
		json_u64(&j, numbers[i].value);
	}
	json_close(&j);
	json_end(&j);
}
