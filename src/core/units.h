/* units.h - the one place where units are chosen and converted, and the two clocks that must not mix.
 * Pure and thread-safe. Formatting writes UTF-8, keeps number and unit together with U+00A0 only where
 * said, and never writes past `size` (which must be > 0). */
#ifndef TARE_CORE_UNITS_H
#define TARE_CORE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define PS_PER_NS UINT64_C(1000)
#define PPM	  UINT64_C(1000000)

/* CLOCK_MONOTONIC: durations and deadlines. */
struct mono {
	uint64_t ns;
};

/* CLOCK_REALTIME: what we store and show. */
struct wall {
	int64_t ns;
};

/* From `from` to `to` in ns; 0 when `to` is the earlier one. */
static inline uint64_t mono_elapsed_ns(struct mono from, struct mono to)
{
	return to.ns > from.ns ? to.ns - from.ns : 0;
}

/* `ppm` millionths of `value`, rounded down; what has no room in 64 bits is the largest there is. */
static inline uint64_t units_ppm_of(uint64_t value, uint64_t ppm)
{
	unsigned __int128 share = (unsigned __int128)value * ppm / PPM;

	return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

/* Numbers below are digits with at most one point between digits and at most one blank before the unit; no sign, no
 * exponent, the same in every locale. Rounded to the nearest; what is not 0 and would become 0 is -EINVAL. On an
 * error the result is untouched, and -EINVAL goes before -ERANGE. */

/* "10ms", "200us", "1.5s", "5min", "12h", "3d", "250ns". A unit is required. -EINVAL: not a duration; -ERANGE: over
 * 584 years. */
int units_parse_duration(const char *text, uint64_t *out_ns);

/* "4MB", "512KB", "1.5GB", "4MiB", "4m", "65536" (bytes). MB is 1,048,576, as MiB: sizes of files are shown so too.
 * -EINVAL, -ERANGE. */
int units_parse_size(const char *text, uint64_t *out_bytes);

/* "0.5%" or "0.5 %" or "5000ppm": a share of one CPU. -EINVAL: not a share; -ERANGE: over 6400 %. */
int units_parse_share(const char *text, uint64_t *out_ppm);

/* A whole number, all digits. -EINVAL, -ERANGE. */
int units_parse_count(const char *text, uint64_t *out_count);

/* "1.28 s", "640 ms", "12 µs", "6 h 12 min", "3 d 4 h": at most three significant digits, two parts from a minute up.
 * Zeros at the end and a second part of 0 are left out. */
void units_format_duration(uint64_t ns, char *out_text, size_t size);

/* "00:12:31", and "3 d 00:12:31" from one day up. Whole seconds that have passed, not rounded. */
void units_format_clock(uint64_t ns, char *out_text, size_t size);

/* "312 bytes", "96 KB", "1.9 MB", "1.25 GB". */
void units_format_size(uint64_t bytes, char *out_text, size_t size);

/* "1.9 of 4.0 MB": both in the unit of the limit; "under 0.1 of 4.0 MB" for what would round to 0 and is not 0. */
void units_format_size_of(uint64_t bytes, uint64_t limit_bytes, char *out_text, size_t size);

/* "75.1k", "41.2M", "312": at most three significant digits and a letter. */
void units_format_count(uint64_t count, char *out_text, size_t size);

/* "39,950": exact, in groups of three. */
void units_format_exact(uint64_t count, char *out_text, size_t size);

/* "0.21 %" from millionths, as a price is shown: two digits behind the point; "under 0.01 %" for what would
 * round to 0 and is not 0. */
void units_format_price(uint64_t ppm, char *out_text, size_t size);

/* "2026-11-29 21:09:49 UTC". Every value has its date: 1677 to 2262. */
void units_format_wall(struct wall at, char *out_text, size_t size);

#endif
