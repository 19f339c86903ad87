/* known.c - known issues: what a version did wrong is said only of recordings whose own rows show it. */
#include "core/known.h"

#include "core/analysis.h"
#include "core/scoped.h"
#include "core/watch_analysis.h"

#define COST_STEP_NS 0.1 /* costs are printed to it */
#define MOST_MODES   16u

const struct known_issue known_issues[] = {
	{ .id = NULL }, /* nothing is released yet */
};
const size_t known_issue_count = ARRAY_LEN(known_issues) - 1;

/* Reads the number at `*at` and what ends it; a huge one is the largest there is. False: none stands there. */
static bool read_number(struct str text, uint32_t *at, uint64_t *out)
{
	uint32_t from = *at;
	uint64_t number = 0;

	for (; *at < text.len && text.bytes[*at] >= '0' && text.bytes[*at] <= '9'; (*at)++)
		if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text.bytes[*at] - '0'), &number))
			number = UINT64_MAX;
	*out = number;
	return *at > from;
}

/* The next number of a version: 0 behind its end. `*at` stops in front of what is no number. */
static uint64_t next_number(struct str text, uint32_t *at)
{
	uint32_t ahead = *at;
	uint64_t number = 0;

	if (ahead > 0 && ahead < text.len && text.bytes[ahead] == '.')
		ahead++;
	else if (ahead > 0)
		return 0;
	if (read_number(text, &ahead, &number))
		*at = ahead;
	return number;
}

bool known_is_since(struct str version, const char *fixed_in)
{
	struct str fixed = { fixed_in, 0 };
	uint32_t at = 0, fixed_at = 0;

	while (fixed_in[fixed.len] != '\0')
		fixed.len++;
	for (bool has_more = true; has_more;) {
		uint32_t before = at, fixed_before = fixed_at;
		uint64_t number = next_number(version, &at);
		uint64_t fixed_number = next_number(fixed, &fixed_at);

		if (at == 0)
			return false; /* no version at all */
		if (number != fixed_number)
			return number > fixed_number;
		has_more = at > before || fixed_at > fixed_before;
	}
	return at == version.len;
}

enum known_verdict known_judge(const struct known_issue *issue, const struct recording *r)
{
	if (known_is_since(r->label.tare_version, issue->fixed_in))
		return KNOWN_NOT_AFFECTED;
	return issue->judge(r);
}

bool known_is_understated(double printed, double step, double truth)
{
	return printed + step / 2 < truth;
}

/* How many ways of watching are in use: each is calibrated once at the start. */
static uint64_t count_modes(const struct recording *r)
{
	const struct watched_row *met[MOST_MODES];
	uint64_t count = 0;

	for (uint32_t i = 0; i < r->watched_count && count < MOST_MODES; i++) {
		const struct watched_row *row = &r->watched[i];
		uint64_t m = 0;

		if (row->mode.len == 0)
			continue;
		while (m < count && (str_compare(met[m]->mode, row->mode) != 0 ||
				     str_compare(met[m]->first, row->first) != 0))
			m++;
		if (m == count)
			met[count++] = row;
	}
	return count;
}

static uint64_t count_calls(const struct recording *r, uint32_t id)
{
	uint32_t count;
	const struct window_row *windows = watch_windows(r, id, &count);
	uint64_t calls = 0;

	for (uint32_t i = 0; i < count; i++)
		calls += windows[i].calls + windows[i].never_timed;
	return calls;
}

static enum known_verdict judge_row(const struct watched_row *row, uint64_t calls, bool may_rise)
{
	double charge_ns = (double)row->charged_ps / (double)calls / 1000;
	double cost_ns = ((double)row->untimed_ps + (double)row->hook_ps) / 1000;

	if (row->charged_ps == 0)
		return KNOWN_PROVEN;
	if (known_is_understated(charge_ns, COST_STEP_NS, may_rise ? cost_ns / 2 : cost_ns))
		return KNOWN_PROVEN;
	if (row->untimed_ps == 0 || known_is_understated(charge_ns, COST_STEP_NS, cost_ns))
		return KNOWN_POSSIBLE;
	return KNOWN_NOT_AFFECTED;
}

enum known_verdict known_charge(const struct recording *r)
{
	bool may_rise = r->watch.calibrations > count_modes(r);
	enum known_verdict most = KNOWN_NOT_AFFECTED;

	for (uint32_t i = 0; i < r->watched_count; i++) {
		uint64_t calls = count_calls(r, r->watched[i].id);
		enum known_verdict verdict =
			calls > 0 ? judge_row(&r->watched[i], calls, may_rise) : KNOWN_NOT_AFFECTED;

		if (verdict > most)
			most = verdict;
	}
	return most;
}
