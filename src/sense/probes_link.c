/* probes_link.c - attaches and detaches. All points of a file are in one link; one that is to be detached alone, in slices,
 * leaves it, and has one of its own from then on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/scoped.h"
#include "sense/probes_parts.h"

#define HALVINGS 32u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void keep_slowest(uint64_t *slowest_ns, uint64_t since_ns)
{
	uint64_t took_ns = now_ns() - since_ns;

	if (took_ns > *slowest_ns)
		*slowest_ns = took_ns;
}

static void free_offsets(uint64_t **offsets)
{
	free(*offsets);
}

static void free_numbers(uint32_t **numbers)
{
	free(*numbers);
}

/* ---- one link ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Entries end first: a return without an entry says nothing. */
static void close_link(struct watch_source *s, struct probes_link *link)
{
	uint64_t since_ns = now_ns();

	if (!link->is_open)
		return;
	close_fd(&link->entry_fd);
	bpf_link__destroy(link->entry);
	close_fd(&link->return_fd);
	bpf_link__destroy(link->leave);
	*link = PROBES_LINK_EMPTY;
	keep_slowest(&s->detach_ns, since_ns);
}

static uint64_t cookie_of(const struct watch_source *s, uint32_t point, uint32_t number)
{
	return (uint64_t)number << 32 | point | (s->points[point].is_counted ? WATCH_COUNTED : 0);
}

/* What is not timed gets no return probe; a frame ends at the next entry. */
static bool has_return(const struct probes_point *point)
{
	return !point->is_counted && !point->is_frame;
}

/* Fills offsets and cookies, those that have no return probe last; how many have. */
static uint32_t list_spots(const struct watch_source *s, const uint32_t *points, uint32_t count,
			   uint32_t number, uint64_t *offsets)
{
	uint64_t *cookies = offsets + count;
	uint32_t timed = 0, at = 0;

	for (int is_last = 0; is_last < 2; is_last++) {
		for (uint32_t i = 0; i < count; i++) {
			if (has_return(&s->points[points[i]]) != (is_last == 0))
				continue;
			offsets[at] = s->points[points[i]].place->offset;
			cookies[at++] = cookie_of(s, points[i], number);
		}
		timed = is_last == 0 ? at : timed;
	}
	return timed;
}

static int open_multi(const struct watch_source *s, const uint32_t *points, uint32_t count,
		      struct probes_link *link)
{
	SCOPED(free_offsets) uint64_t *numbers = calloc(2 * (size_t)count, sizeof(*numbers));
	uint32_t timed;
	struct probes_multi multi = { .program = bpf_program__fd(probes_program(s, false)),
				      .type = s->mode == PROBES_SESSION ? PROBES_TYPE_SESSION
									: PROBES_TYPE_MULTI,
				      .pid = s->pid,
				      .path = s->points[points[0]].place->path,
				      .offsets = numbers,
				      .cookies = numbers + count,
				      .count = count };

	if (numbers == NULL)
		return -ENOMEM;
	timed = list_spots(s, points, count, link->number, numbers);
	if (s->mode == PROBES_MULTI && timed > 0) {
		struct probes_multi leave = multi;

		leave.count = timed;
		leave.program = bpf_program__fd(probes_program(s, true));
		leave.is_return = true;
		link->return_fd = probes_multi_create(&leave);
		if (link->return_fd < 0)
			return link->return_fd;
	}
	link->entry_fd = probes_multi_create(&multi);
	if (link->entry_fd < 0) {
		close_fd(&link->return_fd);
		return link->entry_fd;
	}
	return 0;
}

static int open_single(const struct watch_source *s, uint32_t point, struct probes_link *link)
{
	const struct place *place = s->points[point].place;
	uint64_t cookie = cookie_of(s, point, link->number);
	LIBBPF_OPTS(bpf_uprobe_opts, entry, .bpf_cookie = cookie);
	LIBBPF_OPTS(bpf_uprobe_opts, leave, .bpf_cookie = cookie, .retprobe = true);

	if (has_return(&s->points[point])) {
		link->leave = bpf_program__attach_uprobe_opts(probes_program(s, true), -1,
							      place->path, place->offset, &leave);
		if (link->leave == NULL)
			return -errno;
	}
	link->entry = bpf_program__attach_uprobe_opts(probes_program(s, false), -1, place->path,
						      place->offset, &entry);
	if (link->entry != NULL)
		return 0;

	int status = -errno;

	bpf_link__destroy(link->leave);
	return status;
}

/* A place for a new link in the table. NULL: no memory. */
static struct probes_link *link_add(struct watch_source *s)
{
	if (s->link_count == s->link_room) {
		uint32_t room = s->link_room == 0 ? 16 : 2 * s->link_room;
		struct probes_link *links = realloc(s->links, room * sizeof(*links));

		if (links == NULL)
			return NULL;
		s->links = links;
		s->link_room = room;
	}
	s->links[s->link_count] = PROBES_LINK_EMPTY;
	return &s->links[s->link_count];
}

/* Attaches `count` points of one file together; they are the new link's. */
static int open_link(struct watch_source *s, const uint32_t *points, uint32_t count,
		     uint32_t number)
{
	uint64_t since_ns = now_ns();
	struct probes_link *link = link_add(s);

	if (link == NULL)
		return -ENOMEM;
	link->number = number;

	int status = s->mode == PROBES_SINGLE ? open_single(s, points[0], link)
					      : open_multi(s, points, count, link);

	if (status < 0)
		return status;
	link->is_open = true;
	for (uint32_t i = 0; i < count; i++)
		s->points[points[i]].link = s->link_count;
	s->link_count++;
	keep_slowest(&s->attach_ns, since_ns);
	return 0;
}

/* ---- all of them ---- */

static const char *why(int status)
{
	switch (status) {
	case -EPERM:
	case -EACCES:
		return "not permitted";
	case -ESRCH:
		return "the process is gone";
	case -ENOENT:
		return "its file is gone";
	case -EINVAL:
	case -EIO:
		return "the kernel takes no probe at this place";
	default:
		return strerror(-status);
	}
}

/* Attaches some points of one file; when the kernel refuses all for the sake of one, halves find which. */
static int attach_some(struct watch_source *s, const uint32_t *points, uint32_t count)
{
	struct {
		uint32_t from, count;
	} todo[HALVINGS] = { { 0, count } };
	uint32_t left = 1;

	while (left > 0) {
		uint32_t from = todo[--left].from, some = todo[left].count;
		int status = open_link(s, points + from, some, ++s->link_number);

		if (status == 0)
			continue;
		if (status == -ENOMEM)
			return status;
		if (some == 1) {
			struct probes_point *point = &s->points[points[from]];

			snprintf(point->why_not, sizeof(point->why_not), "%s", why(status));
			continue;
		}
		todo[left].from = from + some / 2;
		todo[left++].count = some - some / 2;
		todo[left].from = from;
		todo[left++].count = some / 2;
	}
	return 0;
}

/* The next file's points, from `*at` on, in `out`; how many. */
static uint32_t next_file(struct watch_source *s, uint32_t *at, uint32_t *out)
{
	const char *path = NULL;
	uint32_t count = 0;

	for (uint32_t i = *at; i < s->point_count; i++) {
		struct probes_point *point = &s->points[i];

		if (point->link != NO_LINK || point->why_not[0] != '\0')
			continue;
		if (path == NULL) {
			path = point->place->path;
			*at = i;
		}
		if (strcmp(path, point->place->path) == 0 &&
		    (count == 0 || s->mode != PROBES_SINGLE))
			out[count++] = i;
	}
	return count;
}

int probes_attach_all(struct watch_source *s)
{
	SCOPED(free_numbers) uint32_t *points = calloc(s->point_count, sizeof(*points));
	uint32_t at = 0, count;

	if (points == NULL)
		return -ENOMEM;
	while ((count = next_file(s, &at, points)) > 0) {
		int status = attach_some(s, points, count);

		if (status < 0)
			return status;
	}
	return 0;
}

void probes_detach_all(struct watch_source *s)
{
	for (uint32_t i = 0; i < s->link_count; i++)
		close_link(s, &s->links[i]);
	free(s->links);
	s->links = NULL;
	s->link_count = s->link_room = 0;
	for (uint32_t i = 0; i < s->point_count; i++)
		s->points[i].link = NO_LINK;
}

/* ---- one of them ---- */

static int refused(const struct watch_source *s, uint32_t point, int status, const char *verb,
		   struct err *err)
{
	const struct place *place = s->points[point].place;

	return err_set(err, status, "cannot %s '%.*s': %s", verb, (int)place->name.len,
		       place->name.bytes, why(status));
}

int probes_attach_one(struct watch_source *s, uint32_t point, struct err *err)
{
	int status;

	if (s->points[point].link != NO_LINK)
		return 0;
	status = open_link(s, &point, 1, ++s->link_number);
	return status < 0 ? refused(s, point, status, "attach", err) : 0;
}

/* The others of a point's link, in `out`; how many. */
static uint32_t others_of(const struct watch_source *s, uint32_t point, uint32_t *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->point_count; i++)
		if (i != point && s->points[i].link == s->points[point].link)
			out[count++] = i;
	return count;
}

static void set_relink(struct watch_source *s, const uint32_t *points, uint32_t count,
		       uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(&s->orders[points[i]].relink, number, __ATOMIC_SEQ_CST);
}

/* Moves points to a link of their own. While the old one is there too each hit comes twice, and the programs are told so. */
static int move_others(struct watch_source *s, const uint32_t *points, uint32_t count)
{
	uint32_t number = ++s->link_number;
	int status;

	set_relink(s, points, count, number);
	status = open_link(s, points, count, number);
	if (status < 0)
		set_relink(s, points, count, 0);
	return status;
}

/* Calls that are still open now will never be seen to end. */
static void give_up_open(struct watch_source *s, uint32_t point)
{
	__atomic_fetch_add(&s->orders[point].epoch, 1, __ATOMIC_SEQ_CST);
	s->points[point].given_up += probes_read_open(s, point);
}

int probes_detach_one(struct watch_source *s, uint32_t point, struct err *err)
{
	SCOPED(free_numbers) uint32_t *others = calloc(s->point_count, sizeof(*others));
	uint32_t link = s->points[point].link;
	uint32_t count;

	if (link == NO_LINK)
		return 0;
	if (others == NULL)
		return refused(s, point, -ENOMEM, "detach", err);
	count = others_of(s, point, others);
	if (count > 0) {
		int status = move_others(s, others, count);

		if (status < 0)
			return refused(s, point, status, "detach", err);
	}
	close_link(s, &s->links[link]);
	set_relink(s, others, count, 0);
	s->points[point].link = NO_LINK;
	give_up_open(s, point);
	return 0;
}
