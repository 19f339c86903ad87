/* bpf_offer.c - tells the kernel where in a process which file's rows hold. Only what a sample met is told: its walk was left
 * there, user space went on over the copied stack, and what it had to read for that is what the next one needs. */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/record.h"
#include "bpf/record.skel.h"
#include "sense/bpf.h"
#include "sense/module.h"

void bpf_want(struct bpf_sampler *b, uint32_t pid, uint32_t life)
{
	for (uint32_t i = 0; i < b->want_count; i++) {
		if (b->wants[i].pid == pid) {
			b->wants[i].life = life;
			return;
		}
	}
	if (b->want_count < BPF_WANTS) /* else its next sample asks again */
		b->wants[b->want_count++] = (struct bpf_want){ pid, life };
}

static void empty_map(int map)
{
	uint32_t key;

	while (bpf_map_get_next_key(map, NULL, &key) == 0)
		if (bpf_map_delete_elem(map, &key) != 0)
			return;
}

static void fill(struct bpf_sampler *b, const struct space_area *areas, size_t count,
		 struct record_space *out)
{
	*out = (struct record_space){ .count = 0 };
	for (size_t i = 0; i < count; i++) {
		uint32_t root = 0, at = out->count;

		/* A file whose rows have no room stays unknown: walks are left there. */
		if (areas[i].module != NULL && !bpf_rows_root(&b->rows, areas[i].module, &root))
			continue;
		out->start[at] = areas[i].start;
		out->end[at] = areas[i].end;
		out->root[at] = root;
		out->place[at] = areas[i].place;
		out->count++;
	}
	for (uint32_t at = out->count; at < RECORD_AREAS; at++)
		out->start[at] = RECORD_NOWHERE;
}

/* Puts the space in. Without room all of them go: who is sampled asks anew. */
static int put_space(struct bpf_sampler *b, const struct record_space *space, uint32_t *out_number)
{
	int spaces = bpf_map__fd(b->programs->maps.spaces);
	int offers = bpf_map__fd(b->programs->maps.offers);
	uint32_t number = ++b->last_space;

	*out_number = number;
	if (bpf_map_update_elem(spaces, &number, space, BPF_ANY) == 0)
		return 0;
	if (errno != E2BIG)
		return -errno;
	empty_map(offers);
	empty_map(spaces);
	return bpf_map_update_elem(spaces, &number, space, BPF_ANY) == 0 ? 0 : -errno;
}

static void offer(struct bpf_sampler *b, const struct bpf_want *want)
{
	int offers = bpf_map__fd(b->programs->maps.offers);
	int spaces = bpf_map__fd(b->programs->maps.spaces);
	struct record_offer had = { 0 }, now = { .life = want->life };
	struct space_area areas[RECORD_AREAS];
	struct record_space space;
	size_t count =
		spaces_areas(b->base.spaces, (pid_t)want->pid, areas, RECORD_AREAS, &now.version);
	bool has_had = bpf_map_lookup_elem(offers, &want->pid, &had) == 0;

	if (count == 0 || (has_had && had.life == now.life && had.version == now.version))
		return;
	uint64_t full = b->rows.full;

	fill(b, areas, count, &space);
	if (b->rows.full != full) { /* numbers given before are gone */
		empty_map(offers);
		empty_map(spaces);
		has_had = false;
		fill(b, areas, count, &space);
	}
	if (put_space(b, &space, &now.space) != 0)
		return;
	bpf_map_update_elem(offers, &want->pid, &now, BPF_ANY);
	if (has_had)
		bpf_map_delete_elem(spaces, &had.space);
}

void bpf_offer_wanted(struct bpf_sampler *b)
{
	for (uint32_t i = 0; i < b->want_count; i++)
		offer(b, &b->wants[i]);
	b->want_count = 0;
}

void bpf_withdraw(struct bpf_sampler *b, uint32_t pid)
{
	struct record_offer had = { 0 };

	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(b->programs->maps.offers), &pid, &had) == 0)
		bpf_map_delete_elem(bpf_map__fd(b->programs->maps.spaces), &had.space);
}
