/* inlines.c - inlined functions, remembered by address. */
#include "sense/inlines.h"
#include "sense/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"

#define FIRST_ROOM 64u

void inlines_open(struct inlines *in, int fd)
{
	in->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void stop(struct inlines *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}

void inlines_free(struct inlines *in)
{
	stop(in);
	for (size_t i = 0; i < in->room; i++)
		free(in->entries[i].frames);
	free(in->entries);
	*in = INLINES_EMPTY;
}

static size_t place_of(const struct inlines_entry *entries, size_t room, uint32_t pc)
{
	size_t at = (pc * UINT32_C(0x9e3779b1)) & (room - 1);

	while (entries[at].is_filled && entries[at].pc != pc)
		at = (at + 1) & (room - 1);
	return at;
}

static int widen(struct inlines *in)
{
	size_t room = in->room > 0 ? 2 * in->room : FIRST_ROOM;
	struct inlines_entry *wider;

	if (in->room > 0 && in->count < in->room / 2)
		return 0;
	wider = calloc(room, sizeof(*wider));
	if (wider == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < in->room; i++)
		if (in->entries[i].is_filled)
			wider[place_of(wider, room, in->entries[i].pc)] = in->entries[i];
	free(in->entries);
	in->entries = wider;
	in->room = room;
	return 0;
}

/* What one question brought. */
struct brought {
	const struct inlines_of *of;
	const struct frame *frames[PARSER_MAX_INLINED];
	size_t count;
};

static void take_inlined(void *owner, struct str name, struct str file, uint32_t line)
{
	struct brought *b = owner;
	const struct frame frame = { .kind = FRAME_INLINED,
				     .name = name,
				     .module = b->of->module,
				     .file = file,
				     .line = line };

	if (b->count < PARSER_MAX_INLINED)
		b->frames[b->count++] = naming_frame(b->of->names, &frame);
}

static uint64_t parser_ns(const struct inlines_of *of)
{
	struct parser_facts facts;

	parser_facts(of->parser, &facts);
	return facts.spent_ns;
}

/* Asks, at the price of `in`. As parser_read_inlined(). */
static int ask(struct inlines *in, uint32_t pc, struct brought *out)
{
	uint64_t own_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), others_ns = parser_ns(out->of);
	struct parser_file file = { .fd = in->fd };
	struct parser_inlined_at at = { .address = out->of->base + pc,
					.take = take_inlined,
					.owner = out };
	int rc = parser_file_identify(&file);

	if (rc == 0)
		rc = parser_read_inlined(out->of->parser, &file, &at);
	own_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
	in->own_ns += own_ns;
	others_ns = parser_ns(out->of) - others_ns;
	in->spent_ns += own_ns + others_ns;
	*out->of->all_ns += own_ns + others_ns;
	return rc;
}

/* Remembers what is inlined at `pc`. NULL: no memory. */
static struct inlines_entry *remember(struct inlines *in, uint32_t pc, const struct brought *b)
{
	const struct frame **frames = NULL;
	struct inlines_entry *entry;

	if (b->count > 0) {
		frames = calloc(b->count, sizeof(*frames));
		if (frames == NULL)
			return NULL;
		memcpy(frames, b->frames, b->count * sizeof(*frames));
	}
	entry = &in->entries[place_of(in->entries, in->room, pc)];
	*entry = (struct inlines_entry){ pc, (uint32_t)b->count, frames, true };
	in->count++;
	return entry;
}

struct inlines_found inlines_find(struct inlines *in, const struct inlines_of *of, uint32_t pc)
{
	const struct inlines_found nothing = { NULL, 0, false };
	struct brought brought = { .of = of, .count = 0 };
	struct inlines_entry *entry = NULL;
	int rc;

	if (in->room > 0)
		entry = &in->entries[place_of(in->entries, in->room, pc)];
	if (entry != NULL && entry->is_filled)
		return (struct inlines_found){ entry->frames, entry->count, false };
	if (in->fd < 0 || *of->all_ns > INLINES_MAX_ALL_NS || in->count >= INLINES_MAX_ADDRESSES ||
	    widen(in) < 0)
		return nothing;
	rc = ask(in, pc, &brought);
	if (rc == -EAGAIN)
		return (struct inlines_found){ NULL, 0, true };
	if ((rc < 0 && rc != -ENOENT) || in->spent_ns > INLINES_MAX_NS)
		stop(in); /* too much, or no debug information, or the parser died of it */
	entry = remember(in, pc, &brought);
	return entry != NULL ? (struct inlines_found){ entry->frames, entry->count, false }
			     : nothing;
}
