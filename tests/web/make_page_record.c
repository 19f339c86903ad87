/* make_page_record.c - recordings of samples for pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"
#include "web/make_page.h"

#define SLOTS	  512u
#define SLOT_NS	  (42 * NS_PER_S)
#define GAP_FROM  280u
#define GAP_TO	  284u
#define PLACES	  256u
#define CROWD	  4000u
#define PERCENTS  100u
#define NIGHT_CPU 4u

/* Where time goes, how it is divided into running, waiting and runnable, and in which slots. */
struct place {
	const char *path;
	uint64_t ms;
	uint32_t running, waiting; /* percent; the rest is runnable */
	uint32_t from, to;
};

static const struct place night[] = {
	{ "php/4411/4411 > {main}+php > import_users@import.php:40+import > "
	  "fetch_orders@orders.php:88+import > PDOStatement::execute+pdo > poll+libc.so.6",
	  12600000, 1, 99, 0, SLOTS },
	{ "php/4411/4411 > {main}+php > import_users@import.php:40+import > "
	  "write_batch@batch.php:12+import > PDO::commit+pdo > poll+libc.so.6",
	  1300000, 2, 97, 0, SLOTS },
	{ "php/4411/4411 > {main}+php > import_users@import.php:40+import > "
	  "normalise@user.php:19+import > transliterator_transliterate+intl > "
	  "icu::RuleBasedTransliterator::handleTransliterate+libicui18n.so.72",
	  900000, 97, 1, 0, 400 },
	{ "php/4411/4411 > {main}+php > import_users@import.php:40+import > "
	  "gc_collect_cycles+php",
	  800000, 100, 0, 300, SLOTS },
	{ "php/4411/4411 > {main}+php > import_users@import.php:40+import > "
	  "Order::hydrate@orders.php:120+import > Money::parse@money.php:7+import",
	  600000, 98, 0, 0, SLOTS },
	{ "worker/4411/4412 > start_thread+libc.so.6 > export_pictures+import > "
	  "Imagick::resizeImage+imagick > MagickCore::ResizeImage+libMagickCore.so.6",
	  500000, 75, 5, 200, 270 },
	{ "worker/4411/4413 > start_thread+libc.so.6 > export_pictures+import > "
	  "Imagick::resizeImage+imagick > MagickCore::VerticalFilter+libMagickCore.so.6",
	  480000, 70, 6, 200, 270 },
	{ "worker/4411/4414 > start_thread+libc.so.6 > export_pictures+import > "
	  "Imagick::writeImage+imagick",
	  300000, 50, 40, 200, 270 },
	{ "worker/4411/4415 > start_thread+libc.so.6 > export_pictures+import > "
	  "deflate+libz.so.1.2.13",
	  290000, 90, 2, 200, 270 },
	{ "curl-dns/4411/4419 > start_thread+libc.so.6 > getaddrinfo+libnss_dns.so.2", 90000, 2, 98,
	  490, SLOTS },
	{ "php/4411/4411 > {main}+php > send_report@report.php:3+import > curl_exec+libcurl.so.4",
	  220000, 2, 98, 490, SLOTS },
	{ "php/4411/4411 > {main}+php > load_config+import > yaml_parse+yaml", 120000, 90, 8, 0,
	  30 },
	{ "php/4411/4411 > {main}+php > [libold.so.2+0x1a2b0]+libold.so.2", 60000, 100, 0, 0,
	  SLOTS },
	{ "php/4411/4411 > {main}+php > [kernel]", 50000, 100, 0, 0, SLOTS },
	{ "php/4411/4411 > [broken] > hook+libold.so.2", 40000, 100, 0, 0, SLOTS },
	{ "php/4411/4411 > {main}+php > descend+import > [cut 12]", 20000, 100, 0, 0, SLOTS },
	{ "php/4411/4411 > [no stack]", 9000, 100, 0, 0, SLOTS },
};

/* What stands in the slots: a node, its weight, and how that is divided. */
struct drawn {
	uint32_t node;
	const struct place *place;
};

static void add_place(struct build *b, struct drawn *drawn, const struct place *place)
{
	uint64_t ns = place->ms * NS_PER_MS;
	struct context_row *c = build_context(b, place->path, ns, place->ms / 2000 + 1);
	uint32_t first = place->from * BATCH_COUNT / SLOTS;
	uint32_t last = (place->to - 1) * BATCH_COUNT / SLOTS;

	c->running_ns = ns / PERCENTS * place->running;
	c->waiting_ns = ns / PERCENTS * place->waiting;
	c->runnable_ns = ns - c->running_ns - c->waiting_ns;
	memset(c->batch_ns, 0, sizeof(c->batch_ns));
	for (uint32_t i = first; i <= last; i++)
		c->batch_ns[i] = ns / (last - first + 1);
	c->batch_ns[first] += ns % (last - first + 1);
	*drawn = (struct drawn){ c->node, place };
}

/* The place that slot `i` shows: by weight, in an order that wanders through all of them. */
static const struct drawn *draw(const struct drawn *drawn, uint32_t count, uint32_t i)
{
	uint64_t sum = 0, at;

	for (uint32_t k = 0; k < count; k++)
		if (i >= drawn[k].place->from && i < drawn[k].place->to)
			sum += drawn[k].place->ms;
	at = (uint64_t)i * 618034 % 1000000 * sum / 1000000;
	for (uint32_t k = 0; k < count; k++) {
		const struct place *p = drawn[k].place;

		if (i < p->from || i >= p->to)
			continue;
		if (at < p->ms)
			return &drawn[k];
		at -= p->ms;
	}
	return &drawn[0];
}

static void add_slots(struct build *b, const struct drawn *drawn, uint32_t count)
{
	uint64_t ns = b->r.label.weight_ns / (SLOTS - (GAP_TO - GAP_FROM));

	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct drawn *d = draw(drawn, count, i);
		struct slot_row *s;

		if (i >= GAP_FROM && i < GAP_TO) {
			build_slot(b, NO_ID, 0, 0, 30);
			continue;
		}
		s = build_slot(b, d->node, ns / PERCENTS * d->place->running,
			       (uint32_t)(b->r.label.kept / SLOTS), 0);
		s->waiting_ns = ns / PERCENTS * d->place->waiting;
		s->runnable_ns = ns - s->running_ns - s->waiting_ns;
	}
}

static void describe_night(struct label *l)
{
	l->command = (struct str)STR_LITERAL("php cli/import_users.php --since=2026-11-01");
	l->comm = (struct str)STR_LITERAL("php");
	l->host = (struct str)STR_LITERAL("batch-07");
	l->kernel_stacks = (struct str)STR_LITERAL("not allowed: perf_event_paranoid is 2");
	l->clock = (struct str)STR_LITERAL("wall");
	l->elapsed_ns = SLOTS * SLOT_NS;
	l->saved_wall_ns = l->started_wall_ns + (int64_t)l->elapsed_ns;
	l->slot_count = SLOTS;
	l->slot_ns = SLOT_NS;
	l->cpu_count = NIGHT_CPU;
	l->threads = 27;
	l->clock_ns += l->clock_ns / 150;
	l->lost = 120;
	l->lost_events = 1;
	l->broken_stacks = 40;
	l->whole_stacks -= 40;
	l->own_cpu_ns = 40 * NS_PER_S;
	l->sample_ns = 30 * NS_PER_S;
	l->save_ns = 6 * NS_PER_S;
	l->fixed_ns = 4 * NS_PER_S;
	l->kernel_ns = 5 * NS_PER_S;
}

void page_night(struct build *b)
{
	static struct place small[PLACES - ARRAY_LEN(night)];
	static char paths[ARRAY_LEN(small)][160];
	struct drawn drawn[PLACES];
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(night); i++)
		add_place(b, &drawn[count++], &night[i]);
	/* A long tail: thin boxes, and rows behind the sixteen that a table shows. */
	for (uint32_t i = 0; i < 120; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]),
			       "php/4411/4411 > {main}+php > autoload+vendor > Vendor\\Part%02u::"
			       "method%03u+part%u.so",
			       i % 17, i, i % 11);
		small[i] = (struct place){ paths[i], 400 + 90 * i, 95, 3, 0, SLOTS };
		add_place(b, &drawn[count++], &small[i]);
	}
	for (uint32_t i = 0; i < 12; i++) {
		(void)snprintf(paths[120 + i], sizeof(paths[0]),
			       "pool/4411/%u > start_thread+libc.so.6 > idle+import", 4430 + i);
		small[120 + i] =
			(struct place){ paths[120 + i], 30000 - 2000 * i, 5, 94, 0, SLOTS };
		add_place(b, &drawn[count++], &small[120 + i]);
	}
	describe_night(&b->r.label);
	add_slots(b, drawn, count);
	for (int i = 0; i < 64; i++)
		build_window(b, NS_PER_MS + (uint64_t)(i % 3) * 200 * NS_PER_US, NS_PER_MS / 2);
}

void page_record_names(struct build *b, const struct names *names)
{
	struct label *l = &b->r.label;

	for (uint32_t i = 0; i < names->count; i++) {
		const struct frame_row thread = { .kind = FRAME_THREAD,
						  .pid = 41,
						  .tid = 41 + i % 9,
						  .name = name_at(names, i % 9) };
		const struct frame_row leaf = { .kind = FRAME_NATIVE,
						.name = name_at(names, i),
						.module = name_at(names, i + 11),
						.file = name_at(names, i + 23),
						.line = i + 1 };
		const struct context_row *c =
			build_leaf(b, &thread, &leaf, (2 * names->count - i) * NS_PER_S, 200 - i);

		build_slot(b, c->node, NS_PER_S, 200 - i, 0);
	}
	l->slot_count = b->r.slot_count;
	l->command = name_at(names, 0);
	l->host = name_at(names, 1);
	l->comm = name_at(names, 2);
	l->kernel = name_at(names, 3);
	l->kernel_stacks = name_at(names, 4);
	l->children = name_at(names, 5);
	l->threads = 9;
}

void page_record_crowd(struct build *b)
{
	static char names[CROWD][160];
	const struct frame_row thread = {
		.kind = FRAME_THREAD, .name = STR_LITERAL("job"), .pid = 41, .tid = 41
	};

	for (uint32_t i = 0; i < CROWD; i++) {
		struct frame_row leaf = { .kind = FRAME_NATIVE,
					  .module = STR_LITERAL("libcrowd.so"),
					  .file = STR_LITERAL("src/crowd.cpp"),
					  .line = i };
		int len = snprintf(names[i], sizeof(names[i]),
				   "crowd::part%02u::Visitor<std::vector<std::string>, %u>::visit_"
				   "node_of_kind(crowd::Node const&, crowd::State<%u>&)",
				   i % 40, i, i * 7919 % 1000);

		leaf.name = (struct str){ names[i], (uint32_t)len };
		build_leaf(b, &thread, &leaf, NS_PER_S + i * 7 * NS_PER_MS, 4 + i % 5);
	}
	for (uint32_t i = 0; i < 1024; i++)
		build_slot(b, b->r.contexts[i * 977 % CROWD].node, 10 * NS_PER_S, 20, 0);
	b->r.label.slot_count = 1024;
	b->r.label.slot_ns = 4 * NS_PER_S;
}
