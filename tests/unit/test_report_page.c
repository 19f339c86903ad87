/* Pages: text becomes no markup, numbers that are not there look so, and what does not fit is weighed all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Reads what ours writes; one name is in both. */
#define json_null jansson_null
#include <jansson.h>
#undef json_null

#include "cli/report_page.h"
#include "cli/report_page_slots.h"
#include "core/scoped.h"
#include "core/units.h"
#include "unit/build_recording.h"

static void assert_words(const char *words, const char *code, const char *want)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	page_put_words(&t, words, code);
	assert_string_equal(text_chars(&t), want);
}

static void text_becomes_no_markup(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	page_put_text(&t, "a<b>&\"c'`</script><!--");
	assert_string_equal(text_chars(&t),
			    "a&lt;b&gt;&amp;&quot;c&#39;&#96;&lt;/script&gt;&lt;!--");
	assert_words("<i> & </i>", NULL, "&lt;i&gt; &amp; &lt;/i&gt;");
	assert_words("in <b>", "<b>", "in <code>&lt;b&gt;</code>");
}

static void a_name_is_made_harmless_before_it_is_text(void **state)
{
	static const char bytes[] = "a\x1b[31m\xe2\x80\xae<";
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	page_put_name(&t, (struct str){ bytes, sizeof(bytes) - 1 }, 40);
	assert_string_equal(text_chars(&t), "<code>a\\x1b[31m\\u{202e}&lt;</code>");
}

static void an_error_stands_in_soft_with_its_number(void **state)
{
	(void)state;
	assert_words("44" TEXT_NBSP "%" TEXT_NBSP "±" TEXT_NBSP "2 running", NULL,
		     "44" TEXT_NBSP "%<span class=\"pm\">" TEXT_NBSP "±" TEXT_NBSP
		     "2</span> running");
	assert_words("6.4" TEXT_NBSP "%" TEXT_NBSP "±" TEXT_NBSP "0.8. Next", NULL,
		     "6.4" TEXT_NBSP "%<span class=\"pm\">" TEXT_NBSP "±" TEXT_NBSP
		     "0.8</span>. Next");
}

static void what_is_no_number_looks_like_none(void **state)
{
	(void)state;
	assert_words("⊘ not allowed: paranoid", NULL,
		     "<span class=\"deny\">⊘ not allowed</span>: paranoid");
	assert_words("waiting — not measured", NULL,
		     "waiting <span class=\"none\">— not measured</span>");
	assert_words("—" TEXT_NBSP "cannot know", NULL,
		     "<span class=\"none\">—" TEXT_NBSP "cannot know</span>");
}

static void a_fact_has_its_second_half_small(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	page_put_fact(&t, "size", "1.9 of 4.0 MB, for ever; 12 saves");
	page_put_fact(&t, "lost", "one gap of 2:44");
	assert_string_equal(
		text_chars(&t),
		"<dt>size</dt><dd>1.9 of 4.0 MB, for ever <small>12 saves</small></dd>\n"
		"<dt>lost</dt><dd>one gap of 2:44</dd>\n");
}

/* ---- data ---- */

#define PATHS 100

/* A hundred paths below two threads, each with a weight of its own; a slot shows every third. */
static void make_run(struct build *b)
{
	build_begin(b);
	b->r.label.slot_count = BATCH_COUNT;
	for (unsigned i = 0; i < PATHS; i++) {
		char path[64];

		snprintf(path, sizeof(path), "job/1/%u > main > part_%u+job", 1 + i % 2, i);
		build_context(b, path, (i + 1) * NS_PER_MS, 1 + i);
		if (i % 4 == 0)
			build_slot(b, b->r.contexts[b->r.context_count - 1].node, NS_PER_MS, 1, 0);
	}
}

static int to_text(void *owner, const char *bytes, size_t len)
{
	text_add(owner, bytes, len);
	return 0;
}

static json_t *data_of(const struct build *b, unsigned halvings)
{
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct report report = { .recording = &b->r, .analysis = &a };
	const struct page page = { .owner = &report, .halvings = halvings };
	struct err err = ERR_EMPTY;
	struct json j;
	json_t *root;

	assert_int_equal(analysis_open(&b->r, &a, &err), 0);
	json_begin(&j, to_text, &t, 0);
	json_open_object(&j);
	assert_int_equal(record_page_data(&j, &page, &err), 0);
	json_close(&j);
	assert_int_equal(json_end(&j), 0);
	root = json_loads(text_chars(&t), 0, NULL);
	assert_non_null(root);
	return root;
}

static json_int_t sum_of(const json_t *root, size_t column)
{
	const json_t *contexts = json_object_get(root, "contexts");
	json_int_t sum = 0;

	for (size_t i = 0; i < json_array_size(contexts); i++)
		sum += json_integer_value(json_array_get(json_array_get(contexts, i), column));
	return sum;
}

/* Every number of a node is that of a node. */
static void assert_nodes_are_there(const json_t *root)
{
	const json_t *parents = json_object_get(root, "parents");
	const json_t *whats = json_object_get(root, "whats");
	const json_t *contexts = json_object_get(root, "contexts");
	const json_t *shown = json_object_get(json_object_get(root, "slots"), "shown");
	json_int_t nodes = (json_int_t)json_array_size(parents);
	json_int_t functions = (json_int_t)json_array_size(json_object_get(root, "functions"));

	assert_int_equal(json_array_size(whats), nodes);
	for (json_int_t i = 0; i < nodes; i++) {
		assert_in_range(json_integer_value(json_array_get(parents, (size_t)i)) + 1, 0,
				nodes);
		assert_true(json_integer_value(json_array_get(whats, (size_t)i)) < functions);
	}
	for (size_t i = 0; i < json_array_size(contexts); i++)
		assert_in_range(json_integer_value(json_array_get(json_array_get(contexts, i), 0)),
				0, nodes - 1);
	for (size_t i = 0; i < json_array_size(shown); i++)
		assert_in_range(json_integer_value(json_array_get(shown, i)) + 1, 0, nodes);
}

static void what_does_not_fit_is_weighed_all_the_same(void **state)
{
	static const size_t left[] = { 0, 50, 75, 88, 94, 97, 99, 100, 100 };
	SCOPED(build_free) struct build b;
	json_int_t all_ns;

	(void)state;
	make_run(&b);
	all_ns = PATHS * (PATHS + 1) / 2 * (json_int_t)NS_PER_MS;
	for (unsigned halvings = 0; halvings < ARRAY_LEN(left); halvings++) {
		json_t *root = data_of(&b, halvings);

		assert_int_equal(sum_of(root, 3), all_ns);
		assert_int_equal(sum_of(root, 1), PATHS * (PATHS + 1) / 2);
		assert_int_equal(json_integer_value(json_object_get(root, "paths_left_out")),
				 left[halvings]);
		assert_nodes_are_there(root);
		json_decref(root);
	}
}

static void the_heaviest_paths_stay(void **state)
{
	SCOPED(build_free) struct build b;
	json_t *root, *first;

	(void)state;
	make_run(&b);
	root = data_of(&b, 4);
	first = json_array_get(json_object_get(root, "contexts"), 0);
	assert_int_equal(json_integer_value(json_array_get(first, 3)), PATHS * NS_PER_MS);
	/* Six paths, and what is left out of each thread. */
	assert_int_equal(json_array_size(json_object_get(root, "contexts")), 8);
	json_decref(root);
}

static void a_thread_keeps_what_is_left_out_of_it(void **state)
{
	SCOPED(build_free) struct build b;
	json_t *root, *contexts;
	json_int_t of_first;

	(void)state;
	make_run(&b);
	root = data_of(&b, 7);
	contexts = json_object_get(root, "contexts");
	assert_int_equal(json_array_size(contexts), 2);
	of_first = json_integer_value(json_array_get(json_array_get(contexts, 0), 3));
	/* Even paths are one thread's: 1 + 3 + ... + 99, the others 2 + 4 + ... + 100. */
	assert_true(of_first == 2500 * (json_int_t)NS_PER_MS ||
		    of_first == 2550 * (json_int_t)NS_PER_MS);
	json_decref(root);
}

/* ---- slots ---- */

#define MANY 16384u

/* Slots of two paths by turns, the first with three times the weight of the second. */
static void make_slots(struct slot_row *rows, struct recording *r)
{
	for (uint32_t i = 0; i < MANY; i++)
		rows[i] = (struct slot_row){ .id = i,
					     .node = i % 2,
					     .running_ns = i % 2 == 0 ? 300 : 100,
					     .kept = 1,
					     .lost = i == 7 };
	*r = (struct recording){ .slots = rows, .slot_count = MANY };
	r->label.slot_count = MANY;
	r->label.slot_ns = 1000;
	r->label.rng_0 = 20261130;
}

static void slots_merge_until_a_screen_shows_them_and_lose_nothing(void **state)
{
	SCOPED(page_slots_free) struct page_slots s = { .rows = NULL };
	static struct slot_row rows[MANY];
	struct recording r;
	uint64_t ns = 0, kept = 0, lost = 0;

	(void)state;
	make_slots(rows, &r);
	assert_int_equal(page_slots_open(&r, 0, &s), 0);
	assert_int_equal(s.count, 2048);
	assert_int_equal(s.of, 2048);
	assert_int_equal(s.merged, 8);
	assert_int_equal(s.span_ns, 8000);
	for (uint32_t i = 0; i < s.count; i++) {
		ns += s.rows[i].running_ns;
		kept += s.rows[i].kept;
		lost += s.rows[i].lost;
	}
	assert_int_equal(ns, MANY / 2 * 400);
	assert_int_equal(kept, MANY);
	assert_int_equal(lost, 1);
	page_slots_free(&s);
	assert_int_equal(page_slots_open(&r, 20, &s), 0);
	assert_int_equal(s.of, 2 * BATCH_COUNT);
}

static void a_merged_slot_shows_a_path_as_often_as_its_share(void **state)
{
	SCOPED(page_slots_free) struct page_slots s = { .rows = NULL };
	static struct slot_row rows[MANY];
	struct recording r;
	unsigned heavy = 0;

	(void)state;
	make_slots(rows, &r);
	assert_int_equal(page_slots_open(&r, 0, &s), 0);
	for (uint32_t i = 0; i < s.count; i++)
		heavy += s.rows[i].node == 0;
	/* Three quarters of 2,048, give or take four standard deviations of 19.6. */
	assert_in_range(heavy, 1536 - 79, 1536 + 79);
}

static void slots_that_were_never_saved_are_empty(void **state)
{
	SCOPED(page_slots_free) struct page_slots s = { .rows = NULL };
	struct slot_row row = { .id = 5, .node = 3, .running_ns = 7 };
	struct recording r = { .slots = &row, .slot_count = 1 };

	(void)state;
	r.label.slot_count = 64;
	assert_int_equal(page_slots_open(&r, 0, &s), 0);
	assert_int_equal(s.count, 6);
	assert_int_equal(s.rows[0].node, NO_ID);
	assert_int_equal(s.rows[5].running_ns, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_becomes_no_markup),
		cmocka_unit_test(a_name_is_made_harmless_before_it_is_text),
		cmocka_unit_test(an_error_stands_in_soft_with_its_number),
		cmocka_unit_test(what_is_no_number_looks_like_none),
		cmocka_unit_test(a_fact_has_its_second_half_small),
		cmocka_unit_test(what_does_not_fit_is_weighed_all_the_same),
		cmocka_unit_test(the_heaviest_paths_stay),
		cmocka_unit_test(a_thread_keeps_what_is_left_out_of_it),
		cmocka_unit_test(slots_merge_until_a_screen_shows_them_and_lose_nothing),
		cmocka_unit_test(a_merged_slot_shows_a_path_as_often_as_its_share),
		cmocka_unit_test(slots_that_were_never_saved_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
