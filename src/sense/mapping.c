/* mapping.c - reads the windows of a process that uses libtare. */
#include "sense/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/mapping_reader.h"

static int check_head(const struct mapping_shared *shared, struct err *err)
{
	if (__atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != MAPPING_MAGIC)
		return err_set(err, -EPROTO, "cannot read the mapping: it is not one of libtare");
	if (MAPPING_READ(shared->version) != MAPPING_VERSION ||
	    MAPPING_READ(shared->bytes) != sizeof(*shared))
		return err_set(
			err, -EPROTO,
			"cannot read the mapping: libtare has version %u of it, this is for %u",
			MAPPING_READ(shared->version), MAPPING_VERSION);
	return 0;
}

int mapping_reader_over(void *memory, size_t bytes, struct mapping_reader **out, struct err *err)
{
	struct mapping_reader *reader;
	int status;

	if (bytes != sizeof(struct mapping_shared))
		return err_set(err, -EPROTO, "cannot read the mapping: it has %zu bytes, not %zu",
			       bytes, sizeof(struct mapping_shared));
	status = check_head(memory, err);
	if (status != 0)
		return status;
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return err_set(err, -ENOMEM, "cannot keep what is read: out of memory");
	reader->shared = memory;
	reader->fd = -1;
	reader->window = mapping_window_number(MAPPING_READ(reader->shared->orders.window));
	reader->epoch = MAPPING_READ(reader->shared->orders.epoch);
	*out = reader;
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int mapping_reader_open(pid_t pid, struct mapping_reader **out, struct err *err)
{
	SCOPED(close_fd) int fd = mapping_find(pid, err);
	void *memory;
	int status;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return err_set(err, -EBUSY,
			       "cannot attach to process %d: another recorder is attached",
			       (int)pid);
	memory = mmap(NULL, sizeof(struct mapping_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	if (memory == MAP_FAILED)
		return err_set(err, -errno, "cannot map the counters of process %d", (int)pid);
	status = mapping_reader_over(memory, sizeof(struct mapping_shared), out, err);
	if (status != 0) {
		munmap(memory, sizeof(struct mapping_shared));
		return status;
	}
	(*out)->tick_scale = mapping_calibrate();
	(*out)->fd = scoped_take_fd(&fd);
	(*out)->pid = pid;
	return 0;
}

void mapping_reader_close(struct mapping_reader *reader)
{
	if (reader == NULL)
		return;
	MAPPING_WRITE(reader->shared->orders.window, 0);
	for (uint32_t id = 0; id < MAPPING_NAMES; id++)
		free(reader->seen[id].histogram);
	if (reader->fd >= 0) {
		munmap(reader->shared, sizeof(*reader->shared));
		close(reader->fd); /* frees the lock */
	}
	free(reader);
}

/* Adds what one thread counted, timed ones before calls: a call is counted first, so never fewer than were timed. */
static void add_entry(struct mapping_row *sum, const struct mapping_slot *slot, uint32_t id)
{
	const struct mapping_entry *entry = &slot->entries[id];

	sum->others += MAPPING_READ(entry->others);
	sum->weights += MAPPING_READ(entry->weights);
	sum->weights_squared += MAPPING_READ(entry->weights_squared);
	sum->weighted_ns += MAPPING_READ(entry->weighted_ns);
	sum->nested_ns += MAPPING_READ(entry->nested_ns);
	sum->squares.low += MAPPING_READ(entry->squares.low);
	sum->squares.high += MAPPING_READ(entry->squares.high);
	sum->firsts += MAPPING_READ(entry->firsts);
	sum->first_ns += MAPPING_READ(entry->first_ns);
	sum->first_nested_ns += MAPPING_READ(entry->first_nested_ns);
	sum->abandoned += MAPPING_READ(entry->abandoned);
	sum->backwards += MAPPING_READ(entry->backwards);
	sum->calls += __atomic_load_n(&slot->paces[id].calls, __ATOMIC_ACQUIRE);
}

static uint64_t max_of(const struct mapping_entry *entry, uint64_t window)
{
	if (MAPPING_READ(entry->max_window[window % 2]) != (uint32_t)window)
		return 0;
	return MAPPING_READ(entry->max_ns[window % 2]);
}

/* What a counter gained; one that went back counts as torn, and gained nothing. */
static uint64_t gained(struct mapping_reader *reader, uint64_t now, uint64_t before)
{
	if (now >= before)
		return now - before;
	reader->torn++;
	return 0;
}

static void difference(struct mapping_reader *reader, struct mapping_row *row,
		       const struct mapping_row *now, const struct mapping_row *before)
{
	row->calls = gained(reader, now->calls, before->calls);
	row->firsts = gained(reader, now->firsts, before->firsts);
	row->first_ns = gained(reader, now->first_ns, before->first_ns);
	row->first_nested_ns = gained(reader, now->first_nested_ns, before->first_nested_ns);
	row->others = gained(reader, now->others, before->others);
	row->weights = gained(reader, now->weights, before->weights);
	row->weights_squared = gained(reader, now->weights_squared, before->weights_squared);
	row->weighted_ns = gained(reader, now->weighted_ns, before->weighted_ns);
	row->nested_ns = gained(reader, now->nested_ns, before->nested_ns);
	row->squares.low = gained(reader, now->squares.low, before->squares.low);
	row->squares.high = gained(reader, now->squares.high, before->squares.high);
	row->abandoned = gained(reader, now->abandoned, before->abandoned);
	row->backwards = gained(reader, now->backwards, before->backwards);
	/* More were ever timed than called: a hostile process. In one window it may be so: a call that began in an earlier
	 * one ends in it. */
	if (now->firsts > now->calls || now->others > now->calls - now->firsts) {
		reader->torn++;
		*row = (struct mapping_row){ .calls = row->calls };
	}
}

uint32_t mapping_reader_names(const struct mapping_reader *reader)
{
	return mapping_at_most(__atomic_load_n(&reader->shared->host.name_count, __ATOMIC_ACQUIRE),
			       MAPPING_NAMES);
}

/* The largest interval that a thread which ran in the window timed by at its end; 0: none ran. */
static uint32_t interval_of(const struct mapping_slot *slot, uint32_t id, uint64_t window)
{
	uint32_t interval = MAPPING_READ(slot->entries[id].weight);

	if (mapping_window_number(MAPPING_READ(slot->paces[id].window)) != window)
		return 0;
	return mapping_at_most(interval, MAPPING_MAX_INTERVAL);
}

/* Reads one name over all slots: only those that were ever used, so that no memory comes to be by looking. */
static void read_name(struct mapping_reader *reader, uint32_t id)
{
	struct mapping_row now = { .calls = 0 };
	uint64_t max_ns = 0;
	uint32_t interval = 0;
	uint32_t slots = mapping_slot_count(reader);

	for (uint32_t i = 0; i < slots; i++) {
		const struct mapping_slot *slot = &reader->shared->slots[i];
		uint64_t max = max_of(&slot->entries[id], reader->window);
		uint32_t in_force = interval_of(slot, id, reader->window);

		add_entry(&now, slot, id);
		if (max > max_ns)
			max_ns = max;
		if (in_force > interval)
			interval = in_force;
	}
	difference(reader, &reader->rows[id], &now, &reader->seen[id].sum);
	reader->rows[id].max_ns = max_ns;
	reader->rows[id].interval = interval;
	reader->seen[id].sum = now;
}

static void read_names(struct mapping_reader *reader)
{
	uint32_t names = mapping_reader_names(reader);

	for (uint32_t id = 0; id < names; id++)
		read_name(reader, id);
}

static struct mapping_loss lost_ever(const struct mapping_reader *reader)
{
	const struct mapping_host *host = &reader->shared->host;
	struct mapping_loss lost = { .names = MAPPING_READ(host->lost_names),
				     .places = MAPPING_READ(host->lost_places),
				     .calls = MAPPING_READ(host->lost_calls),
				     .expired = MAPPING_READ(host->expired),
				     .torn = reader->torn };
	uint32_t slots = mapping_slot_count(reader);

	for (uint32_t i = 0; i < slots; i++)
		lost.slow += MAPPING_READ(reader->shared->slots[i].slow_lost);
	return lost;
}

/* The next window, whatever the process wrote over the last one's number. */
static void open_window(struct mapping_reader *reader)
{
	struct mapping_orders *orders = &reader->shared->orders;

	reader->window = mapping_window_number(reader->word) + 1;
	if (reader->window > UINT64_MAX >> MAPPING_ORDER_BITS)
		reader->window = 1;
	reader->word = reader->window << MAPPING_ORDER_BITS;
	reader->opened_ns = mapping_reader_now_ns(reader);
	mapping_reader_beat(reader);
	__atomic_store_n(&orders->window, reader->word, __ATOMIC_RELEASE);
}

static void open_epoch(struct mapping_reader *reader)
{
	MAPPING_WRITE(reader->shared->orders.epoch, ++reader->epoch);
}

void mapping_reader_start(struct mapping_reader *reader, uint32_t interval, uint32_t budget,
			  uint64_t slow_ns)
{
	struct mapping_orders *orders = &reader->shared->orders;
	uint32_t scratch[BUCKET_COUNT];
	uint64_t last = 0;

	for (uint32_t id = 0; id < MAPPING_NAMES; id++)
		mapping_reader_set(reader, id, 0, 0);
	read_names(reader);
	for (uint32_t id = 0; id < mapping_reader_names(reader); id++)
		(void)mapping_reader_histogram(reader, id, scratch);
	memset(reader->rows, 0, sizeof(reader->rows));
	for (uint32_t id = 0; id < mapping_reader_names(reader); id++) {
		uint64_t word = MAPPING_READ(reader->shared->controls[id].firsts) >> 32;

		last = word > last ? word
				   : last; /* go on behind the windows of an earlier recorder */
	}
	for (uint32_t i = 0; i < mapping_slot_count(reader); i++) {
		struct mapping_slot *slot = &reader->shared->slots[i];

		__atomic_store_n(&slot->read_count, MAPPING_READ(slot->slow_count),
				 __ATOMIC_RELEASE);
		reader->first_frames[i] = MAPPING_READ(slot->frame_serial);
	}
	if (reader->window < last)
		reader->window = last;
	reader->word = reader->window << MAPPING_ORDER_BITS;
	reader->covered_ns = UINT64_MAX;
	reader->torn = 0;
	reader->before = lost_ever(reader);
	MAPPING_WRITE(orders->interval, interval);
	MAPPING_WRITE(orders->budget, budget);
	MAPPING_WRITE(orders->slow_ns, slow_ns);
	MAPPING_WRITE(orders->lease_ns, MAPPING_READER_LEASE_NS);
	MAPPING_WRITE(orders->tick_scale, reader->tick_scale);
	open_epoch(reader);
	open_window(reader);
}

uint64_t mapping_reader_turn(struct mapping_reader *reader)
{
	uint64_t ended = reader->window;

	read_names(reader);
	reader->covered_ns = UINT64_MAX;
	if (MAPPING_READ(reader->shared->orders.window) != reader->word) {
		uint64_t off_ns = MAPPING_READ(reader->shared->host.expired_ns);

		reader->covered_ns = off_ns > reader->opened_ns ? off_ns - reader->opened_ns : 0;
		open_epoch(reader);
		ended = 0;
	}
	open_window(reader);
	return ended;
}

void mapping_reader_beat(struct mapping_reader *reader)
{
	struct mapping_orders *orders = &reader->shared->orders;

	MAPPING_WRITE(orders->beat, MAPPING_READ(orders->beat) + 1);
}

void mapping_reader_set(struct mapping_reader *reader, uint32_t id, uint32_t interval,
			uint32_t budget)
{
	struct mapping_control *control;
	uint64_t word = reader->word;

	if (id >= MAPPING_NAMES)
		return;
	control = &reader->shared->controls[id];
	MAPPING_WRITE(control->budget, budget);
	if (MAPPING_READ(control->interval) == interval)
		return;
	__atomic_store_n(&control->interval, interval, __ATOMIC_RELEASE);
	/* Not what the process has switched off meanwhile; past the last number, threads see it when they next time a call. */
	if (mapping_window_number(word + 1) == reader->window && word != 0 &&
	    __atomic_compare_exchange_n(&reader->shared->orders.window, &word, word + 1, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		reader->word++;
}

bool mapping_reader_name(const struct mapping_reader *reader, uint32_t id,
			 enum mapping_kind *out_kind, char out_text[MAPPING_NAME_BYTES])
{
	const struct mapping_name *name = &reader->shared->names[id % MAPPING_NAMES];
	uint32_t kind;

	if (id >= mapping_reader_names(reader))
		return false;
	kind = MAPPING_READ(name->kind);
	*out_kind = kind <= MAPPING_FRAME ? (enum mapping_kind)kind : MAPPING_SCOPE;
	for (uint32_t i = 0; i < MAPPING_NAME_BYTES; i++)
		out_text[i] = MAPPING_READ(name->text[i]);
	out_text[MAPPING_NAME_BYTES - 1] = '\0';
	return true;
}

const struct mapping_row *mapping_reader_row(const struct mapping_reader *reader, uint32_t id)
{
	return id < mapping_reader_names(reader) ? &reader->rows[id] : NULL;
}

static uint64_t less(uint64_t from, uint64_t by, uint64_t *clamped)
{
	if (from >= by)
		return from - by;
	(*clamped)++;
	return 0;
}

struct calls_seen mapping_row_seen(const struct mapping_row *row, uint64_t span_ns,
				   uint32_t interval, uint64_t *clamped)
{
	return (struct calls_seen){
		.calls = row->calls,
		.span_ns = span_ns,
		.covered_ns = span_ns,
		.firsts = row->firsts,
		.first_ns = row->first_ns,
		.first_own_ns = less(row->first_ns, row->first_nested_ns, clamped),
		.others = row->others,
		.weight = row->weights,
		.weight_squared = row->weights_squared,
		.weighted_ns = row->weighted_ns,
		.weighted_own_ns = less(row->weighted_ns, row->nested_ns, clamped),
		.squares = row->squares,
		.max_ns = row->max_ns,
		.interval = row->interval > interval ? row->interval : interval
	};
}

bool mapping_reader_histogram(struct mapping_reader *reader, uint32_t id,
			      uint32_t out[BUCKET_COUNT])
{
	struct seen *seen = &reader->seen[id % MAPPING_NAMES];

	if (id >= mapping_reader_names(reader))
		return false;
	if (seen->histogram == NULL)
		seen->histogram = calloc(BUCKET_COUNT, sizeof(*seen->histogram));
	if (seen->histogram == NULL)
		return false;
	for (uint32_t at = 0; at < BUCKET_COUNT; at++) {
		uint32_t now = MAPPING_READ(reader->shared->histograms[id][at]);

		out[at] = now - seen->histogram[at]; /* modulo 2^32, as it is counted */
		seen->histogram[at] = now;
	}
	return true;
}

struct mapping_loss mapping_reader_loss(const struct mapping_reader *reader)
{
	struct mapping_loss now = lost_ever(reader);
	const struct mapping_loss *before = &reader->before;

	now.names -= before->names;
	now.places -= before->places;
	now.calls -= before->calls;
	now.slow -= before->slow;
	now.expired -= before->expired;
	now.torn -= before->torn;
	return now;
}

int mapping_reader_add_histogram(struct mapping_reader *reader, uint32_t id,
				 struct histogram *histogram)
{
	uint32_t steps[BUCKET_COUNT];
	int status = 0;

	if (id >= mapping_reader_names(reader))
		return -ENOENT;
	if (!mapping_reader_histogram(reader, id, steps))
		return -ENOMEM;
	for (uint32_t at = 0; at < BUCKET_COUNT && status == 0; at++)
		status = histogram_add(histogram, at, steps[at]);
	return status;
}
