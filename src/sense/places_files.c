/* places_files.c - the list of files, and those of a running process. */
#include "sense/places_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/grow.h"
#include "sense/maps.h"
#include "sense/openfile.h"

void places_files_free(struct places_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->items[i].path);
		free(files->items[i].seen);
		free(files->items[i].alias);
	}
	free(files->items);
	free(files->note);
	*files = PLACES_FILES_EMPTY;
}

struct str places_file_name(const struct places_file *file)
{
	const char *slash = strrchr(file->seen, '/');
	const char *name = slash != NULL ? slash + 1 : file->seen;

	return (struct str){ name, (uint32_t)strlen(name) };
}

int places_file_open(const struct places_file *file)
{
	struct stat st;
	int fd = openfile_regular(file->path, &st);

	if (fd >= 0 && st.st_ino != file->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int places_files_add(struct places_files *files, const struct places_file *file)
{
	struct places_file own = { .inode = file->inode, .error = file->error };
	void *items = files->items;
	int rc = grow(&items, &files->room, files->count + 1, PLACES_MAX_FILES, sizeof(own));

	if (rc < 0)
		return rc;
	files->items = items;
	own.path = strdup(file->path);
	own.seen = strdup(file->seen);
	own.alias = file->alias != NULL ? strdup(file->alias) : NULL;
	files->items[files->count++] = own;
	return own.path != NULL && own.seen != NULL && (file->alias == NULL || own.alias != NULL)
		       ? 0
		       : -ENOMEM;
}

int places_files_add_path(struct places_files *files, pid_t pid, struct str path,
			  const char **out_seen)
{
	char here[PATH_MAX + 64], seen[PATH_MAX];
	struct places_file file = { .path = here, .seen = seen };
	struct stat at;

	if (path.len >= sizeof(seen) || memchr(path.bytes, '\0', path.len) != NULL)
		return 0;
	snprintf(seen, sizeof(seen), "%.*s", (int)path.len, path.bytes);
	if (pid > 0 && seen[0] == '/')
		snprintf(here, sizeof(here), "/proc/%d/root%s", (int)pid, seen);
	else
		snprintf(here, sizeof(here), "%s", seen);
	if (stat(here, &at) != 0 || !S_ISREG(at.st_mode))
		return 0;
	file.inode = at.st_ino;
	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].inode != at.st_ino)
			continue;
		*out_seen = files->items[i].seen;
		return 0;
	}

	int rc = places_files_add(files, &file);

	if (rc == 0)
		*out_seen = files->items[files->count - 1].seen;
	return rc;
}

/* One more mapping of a process: its file, unless it is in the list. */
static int add_mapping(struct places_files *files, pid_t pid, const struct mapping *m)
{
	char path[PATH_MAX + 64], seen[PATH_MAX + 1];
	struct places_file file = { .path = path, .seen = seen, .inode = m->inode };
	int fd;

	snprintf(seen, sizeof(seen), "%.*s", (int)m->file.len, m->file.bytes);
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].inode == m->inode && strcmp(files->items[i].seen, seen) == 0)
			return 0;
	fd = openfile_mapped_path(pid, m, path, sizeof(path));
	if (fd >= 0)
		close(fd);
	else
		file.error = fd;
	return places_files_add(files, &file);
}

static int add_line(struct places_files *files, pid_t pid, const char *line, size_t len)
{
	char path[PATH_MAX + 64];
	struct mapping_event event;
	struct mapping mapping;
	bool is_code;
	int rc;

	if (!maps_parse_line(line, len, path, sizeof(path), &event, &is_code) || !is_code)
		return 0;
	maps_describe(&event, &mapping);
	mapping.seen_s = (int64_t)time(NULL);
	if (mapping.kind != MAPPING_FILE || mapping.file.len > PATH_MAX ||
	    memchr(mapping.file.bytes, '\0', mapping.file.len) != NULL)
		return 0;
	rc = add_mapping(files, pid, &mapping);
	return rc == -E2BIG ? 0 : rc;
}

static void file_close(FILE **file)
{
	if (*file != NULL)
		fclose(*file);
}

static void line_free(char **line)
{
	free(*line);
}

int places_files_of_pid(pid_t pid, struct places_files *out, struct err *err)
{
	SCOPED(places_files_free) struct places_files files = PLACES_FILES_EMPTY;
	SCOPED(line_free) char *line = NULL;
	char path[64];
	size_t room = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);

	SCOPED(file_close) FILE *maps = fopen(path, "re");

	if (maps == NULL && errno == ENOENT)
		return err_set(err, -ESRCH, "cannot look into process %d: there is none", (int)pid);
	if (maps == NULL)
		return err_set(err, -errno, "cannot look into process %d: %s", (int)pid,
			       strerror(errno));
	errno = 0;
	while ((len = getline(&line, &room, maps)) > 0) {
		int rc = add_line(&files, pid, line, (size_t)len - (line[len - 1] == '\n'));

		if (rc < 0)
			return err_set(err, rc, "cannot list the files of process %d: no memory",
				       (int)pid);
	}
	if (ferror(maps) && errno == EACCES)
		return err_set(err, -EACCES, "cannot look into process %d: not permitted",
			       (int)pid);
	if (files.count == 0)
		return err_set(err, -ESRCH, "cannot look into process %d: it has no code",
			       (int)pid);
	*out = files;
	files = PLACES_FILES_EMPTY;
	return 0;
}
