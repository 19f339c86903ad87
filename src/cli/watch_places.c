/* watch_places.c - which functions and scopes are watched: at the start, and what appears while the process runs. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/watch_found.h"
#include "core/scoped.h"

#define SCAN_BYTES (UINT64_C(1) << 30)

/* ---- which scopes were asked for ---- */

static bool matches_regex(const char *pattern, size_t len, const char *name)
{
	char *text = strndup(pattern + 1, len - 2);
	regex_t regex;
	bool is_match;

	if (text == NULL || regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0) {
		free(text);
		return false;
	}
	is_match = regexec(&regex, name, 0, NULL, 0) == 0;
	regfree(&regex);
	free(text);
	return is_match;
}

/* A scope has one name and no file: "lib.so:func" is never one. */
static bool matches_scope(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (len > 2 && pattern[0] == '/' && pattern[len - 1] == '/')
		return matches_regex(pattern, len, name);
	return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool watch_places_wants(void *session, struct watched_row *row)
{
	struct watch_session *s = session;
	char name[STR_MAX_BYTES + 1];
	bool is_wanted = s->opts->pattern_count == 0;

	if (row->kind != WATCHED_SCOPE)
		return true;
	memcpy(name, row->name.bytes, row->name.len);
	name[row->name.len] = '\0';
	for (size_t i = 0; i < s->opts->pattern_count; i++) {
		if (!matches_scope(s->opts->patterns[i], name))
			continue;
		if (!is_wanted)
			row->pattern = run_str(s->opts->patterns[i]);
		s->has_found[i] = true;
		is_wanted = true;
	}
	return is_wanted;
}

/* ---- places of files ---- */

static bool is_pattern(struct str pattern, const char *chars)
{
	return pattern.len == strlen(chars) && memcmp(pattern.bytes, chars, pattern.len) == 0;
}

void watch_places_note_found(struct watch_session *s, const struct places *places)
{
	for (size_t i = 0; i < places->met_count; i++)
		for (size_t k = 0; k < s->opts->pattern_count; k++)
			if (is_pattern(places->met[i], s->opts->patterns[k]))
				s->has_found[k] = true;
}

static bool has_chosen(const struct watch_session *s, struct str pattern)
{
	for (size_t k = 0; k < s->opts->pattern_count; k++)
		if (is_pattern(pattern, s->opts->patterns[k]))
			return s->has_found[k];
	return false;
}

struct places_settings watch_places_settings_of(const struct watch_session *s)
{
	const struct run_opts *o = &s->opts->run;

	return (struct places_settings){ .pid = o->command == NULL ? s->pid : 0,
					 .program = o->command != NULL ? o->command[0] : NULL,
					 .patterns = s->opts->patterns,
					 .pattern_count = s->opts->pattern_count,
					 .most = (uint32_t)s->opts->functions };
}

static int find_frame(struct watch_session *s, struct err *err)
{
	struct places_settings settings = watch_places_settings_of(s);
	char *pattern = (char *)(uintptr_t)s->opts->frame;
	int code;

	if (s->opts->frame == NULL)
		return 0;
	settings.patterns = &pattern;
	settings.pattern_count = 1;
	settings.most = 1;
	code = places_find(&settings, &s->frame_places, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < s->frame_places.count; i++) {
		if (s->frame_places.rows[i].why_not.len > 0)
			continue;
		s->frame = s->frame_places.rows[i];
		return 0;
	}
	err_set(err, -ENOENT, "cannot use '%s' as the frame: %.*s", s->opts->frame,
		s->frame_places.count > 0 ? (int)s->frame_places.rows[0].why_not.len : 9,
		s->frame_places.count > 0 ? s->frame_places.rows[0].why_not.bytes : "not found");
	err_works(err, "watching without --frame; tare_frame() of libtare marks frames too");
	return err_mend(err, "tare watch --list shows the functions that can be named");
}

/* A row for a place that is no point of any source. */
static void list_place(struct watch_session *s, const struct place *place, struct str why_not)
{
	struct watched_row row = { .kind = WATCHED_PROBE,
				   .name = place->module.len > 0 ? place->name : place->pattern,
				   .symbol = place->module.len > 0 ? place->symbol : STR_EMPTY,
				   .module = place->module,
				   .pattern = place->pattern,
				   .why_not = why_not,
				   .offset = place->offset };
	uint32_t id;

	if (place->module.len > 0)
		row.first = run_str(place_first_name(place->first));
	watchlist_add(s->list, &row, &id); /* no room: it is only not listed */
}

static void list_unwatched(struct watch_session *s, const struct places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->rows[i];

		bool is_function = place->module.len > 0;

		if (place->why_not.len > 0 && (is_function || !has_chosen(s, place->pattern)))
			list_place(s, place, place->why_not);
		else if (place->why_not.len == 0 && s->probes_why[0] != '\0')
			list_place(s, place, run_str(s->probes_why));
	}
}

/* ---- sources ---- */

int watch_places_open_source(struct watch_session *s, const struct watch_source_ops *ops,
			     struct places *places, struct err *err)
{
	const struct run_opts *o = &s->opts->run;
	struct stacks_program program = {
		.pid = s->pid,
		.program = o->command != NULL && !s->is_running ? o->command[0] : NULL,
	};
	struct watch_source_settings settings = { .pid = s->pid,
						  .places = places,
						  .stacks = &program,
						  .frame = s->frame.path != NULL && !s->is_running
								   ? &s->frame
								   : NULL,
						  .interval = (uint32_t)s->opts->interval,
						  .slow_ns = s->opts->slow_ns,
						  .start_ns = s->run.start.ns,
						  .switched_off = s->run.app->switched_off };
	struct watch_source *source = NULL;
	int code = ops->open(&settings, &source, err);

	if (code < 0)
		return code;
	code = watch_sources_add(&s->sources, ops, source, places);
	if (code < 0) {
		ops->close(source);
		return err_set(err, code, "cannot watch more sources: %s", strerror(-code));
	}
	return 0;
}

bool watch_places_has_point(const struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->rows[i].why_not.len == 0)
			return true;
	return false;
}

static void note_why(char *out, size_t size, int code, const struct err *err)
{
	if (code == -EPERM || code == -EACCES)
		snprintf(out, size, "not permitted: %.200s",
			 err->mend[0] != '\0' ? err->mend : err->msg);
	else
		snprintf(out, size, "%.250s", err->msg);
}

/* Watches the places; those with a reason, or all when probes cannot be had, are only listed. */
static void open_probes(struct watch_session *s, struct places *places, struct err *err)
{
	int code = 0;

	if (!watch_places_has_point(places) && s->frame.path == NULL) {
		list_unwatched(s, places);
		return;
	}
	code = watch_places_open_source(s, &watch_source_probes, places, err);
	if (code < 0)
		note_why(s->probes_why, sizeof(s->probes_why), code, err);
	list_unwatched(s, code < 0 ? places : &s->sources.parts[s->sources.part_count - 1].places);
}

/* ---- libtare ---- */

/* Does the file hold one of libtare's own words? Its name where it is linked dynamically, the name of its memory where
 * statically. */
static bool holds_libtare(int fd)
{
	struct stat st;
	bool is_found;
	void *bytes;
	size_t len;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return false;
	len = (uint64_t)st.st_size < SCAN_BYTES ? (size_t)st.st_size : SCAN_BYTES;
	bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED || bytes == NULL)
		return false;
	is_found = memmem(bytes, len, "libtare.so", 10) != NULL ||
		   memmem(bytes, len, "tare-watch", 10) != NULL;
	munmap(bytes, len);
	return is_found;
}

/* Will the command share libtare's mapping, once it runs? A library of it may be the one that links it. */
static bool links_libtare(const struct watch_session *s)
{
	SCOPED(places_free) struct places places = PLACES_EMPTY;
	struct places_settings settings = watch_places_settings_of(s);
	char pattern[] = "tare_scope_begin", *patterns[] = { pattern };
	struct err err = ERR_EMPTY;
	char path[PATH_MAX];
	bool is_found = false;
	int fd = -1;

	if (child_find(s->opts->run.command[0], path) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		is_found = holds_libtare(fd);
		close(fd);
	}
	if (is_found)
		return true;
	settings.patterns = patterns;
	settings.pattern_count = 1;
	settings.only_found = true;
	return places_find(&settings, &places, &err) == 0 && watch_places_has_point(&places);
}

int watch_places_open_inside(struct watch_session *s, struct err *err)
{
	int code = watch_places_open_source(s, &watch_source_inside, NULL, err);

	s->inside_why[0] = '\0';
	if (code < 0 && code != -ENOENT)
		note_why(s->inside_why, sizeof(s->inside_why), code, err);
	return code;
}

/* ---- the start ---- */

int watch_say_rest(struct err *err)
{
	if (err->works[0] == '\0')
		err_works(err, "tare record shows where the time goes, without names");
	if (err->mend[0] != '\0')
		return err->code;
	if (err->code == -EPERM || err->code == -EACCES)
		return err_mend(err, "run it as the user of the process, or as root");
	return err_mend(err, "tare watch --list shows what could be watched");
}

static int nothing_to_watch(const struct watch_session *s, struct err *err)
{
	const char *why = s->inside_why[0] != '\0' ? s->inside_why : s->probes_why;

	if (s->opts->pattern_count == 0 && why[0] == '\0') {
		err_set(err, -ENOENT,
			"cannot watch '%s': no function is named, and it does not use libtare",
			s->run.comm);
		err_works(err, "tare record shows where its time goes, without names");
		return err_mend(err, "name functions; tare watch --list shows which there are");
	}
	if (why[0] != '\0' && err->code != 0)
		return watch_say_rest(err); /* the source's own words */
	for (uint32_t id = 0; why[0] == '\0' && id < watchlist_count(s->list); id++) {
		struct str reason = watchlist_row(s->list, id)->why_not;
		struct str name = watchlist_row(s->list, id)->name;

		err_set(err, -ENOENT, "cannot watch '%.*s' in '%s': %.*s", (int)name.len,
			name.bytes, s->run.comm, (int)reason.len, reason.bytes);
		err_works(err, "tare record shows where its time goes, without names");
		return err_mend(err, "tare watch --list shows what could be watched");
	}
	err_set(err, -ENOENT, "cannot watch '%s': %s", s->run.comm,
		why[0] != '\0' ? why : "nothing that was asked for is in it");
	err_works(err, "tare record shows where its time goes, without names");
	return err_mend(err, "tare watch --list shows what could be watched");
}

static bool has_watched_row(const struct watch_session *s)
{
	for (uint32_t id = 0; id < watchlist_count(s->list); id++)
		if (watchlist_row(s->list, id)->why_not.len == 0)
			return true;
	return false;
}

int watch_places_open(struct watch_session *s, struct err *err)
{
	SCOPED(places_free) struct places places = PLACES_EMPTY;
	struct places_settings settings = watch_places_settings_of(s);
	int code = 0;

	s->has_found = calloc(s->opts->pattern_count + 1, sizeof(*s->has_found));
	if (s->has_found == NULL)
		return err_set(err, -ENOMEM, "cannot hold the list of names: out of memory");
	if (s->opts->pattern_count > 0)
		code = places_find(&settings, &places, err);
	if (code == 0)
		code = find_frame(s, err);
	if (code < 0)
		return watch_say_rest(err);
	watch_places_note_found(s, &places);
	if (s->opts->run.command == NULL)
		s->expects_inside = watch_places_open_inside(s, err) == 0;
	else
		s->expects_inside = links_libtare(s);
	open_probes(s, &places, err);
	if (!has_watched_row(s) &&
	    !s->expects_inside) /* libtare names scopes once it is attached */
		return nothing_to_watch(s, err);
	*err = ERR_EMPTY;
	return 0;
}
