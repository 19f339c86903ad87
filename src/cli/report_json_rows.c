/* report_json_rows.c - what the JSON of every report has: rows of the recording, written from the tables of core/fields.h,
 * findings, the ledger, the price. */
#include <errno.h>
#include <string.h>

#include "cli/report_json.h"
#include "core/fleet.h"
#include "core/scoped.h"

void report_put_null(struct json *j, const char *name, const char *reason)
{
	char key[64];

	json_key(j, name);
	json_null(j);
	snprintf(key, sizeof(key), "%s_reason", name);
	json_key(j, key);
	json_chars(j, reason);
}

/* Columns whose 0 is no measured 0, and what it is. */
static const struct {
	const struct table *table;
	const char *column, *reason;
} absent_at_zero[] = {
	{ &table_recording, "kernel_tick_ps", "not measured" },
	{ &table_recording, "own_rss_bytes", "not measured" },
	{ &table_recording, "own_cpu_ns", "not measured" },
	{ &table_recording, "threads", "not counted" },
	{ &table_recording, "processes", "not counted" },
	{ &table_watch, "slow_ns", "not asked for" },
	{ &table_watch, "attach_ns", "nothing was attached" },
	{ &table_watch, "detach_ns", "nothing was detached" },
	{ &table_watch, "allowed_rate", "nothing was refused" },
	{ &table_watched, "untimed_ps", "not measured" },
	{ &table_watched, "extra_ps", "not measured" },
	{ &table_watched, "hook_ps", "not measured, or there is none" },
	{ &table_watched, "floor_ps", "not measured" },
};

/* Columns of label and ledger that only samples fill. */
static const char *const of_samples[] = {
	"base_period_ns", "period_ns",	  "period_changes", "clock_ns",	  "weight_ns",
	"ticks",	  "kept",	  "one_in",	    "lost",	  "lost_events",
	"throttled",	  "whole_stacks", "broken_stacks",  "cut_stacks", "unnamed_frames",
	"slot_count",	  "slot_ns",	  "batches",	    "merges",	  "kernel_tick_ps",
};

static bool is_of_samples(const struct table *table, const char *column)
{
	if (table != &table_recording && table != &table_ledger)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(of_samples); i++)
		if (strcmp(column, of_samples[i]) == 0)
			return true;
	return false;
}

static const char *reason_at_zero(const struct table *table, const struct field *f, const char *at,
				  bool has_samples)
{
	uint64_t word = 0;

	if (f->type != FIELD_U64 && f->type != FIELD_U32)
		return NULL;
	memcpy(&word, at, f->type == FIELD_U64 ? sizeof(uint64_t) : sizeof(uint32_t));
	if (word == 0 && !has_samples && is_of_samples(table, f->name))
		return "nothing was sampled";
	for (size_t i = 0; word == 0 && i < ARRAY_LEN(absent_at_zero); i++)
		if (table == absent_at_zero[i].table &&
		    strcmp(f->name, absent_at_zero[i].column) == 0)
			return absent_at_zero[i].reason;
	return NULL;
}

/* Why this column of this row has no number; NULL: it has one. */
static const char *reason_of(const struct table *table, const struct field *f, const void *row,
			     const struct label *label)
{
	const char *at = (const char *)row + f->offset;
	static const char watch[] = "watch";
	bool is_label = table == &table_recording;
	bool has_samples = label->instrument.len != sizeof(watch) - 1 ||
			   memcmp(label->instrument.bytes, watch, sizeof(watch) - 1) != 0;

	if (f->type == FIELD_COUNTER && !IS_MEASURED(*(const struct counter *)at))
		return "not measured";
	if (f->type == FIELD_U32 && *(const uint32_t *)at == NO_ID)
		return table == &table_slot ? "nothing was kept here" : "none";
	if (has_samples && strcmp(f->name, "kernel_ns") == 0 && label->kernel_tick_ps == 0)
		return "not measured";
	if (is_label && strcmp(f->name, "exit_status") == 0 && label->exit_status < 0)
		return label->is_finished ? "not known" : "it had not ended";
	return reason_at_zero(table, f, at, has_samples);
}

void report_put_steps(struct json *j, const struct histogram *h)
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

void report_put_digest(struct json *j, const struct digest *d)
{
	char hex[2 * sizeof(d->bytes) + 1];

	for (size_t i = 0; i < sizeof(d->bytes); i++)
		snprintf(hex + 2 * i, 3, "%02x", d->bytes[i]);
	json_str(j, (struct str){ hex, 2 * sizeof(d->bytes) });
}

static void put_field(struct json *j, const struct table *table, const struct field *f,
		      const void *row, const struct label *label)
{
	const char *at = (const char *)row + f->offset;
	const char *reason = reason_of(table, f, row, label);

	if (reason != NULL) {
		report_put_null(j, f->name, reason);
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
		report_put_steps(j, (const struct histogram *)at);
		break;
	case FIELD_COUNTER:
		json_u64(j, ((const struct counter *)at)->value);
		break;
	case FIELD_DIGEST:
		report_put_digest(j, (const struct digest *)at);
		break;
	case FIELD_BLOB:
		json_str(j, (struct str){ ((const struct blob *)at)->bytes,
					  ((const struct blob *)at)->len });
		break;
	}
}

void report_put_row(struct json *j, const struct table *table, const void *row,
		    const struct label *label)
{
	for (size_t i = 0; i < table->field_count; i++)
		put_field(j, table, &table->fields[i], row, label);
}

void report_put_findings(struct json *j, const struct findings *f)
{
	json_key(j, "findings");
	json_open_array(j);
	for (size_t i = 0; i < f->count; i++) {
		json_open_object(j);
		json_put_chars(j, "id", f->rows[i].id);
		json_put_chars(j, "title", text_chars(&f->rows[i].title));
		json_put_chars(j, "evidence", text_chars(&f->rows[i].evidence));
		json_put_chars(j, "look_next", text_chars(&f->rows[i].look_next));
		json_close(j);
	}
	json_close(j);
}

void report_put_ledger(struct json *j, const struct recording *r)
{
	json_key(j, "ledger");
	json_open_array(j);
	for (uint32_t i = 0; i < r->ledger_count; i++) {
		json_open_object(j);
		report_put_row(j, &table_ledger, &r->ledger[i], &r->label);
		json_close(j);
	}
	json_close(j);
}

void report_put_price(struct json *j, const struct report_price *price)
{
	bool is_unmeasured = price->label->elapsed_ns == 0 || price->spent_ns == 0;

	json_key(j, "price");
	json_open_object(j);
	if (is_unmeasured) {
		report_put_null(j, "value", "not measured");
	} else {
		json_key(j, "value");
		json_double(j, price->share.value);
	}
	if (price->share.error >= 1 || price->spent_ns == 0) {
		report_put_null(j, "error", "too few windows to tell");
	} else {
		json_key(j, "error");
		json_double(j, price->share.error);
	}
	json_key(j, "limit");
	json_double(j, (double)price->label->price_limit_ppm / 1000000);
	json_put_u64(j, "spent_ns", price->spent_ns);
	json_put_chars(j, "bound", price->bound);
	json_close(j);
}
