/* spool.c - segments are written at the end of the newest and read from the oldest on; a segment goes when all of it is in the
 * store. */
#include "store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/spool_files.h"

#define SEGMENT_BYTES (UINT64_C(4) << 20)

struct spool {
	char *path; /* owned */
	int folder; /* flocked */
	struct spool_state state;
	uint64_t segment_bytes;
	struct segment *segments; /* owned; the oldest first */
	size_t count, room;
	int writing;   /* the newest segment, open for writing; -1: the next batch begins another */
	bool is_dirty; /* written since it was synced */
	uint64_t newest;
	/* Reading: segments before `reading` were given whole. */
	size_t reading;
	uint8_t *bytes; /* owned: the segment being read; NULL: none is */
	size_t len, at;
	/* What was given and is not confirmed begins here. */
	size_t sure_at;
	uint64_t given; /* batches, of those that wait */
	uint64_t sure_torn_bytes, sure_bad_batches;
};

static int failed(const struct spool *s, int code, const char *what, struct err *err)
{
	err_set(err, code, "cannot %s the spool '%s': %s", what, s->path, strerror(-code));
	if (code == -ENOSPC || code == -EDQUOT)
		err_mend(err, "free space there, or give another `spool` in the settings");
	else if (code == -EACCES || code == -EROFS)
		err_mend(err, "give the collector's user a folder of its own as `spool`");
	return code;
}

static void spool_free(struct spool **at)
{
	struct spool *s = *at;

	if (s == NULL)
		return;
	if (s->writing >= 0)
		close(s->writing);
	if (s->folder >= 0)
		close(s->folder);
	free(s->segments);
	free(s->bytes);
	free(s->path);
	free(s);
	*at = NULL;
}

void spool_close(struct spool *s)
{
	struct err unused = ERR_EMPTY;

	if (s != NULL)
		spool_sync(s, &unused);
	spool_free(&s);
}

/* Ours, and nobody else writes there. */
static int hold_folder(struct spool *s, struct err *err)
{
	struct stat st;

	if (mkdir(s->path, 0700) != 0 && errno != EEXIST)
		return failed(s, -errno, "make", err);
	s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->folder < 0 || fstat(s->folder, &st) != 0)
		return failed(s, -errno, "open", err);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		err_set(err, -EPERM, "cannot use the spool '%s': %s", s->path,
			st.st_uid != geteuid() ? "it is another user's" : "others may write there");
		err_mend(err, "give a folder of the collector's user with mode 0700");
		return -EPERM;
	}
	if (flock(s->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		err_set(err, -EBUSY, "cannot use the spool '%s': another collector holds it",
			s->path);
		err_mend(err, "end that collector, or give another `spool` in the settings");
		return -EBUSY;
	}
	return 0;
}

/* How many batches a segment has; what is torn at its end was never acknowledged. */
static int count_batches(struct spool *s, struct segment *segment)
{
	size_t len = 0, at = 0, from, skipped;
	uint8_t *bytes = NULL;
	int rc = segment_read(s->folder, segment->number, &bytes, &len);

	if (rc != 0)
		return rc;
	while (segment_next(bytes, len, &at, &from, &skipped) > 0)
		segment->batches++;
	free(bytes);
	return 0;
}

static int find_again(struct spool *s, struct err *err)
{
	int rc = segments_list(s->folder, &s->segments, &s->count);

	s->room = s->count;
	for (size_t i = 0; i < s->count && rc == 0; i++) {
		rc = count_batches(s, &s->segments[i]);
		s->state.bytes += s->segments[i].bytes;
		s->state.batches += s->segments[i].batches;
		s->newest = s->segments[i].number;
	}
	return rc == 0 ? 0 : failed(s, rc, "read", err);
}

int spool_open(const char *folder, uint64_t limit_bytes, struct spool **out, struct err *err)
{
	SCOPED(spool_free) struct spool *s = NULL;
	int rc;

	if (limit_bytes < SPOOL_BYTES_LEAST)
		return err_set(err, -EINVAL, "cannot use a spool of %llu bytes: at least %llu",
			       (unsigned long long)limit_bytes,
			       (unsigned long long)SPOOL_BYTES_LEAST);
	s = calloc(1, sizeof(*s));
	if (s != NULL)
		s->folder = s->writing = -1;
	if (s == NULL || (s->path = strdup(folder)) == NULL)
		return err_set(err, -ENOMEM, "cannot open the spool '%s': out of memory", folder);
	s->state.limit_bytes = limit_bytes;
	s->segment_bytes = limit_bytes / 8 < SEGMENT_BYTES ? limit_bytes / 8 : SEGMENT_BYTES;
	rc = hold_folder(s, err);
	if (rc == 0)
		rc = find_again(s, err);
	if (rc != 0)
		return rc;
	*out = s;
	s = NULL;
	return 0;
}

int spool_sync(struct spool *s, struct err *err)
{
	if (s->writing < 0 || !s->is_dirty)
		return 0;
	if (fdatasync(s->writing) != 0)
		return failed(s, -errno, "write", err);
	s->is_dirty = false;
	return 0;
}

/* The newest segment is not written any more. */
static int seal(struct spool *s, struct err *err)
{
	int rc = spool_sync(s, err);

	if (s->writing >= 0)
		close(s->writing);
	s->writing = -1;
	s->is_dirty = false;
	return rc;
}

static int begin_segment(struct spool *s)
{
	int fd;

	if (s->count == s->room) {
		void *more = reallocarray(s->segments, s->room * 2 + 8, sizeof(*s->segments));

		if (more == NULL)
			return -ENOMEM;
		s->segments = more;
		s->room = s->room * 2 + 8;
	}
	fd = segment_make(s->folder, s->newest + 1);
	if (fd < 0)
		return fd;
	s->writing = fd;
	s->segments[s->count++] = (struct segment){ .number = ++s->newest };
	return 0;
}

static int append(struct spool *s, const void *bytes, size_t len, struct err *err)
{
	struct segment *newest;
	int rc = 0;

	if (s->state.bytes + len > s->state.limit_bytes) {
		err_set(err, -ENOSPC, "cannot write the spool '%s': it is full: %llu bytes",
			s->path, (unsigned long long)s->state.bytes);
		err_works(err, "what waits there since longer is kept");
		err_mend(err,
			 "bring the store back, or give a larger `spool_size` in the settings");
		return -ENOSPC;
	}
	if (s->writing >= 0 && s->segments[s->count - 1].bytes + len > s->segment_bytes)
		rc = seal(s, err);
	if (rc == 0 && s->writing < 0) {
		rc = begin_segment(s);
		if (rc != 0)
			return failed(s, rc, "write", err);
	}
	if (rc != 0)
		return rc;
	newest = &s->segments[s->count - 1];
	rc = segment_append(s->writing, newest->bytes, bytes, len);
	if (rc != 0)
		return failed(s, rc, "write", err);
	newest->bytes += len;
	newest->batches++;
	s->state.bytes += len;
	s->state.batches++;
	s->is_dirty = true;
	return 0;
}

int spool_add(struct spool *s, const struct fleet_batch *b, struct err *err)
{
	void *bytes = NULL;
	size_t len = 0;
	int rc = fleet_batch_pack(b, &bytes, &len);

	if (rc != 0)
		failed(s, rc, "write", err);
	else
		rc = append(s, bytes, len, err);
	free(bytes);
	if (rc == 0)
		return 0;
	s->state.refused_batches++;
	for (size_t i = 0; i < b->block_count; i++)
		s->state.refused_rows += b->blocks[i].count;
	return rc;
}

static void forget_bytes(struct spool *s)
{
	free(s->bytes);
	s->bytes = NULL;
	s->len = 0;
}

/* Takes the segment in hand; one that is still written is sealed first. */
static int take_segment(struct spool *s, struct err *err)
{
	int rc;

	if (s->reading == s->count - 1 && s->writing >= 0) {
		rc = seal(s, err);
		if (rc != 0)
			return rc;
	}
	rc = segment_read(s->folder, s->segments[s->reading].number, &s->bytes, &s->len);
	return rc == 0 ? 0 : failed(s, rc, "read", err);
}

static int unpack(struct spool *s, size_t from, size_t len, struct fleet_batch *out, bool *out_has,
		  struct err *err)
{
	struct err why = ERR_EMPTY;
	int rc = fleet_batch_unpack(s->bytes + from, len, out, &why);

	if (rc == -ENOMEM)
		return failed(s, rc, "read", err);
	s->given++;
	*out_has = rc == 0;
	s->state.bad_batches += rc != 0;
	return 0;
}

int spool_next(struct spool *s, struct fleet_batch *out, bool *out_has, struct err *err)
{
	size_t from, skipped, len;
	int rc = 0;

	*out_has = false;
	while (rc == 0 && !*out_has && s->reading < s->count) {
		if (s->bytes == NULL)
			rc = take_segment(s, err);
		if (rc != 0)
			return rc;
		len = segment_next(s->bytes, s->len, &s->at, &from, &skipped);
		s->state.torn_bytes += skipped;
		if (len > 0) {
			rc = unpack(s, from, len, out, out_has, err);
			continue;
		}
		forget_bytes(s);
		s->reading++;
		s->at = 0;
	}
	return rc;
}

void spool_done(struct spool *s)
{
	size_t gone = s->reading;

	/* All of the segment in hand was given: it goes too, without waiting for the next look at it. */
	if (s->bytes != NULL && s->at == s->len && s->reading < s->count) {
		forget_bytes(s);
		s->at = 0;
		gone = s->reading + 1;
	}
	for (size_t i = 0; i < gone; i++) {
		segment_remove(s->folder, s->segments[i].number);
		s->state.bytes -= s->segments[i].bytes;
	}
	s->state.batches -= s->given < s->state.batches ? s->given : s->state.batches;
	s->count -= gone;
	if (gone > 0)
		memmove(s->segments, s->segments + gone, s->count * sizeof(*s->segments));
	s->given = 0;
	s->reading = 0;
	s->sure_at = s->at;
	s->sure_torn_bytes = s->state.torn_bytes;
	s->sure_bad_batches = s->state.bad_batches;
}

void spool_again(struct spool *s)
{
	if (s->reading != 0)
		forget_bytes(s);
	s->reading = 0;
	s->at = s->sure_at;
	s->given = 0;
	s->state.torn_bytes = s->sure_torn_bytes;
	s->state.bad_batches = s->sure_bad_batches;
}

struct spool_state spool_state(const struct spool *s)
{
	return s->state;
}
