/* fuzz_report.c - a recording with any numbers and names that the store would let through, on its way to words and JSON:
 * references exist and sums stay below 2^63, everything else is whatever the input says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_tasks.h"
#include "core/scoped.h"
#include "core/verdict.h"
#include "fuzz/fuzz.h"
#include "fuzz/rows.h"

enum { FRAMES = 12, NODES = 24, CONTEXTS = 12, ROWS = 6 };

/* Rows as check.c of the store leaves them: sorted by id, references there, no circles. */
static void fill(struct input *in, struct recording *r)
{
	fill_row(in, &table_recording, &r->label, 63);
	for (uint32_t i = 0; i < FRAMES; i++) {
		fill_row(in, &table_frame, &r->frames[i], 63);
		r->frames[i].id = i * 3;
		r->frames[i].kind %= 6;
	}
	for (uint32_t i = 0; i < NODES; i++)
		r->nodes[i] = (struct node_row){
			.id = i * 2,
			.parent =
				i == 0 || take(in, 3) == 0 ? NO_ID : (uint32_t)take(in, 8) % i * 2,
			.frame = (uint32_t)take(in, 8) % FRAMES * 3,
		};
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		fill_row(in, &table_context, &r->contexts[i], 56);
		r->contexts[i].node = (uint32_t)take(in, 8) % NODES * 2;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		fill_row(in, &table_slot, &r->slots[i], 56);
		r->slots[i].node = take(in, 1) == 0 ? NO_ID : (uint32_t)take(in, 8) % NODES * 2;
		fill_row(in, &table_ledger, &r->ledger[i], 56);
	}
}

static void print(const struct report *r, FILE *out, bool is_ascii)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(screen_free) struct screen s = { .out = out, .columns = 80, .is_ascii = is_ascii };

	verdict_put(&verdict, r->recording, r->analysis);
	screen_wrap(&s, text_chars(&verdict), 0);
	label_head(&s, r);
	table_functions(&s, r, "where the time goes", false);
	table_threads(&s, r, true);
	label_whole(&s, r);
}

static void print_and_check(const struct report *r, int how)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&bytes, &len);

	if (out == NULL)
		abort();
	if (how < 2)
		print(r, out, how == 1);
	else if (report_json(out, r) != 0)
		abort();
	fclose(out);
	check_printed(bytes, len, how == 2);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct node_row nodes[NODES];
	static struct frame_row frames[FRAMES];
	static struct slot_row slots[ROWS];
	static struct context_row contexts[CONTEXTS];
	static struct ledger_row ledger[ROWS];
	struct recording r = { .nodes = nodes,
			       .frames = frames,
			       .slots = slots,
			       .contexts = contexts,
			       .ledger = ledger,
			       .node_count = NODES,
			       .frame_count = FRAMES,
			       .slot_count = ROWS,
			       .context_count = CONTEXTS,
			       .ledger_count = ROWS };
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	SCOPED(task_views_free) struct task_views tasks = TASK_VIEWS_EMPTY;
	struct report report = {
		.recording = &r, .analysis = &a, .findings = &f, .tasks = &tasks, .path = "x.tare"
	};
	struct input in = { bytes, size };
	struct err err = ERR_EMPTY;

	fill(&in, &r);
	r.file_bytes = take(&in, 63);
	if (analysis_open(&r, &a, &err) != 0 || findings_open(&r, &a, &f, &err) != 0 ||
	    task_views_open(&r, NULL, UINT32_MAX, &tasks, &err) != 0)
		abort();
	for (int how = 0; how < 3; how++)
		print_and_check(&report, how);
	return 0;
}
