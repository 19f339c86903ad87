/* watch_growth.c - did a mean or a percentile move? The first third of the windows in which a row ran against the last; then
 * where, by the split that explains most. A difference counts when it is more than both errors together, and each error is
 * the larger of two: what the timed calls allow, and how much windows differ among themselves. */
#include "core/watch_parts.h"

#include <math.h>
#include <stdlib.h>

#define Z95	      1.959963984540054
#define HALF_PI	      1.570796326794896
#define LEAST_WINDOWS 9u  /* three a third: fewer do not tell how much windows differ */
#define LEAST_GROWTH  1.2 /* less is no growth worth a word */
#define PART	      0.99

/* The normal deviate that `tail` is above; 26.2.23 of Abramowitz and Stegun, right to 4.5e-4. */
static double normal_deviate(double tail)
{
	double t = sqrt(-2 * log(tail));

	return t - (2.515517 + (0.802853 + 0.010328 * t) * t) /
			   (1 + (1.432788 + (0.189269 + 0.001308 * t) * t) * t);
}

double watch_quantile_t(double df, double alpha)
{
	double a = 1 / (df - 0.5), b = 48 / (a * a);
	double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * HALF_PI) * df;
	double x, y;

	if (df < 1.5) /* the cotangent, of a small angle */
		return 1 / (alpha * HALF_PI) - alpha * HALF_PI / 3;
	if (df < 2.5)
		return sqrt(2 / (alpha * (2 - alpha)) - 2);
	y = pow(d * alpha, 2 / df);
	if (y <= 0.05 + a) {
		y = ((1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) +
		      0.5 / (df + 4)) *
			     y -
		     1) * (df + 1) /
			    (df + 2) +
		    1 / y;
		return sqrt(df * y);
	}
	x = -normal_deviate(alpha / 2);
	y = x * x;
	if (df < 5)
		c += 0.3 * (df - 4.5) * (x + 0.6);
	c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
	y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
	return sqrt(df * expm1(a * y * y));
}

/* A mean or percentile of some windows, with how far it may lie under and over: at 95 %, and surely. */
struct side {
	double value, under, over;
	double surely_under, surely_over;
	bool is_below_floor;
};

/* One row on its way: its windows with timed calls. */
struct judging {
	const struct watch_span *span;
	struct watch_scratch *scratch;
	uint32_t count;
	double alpha; /* of this test */
};

static void widen(struct side *side, double error, double surely)
{
	side->under = fmax(side->under, error);
	side->over = fmax(side->over, error);
	side->surely_under = fmax(side->surely_under, surely);
	side->surely_over = fmax(side->surely_over, surely);
}

/* Standard error of the ratio of values and weights from how windows differ (Cochran, 6.4). */
static double ratio_deviation(const double *values, const double *weights, uint32_t count)
{
	double value = 0, weight = 0, squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		value += values[i];
		weight += weights[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		double residual = values[i] - value / weight * weights[i];

		squares += residual * residual;
	}
	return sqrt(squares * count / (count - 1.0)) / weight;
}

/* Standard error of the mean of some windows' percentiles. */
static double plain_deviation(const double *values, uint32_t count)
{
	double mean = 0, squares = 0;

	for (uint32_t i = 0; i < count; i++)
		mean += values[i] / count;
	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (count - 1.0) / count);
}

/* Looks at windows [from, to) of those with timed calls. */
static int look_at(const struct judging *j, uint32_t from, uint32_t to, struct side *mean,
		   struct side *p99)
{
	const struct watch_span *span = j->span;
	struct watch_scratch *s = j->scratch;
	uint32_t first = s->places[from], count = s->places[to - 1] + 1 - first;
	double surely = normal_deviate(j->alpha / 2) / Z95;
	struct calls_row pooled = { 0 };
	int status = watch_pool(span->windows + first, count, s, &pooled);

	if (status == 0) {
		struct calls_estimate e = calls_estimate(&pooled, span->floor_ns);
		double error = e.has_error ? e.mean_error_ns : INFINITY;

		*mean = (struct side){ .value = e.mean_ns, .is_below_floor = e.is_below_floor };
		widen(mean, error, error * surely);

		struct percentile p =
			calls_percentile(&pooled, PART, span->floor_ns, &p99->is_below_floor);

		p99->value = (double)p.ns;
		p99->under = (double)(p.ns - p.low_ns);
		p99->over = p.is_open ? INFINITY : (double)(p.high_ns - p.ns);
		p99->surely_under = p99->under * surely;
		p99->surely_over = p99->over * surely;
	}
	calls_row_free(&pooled);
	if (to - from < 2 || status < 0)
		return status;

	double t95 = stats_t95(to - from - 1);
	double t = watch_quantile_t(to - from - 1, j->alpha);
	double deviation = ratio_deviation(s->values + from, s->weights + from, to - from);

	widen(mean, t95 * deviation, t * deviation);
	deviation = plain_deviation(s->p99_ns + from, to - from);
	widen(p99, t95 * deviation, t * deviation);
	return 0;
}

/* Where it changed most, and whether one step there explains more than a straight line. */
struct change {
	uint32_t at; /* 1 … count - 1 */
	bool is_step;
};

/* The split with the largest sum of squares between its sides, and the same of a weighted line. */
static struct change find_change(const double *values, const double *weights, uint32_t count)
{
	double value = 0, weight = 0, before = 0, before_weight = 0, best = -1;
	double middle = 0, along = 0, across = 0;
	struct change change = { .at = 1 };

	for (uint32_t i = 0; i < count; i++) {
		value += values[i];
		weight += weights[i];
		middle += weights[i] * i;
	}
	for (uint32_t i = 0; i < count; i++) {
		double off = i - middle / weight;

		along += weights[i] * off * off;
		across += off * (values[i] - value / weight * weights[i]);
	}
	for (uint32_t i = 0; i + 1 < count; i++) {
		before += values[i] - value / weight * weights[i];
		before_weight += weights[i];

		double rest = weight - before_weight;
		double between = before_weight > 0 && rest > 0
					 ? before * before * weight / (before_weight * rest)
					 : 0;

		if (between > best) {
			best = between;
			change.at = i + 1;
		}
	}
	change.is_step = along <= 0 || best >= across * across / along;
	return change;
}

/* The same of the windows' percentiles, each as good as another. */
static struct change find_change_of_p99(const struct judging *j)
{
	for (uint32_t i = 0; i < j->count; i++)
		j->scratch->weights[i] = 1;
	return find_change(j->scratch->p99_ns, j->scratch->weights, j->count);
}

static bool has_grown(const struct side *from, const struct side *to)
{
	return !to->is_below_floor && to->value >= LEAST_GROWTH * from->value &&
	       to->value - from->value > from->surely_over + to->surely_under;
}

static void say(const struct side *from, const struct side *to, struct growth *out)
{
	out->from_ns = from->value;
	out->to_ns = to->value;
	out->error_ns = sqrt(from->over * from->over + to->under * to->under);
}

/* Collects the windows with timed calls: what they add to the mean, and their 99th percentile. */
static void collect(struct judging *j)
{
	struct watch_scratch *s = j->scratch;

	for (uint32_t i = 0; i < j->span->count; i++) {
		const struct window_row *w = &j->span->windows[i];
		double weight = (double)w->firsts + (double)w->weight;

		if (weight <= 0)
			continue;
		s->places[j->count] = i;
		s->weights[j->count] = weight;
		s->values[j->count] = (double)w->first_ns + (double)w->weighted_ns;
		s->p99_ns[j->count++] = (double)histogram_quantile_ns(&w->histogram, PART);
	}
}

/* What of each window lies over `threshold_ns`, as a part of its calls: where a percentile changed. */
static void collect_over(struct judging *j, double threshold_ns)
{
	uint32_t step = bucket_of((uint64_t)threshold_ns);
	struct watch_scratch *s = j->scratch;

	for (uint32_t i = 0; i < j->count; i++) {
		const struct histogram *h = &j->span->windows[s->places[i]].histogram;

		s->values[i] = 0;
		s->weights[i] = (double)h->weight;
		for (uint32_t k = h->count; k > 0 && h->steps[k - 1].at > step; k--)
			s->values[i] += (double)h->steps[k - 1].weight;
	}
}

/* Says where it changed; a step is said by its two sides, if they still show it. What lies over a threshold steps also
 * where a percentile grows little by little, so that is asked of the percentile itself. */
static int place(const struct judging *j, bool is_p99, const struct side thirds[2],
		 struct growth *out)
{
	struct watch_scratch *s = j->scratch;
	struct change change = find_change(s->values, s->weights, j->count);
	struct side mean[2] = { 0 }, p99[2] = { 0 };
	const struct side *sides = is_p99 ? p99 : mean;

	out->has_grown = true;
	out->at_ns = j->span->windows[s->places[change.at]].at * j->span->row_ns;
	say(&thirds[0], &thirds[1], out);
	if (is_p99)
		change.is_step = find_change_of_p99(j).is_step;
	if (!change.is_step)
		return 0;

	int status = look_at(j, 0, change.at, &mean[0], &p99[0]);

	if (status == 0)
		status = look_at(j, change.at, j->count, &mean[1], &p99[1]);
	if (status == 0 && sides[1].value >= LEAST_GROWTH * sides[0].value &&
	    isfinite(sides[0].over) && isfinite(sides[1].under)) {
		out->is_step = true;
		say(&sides[0], &sides[1], out);
	}
	return status;
}

/* A step of the percentile inside the first third is hidden there: where more than one in a hundred calls are long already,
 * so is the third's percentile. So the best split is tried too, as one of as many as there are. */
static int find_early_step(const struct judging *j, struct growth *out)
{
	struct judging all = *j;
	struct side mean[2] = { 0 }, p99[2] = { 0 };
	struct change change = find_change_of_p99(j);
	int status;

	all.alpha /= j->count;
	if (!change.is_step || change.at < LEAST_WINDOWS / 3 || change.at > j->count / 3)
		return 0;
	status = look_at(&all, 0, change.at, &mean[0], &p99[0]);
	if (status == 0)
		status = look_at(&all, change.at, j->count, &mean[1], &p99[1]);
	if (status < 0 || !has_grown(&p99[0], &p99[1]))
		return status;
	out->has_grown = out->is_step = true;
	out->at_ns = j->span->windows[j->scratch->places[change.at]].at * j->span->row_ns;
	say(&p99[0], &p99[1], out);
	return 0;
}

int watch_judge_growth(const struct watch_span *span, struct watch_scratch *scratch,
		       struct watched_answer *answer)
{
	struct judging j = { .span = span, .scratch = scratch, .alpha = span->alpha };
	struct side mean[2] = { 0 }, p99[2] = { 0 };
	int status;

	collect(&j);
	if (j.count < LEAST_WINDOWS)
		return 0;
	status = look_at(&j, 0, j.count / 3, &mean[0], &p99[0]);
	if (status == 0)
		status = look_at(&j, j.count - j.count / 3, j.count, &mean[1], &p99[1]);
	if (status == 0 && has_grown(&mean[0], &mean[1]))
		status = place(&j, false, mean, &answer->mean_growth);
	if (status < 0)
		return status;
	if (!has_grown(&p99[0], &p99[1]))
		return find_early_step(&j, &answer->p99_growth);
	collect_over(&j, sqrt((p99[0].value + 1) * p99[1].value) + (double)span->floor_ns);
	return place(&j, true, p99, &answer->p99_growth);
}
