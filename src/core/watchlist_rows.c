/* watchlist_rows.c - rows of a watch as the store keeps them, and how many bytes they take there. */
#include "core/scoped.h"
#include "core/steps.h"
#include "core/watchlist.h"

/* A row of SQLite: two bytes in its page and two of lengths, then for each column a byte of type and its bytes
 * (sqlite.org/fileformat2.html, 1.6 and 2.1). Rowids and keys stay below 2^24. */
#define CRC_BYTES	4u /* behind a histogram */
#define ROW_BYTES	10u
#define INDEX_BYTES	16u /* an entry of the index of `window` */
#define WATCHED_NUMBERS 18u
#define LONG_ROW_BYTES	1000u /* a quarter of a page: longer ones leave more of it unused */

/* Bytes of a whole number with its byte of type. */
static uint64_t number_bytes(uint64_t value)
{
	static const uint64_t beyond[] = { 1,	    127,	32767,
					   8388607, 2147483647, INT64_C(140737488355327) };
	static const uint64_t bytes[] = { 1, 2, 3, 4, 5, 7 };

	for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
		if (value <= beyond[i])
			return bytes[i];
	return 9;
}

static uint64_t text_bytes(uint64_t len)
{
	return len + leb128_bytes(2 * len + 13);
}

/* With the share of its page that a long row leaves unused. */
static uint64_t row_bytes(uint64_t payload)
{
	uint64_t bytes = payload + ROW_BYTES;

	return bytes > LONG_ROW_BYTES ? bytes + bytes / 2 : bytes;
}

uint64_t watchlist_row_bytes(const struct calls_row *row)
{
	const uint64_t numbers[] = { WATCHLIST_MOST,   CALLS_MOST_ROWS,	     row->calls,
				     row->never_timed, row->span_ns,	     row->covered_ns,
				     row->firsts,      row->first_ns,	     row->first_own_ns,
				     row->others,      row->weight,	     row->weight_squared,
				     row->weighted_ns, row->weighted_own_ns, row->probe_ns,
				     row->max_ns,      row->interval };
	uint64_t bytes =
		3 * (1 + sizeof(double)) + text_bytes(steps_bytes(&row->histogram) + CRC_BYTES);

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		bytes += number_bytes(numbers[i]);
	return row_bytes(bytes) + INDEX_BYTES;
}

uint64_t watchlist_watched_bytes(const struct watched_row *row)
{
	const struct str texts[] = { row->name, row->symbol, row->module, row->pattern,
				     row->mode, row->first,  row->why_not };
	uint64_t bytes = WATCHED_NUMBERS * number_bytes(INT64_MAX);

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		bytes += text_bytes(texts[i].len);
	return row_bytes(bytes);
}

uint64_t watchlist_slow_bytes(void)
{
	uint64_t large = number_bytes(INT64_MAX), small = number_bytes(WATCHLIST_MOST);
	uint64_t part = row_bytes(large + 3 * small);

	return row_bytes(5 * large + number_bytes(NO_ID) + 3 * small) + FRAMES_MOST_PARTS * part;
}

struct window_row watchlist_window_row(uint32_t id, const struct calls_row *row)
{
	return (struct window_row){
		.watched = id,
		.at = (uint32_t)row->at,
		.calls = row->calls,
		.never_timed = row->never_timed,
		.span_ns = row->span_ns,
		.covered_ns = row->covered_ns,
		.firsts = row->firsts,
		.first_ns = row->first_ns,
		.first_own_ns = row->first_own_ns,
		.others = row->others,
		.weight = row->weight,
		.weight_squared = row->weight_squared,
		.weighted_ns = row->weighted_ns,
		.weighted_own_ns = row->weighted_own_ns,
		.probe_ns = row->probe_ns,
		.variance_0 = row->variance[0],
		.variance_1_ns = row->variance[1],
		.variance_2_ns2 = row->variance[2],
		.max_ns = row->max_ns,
		.interval = row->interval,
		.histogram = row->histogram,
	};
}

struct calls_row watchlist_calls_row(const struct window_row *row)
{
	return (struct calls_row){
		.at = row->at,
		.calls = row->calls,
		.never_timed = row->never_timed,
		.span_ns = row->span_ns,
		.covered_ns = row->covered_ns,
		.firsts = row->firsts,
		.first_ns = row->first_ns,
		.first_own_ns = row->first_own_ns,
		.others = row->others,
		.weight = row->weight,
		.weight_squared = row->weight_squared,
		.weighted_ns = row->weighted_ns,
		.weighted_own_ns = row->weighted_own_ns,
		.probe_ns = row->probe_ns,
		.variance = { row->variance_0, row->variance_1_ns, row->variance_2_ns2 },
		.max_ns = row->max_ns,
		.interval = row->interval,
		.histogram = row->histogram,
	};
}
