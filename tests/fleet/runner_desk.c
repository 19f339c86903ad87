/* runner_desk.c - writes down what a runner hands over. */
#include "fleet/runner_desk.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fleet/loop.h"

struct collect_settings desk_settings(void)
{
	return (struct collect_settings){ .cycle_ns = 500 * NS_PER_MS,
					  .one_in = 4,
					  .at_once = 20,
					  .connect_ns = 2 * NS_PER_S,
					  .tls_ns = NS_PER_S,
					  .query_ns = 3 * NS_PER_S,
					  .drain_ns = NS_PER_S,
					  .budget_ns = 120 * NS_PER_S,
					  .backoff_ns = NS_PER_S,
					  .backoff_most_ns = 4 * NS_PER_S,
					  .visit = VISIT_LIMITS_DEFAULT };
}

static void put(struct desk *d, uint32_t id, const struct run_row *row, bool is_alone)
{
	struct desk_visit *v = &d->visits[id][d->counts[id]];

	if (d->counts[id] == DESK_VISITS)
		return;
	d->counts[id]++;
	*v = (struct desk_visit){ .outcome = row->outcome,
				  .capture = row->capture,
				  .cycle = row->cycle,
				  .wall_ns = row->wall_ns,
				  .is_alone = is_alone };
	snprintf(v->sqlstate, sizeof(v->sqlstate), "%.*s", (int)row->sqlstate.len,
		 row->sqlstate.bytes != NULL ? row->sqlstate.bytes : "");
	snprintf(v->reason, sizeof(v->reason), "%.*s", (int)row->reason.len,
		 row->reason.bytes != NULL ? row->reason.bytes : "");
}

static void visited(void *owner, struct fleet_batch *batch)
{
	struct desk *d = owner;
	const struct fleet_block *runs = fleet_batch_block(batch, &table_run, BLOCK_PUT);
	const struct run_row *rows = runs->rows;

	assert_true(batch->server < DESK_SERVERS);
	for (size_t i = 0; i < runs->count; i++)
		if (rows[i].reading == READING_VISIT)
			put(d, batch->server, &rows[i],
			    batch->block_count == 1 && runs->count == 1);
	d->marks[batch->server] += fleet_batch_block(batch, &table_capture, BLOCK_PUT) != NULL;
	fleet_batch_free(batch);
}

static bool take_place(void *owner, uint32_t reading, int64_t slot, uint32_t allowance)
{
	struct desk *d = owner;

	(void)slot;
	assert_int_equal(reading, READING_STATEMENTS);
	assert_true(allowance > 0);
	d->places_asked++;
	return !d->has_no_places;
}

static void say(void *owner, const char *text)
{
	struct desk *d = owner;

	if (d->said_count < 64)
		snprintf(d->said[d->said_count++], sizeof(d->said[0]), "%s", text);
}

void desk_open(struct desk *d)
{
	struct runner_owner owner = {
		.owner = d, .visited = visited, .take_place = take_place, .say = say
	};
	struct err err = ERR_EMPTY;

	assert_int_equal(runner_open_with(&d->settings, &owner, &made_ops, &d->runner, &err), 0);
}

void desk_add(struct desk *d, uint32_t id, const char *host, const char *port)
{
	char name[16], *no_name = name;
	struct cadence_mark mark = { 0 };
	struct server *memory = made_server(id);
	struct server_settings settings = { .name = no_name,
					    .host = strdup(host),
					    .port = strdup(port),
					    .user = strdup("watcher"),
					    .password = strdup("canary-secret"),
					    .readings = 0xff,
					    .plans = true };
	struct err err = ERR_EMPTY;

	snprintf(name, sizeof(name), "s%u", id);
	d->made[id] = made_of(memory);
	assert_int_equal(runner_put_server(d->runner, id, id, &settings, memory, &mark, &err), 0);
	free(settings.host);
	free(settings.port);
	free(settings.user);
	free(settings.password);
}

static void turn(struct desk *d)
{
	struct runner_status status;
	struct err err = ERR_EMPTY;

	assert_int_equal(runner_turn(d->runner, 20 * NS_PER_MS, &err), 0);
	runner_status(d->runner, &status);
	if (status.visiting > d->most_visiting)
		d->most_visiting = status.visiting;
}

void desk_turn(struct desk *d, uint64_t ns)
{
	uint64_t end_ns = loop_now().ns + ns;

	while (loop_now().ns < end_ns)
		turn(d);
}

void desk_turn_until(struct desk *d, uint32_t id, unsigned count)
{
	uint64_t end_ns = loop_now().ns + 20 * NS_PER_S;

	while (d->counts[id] < count && loop_now().ns < end_ns)
		turn(d);
	assert_true(d->counts[id] >= count);
}

void desk_close(struct desk *d)
{
	runner_close(d->runner);
	d->runner = NULL;
}

unsigned desk_count(const struct desk *d, uint32_t id, uint32_t outcome, const char *part)
{
	unsigned count = 0;

	for (unsigned i = 0; i < d->counts[id]; i++)
		count += d->visits[id][i].outcome == outcome &&
			 strstr(d->visits[id][i].reason, part) != NULL;
	return count;
}

pid_t desk_start_fake(char *out_folder, const char *const *words)
{
	const char *program = getenv("TARE_FAKEPG");
	char line[64];
	FILE *from;
	int ends[2];
	pid_t child;

	if (program == NULL)
		fail_msg("TARE_FAKEPG does not say where fakepg is");
	snprintf(out_folder, 64, "/tmp/tare-fake-XXXXXX");
	assert_non_null(mkdtemp(out_folder));
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		const char *all[32] = { program, out_folder };

		for (int i = 0; words[i] != NULL && i < 28; i++)
			all[i + 2] = words[i];
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(ends[1], 1);
		execv(program, (char *const *)(uintptr_t)all);
		_exit(127);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	assert_non_null(from);
	do
		assert_non_null(fgets(line, sizeof(line), from));
	while (strcmp(line, "ready\n") != 0);
	fclose(from);
	return child;
}

void desk_stop_fake(pid_t fake, const char *folder)
{
	char path[128];

	kill(fake, SIGTERM);
	waitpid(fake, NULL, 0);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "%s/.s.PGSQL.%u", folder, 10000 + i);
		if (unlink(path) != 0)
			break;
	}
	rmdir(folder);
}
