/* watch.h - the rooms of `tare watch` among themselves: settings, the session, its places and its words. */
#ifndef TARE_CLI_WATCH_H
#define TARE_CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run.h"
#include "cli/watch_sources.h"
#include "core/text.h"

/* What the options say. Strings are borrowed from argv. */
struct watch_opts {
	struct run_opts run;
	uint64_t interval, interval_most, window_ns, functions, slow_ns;
	const char *frame;
	bool has_no_slices, is_list;
	char **patterns;
	size_t pattern_count;
};

/* ---- watch_session.c: sources, watchlist and price of one recording ---- */

struct watch_session {
	struct run run;
	const struct watch_opts *opts;
	struct watchlist *list;
	struct watch_sources sources;
	bool has_sources;
	bool is_running; /* rows that come now are told as they come */
	struct place frame;
	struct places frame_places; /* owns `frame` */
	struct watch_own own;
	uint64_t own_limit_ppm; /* in force for watching */
	uint64_t charged_ps;	/* in closed windows */
	uint64_t calls_at_save;
	struct mono calibrated;

	pid_t pid;
	uint64_t maps_digest;		      /* of the files that the process has mapped */
	bool *has_found;		      /* owned: by pattern, whether it chose anything */
	bool expects_inside;		      /* the program links libtare */
	struct mono inside_next, places_next; /* when to look again */
	uint32_t inside_tries;
	char probes_why[256],
		inside_why[256]; /* why that source is not there; empty: it is, or is not needed */
	struct watch_row watch;	 /* of the last save */
	uint64_t watched, not_watched; /* rows, then */
	char sources_text[64], hook[64], hook_why[256], clock[64], scope[256];
};

/* Watching as an instrument; its session is a struct watch_session. */
extern const struct instrument watch_instrument;

/* ---- watch_places.c: what is watched, and what appears later ---- */

/* Finds places, opens the sources that apply, adds a row for everything that was asked for. -EINVAL, -ENOENT and so on:
 * a pattern or --frame cannot be. What merely cannot be watched is a row with its reason. */
int watch_places_open(struct watch_session *s, struct err *err);

/* Was this point of libtare asked for? Tasks and frames always are. Sets the pattern of a scope. */
bool watch_places_wants(void *session, struct watched_row *row);

/* Adds the second and the third line to a failure where its source could not know them. Returns err->code. */
int watch_say_rest(struct err *err);

/* ---- watch_again.c ---- */

/* Does the process have libtare's mapping by now, or new libraries? Called at each look; does next to nothing most
 * times. `has_turned`: a window has just ended. */
void watch_places_again(struct watch_session *s, struct mono now, bool has_turned);

/* ---- watch_label.c: the facts that only a watch has ---- */

/* The watch row of a save; its strings are the session's. */
void watch_label_row(struct watch_session *s, struct watch_row *out);

/* The label's part. */
void watch_label_now(struct watch_session *s);

/* What measuring took up to now, part by part. */
void watch_label_price(struct watch_session *s);

/* ---- watch_words.c: lines for people ---- */

/* "watching NAME (MODULE) at 0.7 µs a call, nop5", or "not watching NAME: inlined away", on app->talk. */
void watch_say_row(const struct watch_session *s, const struct watched_row *row);

/* A line for every row, and what the price allows of all of them; nothing with --quiet. */
void watch_say_start(const struct watch_session *s);

/* The cost of one call for people: "0.4 ns", "25 ns", "0.7 µs". */
void watch_format_cost(uint64_t ps, char *out, size_t size);

/* As struct instrument has them. */
void watch_status(const void *session, struct mono now, unsigned columns, char *out, size_t size);
void watch_summary(const void *session);
void watch_summary_json(const void *session);

/* ---- watch_list.c: `tare watch --list` ---- */

/* Prints what could be watched, at what price. An exit status, or a negative errno. */
int watch_list(struct app *app, const struct watch_opts *opts, struct err *err);

#endif
