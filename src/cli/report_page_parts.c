/* report_page_parts.c - parts of a page that several instruments have: what ran, the label, the ledger. */
#include <string.h>

#include "cli/report_page.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"

#define LABEL_WHISKER 220u /* pixels */
/* The axis of a whisker with a limit reaches a little over it, so that the limit's tick is in it. */
#define OVER_LIMIT 1.2

static struct str command_of(const struct label *label)
{
	return label->command.len > 0 ? label->command : label->comm;
}

void page_put_title(struct text *t, const struct label *label)
{
	text_put_cut(t, command_of(label), PAGE_LEAD_NAME);
}

void page_put_ran(struct text *t, const struct label *label, const char *more)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;
	char from[64], to[64];

	units_format_wall((struct wall){ label->started_wall_ns }, from, sizeof(from));
	units_format_wall((struct wall){ label->saved_wall_ns }, to, sizeof(to));
	page_put_name(t, command_of(label), PAGE_MOST_NAME);
	if (label->is_attached)
		text_printf(&words, ", pid %u,", label->pid);
	text_put(&words, " on ");
	text_put_cut(&words, label->host, 64);
	/* The same day is said once. */
	text_printf(&words, ", %s to %s, ", from,
		    strlen(to) > 11 && strncmp(from, to, 11) == 0 ? to + 11 : to);
	head_put_ending(&words, label);
	text_put(&words, more);
	page_put_text(t, text_chars(&words));
	t->has_failed |= words.has_failed;
}

void page_put_lead_finding(struct text *t, const struct findings *f)
{
	if (f->count == 0) {
		text_put(t, "<li>Nothing else stands out.</li>\n");
		return;
	}
	text_put(t, "<li>");
	page_put_words(t, text_chars(&f->rows[0].title), NULL);
	text_put(t, ". <a href=\"#finding-1\">See finding 1.</a></li>\n");
}

void page_put_label_begin(struct text *t, const struct report *r)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	fact_tare(&words, r);
	text_put(t, "<h2 id=\"label\">Label <span>");
	page_put_text(t, text_chars(&words));
	text_put(t, "</span></h2><dl>\n");
	text_clear(&words);
	text_put_duration(&words, r->recording->label.elapsed_ns);
	page_put_fact(t, "length", text_chars(&words));
	t->has_failed |= words.has_failed;
}

/* How much of `words` is set large: up to the first "; " or ": ". */
static size_t large_length(const char *words)
{
	size_t semicolon = strcspn(words, ";"), len = 0;

	for (len = 0; words[len] != '\0'; len++)
		if (words[len] == ':' && words[len + 1] == ' ')
			break;
	return len < semicolon ? len : semicolon;
}

static void put_fact_words(struct text *t, const char *key, const char *words)
{
	size_t large = large_length(words);
	SCOPED(text_free) struct text first = TEXT_EMPTY;

	text_add(&first, words, large);
	text_put(t, "<dt>");
	page_put_text(t, key);
	text_put(t, "</dt><dd>");
	page_put_words(t, text_chars(&first), NULL);
	if (words[large] != '\0') {
		text_put(t, " <small>");
		page_put_words(t, words + large + 2, NULL);
		text_put(t, "</small>");
	}
	t->has_failed |= first.has_failed;
}

void page_put_fact(struct text *t, const char *key, const char *words)
{
	put_fact_words(t, key, words);
	text_put(t, "</dd>\n");
}

void page_put_fact_drawn(struct text *t, const char *key, const char *words,
			 const struct page_whisker *w)
{
	put_fact_words(t, key, words);
	page_put_whisker(t, w);
	text_put(t, "</dd>\n");
}

static bool is_key(const struct fact *fact, const char *key)
{
	return strcmp(fact->key, key) == 0;
}

static void put_fact(struct text *t, const struct report *r, const struct fact *fact,
		     const struct share *price)
{
	const struct label *label = &r->recording->label;
	struct page_whisker w = { .colour = "edge", .width = LABEL_WHISKER };
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	fact->put(&words, r);
	if (words.len == 0)
		return; /* nothing to say */
	if (is_key(fact, "price") && price != NULL) {
		w.value = 100 * price->value;
		w.error = price->error < 1 ? 100 * price->error : 0;
		w.limit = (double)label->price_limit_ppm / 10000;
	} else if (is_key(fact, "size")) {
		w.value = (double)r->recording->file_bytes;
		w.limit = (double)label->size_limit_bytes;
	}
	w.axis = OVER_LIMIT * (w.value + w.error > w.limit ? w.value + w.error : w.limit);
	if (w.axis > 0)
		page_put_fact_drawn(t, fact->key, text_chars(&words), &w);
	else
		page_put_fact(t, fact->key, text_chars(&words));
	t->has_failed |= words.has_failed;
}

void page_put_facts(struct text *t, const struct report *r, const struct fact *facts, size_t count,
		    const struct share *price)
{
	/* The heading and the line over the verdict have these. */
	for (size_t i = 0; i < count; i++)
		if (!is_key(&facts[i], "label") && !is_key(&facts[i], "when"))
			put_fact(t, r, &facts[i], price);
}

static void put_each(struct text *t, const struct page_part *part)
{
	if (!part->is_measured || part->times == 0 || part->ns == 0)
		return;
	if (part->ns / part->times < NS_PER_US)
		measured_put_cost(t, (uint64_t)((double)part->ns * 1e3 / (double)part->times), 0);
	else
		text_put_duration(t, part->ns / part->times);
}

static void put_part(struct text *t, const struct label *label, const struct page_part *part)
{
	text_put(t, "<tr><th scope=\"row\">");
	page_put_text(t, part->name);
	text_put(t, "</th><td>");
	if (part->is_measured)
		text_put_exact_share(t, part->ns, label->elapsed_ns);
	else
		page_put_words(t, "— not measured", NULL);
	text_put(t, "</td><td>");
	if (part->is_measured)
		text_put_duration(t, part->ns);
	text_put(t, "</td><td>");
	if (part->times > 0)
		text_put_exact(t, part->times);
	text_put(t, "</td><td>");
	put_each(t, part);
	text_put(t, "</td><td class=\"l\">");
	page_put_text(t, part->is_measured ? part->known : "");
	text_put(t, "</td></tr>\n");
}

void page_put_parts(struct text *t, const struct label *label, const struct page_part *parts,
		    size_t count)
{
	text_put(t, "<table><caption class=\"vh\">Ledger</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">part</th>"
		    "<th scope=\"col\">share of one CPU</th><th scope=\"col\">CPU time</th>"
		    "<th scope=\"col\">times</th><th scope=\"col\">each</th>"
		    "<th scope=\"col\" class=\"l\">how known</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < count; i++)
		put_part(t, label, &parts[i]);
	text_put(t, "</tbody></table>");
}
