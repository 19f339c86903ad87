/* report_page_tasks.c - the tasks of a recording on its page: a table, the slowest first. */
#include "cli/report_page.h"
#include "cli/report_tasks.h"
#include "core/scoped.h"

static bool is_parted(const struct report *r)
{
	return r->tasks != NULL && r->recording->label.task_source.len > 0;
}

void page_put_tasks_link(struct text *t, const struct report *r)
{
	if (is_parted(r))
		text_printf(t, "<a href=\"#tasks\">Tasks <b>%u</b></a>", r->tasks->count);
}

static void put_top(struct text *t, const struct task_view *view)
{
	if (view->top.len == 0) {
		text_put(t, view->row->ticks == 0 ? "no samples" : "—");
		return;
	}
	page_put_function(t, text_without_arguments(view->top), PAGE_LEAD_NAME);
	text_put(t, ", ");
	page_put_share(t, view->top_share, view->kept);
}

static void put_row(struct text *t, const struct task_view *view)
{
	text_printf(t, "<tr><td>%u</td><th scope=\"row\">", view->row->id);
	page_put_name(t, view->row->name, PAGE_LEAD_NAME);
	text_put(t, "</th><td>");
	if (view->runs > 0)
		text_put_exact(t, view->runs);
	text_put(t, "</td><td>");
	text_put_duration(t, view->duration_ns);
	text_printf(t, "</td><td class=\"l\">%s</td><td>", task_state_word(view->row->state));
	task_put_running(t, view);
	text_put(t, "</td><td>");
	if (IS_MEASURED(view->row->rss_bytes))
		text_put_size(t, view->row->rss_bytes.value);
	else
		text_put(t, "—");
	text_put(t, "</td><td class=\"l\">");
	put_top(t, view);
	text_put(t, "</td></tr>\n");
}

static void put_rest(struct text *t, const struct report *r)
{
	const struct label *l = &r->recording->label;
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	task_put_left_out(&words, l, r->tasks->count,
			  r->tasks->count < PAGE_PLAIN_ROWS ? r->tasks->count : PAGE_PLAIN_ROWS);
	page_put_words(t, text_chars(&words), NULL);
	t->has_failed |= words.has_failed;
}

void page_put_tasks(struct text *t, const struct report *r)
{
	if (!is_parted(r))
		return;
	text_put(t, "<section id=\"tasks\"><header><h2>Tasks</h2><p>");
	put_rest(t, r);
	text_put(t, "</p></header><div class=\"sheet wide\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Tasks\"><table><caption class=\"vh\">Tasks, the slowest "
		    "first</caption><thead><tr><th scope=\"col\">no.</th>"
		    "<th scope=\"col\" class=\"l\">task</th><th scope=\"col\">runs</th>"
		    "<th scope=\"col\">took</th><th scope=\"col\" class=\"l\">state</th>"
		    "<th scope=\"col\">running</th><th scope=\"col\">memory</th>"
		    "<th scope=\"col\" class=\"l\">most in</th></tr></thead><tbody>\n");
	for (uint32_t i = 0; i < r->tasks->count && i < PAGE_PLAIN_ROWS; i++)
		put_row(t, &r->tasks->views[i]);
	text_put(t, "</tbody></table></div></section>\n");
}
