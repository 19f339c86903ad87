/* runner_own.h - the parts of the runner among themselves: servers and their turn (runner_due.c), the gate (runner_gate.c), a visit
 * (runner_visit.c), looks beside it (runner_beside.c), rows of the run log (runner_rows.c), and how it all stands (runner_status.c). */
#ifndef TARE_FLEET_RUNNER_OWN_H
#define TARE_FLEET_RUNNER_OWN_H

#include "core/beat.h"
#include "core/cadence.h"
#include "core/lane.h"
#include "fleet/link.h"
#include "fleet/loop.h"
#include "fleet/visit_ops.h"

#define ERROR_BYTES 160

struct visit;

/* Where a server waits, and in whose place its visit is. */
enum queue {
	QUEUE_NONE,
	QUEUE_HEALTHY, /* C places */
	QUEUE_LANE,    /* failing, or slower than the others */
};

/* A server of the fleet. Stays where it is in memory. */
struct station {
	struct runner *runner; /* borrowed */
	uint32_t id;
	struct server_settings settings; /* owned */
	struct server *memory;		 /* owned */
	struct link *link;		 /* owned */
	struct beat beat;
	struct loop_alarm due;

	struct lane lane;
	char last_error[ERROR_BYTES];
	struct cadence_server gate;	  /* its seat and mark */
	bool is_on;			  /* plans */
	bool is_first_sight, is_mark_new; /* nothing was captured yet; not yet in a batch */
	int64_t seat_slot;		  /* the slot in which its seat was changed */

	struct visit *visit; /* NULL: none is under way */
	enum queue queue;
	struct station *before, *behind; /* in the queue */
	int64_t cycle;			 /* of the run that waits or is under way */
	uint64_t due_mono_ns;		 /* of the same */

	bool has_visited;	/* at least once, well: its facts are known */
	uint64_t began_mono_ns; /* the last visit's begin; 0: none */
	int64_t visited_wall_ns;
	uint64_t run_ns;
};

struct waiting {
	struct station *first, *last;
	uint32_t places, used;
};

struct runner {
	struct loop *loop;
	struct link_hall hall;
	const struct visit_ops *ops;
	struct runner_owner owner;
	struct payload_press *press; /* owned */

	/* Of the settings. */
	uint64_t cycle_ns, budget_ns;
	struct link_limits limits;
	struct lane_pauses pauses;
	struct visit_limits visit_limits;
	uint32_t at_once;

	struct station **stations; /* owned, by id */
	size_t count, room;
	struct waiting healthy, lane; /* queues and places */
	uint32_t beside;	      /* looks by a second connection under way */
	struct rng jitter;

	struct cadence_pace pace;
	int64_t slot;
	bool was_changed;	   /* n, k or a seat, in this slot */
	uint32_t tried, allowance; /* owed captures of this slot that have begun; that may */
	uint32_t captures, captures_before;
	struct loop_alarm slot_alarm;
	struct spacing spacing; /* between visits */
	struct spacing took[2]; /* by visits without and with a capture, healthy ones */
	uint64_t usual_ns[2];	/* of these, refreshed now and then */
	uint64_t usual_at_ns;

	uint64_t visits, late, skipped, failures;
};

/* A visit under way. */
struct visit {
	struct runner *runner;
	struct station *station;
	enum queue place;
	struct visit_settings settings;
	struct fleet_batch batch;
	int64_t slot;
	struct wall due;
	uint64_t began_ns; /* monotonic */
	enum {
		PHASE_CONNECT,
		PHASE_LOOK_BEFORE,
		PHASE_BODY,
		PHASE_LOOK_AFTER,
	} phase;
	struct script body, sampler;
	bool has_captured; /* all of it */
	bool has_body, has_sampler,
		was_used; /* was_used: the connection was there and is not yet known to work */
	uint64_t rows, bytes, server_ns, own_ns; /* of questions that are on no reading's account */
	struct loop_alarm budget, patience;

	struct link
		*beside; /* owned: looks by a second connection while the body stalls; NULL: none */
	struct loop_alarm look;
	bool is_looking, has_looked; /* by it, now; at all: the sampler must begin anew */
};

/* What a visit came to. */
struct visit_end {
	enum run_outcome outcome;
	char sqlstate[6];
	char reason[ERROR_BYTES];
	bool is_failing; /* the server is: into the lane */
};

/* runner_due.c */

/* Sets the alarm of a server's next visit. */
void station_wait(struct station *s);

/* A visit is due: queues it, or writes down why not. */
void station_is_due(void *station);

/* Takes a server out of its queue. May run twice. */
void station_unqueue(struct station *s);

/* Starts what waits while there are places. */
void runner_pump(struct runner *r);

/* The queue and places of a kind. */
struct waiting *runner_queue(struct runner *r, enum queue queue);

/* runner_gate.c */

/* Begins with `settings`' pace. */
void gate_init(struct runner *r, const struct collect_settings *settings, bool is_first);

/* A slot ends: k, N and places anew. Also called before a visit whose cycle is of a later slot. */
void gate_turn(struct runner *r, int64_t slot);

/* Plans of a server are switched on or off, or it is seen for the first time. */
void gate_switch(struct station *s, bool is_on);

/* What a visit of `cycle` does about its capture half; takes its place when it is owed. */
enum cadence_answer gate_answer(struct station *s, int64_t slot);

/* A visit of slot `slot` has tried, and perhaps done, its capture. */
void gate_tried(struct visit *v, bool has_captured);

/* The slot of a server's cycle. */
int64_t gate_slot_of(const struct runner *r, struct wall due);

/* runner_visit.c */

/* Begins: connects where there is no connection. The station is not in a queue any more and has a place of `place`. */
void visit_start(struct station *s, enum queue place);

/* Ends without a word or a row: the server leaves, or the runner. */
void visit_drop(struct visit *v);

/* Ends as `end` says. */
void visit_end(struct visit *v, const struct visit_end *end);

/* Over its budget, or cut for being slow: ends, and ships nothing. */
void visit_abandon(struct visit *v, const char *why);

/* runner_beside.c */

/* An answer came, or the body begins: looks are due when the next one is long in coming. */
void beside_wait(struct visit *v);

/* No looks beside the body any more; a look under way is cut. */
void beside_end(struct visit *v);

/* runner_rows.c */

/* A run that was not begun. */
void rows_skipped(struct station *s, int64_t cycle, const char *why);

/* The row of a visit as a whole, at its end. */
int rows_visit(struct visit *v, const struct visit_end *end);

/* The row of its mark, when that is new. */
int rows_mark(struct station *s, struct fleet_batch *batch);

/* Tells a person; foreign bytes are made harmless. */
void runner_say(struct runner *r, const struct station *s, const char *what, const char *why);

#endif
