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
#include "sense/clock.h"
#include "sense/probes_parts.h"

#define HALVINGS 32u

static void keep_slowest(uint64_t *slowest_ns, uint64_t since_ns)
{
	uint64_t took_ns = clock_read_ns(CLOCK_MONOTONIC) - since_ns;

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

static uint64_t cookie_of(const struct watch_source *s, uint32_t point, uint32_t number)
{
	return (uint64_t)number << 32 | point | (s->points[point].is_counted ? WATCH_COUNTED : 0);
}

enum probes_end probes_end_of(const struct probes_point *point)
{
	if (point->is_counted || point->is_frame)
		return PROBES_END_NONE;
	return point->exits.count > 0 ? PROBES_END_EXITS : PROBES_END_RETURN;
}

/* One multi link of several that make a struct probes_link: of the points whose end is one of `ends`. */
struct kind {
	uint32_t ends; /* bits by enum probes_end */
	bool is_end;   /* at exits or returns, else at entries */
	uint32_t type;
	int *fd;
};

static uint32_t bit(enum probes_end end)
{
	return 1u << end;
}

/* Fills offsets, cookies behind them; how many. `room` of each. */
static uint32_t list_spots(const struct watch_source *s, const uint32_t *points, uint32_t count,
			   const struct kind *kind, uint64_t *offsets, size_t room, uint32_t number)
{
	uint64_t *cookies = offsets + room;
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct probes_point *point = &s->points[points[i]];
		enum probes_end end = probes_end_of(point);
		bool is_at_exits = kind->is_end && end == PROBES_END_EXITS;

		if ((kind->ends & bit(end)) == 0)
			continue;
		for (uint32_t k = 0; k < (is_at_exits ? point->exits.count : 1); k++) {
			offsets[at] = is_at_exits ? point->exits.offsets[k] : point->place->offset;
			cookies[at++] = cookie_of(s, points[i], number);
		}
	}
	return at;
}

static int open_kind(const struct watch_source *s, const uint32_t *points, uint32_t count,
		     const struct kind *kind, uint32_t number)
{
	size_t room = (size_t)count * EXITS_MOST;
	SCOPED(free_offsets) uint64_t *numbers = calloc(2 * room, sizeof(*numbers));
	enum probes_end end =
		kind->ends == bit(PROBES_END_EXITS) ? PROBES_END_EXITS : PROBES_END_RETURN;
	struct probes_multi multi = { .program =
					      bpf_program__fd(probes_program(s, end, kind->is_end)),
				      .type = kind->type,
				      .is_return = kind->is_end && end == PROBES_END_RETURN,
				      .pid = s->pid,
				      .path = s->points[points[0]].place->path,
				      .offsets = numbers,
				      .cookies = numbers + room };

	if (numbers == NULL)
		return -ENOMEM;
	multi.count = list_spots(s, points, count, kind, numbers, room, number);
	if (multi.count == 0)
		return 0;
	*kind->fd = probes_multi_create(&multi);
	return *kind->fd < 0 ? *kind->fd : 0;
}

static void close_fds(struct probes_link *link)
{
	close_fd(&link->entry_fd);
	close_fd(&link->plain_fd);
	close_fd(&link->return_fd);
	close_fd(&link->exits_fd);
}

/* Ends before entries, so that no entry waits for an end that cannot come. */
static int open_multi(const struct watch_source *s, const uint32_t *points, uint32_t count,
		      struct probes_link *link)
{
	bool is_session = s->mode == PROBES_SESSION;
	uint32_t by_return = bit(PROBES_END_RETURN), by_exits = bit(PROBES_END_EXITS);
	const struct kind kinds[] = {
		{ by_exits, true, PROBES_TYPE_MULTI, &link->exits_fd },
		{ is_session ? 0 : by_return, true, PROBES_TYPE_MULTI, &link->return_fd },
		{ by_exits, false, PROBES_TYPE_MULTI, &link->plain_fd },
		{ by_return | bit(PROBES_END_NONE), false,
		  is_session ? PROBES_TYPE_SESSION : PROBES_TYPE_MULTI, &link->entry_fd },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		int status = open_kind(s, points, count, &kinds[i], link->number);

		if (status == 0)
			continue;
		close_fds(link);
		return status;
	}
	return 0;
}

static void close_singles(struct probes_link *link)
{
	bpf_link__destroy(link->entry);
	bpf_link__destroy(link->leave);
	for (uint32_t i = 0; i < EXITS_MOST; i++)
		bpf_link__destroy(link->exits[i]);
}

static struct bpf_link *open_one(const struct watch_source *s, uint32_t point, uint64_t offset,
				 bool is_end, uint32_t number)
{
	enum probes_end end = probes_end_of(&s->points[point]);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie_of(s, point, number),
		    .retprobe = is_end && end == PROBES_END_RETURN);

	return bpf_program__attach_uprobe_opts(probes_program(s, end, is_end), -1,
					       s->points[point].place->path, offset, &opts);
}

static int open_single(const struct watch_source *s, uint32_t point, struct probes_link *link)
{
	const struct probes_point *p = &s->points[point];
	bool is_open = true;

	if (probes_end_of(p) == PROBES_END_RETURN) {
		link->leave = open_one(s, point, p->place->offset, true, link->number);
		is_open = link->leave != NULL;
	}
	for (uint32_t i = 0; is_open && i < p->exits.count; i++) {
		link->exits[i] = open_one(s, point, p->exits.offsets[i], true, link->number);
		is_open = link->exits[i] != NULL;
	}
	if (is_open)
		link->entry = open_one(s, point, p->place->offset, false, link->number);
	if (link->entry != NULL)
		return 0;

	int status = -errno;

	close_singles(link);
	return status;
}

/* Entries end first: a return without an entry says nothing. */
static void close_link(struct watch_source *s, struct probes_link *link)
{
	uint64_t since_ns = clock_read_ns(CLOCK_MONOTONIC);

	if (!link->is_open)
		return;
	close_fds(link);
	close_singles(link);
	*link = PROBES_LINK_EMPTY;
	keep_slowest(&s->detach_ns, since_ns);
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
	uint64_t since_ns = clock_read_ns(CLOCK_MONOTONIC);
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
