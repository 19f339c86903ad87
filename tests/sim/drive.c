/* drive.c - a whole run through a profile in simulation. */
#include "sim/drive.h"

#include "core/units.h"

#define SAVE_AFTER_KEPT 200u

struct profile_settings sim_settings(uint64_t seed)
{
	return (struct profile_settings){
		.limits = { .slots = 1024,
			    .contexts = 1024,
			    .paths = { .nodes = 16384, .frames = 4096, .name_bytes = 256 * 1024 } },
		.base_ns = 10 * NS_PER_MS,
		.seed = seed,
	};
}

bool sim_is_exact(const struct profile *p, uint64_t clock_ns, uint64_t *out_unsampled_ns)
{
	const struct timeline *t = profile_timeline(p);
	const struct contexts *c = profile_contexts(p);
	uint64_t closed_ns = 0, pending_ns = 0, by_context_ns = 0;

	for (uint32_t i = 0; i < t->used; i++) {
		for (int s = 0; s < STATE_COUNT; s++) {
			closed_ns += t->slots[i].weight_ns[s];
			pending_ns += t->slots[i].pending_ns[s];
		}
	}
	for (uint32_t i = 0; i < c->capacity; i++)
		by_context_ns += c->entries[i].certain_ns + c->entries[i].uncertain_ns;
	*out_unsampled_ns = pending_ns;
	return closed_ns + pending_ns == clock_ns && by_context_ns == closed_ns;
}

struct saver {
	sim_save_fn save;
	void *owner;
	uint64_t kept, at_ns; /* at the last save */
};

static int save_when_due(struct saver *s, struct profile *p, uint64_t at_ns, uint64_t kept,
			 struct sim_seen *seen)
{
	uint64_t since_ns = at_ns - s->at_ns;
	bool is_due = kept - s->kept >= SAVE_AFTER_KEPT ? since_ns >= NS_PER_S
							: since_ns >= 60 * NS_PER_S;

	if (!is_due)
		return 0;
	s->kept = kept;
	s->at_ns = at_ns;
	seen->saves++;
	return s->save == NULL ? 0 : s->save(s->owner, p, at_ns);
}

static int run_ticks(const struct sim_run *run, const struct stacks *stacks, struct profile *p,
		     struct saver *saver, struct sim_seen *seen)
{
	const struct timeline *timeline = profile_timeline(p);
	uint64_t base_ns = run->settings.base_ns, kept = 0;
	struct rng world; /* not the profile's own coins */
	struct frame path[STACKS_MAX_DEPTH];
	int code = 0;

	rng_seed(&world, ~run->settings.seed);
	for (uint64_t i = 1; i <= run->ticks && code == 0; i++) {
		uint64_t jitter_ns =
			run->is_jittered ? rng_below(&world, base_ns / 5 + 1) : base_ns / 10;
		struct tick tick = {
			.from_ns = i * run->every_ns,
			.at_ns = i * run->every_ns,
			.weight_ns = base_ns - base_ns / 10 + jitter_ns,
		};
		uint32_t depth = 0, halvings = timeline->halvings;

		if (profile_wants(p, &tick)) {
			depth = stacks_path(stacks, stacks_draw(stacks, &world), path);
			kept++;
		}
		profile_add(p, &tick, depth > 0 ? path : NULL, depth);
		seen->clock_ns += tick.weight_ns;
		if (timeline->halvings != halvings)
			seen->is_exact &= sim_is_exact(p, seen->clock_ns, &seen->unsampled_ns);
		code = save_when_due(saver, p, tick.at_ns, kept, seen);
	}
	return code;
}

int sim_drive(const struct sim_run *run, const struct stacks *stacks, sim_save_fn save, void *owner,
	      struct sim_seen *out)
{
	struct profile *p;
	struct saver saver = { .save = save, .owner = owner };
	int code = profile_open(&run->settings, &p, NULL);

	if (code < 0)
		return code;
	*out = (struct sim_seen){ .is_exact = true };
	code = run_ticks(run, stacks, p, &saver, out);
	if (code == 0 && save != NULL)
		code = save(owner, p, run->ticks * run->every_ns);
	out->is_exact &= sim_is_exact(p, out->clock_ns, &out->unsampled_ns);
	out->halvings = profile_timeline(p)->halvings;
	out->contexts = profile_contexts(p)->used;
	profile_label(p, &out->label);
	profile_close(p);
	return code;
}
