/* power.c - files as a disk has them: what is durable, and what is on its way. */
#include "fault/power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/disk.h"

#define SECTOR_BYTES 512u
#define NAMES_MOST   64u
#define NAME_BYTES   128u
#define PATH_BYTES   512u
#define NO_FILE	     UINT32_MAX
#define SHM_BYTES    32768u

/* A file's bytes, as far as they go. */
struct image {
	uint8_t *bytes; /* owned */
	uint64_t size, room;
};

enum entry_kind { WRITE, CUT, GROW, SYNC, SYNC_NAMES, ADD_NAME, DROP_NAME, MOVE_NAME, NOTE };

struct entry {
	enum entry_kind kind;
	uint32_t file;
	uint64_t at, len; /* CUT, GROW: `len` is the size; NOTE: the note */
	uint8_t *bytes;	  /* owned: WRITE */
	char name[NAME_BYTES], to[NAME_BYTES];
};

struct name {
	char text[NAME_BYTES];
	uint32_t file;
};

struct names {
	struct name all[NAMES_MOST];
	uint32_t count;
};

/* Entries on their way, by place in the log. */
struct pending {
	uint32_t *all; /* owned */
	uint32_t count, room;
};

struct file {
	struct image durable;
	struct pending pending;
};

struct power {
	char folder[PATH_BYTES];
	struct entry *log; /* owned */
	uint64_t count, room;
	struct file *files; /* owned */
	uint32_t file_count, file_room;
	struct names now;     /* while it logs */
	struct names durable; /* at the boundary */
	struct pending pending;
	uint64_t boundary, note;
	bool is_broken; /* out of memory, or more names than there is room for */
};

/* ---- small things ---- */

static bool image_grow(struct image *i, uint64_t size)
{
	if (size > i->room) {
		uint64_t room = size + size / 2 + 4096;
		uint8_t *more = realloc(i->bytes, room);

		if (more == NULL)
			return false;
		i->bytes = more;
		i->room = room;
	}
	if (size > i->size) {
		memset(i->bytes + i->size, 0, size - i->size);
		i->size = size;
	}
	return true;
}

static bool image_put(struct image *i, uint64_t at, const uint8_t *bytes, uint64_t len)
{
	if (!image_grow(i, at + len))
		return false;
	if (len > 0)
		memcpy(i->bytes + at, bytes, len);
	return true;
}

static bool pending_add(struct pending *p, uint64_t entry)
{
	if (p->count == p->room) {
		uint32_t *more = realloc(p->all, (p->room * 2 + 64) * sizeof(*more));

		if (more == NULL)
			return false;
		p->all = more;
		p->room = p->room * 2 + 64;
	}
	p->all[p->count++] = (uint32_t)entry;
	return true;
}

static struct name *find_name(struct names *n, const char *text)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (strcmp(n->all[i].text, text) == 0)
			return &n->all[i];
	return NULL;
}

static void drop_name(struct names *n, const char *text)
{
	struct name *found = find_name(n, text);

	if (found != NULL)
		*found = n->all[--n->count];
}

/* Gives `text` to `file`, whoever had it before. False: no room. */
static bool put_name(struct names *n, const char *text, uint32_t file)
{
	drop_name(n, text);
	if (n->count == NAMES_MOST)
		return false;
	snprintf(n->all[n->count].text, NAME_BYTES, "%s", text);
	n->all[n->count++].file = file;
	return true;
}

static bool apply_name(struct names *n, const struct entry *e)
{
	const struct name *from;
	uint32_t file;

	if (e->kind == ADD_NAME)
		return put_name(n, e->name, e->file);
	if (e->kind == MOVE_NAME) {
		from = find_name(n, e->name);
		file = from != NULL ? from->file : NO_FILE;
		if (file == NO_FILE)
			return true;
		if (e->len == 0) /* no link: the old name goes */
			drop_name(n, e->name);
		return put_name(n, e->to, file);
	}
	drop_name(n, e->name);
	return true;
}

/* ---- logging ---- */

static struct entry *add_entry(struct power *p, enum entry_kind kind)
{
	if (p->count == p->room) {
		struct entry *more = realloc(p->log, (p->room * 2 + 256) * sizeof(*more));

		if (more == NULL) {
			p->is_broken = true;
			return NULL;
		}
		p->log = more;
		p->room = p->room * 2 + 256;
	}
	p->log[p->count] = (struct entry){ .kind = kind, .file = NO_FILE };
	return &p->log[p->count++];
}

static uint32_t add_file(struct power *p)
{
	if (p->file_count == p->file_room) {
		struct file *more = realloc(p->files, (p->file_room * 2 + 16) * sizeof(*more));

		if (more == NULL) {
			p->is_broken = true;
			return NO_FILE;
		}
		p->files = more;
		p->file_room = p->file_room * 2 + 16;
	}
	p->files[p->file_count] = (struct file){ 0 };
	return p->file_count++;
}

/* The name below the folder. */
static const char *below(const struct power *p, const char *path)
{
	size_t len = strlen(p->folder);

	return strncmp(path, p->folder, len) == 0 && path[len] == '/' ? path + len + 1 : "";
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static void log_name(struct power *p, enum entry_kind kind, const char *name, const char *to)
{
	struct entry *e = add_entry(p, kind);

	if (e == NULL)
		return;
	snprintf(e->name, NAME_BYTES, "%s", name);
	snprintf(e->to, NAME_BYTES, "%s", to != NULL ? to : "");
}

static void log_bytes(struct power *p, uint32_t file, const struct disk_event *event)
{
	static const enum entry_kind kinds[DISK_OPS] = {
		[DISK_WRITE] = WRITE, [DISK_CUT] = CUT, [DISK_ROOM] = GROW, [DISK_SYNC] = SYNC
	};
	uint8_t *bytes = event->op == DISK_WRITE ? malloc(event->len) : NULL;
	struct entry *e = add_entry(p, kinds[event->op]);

	if (e == NULL || (event->op == DISK_WRITE && bytes == NULL)) {
		p->is_broken = true;
		free(bytes);
		return;
	}
	if (bytes != NULL)
		memcpy(bytes, event->bytes, event->len);
	e->file = file;
	e->at = event->at;
	e->len = event->len;
	e->bytes = bytes;
}

static void see_name(struct power *p, const struct disk_event *event, const char *name)
{
	if (event->op == DISK_OPEN) {
		log_name(p, ADD_NAME, name, NULL);
		p->log[p->count - 1].file = add_file(p);
	} else if (event->op == DISK_RENAME) {
		log_name(p, MOVE_NAME, name, below(p, event->to));
		p->log[p->count - 1].len = event->is_link;
	} else {
		log_name(p, DROP_NAME, name, NULL);
	}
	p->is_broken |= !apply_name(&p->now, &p->log[p->count - 1]);
}

static void see(void *owner, const struct disk_event *event)
{
	struct power *p = owner;
	const char *name = below(p, event->path);
	const struct name *found;

	if (p->is_broken || ends_with(name, "-shm"))
		return; /* what is shared in memory is made anew */
	if (event->op == DISK_OPEN || event->op == DISK_RENAME || event->op == DISK_REMOVE) {
		see_name(p, event, name);
	} else if (event->is_folder) {
		add_entry(p, SYNC_NAMES);
	} else {
		found = find_name(&p->now, name);
		if (found != NULL)
			log_bytes(p, found->file, event);
	}
}

/* What is in the folder already. */
static bool load_file(struct power *p, const char *name)
{
	char path[PATH_BYTES + NAME_BYTES + 2];
	uint32_t file = add_file(p);
	struct stat st;
	bool is_good;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_good = file != NO_FILE && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		  image_grow(&p->files[file].durable, (uint64_t)st.st_size) &&
		  pread(fd, p->files[file].durable.bytes, (size_t)st.st_size, 0) == st.st_size &&
		  put_name(&p->now, name, file);
	close(fd);
	return is_good;
}

struct power *power_begin(const char *folder)
{
	struct power *p = calloc(1, sizeof(*p));
	DIR *files = p != NULL ? opendir(folder) : NULL;
	const struct dirent *file;

	if (files == NULL) {
		free(p);
		return NULL;
	}
	snprintf(p->folder, sizeof(p->folder), "%s", folder);
	while ((file = readdir(files)) != NULL)
		if (file->d_name[0] != '.' && !ends_with(file->d_name, "-shm"))
			p->is_broken |= !load_file(p, file->d_name);
	closedir(files);
	p->durable = p->now;
	disk_watch(p->folder);
	disk_tell(see, p);
	if (!p->is_broken)
		return p;
	power_end(p);
	power_free(p);
	return NULL;
}

void power_end(struct power *p)
{
	(void)p;
	disk_tell(NULL, NULL);
	disk_watch(NULL);
}

void power_note(struct power *p, uint64_t note)
{
	struct entry *e = add_entry(p, NOTE);

	if (e != NULL)
		e->len = note;
}

void power_free(struct power *p)
{
	if (p == NULL)
		return;
	for (uint64_t i = 0; i < p->count; i++)
		free(p->log[i].bytes);
	for (uint32_t i = 0; i < p->file_count; i++) {
		free(p->files[i].durable.bytes);
		free(p->files[i].pending.all);
	}
	free(p->log);
	free(p->files);
	free(p->pending.all);
	free(p);
}

uint64_t power_count(const struct power *p)
{
	return p->count;
}

/* ---- what a boundary is made of ---- */

static bool apply(struct image *to, const struct entry *e)
{
	if (e->kind == WRITE)
		return image_put(to, e->at, e->bytes, e->len);
	if (e->kind == GROW)
		return image_grow(to, e->len);
	if (e->len < to->size)
		to->size = e->len;
	return image_grow(to, e->len);
}

static bool sync_file(struct power *p, struct file *f)
{
	bool is_good = true;

	for (uint32_t i = 0; i < f->pending.count; i++)
		is_good &= apply(&f->durable, &p->log[f->pending.all[i]]);
	f->pending.count = 0;
	return is_good;
}

static bool sync_names(struct power *p)
{
	bool is_good = true;

	for (uint32_t i = 0; i < p->pending.count; i++)
		is_good &= apply_name(&p->durable, &p->log[p->pending.all[i]]);
	p->pending.count = 0;
	return is_good;
}

static bool step(struct power *p)
{
	uint64_t place = p->boundary++;
	const struct entry *e = &p->log[place];

	switch (e->kind) {
	case WRITE:
	case CUT:
	case GROW:
		return pending_add(&p->files[e->file].pending, place);
	case SYNC:
		return sync_file(p, &p->files[e->file]);
	case SYNC_NAMES:
		return sync_names(p);
	case NOTE:
		p->note = e->len;
		return true;
	default:
		return pending_add(&p->pending, place);
	}
}

void power_go(struct power *p, uint64_t boundary, uint64_t *out_note)
{
	while (p->boundary < boundary && p->boundary < p->count)
		p->is_broken |= !step(p);
	*out_note = p->note;
}

/* ---- one state ---- */

/* How much of what is on its way arrived. */
static uint64_t draw_share(struct rng *r)
{
	static const uint64_t shares[] = { 0, 15, 50, 85, 100 };

	return shares[rng_below(r, 5)];
}

static bool arrives(struct rng *r, uint64_t share)
{
	return rng_below(r, 100) < share;
}

/* The sectors of a write, each for itself. */
static bool write_some(struct image *to, const struct entry *e, struct rng *r, uint64_t share)
{
	uint64_t done = 0;

	while (done < e->len) {
		uint64_t left = SECTOR_BYTES - (e->at + done) % SECTOR_BYTES;
		uint64_t len = left < e->len - done ? left : e->len - done, put = len;

		if (share < 100 && rng_below(r, 16) == 0)
			put = rng_below(r, len + 1); /* torn */
		if (arrives(r, share) && !image_put(to, e->at + done, e->bytes + done, put))
			return false;
		done += len;
	}
	return true;
}

/* What the disk holds of a file. False: out of memory. */
static bool draw_image(const struct power *p, const struct file *f, struct rng *r,
		       struct image *out)
{
	uint64_t share = draw_share(r);

	out->size = 0;
	if (!image_put(out, 0, f->durable.bytes, f->durable.size))
		return false;
	for (uint32_t i = 0; i < f->pending.count; i++) {
		const struct entry *e = &p->log[f->pending.all[i]];

		if (e->kind == WRITE ? !write_some(out, e, r, share)
				     : arrives(r, share) && !apply(out, e))
			return false;
	}
	return true;
}

static bool empty_folder(const char *folder)
{
	DIR *files = opendir(folder);
	const struct dirent *file;

	if (files == NULL)
		return false;
	while ((file = readdir(files)) != NULL)
		if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
			unlinkat(dirfd(files), file->d_name, 0);
	closedir(files);
	return true;
}

static bool write_file(const char *folder, const char *name, const char *more,
		       const struct image *image)
{
	char path[PATH_BYTES + 2 * NAME_BYTES];
	bool is_good;
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, more);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	is_good = image->size == 0 ||
		  pwrite(fd, image->bytes, image->size, 0) == (ssize_t)image->size;
	close(fd);
	return is_good;
}

/* Memory that was shared is on the disk in any state, or not at all. */
static bool write_shm(const char *folder, const char *wal, struct rng *r)
{
	static uint8_t bytes[SHM_BYTES];
	struct image image = { bytes, rng_below(r, 2) * SHM_BYTES, SHM_BYTES };
	char name[NAME_BYTES];

	if (rng_below(r, 2) == 0)
		return true;
	for (size_t i = 0; i < sizeof(bytes); i += 1 + rng_below(r, 64))
		bytes[i] = (uint8_t)rng_next(r);
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(wal) - strlen("-wal")), wal);
	return write_file(folder, name, "-shm", &image);
}

bool power_cut(struct power *p, struct rng *r, const char *folder)
{
	struct names names = p->durable;
	uint64_t arrived = rng_below(r, p->pending.count + 1);
	struct image image = { 0 };
	bool is_good = !p->is_broken && empty_folder(folder);

	for (uint64_t i = 0; i < arrived; i++)
		is_good &= apply_name(&names, &p->log[p->pending.all[i]]);
	for (uint32_t i = 0; i < names.count && is_good; i++) {
		const struct name *n = &names.all[i];

		is_good = draw_image(p, &p->files[n->file], r, &image) &&
			  write_file(folder, n->text, "", &image);
		if (is_good && ends_with(n->text, "-wal"))
			is_good = write_shm(folder, n->text, r);
	}
	free(image.bytes);
	return is_good;
}
