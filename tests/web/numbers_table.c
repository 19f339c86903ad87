/* numbers_table.c - prints what the C code makes of many numbers, so that the viewer's own code can be held against it: a row
 * a case, its fields parted by tabs. */
#include <inttypes.h>
#include <stdio.h>

#include "core/rng.h"
#include "core/scoped.h"
#include "core/text.h"
#include "core/units.h"

#define SEED   UINT64_C(20261130)
#define SHARES 400
#define SUMS   120

static void print_share(double value, double error, uint64_t kept)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_share(&words, (struct share){ .value = value, .error = error, .kept = 0 }, kept);
	printf("share\t%.17g\t%.17g\t%" PRIu64 "\t%s\n", value, error, kept, text_chars(&words));
}

static void print_shares(struct rng *r)
{
	static const double edges[] = { 0,	0.00005, 0.0005, 0.00095, 0.005, 0.00949,
					0.0095, 0.01,	 0.0114, 0.0116,  0.125, 0.135,
					0.25,	0.5,	 0.995,	 1 };

	for (size_t v = 0; v < ARRAY_LEN(edges); v++)
		for (size_t e = 0; e < ARRAY_LEN(edges); e++)
			print_share(edges[v], edges[e], 10000);
	for (int i = 0; i < SHARES; i++) {
		double value = (double)rng_below(r, 1000001) / 1e6;

		print_share(value, (double)rng_below(r, 200001) / 1e6, rng_below(r, 20000));
	}
	print_share(0, 1, 0);
	print_share(0, 0.5, 3);
	print_share(1, 0.5, 4);
}

static void print_exact(uint64_t part, uint64_t whole)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_exact_share(&words, part, whole);
	printf("exact\t%" PRIu64 "\t%" PRIu64 "\t%s\n", part, whole, text_chars(&words));
}

static void print_duration(uint64_t ns)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_duration(&words, ns);
	printf("duration\t%" PRIu64 "\t%s\n", ns, text_chars(&words));
}

static void print_size(uint64_t bytes)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_size(&words, bytes);
	printf("size\t%" PRIu64 "\t%s\n", bytes, text_chars(&words));
}

static void print_count(uint64_t count)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_counted(&words, count, "gap");
	printf("count\t%" PRIu64 "\t%s\n", count, text_chars(&words));
}

static void print_list(const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu64, i > 0 ? "," : "\t", values[i]);
}

/* Batches as they are found: empty ones, ones with weight and no sample, one far heavier than the rest. */
static void print_sums(struct rng *r)
{
	uint64_t part[32], whole[32], kept[32];

	for (int i = 0; i < SUMS; i++) {
		size_t count = 1 + (size_t)rng_below(r, 32);
		uint64_t most = i % 3 == 0 ? 4 : 400;
		struct share share;

		for (size_t b = 0; b < count; b++) {
			whole[b] = rng_below(r, 5) == 0 ? 0 : rng_below(r, 1000000000);
			part[b] = i % 7 == 0 ? whole[b] * (uint64_t)(i % 2)
					     : rng_below(r, whole[b] + 1);
			kept[b] = rng_below(r, 4) == 0 ? 0 : rng_below(r, most);
		}
		share = stats_sampled_share(part, whole, kept, count, 0);
		printf("sampled");
		print_list(part, count);
		print_list(whole, count);
		print_list(kept, count);
		printf("\t%.17g\t%.17g\t%d\n", share.value, share.error, share.is_coarse);
	}
}

int main(void)
{
	struct rng r;
	uint64_t scale = 1;

	rng_seed(&r, SEED);
	print_shares(&r);
	print_sums(&r);
	for (int i = 0; i < 48; i++) {
		uint64_t value = scale + rng_below(&r, 2 * scale);

		print_duration(value);
		print_size(value);
		print_count(value % 100000000);
		print_exact(rng_below(&r, scale + 1), scale);
		scale = scale * 2;
	}
	print_duration(0);
	print_size(1);
	print_count(0);
	print_count(1);
	print_exact(0, 7);
	print_exact(7, 7);
	return 0;
}
