/* collect_top.c - `tare collect top`: what runs now over the fleet, from the store, and how the running collector stands. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/collect.h"
#include "cli/collect_control.h"
#include "cli/report_fleet.h"
#include "cli/top_screen.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "fleet/loop.h"

#define FRAME_MOST_NS (5 * NS_PER_S) /* a store is looked at no less often */
#define CYCLES_SEEN   2u	     /* a window holds so many cycles at least */
#define FRAME_SHARE   10u	     /* frames take one part in so many of our CPU time at most */

struct top {
	struct app *app;
	const struct collect_opts *opts;
	struct collect_settings settings; /* owned; without a store: the argument is one */
	const char *url, *password;	  /* borrowed */
	uint64_t last_ns, frame_ns;
	char control[256]; /* empty: nobody is asked */
};

static void top_free(struct top *t)
{
	settings_free(&t->settings);
}

/* Which store, how far back, how often. */
static int prepare(struct top *t, struct err *err)
{
	uint64_t cycle_ns = NS_PER_S;

	if (t->opts->argument != NULL) {
		t->url = t->opts->argument;
		t->password = "";
	} else {
		int rc = collect_load(t->app, t->opts, &t->settings, err);

		if (rc < 0)
			return rc;
		t->url = t->settings.store;
		t->password = t->settings.store_password;
		cycle_ns = t->settings.cycle_ns;
		if (control_path(t->settings.control, t->control, sizeof(t->control)) < 0)
			t->control[0] = '\0';
	}
	t->last_ns = t->opts->last_ns;
	if (t->last_ns < CYCLES_SEEN * cycle_ns)
		t->last_ns = CYCLES_SEEN * cycle_ns;
	t->frame_ns = cycle_ns < FRAME_MOST_NS ? cycle_ns : FRAME_MOST_NS;
	return 0;
}

static void put_line(struct screen *s, struct text *t)
{
	s->has_failed |= t->has_failed;
	screen_wrap(s, text_chars(t), 2);
	text_free(t);
}

/* What the collector says of itself, line by line; nothing when none runs here. */
static void put_collector(struct screen *s, const struct top *t)
{
	SCOPED(text_free) struct text answer = TEXT_EMPTY;
	struct err none = ERR_EMPTY;
	char *line, *rest;

	if (t->control[0] == '\0' || control_ask(t->control, "status-text", &answer, &none) < 0) {
		if (t->control[0] != '\0')
			screen_wrap(s, "no collector answers here: this is what the store has", 2);
		return;
	}
	rest = answer.bytes;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			screen_wrap(s, line, 4);
}

/* Captures in this time: done, left to other turns, tried in vain. */
static void put_captures(struct screen *s, const struct fleet_analysis *a)
{
	struct text t = TEXT_EMPTY;
	uint64_t captures = 0, gated = 0, missed = 0;

	for (size_t i = 0; i < a->reading_count; i++) {
		if (a->readings[i].reading != READING_STATEMENTS)
			continue;
		captures += a->readings[i].captures;
		gated += a->readings[i].gated;
		missed += a->readings[i].missed;
	}
	text_put_counted(&t, captures, "capture");
	text_put(&t, " of plans, ");
	text_put_counted(&t, gated, "gated visit");
	text_printf(&t, ", %" PRIu64 " missed", missed);
	put_line(s, &t);
}

static void put_head(struct screen *s, const struct fleet_report *r)
{
	struct text t = TEXT_EMPTY;
	char at[64];
	size_t well = 0;

	if (r->a.last_wall_ns == 0) {
		screen_wrap(s, "nothing was collected yet", 0);
		return;
	}
	units_format_wall((struct wall){ r->a.last_wall_ns }, at, sizeof(at));
	for (size_t i = 0; i < r->a.server_count; i++)
		well += r->a.servers[i].well > 0;
	text_printf(&t, "%s, the last ", at);
	text_put_duration(&t, (uint64_t)(r->a.to_wall_ns - r->a.from_wall_ns));
	text_printf(&t, ": %zu of ", well);
	text_put_counted(&t, r->a.server_count, "server");
	text_put(&t, " visited");
	put_line(s, &t);
	put_captures(s, &r->a);
}

static void put_table(struct screen *s, const char *title, const struct fleet_report *r,
		      uint32_t (*table)(struct screen *s, const struct fleet_report *r,
					bool shows_all))
{
	char line[64];
	uint32_t left;

	screen_end(s);
	screen_put(s, title);
	screen_end(s);
	left = table(s, r, false);
	if (left == 0)
		return;
	snprintf(line, sizeof(line), "%" PRIu32 " more", left);
	screen_put(s, line);
	screen_end(s);
}

static int put_frame(struct screen *s, const struct top *t, struct err *err)
{
	SCOPED(fleet_report_close) struct fleet_report r = FLEET_REPORT_EMPTY;
	int rc = fleet_report_open_with(t->url, t->password, t->last_ns, &r, err);

	if (rc < 0)
		return rc;
	put_head(s, &r);
	put_collector(s, t);
	if (r.a.statement_count > 0)
		put_table(s, "statements by time", &r, fleet_statements);
	if (r.a.server_count > 0)
		put_table(s, "servers", &r, fleet_servers);
	fleet_waits(s, &r, false);
	return 0;
}

/* A frame as text, owned by the caller (free). A store that is away is no end: it is said, and looked for again. */
static int make_frame(const struct top *t, bool may_be_away, char **out, struct err *err)
{
	struct err why = ERR_EMPTY;
	size_t len = 0;
	FILE *memory = open_memstream(out, &len);
	struct screen s = report_screen(t->app);
	int rc;

	if (memory == NULL)
		return err_set(err, -ENOMEM, "cannot show the fleet: no memory");
	s.out = memory;
	rc = put_frame(&s, t, &why);
	if (may_be_away && (rc == -EHOSTUNREACH || rc == -EBUSY)) {
		screen_wrap(&s, why.msg, 2);
		rc = 0;
	}
	if (rc == 0 && s.has_failed)
		rc = err_set(&why, -ENOMEM, "cannot show the fleet: no memory");
	screen_free(&s);
	if (fclose(memory) != 0 && rc == 0)
		rc = err_set(&why, -ENOMEM, "cannot show the fleet: no memory");
	if (rc < 0) {
		free(*out);
		*out = NULL;
		*err = why;
	}
	return rc;
}

static int show_once(const struct top *t, bool may_be_away, struct err *err)
{
	char *frame = NULL;
	int rc = make_frame(t, may_be_away, &frame, err);

	if (rc == 0)
		fputs(frame, t->app->out);
	free(frame);
	return rc;
}

/* Frame after frame until the user has seen enough, or nobody reads any more. */
static int show_on(const struct top *t, struct err *err)
{
	struct top_screen screen;
	int rc = top_screen_open(&screen, t->app->out, err);

	for (bool is_first = true; rc == 0; is_first = false) {
		uint64_t began_ns = loop_cpu_ns(), rest_ns;
		char *frame = NULL;

		rc = make_frame(t, !is_first, &frame, err);
		/* A large fleet's state takes its time to read: it is looked at less often. */
		rest_ns = (loop_cpu_ns() - began_ns) * FRAME_SHARE;
		if (rc == 0)
			rc = top_screen_show(&screen, frame);
		free(frame);
		if (rc == 0)
			rc = top_screen_wait(&screen,
					     rest_ns > t->frame_ns ? rest_ns : t->frame_ns);
	}
	top_screen_close(&screen);
	return rc == TOP_SCREEN_ENOUGH ? EXIT_OK : rc;
}

int collect_top(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(top_free) struct top t = { .app = app, .opts = o };
	int rc = prepare(&t, err);

	if (rc < 0)
		return rc;
	if (o->is_once)
		return show_once(&t, false, err) < 0 ? err->code : EXIT_OK;
	return show_on(&t, err);
}
