/* text.h - text for people: a growing string, foreign names made harmless, widths in columns, and the words for a
 * share with its error. UTF-8 throughout. Pure; one thread at a time a string. */
#ifndef TARE_CORE_TEXT_H
#define TARE_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "core/stats.h"

/* U+00A0: keeps a number, its unit and its error on one line. */
#define TEXT_NBSP "\xc2\xa0"

/* A string that grows. A failed allocation is remembered, so that it is asked for once, at the end. */
struct text {
	char *bytes; /* owned; NUL-terminated when not NULL */
	size_t len, room;
	bool has_failed; /* memory ran out: what is here is not all */
};

#define TEXT_EMPTY ((struct text){ NULL, 0, 0, false })

/* Accepts the empty value, and may run twice. */
void text_free(struct text *t);

/* Empties it, keeping its memory and a failure. */
void text_clear(struct text *t);

/* What is in it, "" when nothing is. Borrowed until it changes. */
const char *text_chars(const struct text *t);

/* Appends `len` bytes as they are. */
void text_add(struct text *t, const char *bytes, size_t len);

/* Appends a NUL-terminated string of ours as it is. */
void text_put(struct text *t, const char *chars);

/* Appends formatted text. Foreign names do not go through here: see text_put_name(). */
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends `columns` blanks. */
void text_blanks(struct text *t, size_t columns);

/* Reads one code point of UTF-8 from `len` > 0 bytes. Returns how many bytes it takes, or 0: what stands here is no
 * UTF-8 (overlong forms, surrogates and values over U+10FFFF neither). */
size_t text_decode(const char *bytes, size_t len, uint32_t *out_point);

/* Columns a code point takes on a terminal: 0 (stands over the one before), 1 or 2; or TEXT_HIDDEN: it is not shown
 * at all, or would move, hide or turn round what stands near it. */
int text_point_columns(uint32_t point);
#define TEXT_HIDDEN (-1)

/* Columns of UTF-8 text that holds nothing hidden, such as what the functions here append. */
size_t text_columns(const char *bytes, size_t len);

/* Appends a foreign name, made harmless for a terminal: C0, C1, DEL, ESC, bidi controls, zero-width and other hidden
 * characters, more than three marks on one character, and bytes that are no UTF-8 are shown as "\n", "\x1b" or
 * "\u{202e}". The backslash itself stays as it is: this is to be read, not to be parsed. */
void text_put_name(struct text *t, struct str name);

/* The same, cut to `columns` with "…" at the end; never through a code point or an escape. */
void text_put_cut(struct text *t, struct str name, size_t columns);

/* The same for the name of a function: whole if it fits; else without its arguments; else with template arguments as
 * "<…>"; else the part after the last "::" or "\" behind a "…"; else cut. */
void text_put_function(struct text *t, struct str name, size_t columns);

/* The name without its argument list, as in "Parser::parse" for "Parser::parse(char const*) const". Borrows from
 * `name`; a name that has none comes back as it is. */
struct str text_without_arguments(struct str name);

/* Replaces what a terminal without UTF-8 cannot show, by the letters of page 7: "o" for "○", "*" for "●", "=" for
 * "━", "+-" for "±", "..." for "…" and so on; every other code point over U+007E as "\u{e9}". */
void text_make_ascii(struct text *t);

/* Digits behind the point for an error in percent: 1 and more none, 0.095 and more one, else two. */
int text_digits(double error_percent);

/* An error as it is printed with so many digits: rounded up, unless no more than 0.15 of a step is cut off; never 0. Rounded
 * to the nearest, an interval of 95 % with an error of 1.4 would be printed as one of 79 %. */
double text_round_error(double error_percent, int digits);

/* A share in its parts, so that columns can stand on the "±": "12.4 %" and "± 0.8". `error` is empty when the number
 * stands alone:
 *   "under 0.1 %"  the error is larger than the value, or nothing was seen in n samples (300/n %): the upper end
 *   "over 99.2 %"  everything was seen there: the lower end, 100 - 300/n %
 *   "cannot know"  too few samples for an error
 * An error that would round to 0 shows as 0.01. Upper ends are rounded up, lower ends down. */
struct text_share {
	char number[32];
	char error[24];
	bool is_unknown; /* "cannot know" */
	bool is_none;	 /* nothing was seen: "under" alone would not say so */
};

/* `range_kept`: samples kept in the whole range that this is a share of. */
struct text_share text_share(struct share share, uint64_t range_kept);

/* Appends it in one piece: "12.4 % ± 0.8", "under 0.1 %", "none seen, under 0.75 %", "— cannot know". */
void text_put_share(struct text *t, struct share share, uint64_t range_kept);

/* Appends an exact share of `whole`, which has no "±": "0.7 %", "0" for none, "under 0.01 %" for what would round to 0.
 * "over 99.9 %" for what would round to all. Two digits below 0.095 %, else one. */
void text_put_exact_share(struct text *t, uint64_t part, uint64_t whole);

/* Append a duration as "6 h 12 min", an exact count as "39,950", one with its word as "12 gaps" or "1 gap", a size as
 * "1.9 MB", and a price from millionths as "0.21 %": core/units.h, appended, with U+00A0 for blanks. */
void text_put_duration(struct text *t, uint64_t ns);
void text_put_exact(struct text *t, uint64_t count);
void text_put_counted(struct text *t, uint64_t count, const char *word);
void text_put_size(struct text *t, uint64_t bytes);
void text_put_price(struct text *t, uint64_t ppm);

#endif
