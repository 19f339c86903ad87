/* runner_beside.c - the diagnostic sampler while a body stalls. Looks before and after a body go over the body's own connection: they are
 * quick, and the server has one connection of ours. When an answer is over a second in coming, a second connection, short-lived, looks at
 * what the server is doing, every look_ns, until the answer is there: a stall can then be explained. */
#include "fleet/runner_own.h"

#define STALL_NS     NS_PER_S
#define LOOK_LEAST   NS_PER_S
#define BESIDE_LEAST 1u

static uint32_t beside_most(const struct runner *r)
{
	return r->lane.places / 2 > BESIDE_LEAST ? r->lane.places / 2 : BESIDE_LEAST;
}

static void look_later(struct visit *v, uint64_t wait_ns)
{
	loop_set(v->runner->loop, &v->look, loop_now().ns + wait_ns);
}

static void close_beside(struct visit *v)
{
	if (v->beside == NULL)
		return;
	link_close(v->beside);
	v->beside = NULL;
	v->is_looking = false;
	v->runner->beside--;
}

static uint64_t pause_ns(const struct visit *v)
{
	uint64_t look_ns = v->settings.limits.look_ns;

	return look_ns > LOOK_LEAST ? look_ns : LOOK_LEAST;
}

static void has_looked(void *owner, int code, const struct err *err)
{
	struct visit *v = owner;

	(void)code;
	(void)err;
	v->is_looking = false;
	look_later(v, pause_ns(v));
}

static void run_look(struct visit *v)
{
	if (v->has_looked)
		v->runner->ops->sampler_again(&v->sampler);
	v->has_looked = true;
	v->is_looking = true;
	link_run(v->beside, &v->sampler, has_looked, v);
}

static void is_connected(void *owner, const struct answer *answer)
{
	struct visit *v = owner;

	if (answer->is_ok) {
		run_look(v);
		return;
	}
	close_beside(v);
	look_later(v, pause_ns(v));
}

/* The answer is long in coming. */
static void is_stalled(void *owner)
{
	struct visit *v = owner;
	struct runner *r = v->runner;

	if (v->beside != NULL && link_is_ready(v->beside)) {
		run_look(v);
		return;
	}
	if (v->beside == NULL && r->beside >= beside_most(r)) {
		look_later(v, pause_ns(v));
		return;
	}
	if (v->beside == NULL) {
		if (link_open(&r->hall, &v->station->settings, &r->limits, &v->beside) != 0)
			return;
		r->beside++;
	}
	link_connect(v->beside, is_connected, v);
}

void beside_wait(struct visit *v)
{
	if (!v->has_sampler || !v->station->has_visited || v->is_looking)
		return;
	v->look.ring = is_stalled;
	v->look.owner = v;
	look_later(v, STALL_NS);
}

void beside_end(struct visit *v)
{
	loop_put_off(v->runner->loop, &v->look);
	if (v->is_looking)
		link_cut(v->beside);
	close_beside(v);
}
