/* watch_label.c - the facts that only a watch has, from its sources and its watchlist. */
#include <string.h>

#include "cli/watch.h"
#include "core/scoped.h"

/* Appends a source's word once: two sources may say the same. */
static void add_word(char *out, size_t size, const char *word, const char *between)
{
	size_t used = strlen(out);

	if (word == NULL || word[0] == '\0' || strstr(out, word) != NULL)
		return;
	snprintf(out + used, size - used, "%s%s", used > 0 ? between : "", word);
}

static void add_numbers(struct watch_row *row, const struct watch_source_facts *facts)
{
	row->attach_ns = facts->attach_ns > row->attach_ns ? facts->attach_ns : row->attach_ns;
	row->detach_ns = facts->detach_ns > row->detach_ns ? facts->detach_ns : row->detach_ns;
	row->lost_names += facts->lost_names;
	row->lost_places += facts->lost_places;
	row->lost_calls += facts->lost_calls;
	row->lost_slow += facts->lost_slow;
	row->lost_returns += facts->lost_returns;
	row->torn += facts->torn;
	row->expired += facts->expired;
}

/* Words of a source that is open; one that is closed has said them before. */
static void add_words(struct watch_session *s, const struct watch_source_facts *facts)
{
	add_word(s->sources_text, sizeof(s->sources_text), facts->name, ", ");
	add_word(s->hook, sizeof(s->hook), facts->hook, ", ");
	add_word(s->hook_why, sizeof(s->hook_why), facts->hook_why, "; ");
	add_word(s->clock, sizeof(s->clock), facts->clock, ", ");
	add_word(s->scope, sizeof(s->scope), facts->scope, "; ");
}

void watch_label_row(struct watch_session *s, struct watch_row *out)
{
	struct watch_row row = { .refused = NO_ID };

	watchlist_label(s->list, &row);
	row.attach_ns = row.detach_ns = 0;
	for (uint32_t p = 0; p < s->sources.part_count; p++) {
		struct watch_part *part = &s->sources.parts[p];

		if (part->source != NULL) {
			part->ops->facts(part->source, &part->facts);
			add_words(s, &part->facts);
		}
		add_numbers(&row, &part->facts);
	}
	add_word(s->scope, sizeof(s->scope), s->probes_why, "; ");
	add_word(s->scope, sizeof(s->scope), s->inside_why, "; ");
	row.sources = run_str(s->sources_text);
	row.hook = run_str(s->hook);
	row.hook_why = run_str(s->hook_why);
	row.clock = run_str(s->clock);
	row.scope = run_str(s->scope);
	row.window_ns = s->opts->window_ns;
	row.interval_given = (uint32_t)s->opts->interval;
	row.interval_most = (uint32_t)s->opts->interval_most;
	row.slow_ns = s->opts->slow_ns;
	row.charged_ps = s->charged_ps;
	row.calibrations = s->sources.calibrations;
	s->watched = s->not_watched = 0;
	for (uint32_t id = 0; id < watchlist_count(s->list); id++)
		*(watchlist_row(s->list, id)->why_not.len == 0 ? &s->watched : &s->not_watched) +=
			1;
	s->watch = row;
	*out = row;
}

void watch_label_price(struct watch_session *s)
{
	run_label_price(&s->run);
	s->run.label.kernel_ns = s->charged_ps / PS_PER_NS;
}

void watch_label_now(struct watch_session *s)
{
	struct label *l = &s->run.label;

	watch_label_price(s);
	l->engine = run_str(s->sources_text);
	l->clock = run_str(s->clock);
	l->ticks = s->sources.calls;
	l->kept = s->sources.timed;
	l->lost = s->watch.lost_calls + s->watch.lost_returns;
}
