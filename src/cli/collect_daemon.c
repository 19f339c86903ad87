/* collect_daemon.c - `tare collect` as a service: one loop over the runner, signals, the control socket and what Prometheus asks for. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/collect_daemon.h"
#include "cli/collect_store_parts.h"
#include "core/scoped.h"
#include "sense/procfs.h"

#define STORE_WAIT_NS (15 * NS_PER_S) /* one wait; then it is said, and waited again */
#define END_WAIT_NS   (10 * NS_PER_S)
#define TURN_NS	      (100 * NS_PER_MS)
#define STATUS_NS     (10 * NS_PER_S)
#define MINUTE_NS     (60 * (int64_t)NS_PER_S)

struct wall daemon_wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct wall){ now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec };
}

static uint64_t own_cpu_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return (uint64_t)spent.tv_sec * NS_PER_S + (uint64_t)spent.tv_nsec;
}

static uint64_t own_rss_bytes(void)
{
	uint64_t bytes;

	return procfs_rss_bytes(getpid(), &bytes) == 0 ? bytes : 0;
}

int daemon_status(struct daemon *d, struct collect_status *out, struct runner_server **out_servers)
{
	size_t room = d->fleet.member_count;
	struct runner_server *servers = calloc(room + 1, sizeof(*servers));

	if (servers == NULL)
		return -ENOMEM;
	*out = (struct collect_status){
		.collector = d->name,
		.config = d->opts->config,
		.started = d->started,
		.loaded = d->loaded,
		.refused = d->refused,
		.servers = servers,
		.server_count = runner_servers(d->fleet.runner, servers, room),
		.has_store = d->fleet.store != NULL,
		.cpu_ns = own_cpu_ns(),
		.rss_bytes = own_rss_bytes(),
	};
	if (out->server_count > room)
		out->server_count = room;
	runner_status(d->fleet.runner, &out->runner);
	if (out->has_store)
		collect_store_state(d->fleet.store, &out->store);
	*out_servers = servers;
	return 0;
}

static int answer(void *owner, const char *asked, struct text *out)
{
	struct daemon *d = owner;
	struct runner_server *servers = NULL;
	struct collect_status status;
	bool is_json = strcmp(asked, "status") == 0;

	if (!is_json && strcmp(asked, "status-text") != 0)
		return -EINVAL;
	if (daemon_status(d, &status, &servers) < 0)
		return -ENOMEM;
	if (is_json)
		collect_status_json(&status, out);
	else
		collect_status_text(&status, out);
	free(servers);
	return 0;
}

/* One row a minute of the collector itself. */
static void close_minute(struct daemon *d, struct wall now)
{
	SCOPED(fleet_batch_free) struct fleet_batch batch = FLEET_BATCH_EMPTY;
	struct collector_row row = { .collector = { d->name, (uint32_t)strlen(d->name) } };
	struct minute *m = &d->minute;
	struct runner_status r;
	struct store_state store = { 0 };
	uint64_t cpu_ns = own_cpu_ns();

	runner_status(d->fleet.runner, &r);
	if (d->fleet.store != NULL)
		collect_store_state(d->fleet.store, &store);
	row.at_wall_ns = m->at.ns;
	row.cpu_ns = cpu_ns - m->cpu_ns;
	row.rss_bytes = own_rss_bytes();
	row.visits = r.visits - m->visits;
	row.late = r.late - m->late;
	row.skipped = r.skipped - m->skipped;
	row.failures = r.failures - m->failures;
	row.spool_bytes = store.spooled_bytes;
	row.longest_turn_ns = r.longest_turn_ns;
	row.turn_slots = r.k;
	row.one_in = r.n;
	if (d->fleet.store != NULL &&
	    fleet_batch_add(&batch, &table_collector, BLOCK_PUT, &row) == 0)
		collect_store_put(d->fleet.store, &batch);
	*m = (struct minute){
		{ now.ns / MINUTE_NS * MINUTE_NS }, cpu_ns, r.visits, r.late, r.skipped, r.failures
	};
}

static void say_status(struct daemon *d, struct mono now)
{
	struct runner_status r;

	if (mono_elapsed_ns(d->told_at, now) < STATUS_NS)
		return;
	d->told_at = now;
	runner_status(d->fleet.runner, &r);
	notify_send(&d->notify, "STATUS=%u servers, %u failing, %u owed; %llu visits, %llu late",
		    r.servers, r.in_lane, r.owed, (unsigned long long)r.visits,
		    (unsigned long long)r.late);
}

static void do_chores(struct daemon *d)
{
	struct mono now = store_now();
	struct wall wall = daemon_wall();

	if (d->fleet.store != NULL)
		collect_store_turn(d->fleet.store, collect_say, d->app);
	control_turn(&d->control, now, answer, d);
	daemon_publish(d);
	notify_alive(&d->notify, now);
	say_status(d, now);
	if (wall.ns / MINUTE_NS != d->minute.at.ns / MINUTE_NS)
		close_minute(d, wall);
}

static void take_signals(struct daemon *d)
{
	struct signalfd_siginfo got;

	while (read(d->signals, &got, sizeof(got)) == (ssize_t)sizeof(got)) {
		if (got.ssi_signo == SIGHUP)
			daemon_reload(d);
		else
			d->is_ending = true;
	}
}

static void wait_for_events(struct daemon *d)
{
	struct pollfd polls[3 + CONTROL_POLLS] = {
		{ .fd = d->signals, .events = POLLIN },
		{ .fd = d->published.wake, .events = POLLIN },
		{ .fd = runner_fd(d->fleet.runner), .events = POLLIN },
	};
	nfds_t count = 3 + control_polls(&d->control, polls + 3);
	uint64_t woken;

	poll(polls, count, (int)(TURN_NS / NS_PER_MS));
	if (polls[1].revents != 0 && read(d->published.wake, &woken, sizeof(woken)) < 0)
		return; /* nobody asks any more */
}

static int loop(struct daemon *d, struct err *err)
{
	int rc = 0;

	while (!d->is_ending && rc == 0) {
		wait_for_events(d);
		rc = runner_turn(d->fleet.runner, 0, err);
		take_signals(d);
		do_chores(d);
	}
	return rc;
}

static int open_signals(struct daemon *d, struct err *err)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	signal(SIGPIPE, SIG_IGN);
	d->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	d->published.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->signals < 0 || d->published.wake < 0)
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	return 0;
}

/* A store that is away is waited for: without it nobody knows what the servers are called there. */
static int open_fleet(struct daemon *d, struct err *err)
{
	int rc;

	for (;;) {
		rc = collect_fleet_open(&d->fleet, d->fleet.settings.store, STORE_WAIT_NS, err);
		if (rc != -EHOSTUNREACH || d->fleet.store != NULL)
			return rc;
		collect_say(d->app, err->msg);
		notify_send(&d->notify,
			    "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=waiting for the store");
		take_signals(d);
		if (d->is_ending)
			return 0;
		*err = ERR_EMPTY;
	}
}

static int open_control(struct daemon *d, struct err *err)
{
	char path[256];
	int rc = control_path(d->fleet.settings.control, path, sizeof(path));

	if (rc < 0)
		return err_set(err, rc, "cannot listen for status: the path is too long");
	rc = control_open(path, &d->control, err);
	if (rc == 0 || d->fleet.settings.control[0] != '\0' || rc == -EADDRINUSE)
		return rc;
	collect_say(d->app, err->msg); /* nobody asked for it: go on without */
	*err = ERR_EMPTY;
	return 0;
}

static int start(struct daemon *d, struct err *err)
{
	int rc = collect_load(d->app, d->opts, &d->fleet.settings, err);

	if (rc < 0)
		return rc;
	if (d->fleet.settings.collector[0] != '\0')
		snprintf(d->name, sizeof(d->name), "%s", d->fleet.settings.collector);
	else if (gethostname(d->name, sizeof(d->name) - 1) < 0)
		snprintf(d->name, sizeof(d->name), "collector");
	rc = open_signals(d, err);
	if (rc == 0)
		rc = open_control(d, err);
	if (rc == 0)
		rc = open_fleet(d, err);
	if (rc == 0 && !d->is_ending)
		rc = daemon_serve(d, err);
	d->started = d->loaded = daemon_wall();
	d->minute.at = (struct wall){ d->started.ns / MINUTE_NS * MINUTE_NS };
	return rc;
}

static void say_start(struct daemon *d)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	text_put_counted(&line, d->fleet.member_count, "server");
	text_put(&line, ", each visited once in ");
	text_put_duration(&line, d->fleet.settings.cycle_ns);
	text_put(&line, "; tare collect status shows how they are");
	collect_say(d->app, text_chars(&line));
}

int collect_daemon(struct app *app, const struct collect_opts *o, struct err *err)
{
	struct daemon d = { .app = app,
			    .opts = o,
			    .fleet.app = app,
			    .signals = -1,
			    .published.wake = -1,
			    .published.lock = PTHREAD_MUTEX_INITIALIZER };
	int rc;

	control_init(&d.control);
	notify_open(&d.notify);
	rc = start(&d, err);
	if (rc == 0 && !d.is_ending) {
		say_start(&d);
		notify_send(&d.notify, "READY=1");
		rc = loop(&d, err);
	}
	notify_send(&d.notify, "STOPPING=1");
	daemon_serve_no_more(&d);
	control_close(&d.control);
	if (d.fleet.runner != NULL)
		close_minute(&d, daemon_wall());
	collect_fleet_close(&d.fleet, END_WAIT_NS);
	notify_close(&d.notify);
	if (d.signals >= 0)
		close(d.signals);
	if (d.published.wake >= 0)
		close(d.published.wake);
	return rc < 0 ? rc : EXIT_OK;
}
