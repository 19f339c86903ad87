/* findings.c - the rules, one function each; the table at the end is their order. */
#include "core/findings.h"

#include <string.h>

#include "core/scoped.h"
#include "core/units.h"

#define SHARE_THAT_MATTERS 0.05 /* broken, cut, unnamed, unsampled, merged */
#define LOST_ONE_IN	   1000 /* fewer lost than this is only a line of the label */

struct facts {
	const struct recording *r;
	const struct label *label;
	const struct analysis *a;
};

static uint64_t ppm_of_cpu(uint64_t ns, uint64_t elapsed_ns)
{
	double ppm = elapsed_ns == 0 ? 0 : (double)ns / (double)elapsed_ns * (double)PPM + 0.5;

	return ppm < 1e18 ? (uint64_t)ppm : UINT64_MAX;
}

static bool is_unfinished(const struct facts *f, struct finding *out)
{
	return findings_say_unfinished(f->label, "What came later is not in it.", out);
}

static bool is_coarse(const struct facts *f, struct finding *out)
{
	if (f->a->kept >= STATS_COARSE_BELOW)
		return false;
	text_put(&out->title,
		 f->a->kept == 0 ? "Nothing was sampled" : "Too few samples for fine numbers");
	if (f->a->kept > 0) {
		text_put_counted(&out->evidence, f->a->kept, "sample");
		text_printf(&out->evidence, " %s kept. Below %u every share is coarse.",
			    f->a->kept == 1 ? "is" : "are", STATS_COARSE_BELOW);
	} else {
		text_put(&out->evidence, "It used ");
		text_put_duration(&out->evidence, f->label->clock_ns);
		text_put(&out->evidence, " of CPU time. One period is ");
		text_put_duration(&out->evidence, f->label->base_period_ns);
		text_put(&out->evidence, ".");
	}
	text_put(&out->look_next,
		 "Look next at a longer run, or at a shorter period: tare record --every TIME.");
	return true;
}

static bool has_lost(const struct facts *f, struct finding *out)
{
	const struct label *label = f->label;

	if (label->lost == 0 || label->lost < (label->ticks + label->lost) / LOST_ONE_IN)
		return false;
	text_put(&out->title, "Samples were lost");
	text_put_counted(&out->evidence, label->lost, "sample");
	text_put(&out->evidence, ", ");
	text_put_exact_share(&out->evidence, label->lost, label->ticks + label->lost);
	text_put(&out->evidence, " of them all, went in ");
	text_put_counted(&out->evidence, label->lost_events, "gap");
	text_put(&out->evidence, ".");
	if (f->a->hole_ns > 0) {
		text_put(&out->evidence, " ");
		text_put_duration(&out->evidence, f->a->hole_ns);
		text_put(&out->evidence, " of the run have no sample at all.");
	}
	text_put(&out->look_next, "Look next at what else ran then: the recorder was held up.");
	return true;
}

static bool was_throttled(const struct facts *f, struct finding *out)
{
	if (f->label->throttled == 0)
		return false;
	text_put(&out->title, "The kernel held sampling back");
	text_put(&out->evidence, "It did so ");
	text_put_counted(&out->evidence, f->label->throttled, "time");
	text_put(&out->evidence, ". The weight is kept; the places seen are fewer.");
	text_put(&out->look_next,
		 "Look next at kernel.perf_event_max_sample_rate, or at a longer --every.");
	return true;
}

static bool has_unsampled(const struct facts *f, struct finding *out)
{
	const struct analysis *a = f->a;

	if (a->kept == 0 || (double)a->unsampled_ns <= SHARE_THAT_MATTERS * (double)a->clock_ns)
		return false;
	text_put(&out->title, "Part of the time has no sample");
	text_put_exact_share(&out->evidence, a->unsampled_ns, a->clock_ns);
	text_put(&out->evidence, " of the CPU time, ");
	text_put_duration(&out->evidence, a->unsampled_ns);
	text_put(&out->evidence, ", stands behind no sample.");
	text_put(&out->look_next,
		 f->label->lost > 0 ? "Look next at the lost samples: their time has no stack."
				    : "Look next at short processes: one that ends within a period "
				      "has no sample.");
	return true;
}

/* The module with the most of something, and how much. */
struct heaviest {
	struct str module;
	uint64_t ns;
};

static uint64_t unnamed_of(const struct function *f)
{
	return f->is_unnamed ? f->own.ns : 0;
}

static uint64_t broken_of(const struct function *f)
{
	return f->below_broken_ns;
}

/* Functions of one module need not be neighbours, and modules are few: a bounded table of those met. */
static struct heaviest heaviest_module(const struct analysis *a,
				       uint64_t (*weight)(const struct function *))
{
	struct heaviest met[64];
	size_t count = 0, best = 0;

	for (uint32_t i = 0; i < a->function_count; i++) {
		uint64_t ns = weight(&a->functions[i]);
		size_t m = 0;

		if (ns == 0)
			continue;
		while (m < count && str_compare(met[m].module, a->functions[i].module) != 0)
			m++;
		if (m == ARRAY_LEN(met))
			continue;
		if (m == count)
			met[count++] = (struct heaviest){ a->functions[i].module, 0 };
		met[m].ns += ns;
		if (met[m].ns > met[best].ns)
			best = m;
	}
	return count > 0 ? met[best] : (struct heaviest){ STR_EMPTY, 0 };
}

static void put_module(struct text *t, struct str module)
{
	if (module.len > 0)
		text_put_cut(t, module, 40);
	else
		text_put(t, "code outside of any binary");
}

static bool has_broken(const struct facts *f, struct finding *out)
{
	const struct function *broken = analysis_marker(f->a, (struct str)STR_LITERAL("[broken]"));
	struct heaviest most = heaviest_module(f->a, broken_of);

	if (broken == NULL || broken->with_callees.share.value <= SHARE_THAT_MATTERS)
		return false;
	text_put(&out->title, "Stacks break in the middle");
	text_put_share(&out->evidence, broken->with_callees.share, f->a->kept);
	text_put(&out->evidence, " of the time is in stacks that stop before their root.");
	if (most.ns > 0) {
		text_put(&out->evidence, " Most of it breaks in ");
		put_module(&out->evidence, most.module);
		text_put(&out->evidence, ".");
	}
	text_put(&out->look_next, "Look next at how ");
	put_module(&out->look_next,
		   most.ns > 0 ? most.module : (struct str)STR_LITERAL("the program"));
	text_put(&out->look_next, " is built: it needs .eh_frame, or -fno-omit-frame-pointer.");
	return true;
}

static bool has_cut(const struct facts *f, struct finding *out)
{
	const struct function *cut = analysis_marker(f->a, (struct str)STR_LITERAL("[cut]"));
	bool is_copy;

	if (cut == NULL || cut->with_callees.share.value <= SHARE_THAT_MATTERS)
		return false;
	is_copy = f->label->cut_stacks > cut->with_callees.kept / 2;
	text_put(&out->title, "Stacks are cut");
	text_put_share(&out->evidence, cut->with_callees.share, f->a->kept);
	text_put(&out->evidence,
		 is_copy ? " of the time is in stacks deeper than the part that is copied."
			 : " of the time is in stacks that lost frames to make room.");
	text_put(&out->look_next,
		 is_copy ? "Look next at deep recursion, or at large variables on the stack."
			 : "Look next at a larger recording: tare record --max-size SIZE.");
	return true;
}

static bool has_unnamed(const struct facts *f, struct finding *out)
{
	struct heaviest most = heaviest_module(f->a, unnamed_of);

	if (f->a->unnamed.share.value <= SHARE_THAT_MATTERS)
		return false;
	text_put(&out->title, "Functions have no names");
	text_put_share(&out->evidence, f->a->unnamed.share, f->a->kept);
	text_put(&out->evidence,
		 " of the time is in functions without a symbol. Most of it is in ");
	put_module(&out->evidence, most.module);
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at the debug symbols of ");
	put_module(&out->look_next, most.module);
	text_put(&out->look_next, ": a -dbgsym package, or a build that is not stripped.");
	return true;
}

static bool holds_word(struct str text, const char *word)
{
	return text.len > 0 && memmem(text.bytes, text.len, word, strlen(word)) != NULL;
}

static bool has_no_kernel(const struct facts *f, struct finding *out)
{
	const struct function *kernel = analysis_marker(f->a, (struct str)STR_LITERAL("[kernel]"));
	struct str why = f->label->kernel_stacks;

	if (!holds_word(why, "not allowed"))
		return false;
	text_put(&out->title, "The kernel's part is not seen");
	text_put(&out->evidence, "Kernel stacks are ");
	text_put_cut(&out->evidence, why, 100);
	text_put(&out->evidence, ".");
	if (kernel != NULL) {
		text_put(&out->evidence, " [kernel] stands for ");
		text_put_share(&out->evidence, kernel->with_callees.share, f->a->kept);
		text_put(&out->evidence, " of the time.");
	}
	text_put(&out->look_next, holds_word(why, "kptr_restrict")
					  ? "Look next at kernel.kptr_restrict: 0 shows the names "
					    "of kernel functions."
					  : "Look next at CAP_PERFMON for tare, or at "
					    "kernel.perf_event_paranoid of 1.");
	return true;
}

static bool has_merged(const struct facts *f, struct finding *out)
{
	const struct analysis *a = f->a;

	if ((double)a->uncertain_ns <= SHARE_THAT_MATTERS * (double)a->sampled_ns)
		return false;
	text_put(&out->title, "Rare paths were merged to make room");
	text_put_exact_share(&out->evidence, a->uncertain_ns, a->sampled_ns);
	text_put(&out->evidence, " of the weight came to its path by ");
	text_put_counted(&out->evidence, f->label->merges, "merge");
	text_put(&out->evidence, ". Sums stay right; small places are uncertain.");
	text_put(&out->look_next, "Look next at a larger recording: tare record --max-size SIZE.");
	return true;
}

/* The parts of the price, as the ledger names them. */
struct part {
	const char *word;
	uint64_t ns;
	const char *look_next;
};

static struct part largest_part(const struct label *label)
{
	const struct part parts[] = {
		{ "handling samples", label->sample_ns,
		  "Look next at a longer period: tare record --every TIME." },
		{ "the kernel's part of samples", label->kernel_ns,
		  "Look next at a longer period: tare record --every TIME." },
		{ "saves", label->save_ns,
		  "Look next at the disk under the recording, or at a smaller --max-size." },
		{ "start-up", label->start_ns,
		  "Look next at a longer run: start-up is paid once." },
		{ "the fixed part", label->fixed_ns,
		  "Look next at a higher --price, or at fewer threads at once." },
	};
	size_t most = 0;

	for (size_t i = 1; i < ARRAY_LEN(parts); i++)
		if (parts[i].ns > parts[most].ns)
			most = i;
	return parts[most];
}

static bool is_over_price(const struct facts *f, struct finding *out)
{
	const struct label *label = f->label;
	struct part most = largest_part(label);

	if (label->elapsed_ns == 0 ||
	    f->a->spent_ns <= units_ppm_of(label->elapsed_ns, label->price_limit_ppm))
		return false;
	text_put(&out->title, "Measuring cost more than its price");
	text_put(&out->evidence, "It took ");
	text_put_price(&out->evidence, ppm_of_cpu(f->a->spent_ns, label->elapsed_ns));
	text_put(&out->evidence, " of one CPU, at least. The price is ");
	text_put_price(&out->evidence, label->price_limit_ppm);
	text_printf(&out->evidence, ". The largest part is %s, ", most.word);
	text_put_price(&out->evidence, ppm_of_cpu(most.ns, label->elapsed_ns));
	text_put(&out->evidence, ".");
	if (most.ns == label->start_ns) {
		text_put(&out->evidence, " It counts over ten minutes; this run took ");
		text_put_duration(&out->evidence, label->elapsed_ns);
		text_put(&out->evidence, ".");
	}
	text_put(&out->look_next, most.look_next);
	return true;
}

static bool is_fixed_over(const struct facts *f, struct finding *out)
{
	const struct label *label = f->label;

	if (label->elapsed_ns == 0 ||
	    label->fixed_ns <= units_ppm_of(label->elapsed_ns, label->price_limit_ppm))
		return false;
	text_put(&out->title, "The fixed cost alone is over the price");
	text_put(&out->evidence, "It took ");
	text_put_price(&out->evidence, ppm_of_cpu(label->fixed_ns, label->elapsed_ns));
	text_put(&out->evidence, " of one CPU. The price is ");
	text_put_price(&out->evidence, label->price_limit_ppm);
	text_put(&out->evidence, ". A longer period does not help, so it stays.");
	text_put(&out->look_next, "Look next at a higher --price, or at fewer threads at once.");
	return true;
}

static bool has_raised_period(const struct facts *f, struct finding *out)
{
	const struct label *label = f->label;

	/* An engine may take the next lower prime: only a real change counts. */
	if (label->period_changes == 0 ||
	    label->period_ns <= label->base_period_ns + label->base_period_ns / 10)
		return false;
	text_put(&out->title, "The price raised the period");
	text_put(&out->evidence, "It went from ");
	text_put_duration(&out->evidence, label->base_period_ns);
	text_put(&out->evidence, " to ");
	text_put_duration(&out->evidence, label->period_ns);
	text_put(&out->evidence, ", in ");
	text_put_counted(&out->evidence, label->period_changes, "change");
	text_put(&out->evidence, ".");
	text_put(&out->look_next, "Look next at a higher --price, if finer numbers are worth it.");
	return true;
}

static bool has_paused_saves(const struct facts *f, struct finding *out)
{
	const struct label *label = f->label;

	if (label->save_pauses == 0)
		return false;
	text_put(&out->title, "Saves waited for a reader");
	text_put(&out->evidence, "Another program held the file open. ");
	text_put_counted(&out->evidence, label->save_pauses, "save");
	text_put(&out->evidence, " waited at the size limit, ");
	text_put_duration(&out->evidence, label->save_paused_ns);
	text_put(&out->evidence, " in all.");
	text_put(&out->look_next, "Look next at who has the file open: fuser FILE.");
	return true;
}

static const struct {
	const char *id;
	bool (*holds)(const struct facts *f, struct finding *out);
} rules[] = {
	{ "unfinished", is_unfinished },
	{ "coarse", is_coarse },
	{ "lost_samples", has_lost },
	{ "throttled", was_throttled },
	{ "unsampled", has_unsampled },
	{ "broken_stacks", has_broken },
	{ "cut_stacks", has_cut },
	{ "unnamed_functions", has_unnamed },
	{ "kernel_not_allowed", has_no_kernel },
	{ "merged_paths", has_merged },
	{ "over_price", is_over_price },
	{ "fixed_over_price", is_fixed_over },
	{ "period_raised", has_raised_period },
	{ "paused_saves", has_paused_saves },
};
_Static_assert(ARRAY_LEN(rules) <= FINDINGS_MAX, "every rule may hold at once");

int findings_open(const struct recording *r, const struct analysis *a, struct findings *out,
		  struct err *err)
{
	const struct facts facts = { r, &r->label, a };
	int status = 0;

	*out = (struct findings){ .count = 0 };
	for (size_t i = 0; i < ARRAY_LEN(rules) && status == 0; i++)
		if (rules[i].holds(&facts, &out->rows[out->count]))
			status = findings_take(out, rules[i].id, err);
	return status;
}

const char *findings_id(size_t index)
{
	return index < ARRAY_LEN(rules) ? rules[index].id : NULL;
}
