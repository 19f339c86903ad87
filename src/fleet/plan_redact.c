/* plan_redact.c - the walk over a plan's JSON: what is written, what is hashed, what is noted. Open objects and arrays are on a stack of
 * our own with a limit. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"
#include "fleet/plan_string.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"

#define HIDDEN "?"

/* An object or array that is open. */
struct frame_open {
	bool is_object;
	bool is_plan;	  /* the root of a plan tree */
	bool is_settings; /* its members are settings */
	bool is_quiet;	  /* not written */
	bool is_aside;	  /* no part of the shape */
	bool has_child;	  /* "Plans" holds a member of this node, not only an InitPlan */
	bool has_removed;
	bool is_written;       /* something was written in it */
	enum plan_field field; /* of the member, or of all elements */
	size_t member;	       /* in the shape: where the member began */
	struct plan_mark mark;
	char key[32]; /* of the member, cut */
};

struct walk {
	struct plan_bytes bytes;
	struct frame_open *open; /* owned */
	size_t depth, room;
	struct plan_shape shape;
	struct text string, redacted;
	struct plan_read *out;
	size_t root_depth; /* of the object that has "Plan": 1, or 2 in an array */
	bool has_plan;
};

static void walk_free(struct walk *w)
{
	free(w->open);
	plan_shape_free(&w->shape);
	text_free(&w->string);
	text_free(&w->redacted);
}

void plan_read_free(struct plan_read *plan)
{
	text_free(&plan->redacted);
	text_free(&plan->settings);
	*plan = PLAN_READ_EMPTY;
}

static struct frame_open *top(struct walk *w)
{
	return w->depth > 0 ? &w->open[w->depth - 1] : NULL;
}

static bool is_key(const struct frame_open *f, const char *key)
{
	return f != NULL && f->is_object && strcmp(f->key, key) == 0;
}

/* Whether the member that is read now is written, and whether it is hashed. */
static bool is_quiet(struct walk *w)
{
	struct frame_open *f = top(w);

	return f != NULL && (f->is_quiet || f->field == PLAN_FIELD_DROPPED);
}

static bool is_aside(struct walk *w)
{
	struct frame_open *f = top(w);

	return f != NULL && (f->is_aside || f->field == PLAN_FIELD_DROPPED ||
			     f->field == PLAN_FIELD_ASIDE || f->field == PLAN_FIELD_SETTINGS);
}

/* An element of an array begins; a member has begun with its key. */
static void begin_value(struct walk *w)
{
	struct frame_open *f = top(w);

	if (f == NULL || f->is_object)
		return;
	if (!is_quiet(w) && f->is_written)
		text_put(&w->out->redacted, ",");
	f->is_written |= !is_quiet(w);
	f->member = plan_shape_begin(&w->shape, NULL, 0);
}

/* A value has ended; `kind` NUL: it is no part of the shape. */
static void end_value(struct walk *w, char kind, const char *bytes, size_t len)
{
	struct frame_open *f = top(w);

	if (f == NULL)
		return;
	if (kind == '\0' || is_aside(w))
		plan_shape_leave_out(&w->shape, f->member);
	else
		plan_shape_end(&w->shape, f->member, kind, bytes, len);
}

static int push(struct walk *w, bool is_object)
{
	struct frame_open opened = { .is_object = is_object };
	struct frame_open *f = top(w);

	if (w->depth == PLAN_DEPTH_MOST)
		return -E2BIG;
	if (w->depth == w->room) {
		size_t room = w->room == 0 ? 16 : w->room * 2;
		struct frame_open *open = reallocarray(w->open, room, sizeof(*open));

		if (open == NULL)
			return -ENOMEM;
		w->open = open;
		w->room = room;
		f = top(w);
	}
	opened.is_quiet = is_quiet(w);
	opened.is_aside = is_aside(w);
	opened.field = f != NULL ? f->field : PLAN_FIELD_SQL;
	opened.is_plan = is_object && w->depth == w->root_depth && is_key(f, "Plan");
	opened.is_settings = is_object && w->depth == w->root_depth && f != NULL &&
			     f->field == PLAN_FIELD_SETTINGS;
	opened.mark = plan_shape_mark(&w->shape);
	if (!opened.is_quiet)
		text_put(&w->out->redacted, is_object ? "{" : "[");
	if (w->depth == 0)
		w->root_depth = is_object ? 1 : 2;
	w->open[w->depth++] = opened;
	return 0;
}

static void pop(struct walk *w)
{
	struct frame_open closed = w->open[--w->depth];
	struct digest digest = plan_shape_close(&w->shape, closed.mark, closed.is_object);

	if (!closed.is_quiet)
		text_put(&w->out->redacted, closed.is_object ? "}" : "]");
	w->out->is_pruned |= closed.has_removed;
	w->out->is_shell |= closed.has_removed && !closed.has_child;
	if (w->depth == 0)
		w->out->shape = digest;
	else
		end_value(w, closed.is_object ? '{' : '[', (const char *)digest.bytes,
			  sizeof(digest.bytes));
}

/* Settings that we made ourselves say nothing of the server. */
static enum plan_field field_of_setting(const char *name)
{
	return strcmp(name, "plan_cache_mode") == 0 || strcmp(name, "search_path") == 0
		       ? PLAN_FIELD_DROPPED
		       : PLAN_FIELD_SETTINGS;
}

/* A key is a word of the server's source; what cannot be one is hidden. */
static bool is_plain_key(const struct text *key)
{
	for (size_t i = 0; i < key->len; i++) {
		char byte = key->bytes[i], letter = (char)(byte | 0x20);

		if (!(letter >= 'a' && letter <= 'z') && !(byte >= '0' && byte <= '9') &&
		    (byte == '\0' || strchr(" _-./()", byte) == NULL))
			return false;
	}
	return key->len > 0 && key->len <= 64;
}

static int read_key(struct walk *w)
{
	struct frame_open *f = top(w);

	if (plan_bytes_string(&w->bytes, &w->string) != 0)
		return -EBADMSG;
	plan_bytes_skip(&w->bytes);
	if (plan_bytes_peek(&w->bytes) != ':')
		return -EBADMSG;
	w->bytes.at++;
	if (!is_plain_key(&w->string)) {
		text_clear(&w->string);
		text_put(&w->string, HIDDEN);
	}
	snprintf(f->key, sizeof(f->key), "%s", text_chars(&w->string));
	if (f->is_settings)
		f->field = field_of_setting(f->key);
	else
		f->field = plan_field_of(text_chars(&w->string), w->string.len);
	f->member = plan_shape_begin(&w->shape, text_chars(&w->string), w->string.len);
	if (is_quiet(w))
		return 0;
	if (f->is_written)
		text_put(&w->out->redacted, ",");
	f->is_written = true;
	plan_put_string(&w->out->redacted, w->string.bytes, w->string.len);
	text_put(&w->out->redacted, ":");
	return 0;
}

/* What is told of a node's place by its words. */
static void note_string(struct walk *w)
{
	struct frame_open *f = top(w);

	if (w->depth == 1 && !f->is_object)
		w->out->is_utility = true;
	if (f->is_plan && is_key(f, "Node Type"))
		w->has_plan = true;
	if (w->depth >= 3 && is_key(f, "Parent Relationship") &&
	    strcmp(text_chars(&w->string), "Member") == 0)
		w->open[w->depth - 3].has_child = true;
	if (!f->is_settings || f->field != PLAN_FIELD_SETTINGS)
		return;
	if (w->out->settings.len > 0)
		text_put(&w->out->settings, ", ");
	text_put(&w->out->settings, f->key);
	text_put(&w->out->settings, " = ");
	text_add(&w->out->settings, w->string.bytes, w->string.len);
}

static bool is_kept_whole(const struct frame_open *f)
{
	return f->field == PLAN_FIELD_NAME || (f->field == PLAN_FIELD_SETTINGS && f->is_settings);
}

static int read_string(struct walk *w)
{
	struct frame_open *f = top(w);
	const struct text *shown = &w->string;

	if (f == NULL || plan_bytes_string(&w->bytes, &w->string) != 0)
		return -EBADMSG;
	note_string(w);
	if (!is_kept_whole(f)) {
		text_clear(&w->redacted);
		if (f->field == PLAN_FIELD_HIDDEN ||
		    sql_redact(w->string.bytes, w->string.len, &w->redacted) != 0) {
			text_clear(&w->redacted);
			text_put(&w->redacted, HIDDEN);
		}
		shown = &w->redacted;
	}
	if (!is_quiet(w))
		plan_put_string(&w->out->redacted, shown->bytes, shown->len);
	end_value(w, '"', shown->bytes, shown->len);
	return 0;
}

/* Costs and rows of the root, the identifier, and children that were left out. */
static void note_number(struct walk *w, const char *digits)
{
	struct frame_open *f = top(w);
	double value = strtod(digits, NULL);

	if (!isfinite(value))
		value = value < 0 ? -DBL_MAX : DBL_MAX;
	if (f->is_plan && is_key(f, "Total Cost"))
		w->out->total_cost += value;
	else if (f->is_plan && is_key(f, "Plan Rows"))
		w->out->plan_rows += value;
	else if (w->depth == w->root_depth && is_key(f, "Query Identifier"))
		w->out->query_id = strtoll(digits, NULL, 10);
	else if (is_key(f, "Subplans Removed") && value > 0)
		f->has_removed = true;
}

/* Numbers are no part of the shape, but elements of an array are counted. */
static int read_number(struct walk *w)
{
	struct frame_open *f = top(w);
	const char *from = w->bytes.json + w->bytes.at;
	size_t len = plan_bytes_number(&w->bytes);
	char digits[80];

	if (f == NULL || len == 0)
		return -EBADMSG;
	memcpy(digits, from, len);
	digits[len] = '\0';
	note_number(w, digits);
	if (!is_quiet(w))
		text_add(&w->out->redacted, from, len);
	end_value(w, f->is_object ? '\0' : '#', "", 0);
	return 0;
}

/* A member that is false or null is as good as not there: newer servers have more of them. */
static int read_word(struct walk *w)
{
	struct frame_open *f = top(w);
	const char *from = w->bytes.json + w->bytes.at;
	size_t at = w->bytes.at;
	char word = plan_bytes_word(&w->bytes);

	if (f == NULL || word == '\0')
		return -EBADMSG;
	if (!is_quiet(w))
		text_add(&w->out->redacted, from, w->bytes.at - at);
	end_value(w, f->is_object && word != 't' ? '\0' : word, "", 0);
	return 0;
}

/* A value, or the beginning of one. */
static int read_value(struct walk *w)
{
	char byte = plan_bytes_peek(&w->bytes);

	begin_value(w);
	if (byte == '{' || byte == '[') {
		w->bytes.at++;
		return push(w, byte == '{');
	}
	if (byte == '"')
		return read_string(w);
	return byte == '-' || (byte >= '0' && byte <= '9') ? read_number(w) : read_word(w);
}

/* What stands at a place within an open object or array: its end, or a comma (unless it has just begun) and a member. */
static int read_within(struct walk *w, bool has_begun)
{
	struct frame_open *f = top(w);
	char byte = plan_bytes_peek(&w->bytes);
	int code;

	if (byte == (f->is_object ? '}' : ']')) {
		w->bytes.at++;
		pop(w);
		return 0;
	}
	if (!has_begun) {
		if (byte != ',')
			return -EBADMSG;
		w->bytes.at++;
		plan_bytes_skip(&w->bytes);
	}
	if (f->is_object) {
		code = read_key(w);
		if (code != 0)
			return code;
		plan_bytes_skip(&w->bytes);
	}
	return read_value(w);
}

static int walk_all(struct walk *w)
{
	int code;

	plan_bytes_skip(&w->bytes);
	code = read_value(w);
	while (code == 0 && w->depth > 0) {
		char before = w->bytes.json[w->bytes.at - 1];
		bool has_begun = before == '{' || before == '[';

		plan_bytes_skip(&w->bytes);
		code = read_within(w, has_begun);
	}
	plan_bytes_skip(&w->bytes);
	if (code == 0 && w->bytes.at != w->bytes.len)
		code = -EBADMSG;
	if (code == 0 && !w->has_plan && !w->out->is_utility)
		code = -EBADMSG;
	if (w->shape.has_failed || w->out->redacted.has_failed || w->out->settings.has_failed ||
	    w->string.has_failed || w->redacted.has_failed)
		code = -ENOMEM;
	return code;
}

int plan_read(const char *json, size_t len, struct plan_read *out, struct err *err)
{
	struct plan_read plan = PLAN_READ_EMPTY;
	SCOPED(walk_free)
	struct walk w = { .bytes = { json != NULL ? json : "", len, 0 }, .out = &plan };
	int code = len > PLAN_JSON_MOST ? -E2BIG : walk_all(&w);

	if (code == 0) {
		*out = plan;
		return 0;
	}
	plan_read_free(&plan);
	if (code == -ENOMEM)
		return err_set(err, code, "cannot read a plan: no memory");
	return err_set(err, code, "cannot read a plan: at byte %zu of %zu %s", w.bytes.at, len,
		       code == -E2BIG ? "it is deeper or larger than plans are read"
				      : "it is no plan in JSON");
}

int plan_redact(const char *json, size_t len, char **out_redacted, size_t *out_len,
		struct digest *out_shape, double *out_cost, double *out_rows, struct err *err)
{
	SCOPED(plan_read_free) struct plan_read plan = PLAN_READ_EMPTY;
	int code = plan_read(json, len, &plan, err);

	if (code != 0)
		return code;
	*out_redacted = plan.redacted.bytes;
	*out_len = plan.redacted.len;
	*out_shape = plan.shape;
	*out_cost = plan.total_cost;
	*out_rows = plan.plan_rows;
	plan.redacted = TEXT_EMPTY;
	return 0;
}
