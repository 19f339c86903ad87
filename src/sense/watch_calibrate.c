/* watch_calibrate.c - what libtare costs: the program of bodies is its host, and we are its recorder. */
#include "sense/watch_calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/mapping.h"
#include "sense/perf_open.h"
#include "sense/watch_bodies.h"

#define LAYOUTS 5

#define RESOLUTION_PS 200 /* what the place of code and stack does to a loop is more */

static void close_reader(struct mapping_reader **reader)
{
	mapping_reader_close(*reader);
}

/* The id of a name of ours; MAPPING_NAMES: there is none. */
static uint32_t id_of(const struct mapping_reader *reader, const char *name)
{
	char text[MAPPING_NAME_BYTES];
	enum mapping_kind kind;

	for (uint32_t id = 0; mapping_reader_name(reader, id, &kind, text); id++)
		if (strcmp(text, name) == 0)
			return id;
	return MAPPING_NAMES;
}

/* Calls each body, so that its name is there, and sets how often each is timed. */
static int prepare(struct watch_bodies *bodies, struct mapping_reader *reader, uint32_t names)
{
	static const uint32_t first[] = { WATCH_BODY_COUNTED, WATCH_BODY_TIMED, WATCH_BODY_FRAME };
	struct watch_body_told told;
	int status = 0;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]) && status == 0; i++)
		status = watch_bodies_call(bodies, first[i], 2, &told);
	if (status == 0)
		status = watch_bodies_call(bodies, WATCH_BODY_NAMES_OF, names, &told);
	if (status == 0)
		status = watch_bodies_call(bodies, WATCH_BODY_TASK, 2, &told);
	mapping_reader_set(reader, id_of(reader, "counted"), MAPPING_MAX_INTERVAL, UINT32_MAX);
	mapping_reader_set(reader, id_of(reader, "timed"), 1, UINT32_MAX);
	return status;
}

uint64_t watch_calibrate_floor_ps(const struct histogram *histogram)
{
	uint64_t counted = histogram->weight - histogram->weight / 20, left = counted, sum_ps = 0;

	for (uint32_t i = 0; i < histogram->count && left > 0; i++) {
		const struct histogram_step *step = &histogram->steps[i];
		uint64_t middle_ps =
			(bucket_low_ns(step->at) + bucket_high_ns(step->at)) * PS_PER_NS / 2;
		uint64_t count = step->weight < left ? step->weight : left;

		sum_ps += middle_ps * count;
		left -= count;
	}
	return counted > 0 ? sum_ps / counted : 0;
}

static uint64_t more(uint64_t than, uint64_t ps)
{
	return ps > than ? ps - than : 0;
}

enum { PLAIN, COUNTED, TIMED, TASK, FRAME, BODIES };

/* The fastest rounds, ps a call, by program, and the readings of all of them by enum mapping_kind. */
struct fastest {
	uint64_t ps[BODIES][LAYOUTS];
	struct histogram readings[3];
};

/* Measures in one program. */
static int measure(struct watch_bodies *bodies, const char *switched_off, uint32_t names,
		   struct fastest *fastest, uint32_t layout)
{
	static const char *const read[3] = {
		[MAPPING_SCOPE] = "timed", [MAPPING_TASK] = "task", [MAPPING_FRAME] = "frame"
	};
	struct watch_body_price prices[BODIES] = {
		[PLAIN] = { .body = WATCH_BODY_PLAIN }, [COUNTED] = { .body = WATCH_BODY_COUNTED },
		[TIMED] = { .body = WATCH_BODY_TIMED }, [TASK] = { .body = WATCH_BODY_TASK },
		[FRAME] = { .body = WATCH_BODY_FRAME },
	};
	SCOPED(close_reader) struct mapping_reader *reader = NULL;
	int status = mapping_reader_open(bodies->pid, &reader, NULL);

	if (status != 0)
		return status;
	if (perf_is_switched_off(switched_off, "rdtsc"))
		mapping_reader_use_clock(reader);
	mapping_reader_start(reader, 1, UINT32_MAX, 0);
	status = prepare(bodies, reader, names);
	if (status == 0)
		status = watch_bodies_measure(bodies, prices, BODIES);
	for (int i = 0; i < BODIES; i++)
		fastest->ps[i][layout] = prices[i].fastest_ps;
	for (int kind = 0; kind < 3 && status == 0; kind++)
		status = mapping_reader_add_histogram(reader, id_of(reader, read[kind]),
						      &fastest->readings[kind]);
	return status;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Scopes are counted, or counted and timed; of tasks and frames every run is timed. Of the programs the fastest tells what
 * a call takes without a watch, the middle one what it takes with: one program's luck does not make watching cheap. */
static void tell(struct fastest *fastest, struct watch_calibrated *out)
{
	uint64_t ps[BODIES], untimed_ps;

	for (int i = 0; i < BODIES; i++) {
		qsort(fastest->ps[i], LAYOUTS, sizeof(fastest->ps[i][0]), by_size);
		ps[i] = fastest->ps[i][i == PLAIN ? 0 : LAYOUTS / 2];
	}
	untimed_ps = more(ps[PLAIN], ps[COUNTED]);
	if (untimed_ps < RESOLUTION_PS)
		untimed_ps = 0; /* not to be told from nothing: unmeasured */
	for (int kind = 0; kind < 3; kind++) {
		out->of[kind].measured.untimed_ps = untimed_ps;
		out->of[kind].floor_ps = watch_calibrate_floor_ps(&fastest->readings[kind]);
	}
	out->of[MAPPING_SCOPE].measured.extra_ps = more(ps[PLAIN] + untimed_ps, ps[TIMED]);
	out->of[MAPPING_TASK].measured.extra_ps = more(untimed_ps, ps[TASK]);
	out->of[MAPPING_FRAME].measured.extra_ps = more(untimed_ps, ps[FRAME]);
}

int watch_calibrate_inside(const char *switched_off, uint32_t names, struct watch_calibrated *out)
{
	struct fastest fastest = { .readings = { HISTOGRAM_EMPTY } };
	uint64_t cpu_ns = 0;
	int status = 0;

	/* Where code and stack happen to lie makes a nanosecond: several programs, each laid out anew. */
	for (uint32_t i = 0; i < LAYOUTS && status == 0; i++) {
		struct watch_bodies bodies = WATCH_BODIES_EMPTY;

		status = watch_bodies_open(&bodies);
		if (status == 0)
			status = measure(&bodies, switched_off, names, &fastest, i);
		cpu_ns += watch_bodies_close(&bodies);
	}
	for (int kind = 0; kind < 3; kind++)
		out->of[kind] = (struct watch_costs){ .assumed = watch_assumed_inside[kind] };
	if (status == 0)
		tell(&fastest, out);
	out->of[MAPPING_SCOPE].cpu_ns = cpu_ns;
	for (int kind = 0; kind < 3; kind++)
		histogram_free(&fastest.readings[kind]);
	return status;
}
