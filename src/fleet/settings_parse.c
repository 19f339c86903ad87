/* settings_parse.c - the text of a settings file: inih cuts the lines, we know the sections, keys and bounds. Names of sections are read here:
 * inih would cut them at 49 bytes without a word. */
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/words.h"
#include "fleet/settings_parts.h"

#define SERVERS_MOST 100000u
#define NAME_MOST    200u
_Static_assert(INI_MAX_LINE >= 200, "lines of 196 bytes are promised in the manual");

/* What is being read. */
struct reading_file {
	const char *path;
	const char *bytes, *end, *at;
	unsigned line;
	struct collect_settings settings; /* owned */
	struct server_settings common;	  /* owned: what [collect] says for servers */
	size_t server;			  /* index of the section's server, or NONE */
	bool is_in_section;
	unsigned *
		given; /* owned: rows of setting_def_count, the line of each key; row 0 is [collect] */
	size_t given_rows;
	void (*warn)(void *owner, const char *text);
	void *owner;
	struct err *err;
};

#define NONE SIZE_MAX

static void reading_free(struct reading_file *r)
{
	settings_free(&r->settings);
	settings_server_free(&r->common);
	free(r->given);
	r->given = NULL;
}

static bool has_failed(const struct reading_file *r)
{
	return r->err->code != 0;
}

static void no_memory(struct reading_file *r)
{
	err_set(r->err, -ENOMEM, "cannot read '%s': no memory", r->path);
}

/* Row of the section in `given`. */
static unsigned *given_row(struct reading_file *r)
{
	return &r->given[(r->server == NONE ? 0 : r->server + 1) * setting_def_count];
}

static int add_given_row(struct reading_file *r)
{
	size_t rows = r->given_rows + 1;
	unsigned *given = reallocarray(r->given, rows * setting_def_count, sizeof(*given));

	if (given == NULL)
		return -ENOMEM;
	memset(&given[r->given_rows * setting_def_count], 0, setting_def_count * sizeof(*given));
	r->given = given;
	r->given_rows = rows;
	return 0;
}

static void bad_section(struct reading_file *r, const char *why)
{
	err_set(r->err, -EINVAL, "cannot use line %u of '%s': %s", r->line, r->path, why);
	err_mend(r->err, "sections are [collect] and [server \"NAME\"]");
}

static void begin_server(struct reading_file *r, const char *name)
{
	struct server_settings *added;

	for (size_t i = 0; i < r->settings.server_count; i++)
		if (strcmp(r->settings.servers[i].name, name) == 0) {
			err_set(r->err, -EINVAL,
				"cannot use line %u of '%s': server '%s' stands in line %u too",
				r->line, r->path, name, r->settings.servers[i].line);
			err_mend(r->err, "give each server a name of its own");
			return;
		}
	if (r->settings.server_count >= SERVERS_MOST) {
		bad_section(r, "there are too many servers");
		return;
	}
	if (settings_add_server(&r->settings, name, &added) < 0 || add_given_row(r) < 0) {
		no_memory(r);
		return;
	}
	added->line = r->line;
	r->server = r->settings.server_count - 1;
}

/* The name between the quotes of `[server "NAME"]`, which begins at `at`. Returns what is wrong, or NULL. */
static const char *read_name(const char *at, const char *end, char out[NAME_MOST + 1])
{
	const char *close;
	size_t len;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (at == end || *at != '"')
		return "a server needs a name in quotes";
	close = memchr(at + 1, '"', (size_t)(end - at - 1));
	len = close != NULL ? (size_t)(close - at - 1) : 0;
	if (close == NULL || close + 1 != end)
		return "a server's name ends in a quote";
	if (len == 0 || len > NAME_MOST)
		return "a server's name has 1 to 200 bytes";
	for (size_t i = 1; i <= len; i++)
		if ((unsigned char)at[i] < ' ' || at[i] == 0x7f)
			return "a server's name has no control characters";
	memcpy(out, at + 1, len);
	out[len] = '\0';
	return NULL;
}

static void begin_section(struct reading_file *r, const char *line, size_t len)
{
	const char *close = memrchr(line, ']', len);
	char name[NAME_MOST + 1];
	const char *wrong;

	r->is_in_section = true;
	if (close == NULL) {
		bad_section(r, "the section does not end in ]");
		return;
	}
	for (const char *at = close + 1; at < line + len && *at != ';' && *at != '#'; at++)
		if (*at != ' ' && *at != '\t' && *at != '\r') {
			bad_section(r, "something stands behind the section");
			return;
		}
	if (close - line - 1 == 7 && strncmp(line + 1, "collect", 7) == 0) {
		r->server = NONE;
		return;
	}
	if (close - line - 1 < 6 || strncmp(line + 1, "server", 6) != 0) {
		bad_section(r, "there is no such section");
		return;
	}
	wrong = read_name(line + 7, close, name);
	if (wrong != NULL)
		bad_section(r, wrong);
	else
		begin_server(r, name);
}

/* inih's reader: the next line into `out`. Sections become one word, since their names are read here; indented lines begin
 * at the margin, so that they are not taken for the rest of the line before. */
static char *next_line(char *out, int room, void *self)
{
	struct reading_file *r = self;
	const char *line = r->at, *end;
	size_t len;

	explicit_bzero(out, (size_t)room); /* may have held a password */
	if (r->at >= r->end || has_failed(r))
		return NULL;
	end = memchr(line, '\n', (size_t)(r->end - line));
	r->at = end != NULL ? end + 1 : r->end;
	if (end == NULL)
		end = r->end;
	r->line++;
	if (r->line == 1 && end - line >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	len = (size_t)(end - line);
	if (len > 0 && *line == '[') {
		begin_section(r, line, len);
		strcpy(out, "[section]\n");
		return has_failed(r) ? NULL : out;
	}
	if (len > 0 && (*line == '#' || *line == ';'))
		len = 0;
	if (memchr(line, '\0', len) != NULL || len + 3 >= (size_t)room) {
		err_set(r->err, -EINVAL, "cannot use line %u of '%s': it %s", r->line, r->path,
			memchr(line, '\0', len) != NULL ? "holds a NUL" : "is too long");
		err_mend(r->err, "lines have up to %d bytes", room - 4);
		return NULL;
	}
	memcpy(out, line, len);
	strcpy(out + len, "\n");
	return out;
}

static const char *section_word(const struct reading_file *r)
{
	return r->server == NONE ? "[collect]" : "[server]";
}

static bool may_stand(const struct setting_def *def, bool in_server)
{
	return def->place == IN_BOTH || (def->place == IN_SERVER) == in_server;
}

static const struct setting_def *find_def(const struct reading_file *r, const char *key)
{
	for (size_t i = 0; i < setting_def_count; i++)
		if (strcmp(setting_defs[i].key, key) == 0 &&
		    may_stand(&setting_defs[i], r->server != NONE))
			return &setting_defs[i];
	return NULL;
}

static void unknown_key(struct reading_file *r, const char *key)
{
	const char *nearest = "", *elsewhere = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < setting_def_count; i++) {
		size_t d = words_distance(key, setting_defs[i].key);

		if (strcmp(setting_defs[i].key, key) == 0)
			elsewhere = setting_defs[i].place == IN_SERVER ? "[server]" : "[collect]";
		if (may_stand(&setting_defs[i], r->server != NONE) && d < best) {
			best = d;
			nearest = setting_defs[i].key;
		}
	}
	err_set(r->err, -EINVAL, "cannot use '%.80s' in line %u of '%s': %s has no such key", key,
		r->line, r->path, section_word(r));
	if (elsewhere != NULL)
		err_mend(r->err, "it belongs to %s", elsewhere);
	else
		err_mend(r->err, "the nearest one is %s; man tare.conf lists all", nearest);
}

static void bad_value(struct reading_file *r, const struct setting_def *def, int code,
		      const char *value)
{
	bool is_secret = def->type == SETTING_SECRET;

	if (code == -ENOMEM) {
		no_memory(r);
		return;
	}
	err_set(r->err, -EINVAL, "cannot use '%.80s' for %s in line %u of '%s'%s",
		is_secret ? "(hidden)" : value, def->key, r->line, r->path,
		code == -ERANGE ? ": it is out of bounds" : "");
	err_mend(r->err, "%s takes %s", def->key, def->bounds);
}

/* "server 'a'", or "the store". */
static void target_of(const struct reading_file *r, char *out, size_t size)
{
	if (r->server == NONE)
		snprintf(out, size, "[collect]");
	else
		snprintf(out, size, "server '%.200s'", r->settings.servers[r->server].name);
}

static void judge_secret(struct reading_file *r, const struct setting_def *def, const char *value)
{
	char target[256], text[1024];

	target_of(r, target, sizeof(target));
	if (value[0] == '\0') {
		err_set(r->err, -EINVAL, "cannot use an empty %s of %s in line %u of '%s'",
			def->key, target, r->line, r->path);
		err_mend(r->err, "leave the line out, or write %s", def->bounds);
		return;
	}
	if (!secret_is_literal(value) || r->warn == NULL)
		return;
	snprintf(
		text, sizeof(text),
		"%s of %s stands in '%s' (line %u) itself: write env:NAME, file:/path or cred:NAME",
		def->key, target, r->path, r->line);
	r->warn(r->owner, text);
}

static bool is_credentialed(const char *store)
{
	size_t at, len;

	return settings_url_password(store, &at, &len);
}

/* inih's handler: one key. Always 1: failures are in r->err. */
static int take_key(void *self, const char *section, const char *key, const char *value)
{
	struct reading_file *r = self;
	const struct setting_def *def;
	void *held;
	unsigned *given;
	int rc;

	(void)section;
	if (has_failed(r))
		return 1;
	if (!r->is_in_section) {
		bad_section(r, "a key stands before the first section");
		return 1;
	}
	def = find_def(r, key);
	if (def == NULL) {
		unknown_key(r, key);
		return 1;
	}
	given = &given_row(r)[def - setting_defs];
	if (*given != 0) {
		err_set(r->err, -EINVAL, "cannot use '%s' in line %u of '%s': line %u has it too",
			key, r->line, r->path, *given);
		err_mend(r->err, "leave one of them");
		return 1;
	}
	*given = r->line;
	if (def->place == IN_COLLECT)
		held = &r->settings;
	else
		held = r->server == NONE ? &r->common : &r->settings.servers[r->server];
	if (def->type == SETTING_SECRET)
		judge_secret(r, def, value);
	rc = setting_set(def, value, held);
	if (rc < 0 && !has_failed(r))
		bad_value(r, def, rc, value);
	return 1;
}

/* Keys that a server does not give are those of [collect]. */
static void inherit(struct reading_file *r, size_t server)
{
	const unsigned *of_server = &r->given[(server + 1) * setting_def_count];

	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];
		char *to = (char *)&r->settings.servers[server] + def->offset;
		const char *from = (const char *)&r->common + def->offset;
		int rc = 0;

		if (def->place != IN_BOTH || of_server[i] != 0 || r->given[i] == 0)
			continue;
		if (def->type == SETTING_READINGS)
			*(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from;
		else if (def->type == SETTING_SWITCH)
			*(bool *)to = *(const bool *)from;
		else
			rc = setting_set(def, *(char *const *)(const void *)from,
					 &r->settings.servers[server]);
		if (rc < 0)
			no_memory(r);
	}
}

static void check_whole(struct reading_file *r)
{
	const struct collect_settings *s = &r->settings;

	if (s->backoff_most_ns < s->backoff_ns) {
		err_set(r->err, -EINVAL, "cannot use '%s': backoff_most is less than backoff",
			r->path);
		err_mend(r->err, "backoff_most takes 1s to 24h, and no less than backoff");
	} else if (is_credentialed(s->store)) {
		err_set(r->err, -EINVAL, "cannot use '%s': the store's URL holds a password",
			r->path);
		err_mend(r->err, "write it as store_password = file:/path, and take it out there");
	}
}

static void read_all(struct reading_file *r)
{
	int bad_line;

	if (settings_presets(&r->settings) < 0 || settings_server_presets(&r->common) < 0 ||
	    add_given_row(r) < 0) {
		no_memory(r);
		return;
	}
	bad_line = ini_parse_stream(next_line, r, take_key, r);
	if (!has_failed(r) && bad_line < 0)
		no_memory(r);
	else if (!has_failed(r) && bad_line > 0) {
		err_set(r->err, -EINVAL, "cannot use line %d of '%s': it has no '='", bad_line,
			r->path);
		err_mend(r->err,
			 "a line is KEY = VALUE, a section, or a comment that begins with #");
	}
	for (size_t i = 0; i < r->settings.server_count && !has_failed(r); i++)
		inherit(r, i);
	if (!has_failed(r))
		check_whole(r);
}

int settings_parse(const char *bytes, size_t len, const char *path, struct collect_settings *out,
		   void (*warn)(void *owner, const char *text), void *owner, struct err *err)
{
	struct err own = ERR_EMPTY;
	SCOPED(reading_free)
	struct reading_file r = { .path = path,
				  .bytes = bytes,
				  .end = bytes + len,
				  .at = bytes,
				  .server = NONE,
				  .warn = warn,
				  .owner = owner,
				  .err = &own };

	read_all(&r);
	if (own.code != 0) {
		*err = own;
		return own.code;
	}
	r.settings.readings = r.common.readings;
	r.settings.plans = r.common.plans;
	*out = r.settings;
	r.settings = (struct collect_settings){ .store = NULL };
	return 0;
}
