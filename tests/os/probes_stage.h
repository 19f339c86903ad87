/* probes_stage.h - a target whose functions are probed, and what the source says of them. */
#ifndef TARE_TESTS_PROBES_STAGE_H
#define TARE_TESTS_PROBES_STAGE_H

#include "sense/probes.h"

#define STAGE_POINTS 8
#define STAGE_S	     UINT64_C(1000000000)

struct stage {
	pid_t pid;
	int to, from;
	char said[8192];
	size_t said_length;
	struct places places;
	struct place frame; /* taken out of places */
	struct watch_source *source;
	struct watch_source_facts facts;
	/* of all windows so far, by point */
	struct calls_row rows[STAGE_POINTS];
	struct watchlist_losses losses[STAGE_POINTS];
};

/* What to open with. */
struct stage_wants {
	const char *off;	  /* TARE_NO; may be NULL */
	const char *const *names; /* functions, to NULL */
	const char *frame;	  /* may be NULL */
	uint32_t interval;
	uint64_t slow_ns;
};

/* All ways to attach, as TARE_NO; `count` of them. */
#define STAGE_MODES 3
extern const char *const stage_modes[STAGE_MODES];

/* Takes the target's path from the test's arguments. */
void stage_target(int argc, char **argv);

/* Starts the target, and waits until it is there. `arguments` without the program, to NULL. */
void stage_start(struct stage *s, const char *const *arguments);

/* The same, but stopped before its exec until stage_let_exec(). */
void stage_start_waiting(struct stage *s, const char *const *arguments);
void stage_let_exec(struct stage *s);

/* Opens and starts the source. Skips the test where probes are not permitted. */
void stage_open(struct stage *s, const struct stage_wants *wants);

/* The same with settings of the caller's. */
void stage_open_with(struct stage *s, const struct watch_source_settings *settings);

/* Only finds the places; the caller opens. */
void stage_find(struct stage *s, const struct stage_wants *wants);

/* Lets the target run one round and waits for its end. */
void stage_round(struct stage *s);

/* Lets it run and does not wait; then stage_hear("done\n"). */
void stage_go(struct stage *s);
void stage_hear(struct stage *s, const char *text);

/* Ends a window and pools it with those before. */
void stage_turn(struct stage *s);

/* Number of the point of a name; fails the test when there is none. */
uint32_t stage_point(struct stage *s, const char *name);

/* Timed calls of a point's rows together. */
uint64_t stage_timed(const struct stage *s, uint32_t point);

/* Ends target and source. */
void stage_end(struct stage *s);

#endif
