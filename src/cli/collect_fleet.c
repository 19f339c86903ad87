/* collect_fleet.c - the servers of one run: enrolled in the store, with what it remembers of them, given to the runner. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/collect.h"
#include "core/cadence.h"
#include "core/recording.h"
#include "core/scoped.h"

#define PACE_KEPT_NS ((int64_t)86400 * (int64_t)NS_PER_S)

static struct wall wall_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct wall){ now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec };
}

static void members_free(struct fleet_member *members, size_t count)
{
	for (size_t i = 0; members != NULL && i < count; i++)
		free(members[i].name);
	free(members);
}

const struct fleet_member *collect_fleet_member(const struct collect_fleet *f, uint32_t id)
{
	for (size_t i = 0; i < f->member_count; i++)
		if (f->members[i].id == id)
			return &f->members[i];
	return NULL;
}

/* ---- what the runner asks of us ---- */

static void on_visited(void *owner, struct fleet_batch *batch)
{
	struct collect_fleet *f = owner;

	if (f->visited != NULL)
		f->visited(f, batch);
	if (f->store != NULL)
		collect_store_put(f->store, batch);
	fleet_batch_free(batch);
}

static bool on_take_place(void *owner, uint32_t reading, int64_t slot, uint32_t allowance)
{
	struct collect_fleet *f = owner;

	return f->store != NULL && collect_store_take_place(f->store, reading, slot, allowance);
}

static void on_say(void *owner, const char *text)
{
	struct collect_fleet *f = owner;

	if (!f->is_quiet)
		collect_say(f->app, text);
}

/* ---- enrolling ---- */

struct enrolling {
	struct server_row *rows;
	size_t count;
};

static int enrol(const struct fleet_store_ops *ops, void *db, void *owner, struct err *err)
{
	const struct enrolling *e = owner;

	return ops->enrol(db, e->rows, e->count, err);
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

/* Fills ids and seats of `members`, one for each server of `settings`. */
static int enrol_all(struct collect_fleet *f, const struct collect_settings *settings,
		     struct fleet_member *members, struct err *err)
{
	size_t count = settings->server_count;
	struct server_row *rows = calloc(count + 1, sizeof(*rows));
	char(*addresses)[512] = calloc(count + 1, sizeof(*addresses));
	struct enrolling e = { rows, count };
	int rc = rows != NULL && addresses != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct server_settings *s = &settings->servers[i];

		settings_address(s, addresses[i], sizeof(addresses[i]));
		rows[i] = (struct server_row){ .server = (uint32_t)i + 1,
					       .seat = (uint32_t)i,
					       .name = str_of(s->name),
					       .kind = str_of(s->kind),
					       .address = str_of(addresses[i]) };
	}
	if (rc < 0)
		err_set(err, rc, "cannot enrol the servers: no memory");
	else if (f->store != NULL)
		rc = collect_store_do(f->store, enrol, &e, UINT64_MAX, err);
	for (size_t i = 0; i < count && rc == 0; i++) {
		members[i].id = rows[i].server;
		members[i].seat = rows[i].seat;
	}
	free(rows);
	free(addresses);
	return rc;
}

/* ---- remembering ---- */

struct remembering {
	struct server *memory;
	const struct table *table;
	struct cadence_mark mark;
	struct wall now;
	uint32_t server;
};

static int remember_row(void *owner, const void *row)
{
	struct remembering *r = owner;
	const struct capture_row *capture = row;

	if (r->table != &table_capture)
		return server_remember(r->memory, r->table, row, r->now);
	if (capture->reading == READING_STATEMENTS)
		r->mark =
			(struct cadence_mark){ capture->captured_wall_ns, capture->tried_wall_ns };
	return 0;
}

static int remember(const struct fleet_store_ops *ops, void *db, void *owner, struct err *err)
{
	static const struct table *const remembered[] = { &table_capture,  &table_life,
							  &table_baseline, &table_query,
							  &table_plan,	   &table_no_plan,
							  &table_setting };
	struct remembering *r = owner;
	struct fleet_range range = FLEET_RANGE_ALL;
	int rc = 0;

	range.server = r->server;
	for (size_t i = 0; i < ARRAY_LEN(remembered) && rc == 0; i++) {
		r->table = remembered[i];
		rc = ops->scan(db, r->table, &range, remember_row, r, err);
	}
	if (rc < 0 && err->code == 0)
		err_set(err, rc, "cannot remember a server: %s", strerror(-rc));
	return rc;
}

/* Gives a member to the runner, with what the store has of it. */
static int put_member(struct collect_fleet *f, struct fleet_member *member,
		      const struct server_settings *settings, struct err *err)
{
	struct remembering r = { .now = wall_now(), .server = member->id };
	int rc = server_open(member->id, &r.memory);

	if (rc < 0)
		return err_set(err, rc, "cannot add server '%s': no memory", member->name);
	if (f->store != NULL)
		rc = collect_store_do(f->store, remember, &r, UINT64_MAX, err);
	if (rc < 0) {
		server_close(r.memory);
		return rc;
	}
	rc = runner_put_server(f->runner, member->id, member->seat, settings, r.memory, &r.mark,
			       err);
	if (rc < 0)
		return rc;
	member->memory = r.memory;
	return 0;
}

/* What the collectors' own rows tell of the fleet's pace. */
struct pace_before {
	struct collector_row newest; /* its strings are not to be looked at */
	uint32_t longest;	     /* the most cycles in a turn slot, since from_wall_ns */
	int64_t from_wall_ns;
};

static int see_pace(void *owner, const void *row)
{
	struct pace_before *p = owner;
	const struct collector_row *seen = row;

	if (seen->at_wall_ns >= p->newest.at_wall_ns)
		p->newest = *seen;
	if (seen->at_wall_ns >= p->from_wall_ns && seen->turn_slots > p->longest)
		p->longest = seen->turn_slots;
	return 0;
}

struct resuming {
	struct collect_fleet *fleet;
	struct pace_before before;
};

/* The newest row of a day, then the longest slots within ten of its own before it. What held longer ago says nothing of today. */
static int resume(const struct fleet_store_ops *ops, void *db, void *owner, struct err *err)
{
	struct resuming *r = owner;
	struct pace_before *p = &r->before;
	struct fleet_range range = FLEET_RANGE_ALL;
	uint64_t slot_ns;
	int rc;

	range.from_wall_ns = wall_now().ns - PACE_KEPT_NS;
	p->from_wall_ns = INT64_MAX;
	rc = ops->scan(db, &table_collector, &range, see_pace, p, err);
	if (rc < 0 || p->newest.turn_slots == 0)
		return rc;
	slot_ns = p->newest.turn_slots * r->fleet->settings.cycle_ns;
	p->from_wall_ns = p->newest.at_wall_ns - (int64_t)(CADENCE_CALM_SLOTS * slot_ns);
	return ops->scan(db, &table_collector, &range, see_pace, p, err);
}

/* The runner goes on at the pace that held: else its slots would have other numbers, and N would rise without a calm slot. */
static int resume_pace(struct collect_fleet *f, struct err *err)
{
	struct resuming r = { .fleet = f };
	int rc = f->store != NULL ? collect_store_do(f->store, resume, &r, UINT64_MAX, err) : 0;

	if (rc == 0)
		runner_resume(f->runner, r.before.newest.turn_slots, r.before.longest,
			      r.before.newest.one_in);
	else if (err->code == 0)
		err_set(err, rc, "cannot remember the fleet's pace: %s", strerror(-rc));
	return rc;
}

static int make_members(const struct collect_settings *settings, struct fleet_member **out,
			struct err *err)
{
	struct fleet_member *members = calloc(settings->server_count + 1, sizeof(*members));
	bool has_failed = members == NULL;

	for (size_t i = 0; i < settings->server_count && !has_failed; i++) {
		members[i].name = strdup(settings->servers[i].name);
		has_failed = members[i].name == NULL;
	}
	if (has_failed) {
		members_free(members, settings->server_count);
		return err_set(err, -ENOMEM, "cannot add the servers: no memory");
	}
	*out = members;
	return 0;
}

int collect_fleet_open(struct collect_fleet *f, const char *store_url, uint64_t wait_ns,
		       struct err *err)
{
	struct runner_owner owner = {
		.owner = f, .visited = on_visited, .take_place = on_take_place, .say = on_say
	};
	int rc = 0;

	if (store_url != NULL && store_url[0] != '\0')
		rc = collect_store_open(&f->settings, store_url, wait_ns, &f->store, err);
	if (rc == 0)
		rc = make_members(&f->settings, &f->members, err);
	if (rc < 0)
		return rc;
	f->member_count = f->settings.server_count;
	rc = enrol_all(f, &f->settings, f->members, err);
	if (rc == 0)
		rc = runner_open(&f->settings, &owner, &f->runner, err);
	if (rc == 0)
		rc = resume_pace(f, err);
	for (size_t i = 0; i < f->member_count && rc == 0; i++)
		rc = put_member(f, &f->members[i], &f->settings.servers[i], err);
	return rc;
}

static struct fleet_member *find_member(struct collect_fleet *f, uint32_t id)
{
	for (size_t i = 0; i < f->member_count; i++)
		if (f->members[i].id == id)
			return &f->members[i];
	return NULL;
}

static bool is_in(const struct fleet_member *members, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].id == id)
			return true;
	return false;
}

int collect_fleet_reload(struct collect_fleet *f, struct collect_settings *next, struct err *err)
{
	struct fleet_member *members = NULL;
	struct collect_settings before = f->settings;
	size_t count = next->server_count;
	int rc = make_members(next, &members, err);

	if (rc == 0)
		rc = enrol_all(f, next, members, err);
	if (rc == 0)
		rc = runner_set(f->runner, next, err);
	if (rc < 0) {
		members_free(members, count);
		return rc;
	}
	if (f->store != NULL)
		collect_store_set(f->store, next);
	for (size_t i = 0; i < f->member_count; i++)
		if (!is_in(members, count, f->members[i].id))
			runner_drop_server(f->runner, f->members[i].id);
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct fleet_member *known = find_member(f, members[i].id);

		if (known == NULL) {
			rc = put_member(f, &members[i], &next->servers[i], err);
			continue;
		}
		members[i].memory = known->memory;
		rc = runner_put_server(f->runner, members[i].id, members[i].seat, &next->servers[i],
				       NULL, NULL, err);
	}
	members_free(f->members, f->member_count);
	f->members = members;
	f->member_count = count;
	f->settings = *next;
	*next = (struct collect_settings){ .store = NULL };
	settings_free(&before);
	return rc;
}

void collect_fleet_close(struct collect_fleet *f, uint64_t wait_ns)
{
	runner_close(f->runner);
	f->runner = NULL;
	collect_store_close(f->store, wait_ns);
	f->store = NULL;
	members_free(f->members, f->member_count);
	f->members = NULL;
	f->member_count = 0;
	settings_free(&f->settings);
}
