/* collect_reload.c - SIGHUP: all of the new settings, or none. */
#include <string.h>

#include "cli/collect_daemon.h"
#include "cli/collect_store_parts.h"
#include "core/scoped.h"

/* Settings that hold from the next start on. */
static const char *const at_start[] = { "store",   "store_password", "spool",	 "spool_size",
					"control", "metrics",	     "collector" };

static bool is_at_start(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(at_start); i++)
		if (strcmp(at_start[i], key) == 0)
			return true;
	return false;
}

static bool has_changed(const struct setting_def *def, const struct collect_settings *a,
			const struct collect_settings *b)
{
	const char *x = (const char *)a + def->offset, *y = (const char *)b + def->offset;

	if (def->type == SETTING_SIZE)
		return memcmp(x, y, sizeof(uint64_t)) != 0;
	return strcmp(*(char *const *)(const void *)x, *(char *const *)(const void *)y) != 0;
}

static void say_what_waits(struct daemon *d, const struct collect_settings *next)
{
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];
		char line[128];

		if (def->place != IN_COLLECT || !is_at_start(def->key) ||
		    !has_changed(def, &d->fleet.settings, next))
			continue;
		snprintf(line, sizeof(line), "%s is another now: that holds from the next start on",
			 def->key);
		collect_say(d->app, line);
	}
}

static void refuse(struct daemon *d, const struct err *err)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	snprintf(d->refused, sizeof(d->refused), "%.511s", err->msg);
	text_printf(&line, "the old settings stay in force: %s%s%s", err->msg,
		    err->mend[0] != '\0' ? "; " : "", err->mend);
	collect_say(d->app, text_chars(&line));
}

void daemon_reload(struct daemon *d)
{
	SCOPED(settings_free) struct collect_settings next = { .store = NULL };
	struct err err = ERR_EMPTY;
	char line[128];
	int rc;

	notify_reloading(&d->notify, store_now());
	rc = collect_load(d->app, d->opts, &next, &err);
	if (rc == 0) {
		say_what_waits(d, &next);
		rc = collect_fleet_reload(&d->fleet, &next, &err);
	}
	if (rc < 0) {
		refuse(d, &err);
	} else {
		d->refused[0] = '\0';
		d->loaded = daemon_wall();
		snprintf(line, sizeof(line), "new settings are in force: %zu servers",
			 d->fleet.member_count);
		collect_say(d->app, line);
	}
	notify_send(&d->notify, "READY=1");
}
