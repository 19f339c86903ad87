/* report_json.c - a report as one JSON object, and the schema of it. Rows of the recording are written from the tables
 * of core/fields.h; what is made from them has its tables here. A number that is not there is null, and a member
 * NAME_reason beside it says why: null never means 0. */
#include <errno.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_json.h"
#include "core/fields.h"
#include "core/scoped.h"
#include "core/verdict.h"
#include "format/json.h"

static void put_null(struct json *j, const char *name, const char *reason)
{
	char key[64];

	json_key(j, name);
	json_null(j);
	snprintf(key, sizeof(key), "%s_reason", name);
	json_key(j, key);
	json_chars(j, reason);
}

/* Why this column of this row has no number; NULL: it has one. */
static const char *reason_of(const struct table *table, const struct field *f, const void *row,
			     const struct label *label)
{
	const char *at = (const char *)row + f->offset;
	bool is_label = table == &table_recording;
	uint64_t word = 0;

	if (f->type == FIELD_U32 && *(const uint32_t *)at == NO_ID)
		return table == &table_slot ? "nothing was kept here" : "none";
	if (strcmp(f->name, "kernel_ns") == 0 && label->kernel_tick_ps == 0)
		return "not measured";
	if (is_label && strcmp(f->name, "exit_status") == 0 && label->exit_status < 0)
		return label->is_finished ? "not known" : "it had not ended";
	if (!is_label || f->type != FIELD_U64)
		return NULL;
	memcpy(&word, at, sizeof(word));
	if (word == 0 && report_is_unmeasured_at_zero(f->name))
		return "not measured";
	return NULL;
}

/* Each step as [lowest ns, highest ns, weight]. */
static void put_steps(struct json *j, const struct histogram *h)
{
	json_open_array(j);
	for (uint32_t i = 0; i < h->count; i++) {
		json_open_array(j);
		json_u64(j, bucket_low_ns(h->steps[i].at));
		json_u64(j, histogram_high_ns(h, h->steps[i].at));
		json_u64(j, h->steps[i].weight);
		json_close(j);
	}
	json_close(j);
}

static void put_field(struct json *j, const struct table *table, const struct field *f,
		      const void *row, const struct label *label)
{
	const char *at = (const char *)row + f->offset;
	const char *reason = reason_of(table, f, row, label);

	if (reason != NULL) {
		put_null(j, f->name, reason);
		return;
	}
	json_key(j, f->name);
	switch (f->type) {
	case FIELD_U32:
		json_u64(j, *(const uint32_t *)at);
		break;
	case FIELD_U64:
		json_u64(j, *(const uint64_t *)at);
		break;
	case FIELD_I64:
		json_i64(j, *(const int64_t *)at);
		break;
	case FIELD_BOOL:
		json_bool(j, *(const bool *)at);
		break;
	case FIELD_STR:
		json_str(j, *(const struct str *)at);
		break;
	case FIELD_BATCHES:
		json_open_array(j);
		for (size_t i = 0; i < BATCH_COUNT; i++)
			json_u64(j, ((const uint64_t *)at)[i]);
		json_close(j);
		break;
	case FIELD_F64:
		json_double(j, *(const double *)at);
		break;
	case FIELD_STEPS:
		put_steps(j, (const struct histogram *)at);
		break;
	}
}

static void put_row(struct json *j, const struct table *table, const void *row,
		    const struct label *label)
{
	for (size_t i = 0; i < table->field_count; i++)
		put_field(j, table, &table->fields[i], row, label);
}

/* A share, its half width, and the words for both. */
static void put_share(struct json *j, const char *key, struct share share, uint64_t range_kept)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	json_key(j, key);
	json_open_object(j);
	if (range_kept == 0) {
		put_null(j, "value", "no samples");
	} else {
		json_key(j, "value");
		json_double(j, share.value);
	}
	if (range_kept == 0 || share.error >= 1) {
		put_null(j, "error", range_kept == 0 ? "no samples" : "too few samples to tell");
	} else {
		json_key(j, "error");
		json_double(j, share.error);
	}
	json_key(j, "is_coarse");
	json_bool(j, share.is_coarse);
	text_put_share(&words, share, range_kept);
	if (words.has_failed)
		json_fail(j, -ENOMEM);
	json_key(j, "words");
	json_chars(j, text_chars(&words));
	json_close(j);
}

static void put_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

static void put_chars(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_chars(j, value);
}

static void put_str(struct json *j, const char *key, struct str value)
{
	json_key(j, key);
	json_str(j, value);
}

static void put_weighed(struct json *j, const char *key, const struct weighed *w,
			uint64_t range_kept)
{
	json_key(j, key);
	json_open_object(j);
	put_share(j, "share", w->share, range_kept);
	put_u64(j, "weight_ns", w->ns);
	put_u64(j, "running_ns", w->state_ns[STATE_RUNNING]);
	put_u64(j, "waiting_ns", w->state_ns[STATE_WAITING]);
	put_u64(j, "runnable_ns", w->state_ns[STATE_RUNNABLE]);
	put_u64(j, "kept", w->kept);
	json_close(j);
}

static void put_function(struct json *j, const struct analysis *a, const struct function *f)
{
	json_open_object(j);
	put_str(j, "name", f->name);
	put_chars(j, "kind", report_kind(f->kind));
	put_str(j, "module", f->module);
	put_str(j, "file", f->file);
	if (f->line > 0)
		put_u64(j, "line", f->line);
	else
		put_null(j, "line", "not known");
	json_key(j, "is_unnamed");
	json_bool(j, f->is_unnamed);
	put_weighed(j, "own", &f->own, a->kept);
	put_u64(j, "own_uncertain_ns", f->own_uncertain_ns);
	put_weighed(j, "with_callees", &f->with_callees, a->kept);
	json_close(j);
}

static void put_functions(struct json *j, const struct analysis *a)
{
	json_key(j, "functions");
	json_open_array(j);
	for (uint32_t i = 0; i < a->function_count; i++)
		put_function(j, a, &a->functions[i]);
	json_close(j);
}

static void put_threads(struct json *j, const struct analysis *a)
{
	json_key(j, "threads");
	json_open_array(j);
	for (uint32_t i = 0; i < a->thread_count; i++) {
		json_open_object(j);
		put_str(j, "name", a->threads[i].name);
		put_u64(j, "pid", a->threads[i].pid);
		put_u64(j, "tid", a->threads[i].tid);
		put_weighed(j, "all", &a->threads[i].all, a->kept);
		json_close(j);
	}
	json_close(j);
}

static void put_slots(struct json *j, const struct report *r)
{
	const struct recording *rec = r->recording;

	json_key(j, "slots");
	json_open_array(j);
	for (uint32_t i = 0; i < rec->slot_count; i++) {
		const struct slot_row *s = &rec->slots[i];
		const struct node_row *n = s->node == NO_ID ? NULL : recording_node(rec, s->node);
		uint32_t f = n == NULL ? NO_ID : r->analysis->function_of_node[n - rec->nodes];

		json_open_object(j);
		put_row(j, &table_slot, s, &rec->label);
		if (f == NO_ID)
			put_null(j, "function", n == NULL ? "nothing was kept here" : "no stack");
		else
			put_u64(j, "function", f);
		json_close(j);
	}
	json_close(j);
}

static void put_findings(struct json *j, const struct findings *f)
{
	json_key(j, "findings");
	json_open_array(j);
	for (size_t i = 0; i < f->count; i++) {
		json_open_object(j);
		put_chars(j, "id", f->rows[i].id);
		put_chars(j, "title", text_chars(&f->rows[i].title));
		put_chars(j, "evidence", text_chars(&f->rows[i].evidence));
		put_chars(j, "look_next", text_chars(&f->rows[i].look_next));
		json_close(j);
	}
	json_close(j);
}

static void put_ledger(struct json *j, const struct recording *r)
{
	json_key(j, "ledger");
	json_open_array(j);
	for (uint32_t i = 0; i < r->ledger_count; i++) {
		json_open_object(j);
		put_row(j, &table_ledger, &r->ledger[i], &r->label);
		json_close(j);
	}
	json_close(j);
}

/* The price as a share of one CPU. */
static void put_price(struct json *j, const struct report *r)
{
	const struct analysis *a = r->analysis;
	const struct label *label = &r->recording->label;

	json_key(j, "price");
	json_open_object(j);
	if (label->elapsed_ns == 0 || a->spent_ns == 0) {
		put_null(j, "value", "not measured");
	} else {
		json_key(j, "value");
		json_double(j, a->price.value);
	}
	if (a->price.error >= 1 || a->spent_ns == 0) {
		put_null(j, "error", "too few windows to tell");
	} else {
		json_key(j, "error");
		json_double(j, a->price.error);
	}
	json_key(j, "limit");
	json_double(j, (double)label->price_limit_ppm / 1000000);
	put_u64(j, "spent_ns", a->spent_ns);
	put_chars(j, "bound", label->kernel_tick_ps > 0 ? "at least" : "own part");
	json_close(j);
}

static void put_totals(struct json *j, const struct analysis *a)
{
	json_key(j, "totals");
	json_open_object(j);
	put_u64(j, "clock_ns", a->clock_ns);
	put_u64(j, "sampled_ns", a->sampled_ns);
	put_u64(j, "unsampled_ns", a->unsampled_ns);
	put_u64(j, "uncertain_ns", a->uncertain_ns);
	put_u64(j, "hole_ns", a->hole_ns);
	put_u64(j, "slots_lost", a->slots_lost);
	put_weighed(j, "unnamed", &a->unnamed, a->kept);
	json_close(j);
}

int report_json(FILE *out, const struct report *r)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	struct json j;

	json_begin(&j, json_to_file, out, 2);
	verdict_put(&verdict, r->recording, r->analysis);
	if (verdict.has_failed)
		json_fail(&j, -ENOMEM);
	json_open_object(&j);
	put_u64(&j, "schema_version", REPORT_SCHEMA_VERSION);
	put_chars(&j, "verdict", text_chars(&verdict));
	json_key(&j, "label");
	json_open_object(&j);
	put_row(&j, &table_recording, &r->recording->label, &r->recording->label);
	json_close(&j);
	put_chars(&j, "file", r->path);
	put_u64(&j, "file_bytes", r->recording->file_bytes);
	put_price(&j, r);
	put_totals(&j, r->analysis);
	put_findings(&j, r->findings);
	put_functions(&j, r->analysis);
	put_threads(&j, r->analysis);
	put_slots(&j, r);
	put_ledger(&j, r->recording);
	put_u64(&j, "replaced_bytes", j.replaced);
	json_close(&j);
	return json_end(&j);
}
