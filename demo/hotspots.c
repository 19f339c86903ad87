/* hotspots.c - ranks customers by how alike their baskets are. Its hot spots are known: it times its own parts by the
 * threads' CPU clocks and prints their shares, so that a profile of it can be checked.
 * Usage: hotspots ORDERS.csv   (lines of customer,product,cents; two threads compare) */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREAD_COUNT  2
#define BASKET_COUNT  8000u /* customers compared, each with each */
#define VECTOR_LEN    512u  /* products, folded */
#define SORT_ROUNDS   12u
#define MAX_CUSTOMERS (1u << 20)

struct order {
	uint32_t customer, product, cents;
};

struct orders {
	struct order *rows; /* owned */
	size_t count;
};

struct basket {
	float spent[VECTOR_LEN];
};

/* What one thread does: rows `first`, `first` + THREAD_COUNT, ... of the triangle of pairs. */
struct share_of_pairs {
	const struct basket *baskets; /* borrowed */
	uint32_t first;
	float best;
	uint32_t best_a, best_b;
	uint64_t cpu_ns;
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) bool parse_number(char **at, char end, uint32_t *out)
{
	unsigned long value;
	char *next;

	errno = 0;
	value = strtoul(*at, &next, 10);
	if (next == *at || *next != end || errno != 0 || value > UINT32_MAX)
		return false;
	*at = next + 1;
	*out = (uint32_t)value;
	return true;
}

static __attribute__((noinline)) bool parse_order(char *line, struct order *out)
{
	return parse_number(&line, ',', &out->customer) && out->customer < MAX_CUSTOMERS &&
	       parse_number(&line, ',', &out->product) && parse_number(&line, '\n', &out->cents);
}

static __attribute__((noinline)) bool read_orders(const char *path, struct orders *out)
{
	FILE *file = fopen(path, "r");
	char line[256];
	size_t room = 0;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (out->count == room) {
			struct order *more;

			room = room == 0 ? 1024 : room * 2;
			more = realloc(out->rows, room * sizeof(*more));
			if (more == NULL)
				break;
			out->rows = more;
		}
		if (!parse_order(line, &out->rows[out->count]))
			break;
		out->count++;
	}
	if (!feof(file) || ferror(file))
		out->count = 0;
	fclose(file);
	return out->count > 0;
}

static int by_cents(const void *a, const void *b)
{
	const struct order *left = a, *right = b;

	return (left->cents > right->cents) - (left->cents < right->cents);
}

static int by_customer(const void *a, const void *b)
{
	const struct order *left = a, *right = b;

	return (left->customer > right->customer) - (left->customer < right->customer);
}

static __attribute__((noinline)) void sort_orders(struct orders *orders)
{
	for (unsigned int i = 0; i < SORT_ROUNDS; i++)
		qsort(orders->rows, orders->count, sizeof(*orders->rows),
		      i % 2 == 0 ? by_cents : by_customer);
}

static __attribute__((noinline)) void fill_baskets(const struct orders *orders,
						   struct basket *baskets)
{
	for (size_t i = 0; i < orders->count; i++) {
		const struct order *row = &orders->rows[i];

		baskets[row->customer % BASKET_COUNT].spent[row->product % VECTOR_LEN] +=
			(float)row->cents;
	}
}

static __attribute__((noinline)) float likeness(const struct basket *a, const struct basket *b)
{
	float both = 0, only_a = 1, only_b = 1;

	for (uint32_t i = 0; i < VECTOR_LEN; i++) {
		both += a->spent[i] * b->spent[i];
		only_a += a->spent[i] * a->spent[i];
		only_b += b->spent[i] * b->spent[i];
	}
	return both / (only_a + only_b);
}

static __attribute__((noinline)) void *compare_baskets(void *argument)
{
	struct share_of_pairs *share = argument;
	uint64_t from_ns = thread_cpu_ns();

	for (uint32_t a = share->first; a < BASKET_COUNT; a += THREAD_COUNT) {
		for (uint32_t b = a + 1; b < BASKET_COUNT; b++) {
			float like = likeness(&share->baskets[a], &share->baskets[b]);

			if (like > share->best) {
				share->best = like;
				share->best_a = a;
				share->best_b = b;
			}
		}
	}
	share->cpu_ns = thread_cpu_ns() - from_ns;
	return NULL;
}

static bool compare_all(const struct basket *baskets, struct share_of_pairs *out_best,
			uint64_t *out_cpu_ns)
{
	struct share_of_pairs shares[THREAD_COUNT];
	pthread_t threads[THREAD_COUNT];
	uint32_t started = 0;

	for (; started < THREAD_COUNT; started++) {
		shares[started] = (struct share_of_pairs){ .baskets = baskets, .first = started };
		if (pthread_create(&threads[started], NULL, compare_baskets, &shares[started]) != 0)
			break;
	}
	*out_cpu_ns = 0;
	*out_best = shares[0];
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		*out_cpu_ns += shares[i].cpu_ns;
		if (shares[i].best > out_best->best)
			*out_best = shares[i];
	}
	return started == THREAD_COUNT;
}

static void print_shares(const uint64_t part_ns[4])
{
	static const char *const names[] = { "read_orders", "sort_orders", "fill_baskets",
					     "compare_baskets" };
	uint64_t whole_ns = part_ns[0] + part_ns[1] + part_ns[2] + part_ns[3];

	printf("hotspots, by its own clocks:");
	for (int i = 0; i < 4; i++)
		printf(" %s %.1f %%%s", names[i], 100.0 * (double)part_ns[i] / (double)whole_ns,
		       i < 3 ? "," : "");
	printf(" of %.1f s\n", (double)whole_ns / 1e9);
}

int main(int argc, char **argv)
{
	struct orders orders = { NULL, 0 };
	struct share_of_pairs best;
	struct basket *baskets;
	uint64_t part_ns[4], at_ns[4];
	bool is_done = false;

	if (argc != 2) {
		fprintf(stderr, "usage: hotspots ORDERS.csv\n");
		return 2;
	}
	baskets = calloc(BASKET_COUNT, sizeof(*baskets));
	at_ns[0] = thread_cpu_ns();
	if (baskets != NULL && read_orders(argv[1], &orders)) {
		at_ns[1] = thread_cpu_ns();
		sort_orders(&orders);
		at_ns[2] = thread_cpu_ns();
		fill_baskets(&orders, baskets);
		at_ns[3] = thread_cpu_ns();
		is_done = compare_all(baskets, &best, &part_ns[3]);
	}
	if (is_done) {
		for (int i = 0; i < 3; i++)
			part_ns[i] = at_ns[i + 1] - at_ns[i];
		printf("hotspots: of %zu orders, baskets %u and %u are most alike (%.3f)\n",
		       orders.count, best.best_a, best.best_b, (double)best.best);
		print_shares(part_ns);
	} else {
		fprintf(stderr, "hotspots: cannot rank '%s'\n", argv[1]);
	}
	free(orders.rows);
	free(baskets);
	return is_done ? 0 : 2;
}
