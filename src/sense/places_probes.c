/* places_probes.c - where the probes of one file go: by each function's own begin, then by all jumps of the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/places_code.h"
#include "sense/places_jumps.h"
#include "sense/places_search.h"

#define WINDOW_BYTES   (1u << 20)	  /* of code in memory */
#define MAX_BODY_BYTES (WINDOW_BYTES / 2) /* of a function in which we look for jumps by tables */
#define MAX_CODE_BYTES (UINT64_C(128) << 20) /* of a file whose jumps we look through */

struct window {
	int fd;
	uint8_t *bytes;
	uint64_t at; /* in the file */
	size_t length;
};

static void window_free(struct window *w)
{
	free(w->bytes);
}

static void ranges_free(struct places_range **ranges)
{
	free(*ranges);
}

static void move_to(struct window *w, uint64_t offset)
{
	ssize_t count = pread(w->fd, w->bytes, WINDOW_BYTES, (off_t)offset);

	w->at = offset;
	w->length = count > 0 ? (size_t)count : 0;
}

/* The bytes of the file at `offset`, at most `want`: fewer where the file ends. */
static const uint8_t *code_at(struct window *w, uint64_t offset, size_t want, size_t *out_known)
{
	bool is_inside = offset >= w->at && offset - w->at <= w->length;

	if (!is_inside || want > w->length - (size_t)(offset - w->at))
		move_to(w, offset);
	*out_known = w->length - (size_t)(offset - w->at);
	if (*out_known > want)
		*out_known = want;
	return w->bytes + (offset - w->at);
}

static void place_probe(struct window *w, const struct place_names *names, struct found *found)
{
	struct places_code code = { .offset = found->start, .next_symbol = found->next_symbol };
	struct places_probe probe;
	uint64_t offset, left;

	if (!place_names_offset(names, found->address, &offset, &left))
		return;
	if (found->bytes > left)
		found->bytes = 0; /* reaches out of its code: not to be believed */
	code.length = found->bytes;
	if (found->bytes > 0 && found->bytes < left)
		left = found->bytes;
	if (left > MAX_BODY_BYTES)
		left = MAX_BODY_BYTES;
	code.bytes = code_at(w, offset, (size_t)left, &code.known);
	probe = places_code_probe(&code);
	found->first = probe.first;
	found->offset = found->start + probe.skip;
}

/* Looks through all code of the file for jumps into the ranges. False: there is too much of it, or it cannot be read. */
static bool look_through(struct window *w, const struct place_names *names,
			 struct places_range *ranges, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < names->file.head.segment_count; i++)
		total += names->file.head.segments[i].file_bytes;
	if (total > MAX_CODE_BYTES)
		return false;
	for (size_t i = 0; i < names->file.head.segment_count; i++) {
		const struct segment *s = &names->file.head.segments[i];

		for (uint64_t at = 0; at < s->file_bytes;) {
			uint64_t left = s->file_bytes - at;

			move_to(w, s->file_offset + at);
			if (w->length == 0)
				return false;
			if (left > w->length)
				left = w->length;
			places_jumps_veto(w->bytes, (size_t)left, s->vaddr + at, ranges, count);
			at += left;
			if (at < s->file_bytes && left > PLACES_JUMP_BYTES)
				at -= PLACES_JUMP_BYTES;
		}
	}
	return true;
}

/* Takes back what a jump forbids. */
static int judge_moves(struct window *w, const struct place_names *names, struct found *found,
		       size_t count)
{
	SCOPED(ranges_free) struct places_range *ranges = calloc(count, sizeof(*ranges));
	size_t moved = 0, at = 0;
	bool is_known;

	if (ranges == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (found[i].offset != found[i].start)
			ranges[moved++] = (struct places_range){
				found[i].address,
				found[i].address + (found[i].offset - found[i].start), false
			};
	if (moved == 0)
		return 0;
	is_known = look_through(w, names, ranges, moved);
	for (size_t i = 0; i < count; i++) {
		if (found[i].offset == found[i].start)
			continue;
		if (!is_known || ranges[at].is_entered) {
			found[i].offset = found[i].start;
			found[i].first = PLACE_OTHER;
		}
		at++;
	}
	return 0;
}

int search_place_probes(struct search *s, size_t first, int fd, const struct place_names *names)
{
	SCOPED(window_free) struct window w = { .fd = fd, .bytes = malloc(WINDOW_BYTES) };

	if (w.bytes == NULL)
		return -ENOMEM;
	for (size_t i = first; i < s->count; i++)
		place_probe(&w, names, &s->found[i]);
	return s->count > first ? judge_moves(&w, names, s->found + first, s->count - first) : 0;
}
