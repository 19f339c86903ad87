/* places_nearest.c - how alike two names are. */
#include "sense/places_nearest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define FAR	    UINT32_MAX
#define SCORE_CASE  1u /* only in upper and lower case */
#define SCORE_SCOPE 2u /* only in what stands in front of "::" */
#define SCORE_EDIT  3u /* and one more a letter */
#define SCORE_PART  8u /* the name has it inside */
#define PART_BYTES  4u /* at least, to be looked for inside */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t nearest_distance(struct str a, struct str b, uint32_t most)
{
	uint32_t rows[3][NEAREST_MAX_BYTES + 1]; /* two back, one back, this one */

	if (a.len > b.len + most || b.len > a.len + most)
		return most + 1;
	for (uint32_t j = 0; j <= b.len; j++)
		rows[0][j] = rows[1][j] = j;
	for (uint32_t i = 1; i <= a.len; i++) {
		uint32_t *now = rows[(i + 1) % 3], *before = rows[i % 3];
		const uint32_t *two_before = rows[(i + 2) % 3];
		uint32_t from = i > most ? i - most : 1, to = least(b.len, i + most);
		uint32_t best = from == 1 ? i : most + 1;

		now[from - 1] = best;
		before[to] = to == i + most ? most + 1 : before[to];
		for (uint32_t j = from; j <= to; j++) {
			uint32_t change = before[j - 1] + (a.bytes[i - 1] != b.bytes[j - 1]);

			now[j] = least(change, least(before[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a.bytes[i - 1] == b.bytes[j - 2] &&
			    a.bytes[i - 2] == b.bytes[j - 1])
				now[j] = least(now[j], two_before[j - 2] + 1);
			best = least(best, now[j]);
		}
		if (best > most)
			return most + 1;
	}
	return least(rows[(a.len + 1) % 3][b.len], most + 1);
}

/* What stands behind the last "::". */
static struct str last_part(struct str name)
{
	for (uint32_t i = name.len; i > 1; i--)
		if (name.bytes[i - 1] == ':' && name.bytes[i - 2] == ':')
			return (struct str){ name.bytes + i, name.len - i };
	return name;
}

static uint32_t score_of(struct str wanted, struct str name)
{
	struct str part = last_part(wanted), of_name = last_part(name);
	uint32_t most = wanted.len / 4 < 3 ? wanted.len / 4 : 3, distance;

	if (wanted.len == name.len && strncasecmp(wanted.bytes, name.bytes, name.len) == 0)
		return SCORE_CASE;
	if (part.len == of_name.len && part.len > 0 &&
	    memcmp(part.bytes, of_name.bytes, part.len) == 0)
		return SCORE_SCOPE;
	distance = nearest_distance(wanted, name, most);
	if (distance <= most)
		return SCORE_EDIT + distance;
	return wanted.len >= PART_BYTES &&
			       memmem(name.bytes, name.len, wanted.bytes, wanted.len) != NULL
		       ? SCORE_PART
		       : FAR;
}

static bool is_before(const struct nearest *n, size_t at, uint32_t score, struct str name)
{
	if (score != n->scores[at])
		return score < n->scores[at];
	if (name.len != n->lengths[at])
		return name.len < n->lengths[at];
	return memcmp(name.bytes, n->names[at], name.len) < 0;
}

void nearest_offer(struct nearest *n, struct str wanted, struct str name)
{
	uint32_t score;
	size_t at = 0;

	if (wanted.len == 0 || wanted.len > NEAREST_MAX_BYTES || name.len == 0 ||
	    name.len > NEAREST_MAX_BYTES)
		return;
	score = score_of(wanted, name);
	if (score == FAR)
		return;
	for (size_t i = 0; i < n->count; i++)
		if (n->lengths[i] == name.len && memcmp(n->names[i], name.bytes, name.len) == 0)
			return;
	while (at < n->count && !is_before(n, at, score, name))
		at++;
	if (at == NEAREST_COUNT)
		return;
	n->count += n->count < NEAREST_COUNT;
	for (size_t i = n->count - 1; i > at; i--) {
		memcpy(n->names[i], n->names[i - 1], sizeof(n->names[i]));
		n->lengths[i] = n->lengths[i - 1];
		n->scores[i] = n->scores[i - 1];
	}
	memcpy(n->names[at], name.bytes, name.len);
	n->lengths[at] = name.len;
	n->scores[at] = score;
}
