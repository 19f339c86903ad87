/* watch_calibrate.c - what libtare costs: the program of bodies is its host, and we are its recorder. */
#include "sense/watch_calibrate.h"

#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/mapping.h"
#include "sense/watch_bodies.h"

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

/* What the name's timed calls read as: the mean of all but the slowest twentieth, which were interrupted. The median would
 * jump between the steps of a coarse clock. 0: none was timed. */
static uint64_t floor_ps(struct mapping_reader *reader, const char *name)
{
	static uint32_t steps[BUCKET_COUNT];
	uint64_t all = 0, left, sum_ps = 0;

	if (!mapping_reader_histogram(reader, id_of(reader, name), steps))
		return 0;
	for (uint32_t at = 0; at < BUCKET_COUNT; at++)
		all += steps[at];
	left = all - all / 20;
	for (uint32_t at = 0; at < BUCKET_COUNT && left > 0; at++) {
		uint64_t middle_ps = (bucket_low_ns(at) + bucket_high_ns(at)) * PS_PER_NS / 2;
		uint64_t count = steps[at] < left ? steps[at] : left;

		sum_ps += middle_ps * count;
		left -= count;
	}
	return all > 0 ? sum_ps / (all - all / 20) : 0;
}

static uint64_t more(uint64_t than, uint64_t ps)
{
	return ps > than ? ps - than : 0;
}

static int measure(struct watch_bodies *bodies, const char *switched_off, uint32_t names,
		   struct watch_calibrated *out)
{
	enum { PLAIN, COUNTED, TIMED, TASK, FRAME, COUNT };
	struct watch_body_price prices[COUNT] = {
		[PLAIN] = { WATCH_BODY_PLAIN, 0 }, [COUNTED] = { WATCH_BODY_COUNTED, 0 },
		[TIMED] = { WATCH_BODY_TIMED, 0 }, [TASK] = { WATCH_BODY_TASK, 0 },
		[FRAME] = { WATCH_BODY_FRAME, 0 },
	};
	SCOPED(close_reader) struct mapping_reader *reader = NULL;
	struct watch_body_told told;
	uint64_t untimed_ps;
	int status =
		watch_bodies_call(bodies, WATCH_BODY_PLAIN, 1, &told); /* it has a mapping now */

	if (status == 0)
		status = mapping_reader_open(bodies->pid, &reader, NULL);
	if (status != 0)
		return status;
	if (watch_source_is_off(switched_off, "rdtsc"))
		mapping_reader_use_clock(reader);
	mapping_reader_start(reader, 1, UINT32_MAX, 0);
	status = prepare(bodies, reader, names);
	if (status == 0)
		status = watch_bodies_measure(bodies, prices, COUNT);
	if (status != 0)
		return status;
	untimed_ps = more(prices[PLAIN].ps, prices[COUNTED].ps);
	out->of[MAPPING_SCOPE].measured.untimed_ps = untimed_ps;
	out->of[MAPPING_SCOPE].measured.extra_ps =
		more(prices[PLAIN].ps + untimed_ps, prices[TIMED].ps);
	out->of[MAPPING_TASK].measured.untimed_ps = untimed_ps;
	out->of[MAPPING_TASK].measured.extra_ps = more(untimed_ps, prices[TASK].ps);
	out->of[MAPPING_FRAME].measured.untimed_ps = untimed_ps;
	out->of[MAPPING_FRAME].measured.extra_ps = more(untimed_ps, prices[FRAME].ps);
	out->of[MAPPING_SCOPE].floor_ps = floor_ps(reader, "timed");
	out->of[MAPPING_TASK].floor_ps = floor_ps(reader, "task");
	out->of[MAPPING_FRAME].floor_ps = floor_ps(reader, "frame");
	return 0;
}

int watch_calibrate_inside(const char *switched_off, uint32_t names, struct watch_calibrated *out)
{
	struct watch_bodies bodies = WATCH_BODIES_EMPTY;
	int status = watch_bodies_open(&bodies);

	for (int i = 0; i < 3; i++)
		out->of[i] = (struct watch_costs){ .assumed = watch_assumed_inside[i] };
	if (status == 0)
		status = measure(&bodies, switched_off, names, out);
	out->of[MAPPING_SCOPE].cpu_ns = watch_bodies_close(&bodies);
	return status;
}
