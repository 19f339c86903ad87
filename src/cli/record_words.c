/* record_words.c - what `tare record` says while it runs and when it ends. */
#include <stdio.h>

#include "cli/record.h"
#include "core/scoped.h"

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

static void lost_share(const struct session *s, char *out, size_t size)
{
	uint64_t seen = s->run.label.ticks + s->run.label.lost;

	if (s->run.label.lost == 0)
		snprintf(out, size, "lost 0");
	else
		snprintf(out, size, "lost %.2f %%",
			 100.0 * (double)s->run.label.lost / (double)seen);
}

static struct run_words words_of(const struct session *s, struct mono now)
{
	struct run_words words = { .now = now, .running_ppm = running_ppm(s, now) };
	char ticks[32], kept[32], slot[32];

	units_format_count(s->run.label.ticks, ticks, sizeof(ticks));
	units_format_count(s->run.label.kept, kept, sizeof(kept));
	units_format_duration(s->run.label.slot_ns, slot, sizeof(slot));
	snprintf(words.counted, sizeof(words.counted), "%s ticks, %s kept", ticks, kept);
	snprintf(words.axis, sizeof(words.axis), "slot %s", slot);
	lost_share(s, words.lost, sizeof(words.lost));
	return words;
}

void record_status(const void *session, struct mono now, unsigned columns, char *out, size_t size)
{
	const struct session *s = session;
	struct run_words words = words_of(s, now);

	run_status(&s->run, &words, columns, out, size);
}

void record_summary(const void *session)
{
	const struct session *s = session;
	struct run_words words = words_of(s, run_end(&s->run));

	run_summary(&s->run, &words);
}

void record_json(const void *session)
{
	const struct session *s = session;
	const struct label *l = &s->run.label;
	const struct run_number numbers[] = {
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

	run_json(&s->run, numbers, ARRAY_LEN(numbers));
}
