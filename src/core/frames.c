/* frames.c - own time by a stack of open scopes: what passes between two events belongs to the innermost. */
#include "core/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int frames_open(struct frames *frames, uint64_t slow_ns, uint64_t seed)
{
	struct frames_frame *kept = calloc(FRAMES_MOST_KEPT, sizeof(*kept));

	if (kept == NULL)
		return -ENOMEM;
	*frames = (struct frames){ .slow_ns = slow_ns, .kept = kept, .most = FRAMES_MOST_KEPT };
	rng_seed(&frames->rng, seed);
	return 0;
}

void frames_close(struct frames *frames)
{
	histogram_free(&frames->durations);
	free(frames->kept);
	*frames = (struct frames){ 0 };
}

/* Puts a part in its place among the largest; the smallest falls into the rest. */
static void place_part(struct frames_frame *frame, struct frames_part part)
{
	uint32_t at = frame->part_count;

	if (at == FRAMES_MOST_PARTS) {
		if (part.ns <= frame->parts[at - 1].ns) {
			frame->rest_ns += part.ns;
			return;
		}
		frame->rest_ns += frame->parts[--at].ns;
	} else {
		frame->part_count++;
	}
	for (; at > 0 && frame->parts[at - 1].ns < part.ns; at--)
		frame->parts[at] = frame->parts[at - 1];
	frame->parts[at] = part;
}

struct frames_frame frames_make(uint64_t start_ns, uint64_t duration_ns, const uint64_t *own_ns,
				uint32_t functions)
{
	struct frames_frame frame = { .start_ns = start_ns, .duration_ns = duration_ns };
	unsigned __int128 sum = 0;
	uint64_t parts_ns = 0;

	for (uint32_t i = 0; i < functions; i++)
		sum += own_ns[i];
	frame.is_scaled = sum > duration_ns;
	for (uint32_t i = 0; i < functions; i++) {
		struct frames_part part = { own_ns[i], i };

		if (frame.is_scaled)
			part.ns = (uint64_t)((unsigned __int128)part.ns * duration_ns / sum);
		if (part.ns == 0)
			continue;
		parts_ns += part.ns;
		place_part(&frame, part);
	}
	frame.other_ns = duration_ns - parts_ns;
	return frame;
}

#define NO_PLACE UINT32_MAX

/* A slow frame that is not among the worst: every one of them is kept with the same chance. Returns the place that it or
 * another one left; NO_PLACE: none did. */
static uint32_t offer(struct frames *frames, const struct frames_frame *frame)
{
	const uint32_t room = frames->most - FRAMES_WORST;
	uint64_t at;
	struct frames_frame *sample = frames->kept + FRAMES_WORST;

	frames->offered++;
	if (frames->sample_count < room) {
		sample[frames->sample_count++] = *frame;
		return NO_PLACE;
	}
	at = rng_below(&frames->rng, frames->offered);
	if (at >= room)
		return frame->place;

	uint32_t left = sample[at].place;

	sample[at] = *frame;
	if (frame->place == NO_PLACE)
		sample[at].place = left;
	return left;
}

static void keep_slow(struct frames *frames, const struct frames_frame *frame)
{
	uint32_t at = frames->worst_count, kept = at + frames->sample_count;
	struct frames_frame fresh = *frame;

	fresh.place = kept < frames->most ? kept : NO_PLACE;
	if (at == FRAMES_WORST) {
		if (frame->duration_ns <= frames->kept[at - 1].duration_ns) {
			(void)offer(frames, &fresh);
			return;
		}

		uint32_t left = offer(frames, &frames->kept[--at]);

		if (fresh.place == NO_PLACE)
			fresh.place = left;
	} else {
		frames->worst_count++;
	}
	for (; at > 0 && frames->kept[at - 1].duration_ns < frame->duration_ns; at--)
		frames->kept[at] = frames->kept[at - 1];
	frames->kept[at] = fresh;
}

int frames_add(struct frames *frames, const struct frames_frame *frame)
{
	int status = histogram_add(&frames->durations, bucket_of(frame->duration_ns), 1);

	if (status < 0)
		return status;
	frames->count++;
	frames->total_ns += frame->duration_ns;
	if (frame->duration_ns > frames->max_ns)
		frames->max_ns = frame->duration_ns;
	frames->scaled += frame->is_scaled;
	if (frame->duration_ns >= frames->slow_ns) {
		frames->slow++;
		keep_slow(frames, frame);
	}
	return 0;
}

const struct frames_frame *frames_kept(const struct frames *frames, uint32_t i)
{
	if (i < frames->worst_count)
		return &frames->kept[i];
	i -= frames->worst_count;
	return i < frames->sample_count ? &frames->kept[FRAMES_WORST + i] : NULL;
}

int frames_thread_open(struct frames_thread *thread, uint32_t functions)
{
	if (functions == 0)
		return -EINVAL;

	uint64_t *own_ns = calloc(functions, sizeof(*own_ns));

	uint32_t *deep = calloc(functions, sizeof(*deep));

	if (own_ns == NULL || deep == NULL) {
		free(own_ns);
		free(deep);
		return -ENOMEM;
	}
	*thread = (struct frames_thread){ .own_ns = own_ns, .deep = deep, .functions = functions };
	return 0;
}

void frames_thread_close(struct frames_thread *thread)
{
	free(thread->own_ns);
	free(thread->deep);
	*thread = (struct frames_thread){ 0 };
}

/* What has passed since the last event belongs to the innermost open scope. False: the clock went back. */
static bool pass_time(struct frames_thread *thread, uint64_t now_ns)
{
	if (now_ns < thread->last_ns) {
		thread->backwards++;
		return false;
	}
	if (thread->depth > 0)
		thread->own_ns[thread->open[thread->depth - 1]] += now_ns - thread->last_ns;
	thread->last_ns = now_ns;
	return true;
}

void frames_enter(struct frames_thread *thread, uint32_t function, uint64_t now_ns)
{
	if (function >= thread->functions)
		return;
	(void)pass_time(thread, now_ns); /* a reading that went back still enters */
	if (thread->depth == FRAMES_MOST_DEPTH) {
		thread->deep[function]++;
		thread->too_deep++;
		thread->passed_over++;
		return;
	}
	thread->open[thread->depth++] = function;
}

void frames_leave(struct frames_thread *thread, uint32_t function, uint64_t now_ns)
{
	uint32_t depth = thread->depth;

	if (function >= thread->functions)
		return;
	(void)pass_time(thread, now_ns);
	if (thread->deep[function] > 0) {
		thread->deep[function]--; /* the deepest ones leave first */
		thread->too_deep--;
		return;
	}
	while (depth > 0 && thread->open[depth - 1] != function)
		depth--;
	if (depth == 0) {
		thread->stray++;
		return;
	}
	thread->unclosed += thread->depth - depth + thread->too_deep;
	if (thread->too_deep > 0)
		memset(thread->deep, 0, thread->functions * sizeof(*thread->deep));
	thread->too_deep = 0;
	thread->depth = depth - 1;
}

bool frames_mark(struct frames_thread *thread, uint64_t now_ns, struct frames_frame *out_frame)
{
	bool is_forward = pass_time(thread, now_ns);
	bool has_frame = thread->has_started && is_forward;

	if (!is_forward)
		return false;
	if (has_frame)
		*out_frame = frames_make(thread->start_ns, now_ns - thread->start_ns,
					 thread->own_ns, thread->functions);
	memset(thread->own_ns, 0, thread->functions * sizeof(*thread->own_ns));
	thread->start_ns = now_ns;
	thread->has_started = true;
	return has_frame;
}
