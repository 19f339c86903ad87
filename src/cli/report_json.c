/* report_json.c - the report of a recording of samples as one JSON object. What is made from its rows is written here, in
 * the order of the tables in report_schema.c. A number that is not there is null, and a member
 * NAME_reason beside it says why: null never means 0. */
#include <errno.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/report_tasks.h"
#include "core/fields.h"
#include "core/scoped.h"
#include "core/verdict.h"
#include "format/json.h"

void report_put_share(struct json *j, const char *key, struct share share, uint64_t range_kept)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	json_key(j, key);
	json_open_object(j);
	if (range_kept == 0) {
		report_put_null(j, "value", "no samples");
	} else {
		json_key(j, "value");
		json_double(j, share.value);
	}
	if (range_kept == 0 || share.error >= 1) {
		report_put_null(j, "error",
				range_kept == 0 ? "no samples" : "too few samples to tell");
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

static void put_weighed(struct json *j, const char *key, const struct weighed *w,
			uint64_t range_kept)
{
	json_key(j, key);
	json_open_object(j);
	report_put_share(j, "share", w->share, range_kept);
	json_put_u64(j, "weight_ns", w->ns);
	json_put_u64(j, "running_ns", w->state_ns[STATE_RUNNING]);
	json_put_u64(j, "waiting_ns", w->state_ns[STATE_WAITING]);
	json_put_u64(j, "runnable_ns", w->state_ns[STATE_RUNNABLE]);
	json_put_u64(j, "kept", w->kept);
	json_close(j);
}

static void put_function(struct json *j, const struct analysis *a, const struct function *f)
{
	json_open_object(j);
	json_put_str(j, "name", f->name);
	json_put_chars(j, "kind", report_kind(f->kind));
	json_put_str(j, "module", f->module);
	json_put_str(j, "file", f->file);
	if (f->line > 0)
		json_put_u64(j, "line", f->line);
	else
		report_put_null(j, "line", "not known");
	json_key(j, "is_unnamed");
	json_bool(j, f->is_unnamed);
	json_put_str(j, "why", f->why);
	put_weighed(j, "own", &f->own, a->kept);
	json_put_u64(j, "own_uncertain_ns", f->own_uncertain_ns);
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
		json_put_str(j, "name", a->threads[i].name);
		json_put_u64(j, "pid", a->threads[i].pid);
		json_put_u64(j, "tid", a->threads[i].tid);
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
		report_put_row(j, &table_slot, s, &rec->label);
		if (f == NO_ID)
			report_put_null(j, "function",
					n == NULL ? "nothing was kept here" : "no stack");
		else
			json_put_u64(j, "function", f);
		json_close(j);
	}
	json_close(j);
}

static void put_totals(struct json *j, const struct analysis *a)
{
	json_key(j, "totals");
	json_open_object(j);
	json_put_u64(j, "clock_ns", a->clock_ns);
	json_put_u64(j, "sampled_ns", a->sampled_ns);
	json_put_u64(j, "unsampled_ns", a->unsampled_ns);
	json_put_u64(j, "uncertain_ns", a->uncertain_ns);
	json_put_u64(j, "hole_ns", a->hole_ns);
	json_put_u64(j, "slots_lost", a->slots_lost);
	put_weighed(j, "unnamed", &a->unnamed, a->kept);
	json_close(j);
}

int report_json(FILE *out, const struct report *r)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	const struct label *label = &r->recording->label;
	const struct report_price price = {
		.share = r->analysis->price,
		.spent_ns = r->analysis->spent_ns,
		.label = label,
		.bound = label->kernel_tick_ps > 0 ? "at least" : "own part",
	};
	struct json j;

	json_begin(&j, json_to_file, out, 2);
	verdict_put(&verdict, r->recording, r->analysis);
	if (verdict.has_failed)
		json_fail(&j, -ENOMEM);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", REPORT_SCHEMA_VERSION);
	json_put_chars(&j, "verdict", text_chars(&verdict));
	json_key(&j, "label");
	json_open_object(&j);
	report_put_row(&j, &table_recording, label, label);
	json_close(&j);
	json_put_chars(&j, "file", r->path);
	json_put_u64(&j, "file_bytes", r->recording->file_bytes);
	report_put_price(&j, &price);
	put_totals(&j, r->analysis);
	report_put_findings(&j, r->findings);
	put_functions(&j, r->analysis);
	put_threads(&j, r->analysis);
	put_slots(&j, r);
	tasks_json(&j, r->recording, r->tasks);
	report_put_ledger(&j, r->recording);
	json_put_u64(&j, "replaced_bytes", j.replaced);
	json_close(&j);
	return json_end(&j);
}
