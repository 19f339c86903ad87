/* collect_store_write.c - what the store's thread does: reach, write, set aside, replay, tidy. Order is kept: while something waits on disk, what
 * comes goes behind it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collect_store_parts.h"
#include "core/scoped.h"

#define FIRST_PAUSE_NS (2 * NS_PER_S)
#define MOST_PAUSE_NS  (30 * NS_PER_S)
#define TIDY_EVERY_NS  (60 * NS_PER_S)
#define TIDY_AGAIN_NS  (200 * NS_PER_MS)
#define TIDY_BUDGET_NS (20 * NS_PER_MS)
#define SERVERS_MOST   (1u << 20) /* whose late rows are remembered */

/* Is it worth while to try again later? Else the batch itself is what the store cannot take. */
static bool may_pass(int code)
{
	static const int passing[] = { -EHOSTUNREACH, -ENOSPC, -EDQUOT, -EIO,	   -EBUSY,
				       -ENOMEM,	      -EAGAIN, -EROFS,	-ETIMEDOUT };

	for (size_t i = 0; i < ARRAY_LEN(passing); i++)
		if (code == passing[i])
			return true;
	return false;
}

void store_leave(struct collect_store *s, const struct err *err)
{
	bool was_there;

	if (s->db != NULL)
		s->ops->close(s->db);
	s->db = NULL;
	s->pause_ns = s->pause_ns == 0 ? FIRST_PAUSE_NS : s->pause_ns * 2;
	if (s->pause_ns > MOST_PAUSE_NS)
		s->pause_ns = MOST_PAUSE_NS;
	s->retry_at = (struct mono){ store_now().ns + s->pause_ns };
	pthread_mutex_lock(&s->lock);
	was_there = !s->state.is_away;
	s->state.is_away = true;
	snprintf(s->state.why, sizeof(s->state.why), "%.255s", err->msg);
	pthread_mutex_unlock(&s->lock);
	if (was_there)
		store_say(s, "the store is away, visits wait on disk: %s", err->msg);
}

static void store_is_back(struct collect_store *s)
{
	bool was_away;

	s->pause_ns = 0;
	pthread_mutex_lock(&s->lock);
	was_away = s->state.is_away;
	s->state.is_away = false;
	s->state.why[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	if (was_away)
		store_say(s, "the store is back");
}

/* Opens it, with its password for as long as that takes. */
static int open_store(struct collect_store *s, struct err *err)
{
	return store_open_with(s->ops, s->url, s->password, FLEET_WRITE, &s->db, err);
}

int store_reach(struct collect_store *s, struct err *err)
{
	int rc;

	if (s->db != NULL)
		return 0;
	if (store_now().ns < s->retry_at.ns) {
		pthread_mutex_lock(&s->lock);
		err_set(err, -EHOSTUNREACH, "%s", s->state.why);
		pthread_mutex_unlock(&s->lock);
		return -EHOSTUNREACH;
	}
	rc = open_store(s, err);
	if (rc == 0)
		store_is_back(s);
	else
		store_leave(s, err);
	return rc;
}

bool store_is_behind(const struct collect_store *s)
{
	return s->spool != NULL && spool_state(s->spool).batches > 0;
}

/* What the spool says of itself, for the main thread. */
static void count_spool(struct collect_store *s)
{
	struct spool_state spool = spool_state(s->spool);
	uint64_t lost = spool.refused_batches + spool.bad_batches;

	pthread_mutex_lock(&s->lock);
	s->state.spooled = spool.batches;
	s->state.spooled_bytes = spool.batches > 0 ? spool.bytes : 0;
	s->state.lost += lost - s->spool_lost;
	pthread_mutex_unlock(&s->lock);
	s->spool_lost = lost;
}

static void lose(struct collect_store *s, const struct err *err)
{
	pthread_mutex_lock(&s->lock);
	s->state.lost++;
	pthread_mutex_unlock(&s->lock);
	store_say(s, "a visit is lost: %s", err->msg);
}

void store_set_aside(struct collect_store *s, const struct fleet_batch *batches, size_t count)
{
	struct err err = ERR_EMPTY;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		if (s->spool == NULL) {
			err_set(&err, -ENOENT, "the store is away, and there is no spool");
			lose(s, &err);
			continue;
		}
		rc = spool_add(s->spool, &batches[i], &err);
		if (rc < 0)
			store_say(s, "a visit is lost: %s", err.msg);
	}
	if (s->spool == NULL || count == 0)
		return;
	if (spool_sync(s->spool, &err) < 0)
		store_say(s, "what waits on disk is not yet safe from a power cut: %s", err.msg);
	count_spool(s);
}

static const struct run_row *visit_row(const struct fleet_batch *batch)
{
	const struct fleet_block *block = fleet_batch_block(batch, &table_run, BLOCK_PUT);

	for (size_t i = 0; block != NULL && i < block->count; i++) {
		const struct run_row *row = (const struct run_row *)block->rows + i;

		if (row->reading == READING_VISIT && row->cycle == batch->cycle)
			return row;
	}
	return NULL;
}

static void copy_str(struct str from, char *out, size_t size)
{
	size_t len = from.len < size - 1 ? from.len : size - 1;

	memcpy(out, from.bytes != NULL ? from.bytes : "", len);
	out[len] = '\0';
}

static struct store_late *late_of(struct collect_store *s, uint32_t server)
{
	struct store_late *late;
	size_t count = server + 1;

	if (server < s->late_count)
		return &s->late[server];
	if (server >= SERVERS_MOST)
		return NULL;
	late = reallocarray(s->late, count, sizeof(*late));
	if (late == NULL)
		return NULL;
	memset(late + s->late_count, 0, (count - s->late_count) * sizeof(*late));
	s->late = late;
	s->late_count = count;
	return &late[server];
}

/* What a put takes is known when it is done: it goes into the visit's row with the server's next batch. */
static void remember_late(struct collect_store *s, const struct fleet_batch *batch, uint64_t put_ns)
{
	const struct run_row *row = visit_row(batch);
	struct store_late *late = row != NULL ? late_of(s, batch->server) : NULL;

	if (late == NULL)
		return;
	late->is_set = true;
	late->row = *row;
	late->row.store_ns = put_ns;
	copy_str(row->sqlstate, late->sqlstate, sizeof(late->sqlstate));
	copy_str(row->reason, late->reason, sizeof(late->reason));
}

static int add_late(struct collect_store *s, struct fleet_batch *batch)
{
	struct store_late *late;

	if (batch->server >= s->late_count)
		return 0;
	late = &s->late[batch->server];
	if (!late->is_set)
		return 0;
	late->row.sqlstate = (struct str){ late->sqlstate, (uint32_t)strlen(late->sqlstate) };
	late->row.reason = (struct str){ late->reason, (uint32_t)strlen(late->reason) };
	late->is_set = false;
	return fleet_batch_add(batch, &table_run, BLOCK_PUT, &late->row);
}

/* What of the time of a put together is a batch's: by its bytes. */
static uint64_t share_ns(uint64_t took_ns, const struct fleet_batch *batch, uint64_t all_bytes)
{
	return (uint64_t)((unsigned __int128)took_ns * (batch->bytes + 1) / all_bytes);
}

static void count_put(struct collect_store *s, const struct fleet_batch *batches, size_t count,
		      const bool *was_there, uint64_t took_ns)
{
	uint64_t all_bytes = count;

	pthread_mutex_lock(&s->lock);
	s->state.put_ns += took_ns;
	if (took_ns > s->state.longest_put_ns)
		s->state.longest_put_ns = took_ns;
	for (size_t i = 0; i < count; i++) {
		s->state.puts += !was_there[i];
		s->state.again += was_there[i];
		all_bytes += batches[i].bytes;
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		if (!was_there[i])
			remember_late(s, &batches[i], share_ns(took_ns, &batches[i], all_bytes));
}

/* Batches in one transaction. 0; or a failure that may pass, and nothing was written. A batch that the store cannot take is found by
 * putting them one by one; it is lost, and said. */
static int put(struct collect_store *s, const struct fleet_batch *batches, size_t count,
	       size_t *out_done, struct err *err)
{
	const struct fleet_batch *together[STORE_TOGETHER];
	bool was_there[STORE_TOGETHER] = { false };
	struct mono began = store_now();
	int rc;

	for (size_t i = 0; i < count; i++)
		together[i] = &batches[i];
	rc = s->ops->put(s->db, together, count, was_there, err);
	*out_done = rc == 0 ? count : 0;
	if (rc == 0)
		count_put(s, batches, count, was_there, mono_elapsed_ns(began, store_now()));
	else if (!may_pass(rc) && count == 1)
		lose(s, err);
	if (rc == 0 || may_pass(rc))
		return rc;
	for (size_t i = 0; i < count && count > 1; i++) {
		size_t one;

		*err = ERR_EMPTY;
		rc = put(s, &batches[i], 1, &one, err);
		if (rc < 0)
			return rc;
		*out_done = i + 1;
	}
	*out_done = count;
	return 0;
}

void store_write(struct collect_store *s, struct fleet_batch *batches, size_t count)
{
	struct err err = ERR_EMPTY;
	int rc = store_is_behind(s) ? -EAGAIN : store_reach(s, &err);
	size_t done = 0;

	if (rc == 0) {
		for (size_t i = 0; i < count; i++)
			add_late(s, &batches[i]); /* without memory that time stays unknown */
		rc = put(s, batches, count, &done, &err);
		if (rc < 0)
			store_leave(s, &err);
	}
	store_set_aside(s, batches + done, count - done);
	for (size_t i = 0; i < count; i++)
		fleet_batch_free(&batches[i]);
}

/* Takes up to STORE_TOGETHER of what waits on disk. Returns how many there were, or a negative errno. */
static int take_waiting(struct collect_store *s, struct fleet_batch *out, struct err *err)
{
	int count = 0;

	while (count < (int)STORE_TOGETHER) {
		bool has_one = false;
		int rc = spool_next(s->spool, &out[count], &has_one, err);

		if (rc < 0)
			return rc;
		if (!has_one)
			break;
		count++;
	}
	return count;
}

bool store_replay(struct collect_store *s)
{
	struct fleet_batch batches[STORE_TOGETHER] = { FLEET_BATCH_EMPTY };
	struct err err = ERR_EMPTY;
	size_t done = 0;
	int count;

	if (s->db == NULL || !store_is_behind(s))
		return false;
	count = take_waiting(s, batches, &err);
	if (count > 0 && put(s, batches, (size_t)count, &done, &err) < 0)
		store_leave(s, &err);
	else if (count < 0)
		store_say(s, "cannot read what waits on disk: %s", err.msg);
	/* What was written of a group that failed comes again, and is found to be there. */
	if (count >= 0 && done == (size_t)count)
		spool_done(s->spool);
	else
		spool_again(s->spool);
	count_spool(s);
	for (size_t i = 0; i < STORE_TOGETHER; i++)
		fleet_batch_free(&batches[i]);
	return count > 0 && done == (size_t)count && store_is_behind(s);
}

void store_tidy(struct collect_store *s)
{
	struct fleet_tidied step = { 0 };
	struct err err = ERR_EMPTY;
	struct timespec wall;
	struct fleet_limits limits;
	uint64_t bytes = 0;
	int rc;

	clock_gettime(CLOCK_REALTIME, &wall);
	pthread_mutex_lock(&s->lock);
	limits = s->limits;
	pthread_mutex_unlock(&s->lock);
	rc = s->ops->tidy(s->db, (struct wall){ wall.tv_sec * (int64_t)NS_PER_S + wall.tv_nsec },
			  &limits, TIDY_BUDGET_NS, &step, &err);
	if (rc == 0)
		rc = s->ops->size(s->db, &bytes, &err);
	s->tidy_at = (struct mono){ store_now().ns +
				    (rc == 0 && step.is_more ? TIDY_AGAIN_NS : TIDY_EVERY_NS) };
	if (rc < 0) {
		if (may_pass(rc))
			store_leave(s, &err);
		else
			store_say(s, "cannot tidy the store: %s", err.msg);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->state.size_bytes = bytes;
	s->state.tidied.summed_rows += step.summed_rows;
	s->state.tidied.dropped_rows += step.dropped_rows;
	s->state.tidied.dropped_payloads += step.dropped_payloads;
	s->state.tidied.freed_bytes += step.freed_bytes;
	pthread_mutex_unlock(&s->lock);
}
