/* places_program.c - a program that is to be started: its file, its interpreter, its libraries. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/text.h"
#include "sense/elffile.h"
#include "sense/openfile.h"
#include "sense/places_files.h"
#include "sense/places_loader.h"

#define MAX_SCRIPTS    4    /* whose interpreter is a script again */
#define SCRIPT_BYTES   256u /* of the first line, as the kernel reads it */
#define MAX_SEGMENTS   4096u
#define DEFAULT_FOLDER "/usr/local/bin:/usr/bin:/bin"

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Finds a name in PATH; a name with a slash is a path. False: there is none. */
static bool find_program(const char *name, char out_path[PATH_MAX])
{
	const char *folders = getenv("PATH"), *end;

	if (strchr(name, '/') != NULL)
		return snprintf(out_path, PATH_MAX, "%s", name) < PATH_MAX;
	if (name[0] == '\0')
		return false;
	for (const char *at = folders != NULL ? folders : DEFAULT_FOLDER;; at = end + 1) {
		struct stat st;
		int len;

		end = strchrnul(at, ':');
		len = snprintf(out_path, PATH_MAX, "%.*s%s%s", (int)(end - at), at,
			       end > at ? "/" : "", name);
		if (len < PATH_MAX && stat(out_path, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(out_path, X_OK) == 0)
			return true;
		if (*end == '\0')
			return false;
	}
}

/* The interpreter of a script, "env" looked through. False: it is none. */
static bool read_script(int fd, char out_program[SCRIPT_BYTES + 1])
{
	char line[SCRIPT_BYTES + 1];
	ssize_t len = pread(fd, line, SCRIPT_BYTES, 0);
	char *rest = NULL, *word, *slash;

	if (len < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &rest);
	if (word == NULL)
		return false;
	slash = strrchr(word, '/');
	if (slash != NULL && strcmp(slash, "/env") == 0) {
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
		if (word == NULL)
			return false;
	}
	memcpy(out_program, word, strlen(word) + 1);
	return true;
}

/* What the program says its loader is. False: it has none. */
static bool read_loader(int fd, char out_path[PATH_MAX])
{
	Elf64_Ehdr h;
	Elf64_Phdr p;
	ssize_t len;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.e_phoff > ELFFILE_MAX_BYTES)
		return false;
	for (size_t i = 0; i < h.e_phnum && i < MAX_SEGMENTS; i++) {
		if (pread(fd, &p, sizeof(p), (off_t)(h.e_phoff + i * sizeof(p))) !=
		    (ssize_t)sizeof(p))
			return false;
		if (p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz < 2 || p.p_filesz >= PATH_MAX || p.p_offset > ELFFILE_MAX_BYTES)
			return false;
		len = pread(fd, out_path, (size_t)p.p_filesz, (off_t)p.p_offset);
		out_path[len > 0 ? len : 0] = '\0';
		return len == (ssize_t)p.p_filesz;
	}
	return false;
}

static void add_note(struct places_files *files, const char *text, struct str name)
{
	SCOPED(text_free) struct text note = TEXT_EMPTY;

	if (files->note != NULL) {
		text_put(&note, files->note);
		text_put(&note, "; ");
	}
	text_add(&note, name.bytes, name.len);
	text_put(&note, text);
	if (note.has_failed)
		return;
	free(files->note);
	files->note = note.bytes;
	note = TEXT_EMPTY;
}

/* Adds a file by its real path, the name it is called by beside it. */
static int add_file(struct places_files *files, const char *path, const char *name)
{
	char real[PATH_MAX];
	const char *slash = strrchr(name, '/');
	struct places_file file = { .path = real, .seen = real };
	struct stat st;
	int fd;

	if (realpath(path, real) == NULL)
		return -errno;
	fd = openfile_regular(real, &st);
	if (fd < 0 && stat(real, &st) < 0)
		return -errno;
	file.error = fd < 0 ? fd : 0;
	fd_close(&fd);
	file.inode = st.st_ino;
	file.alias = (char *)(slash != NULL ? slash + 1 : name);
	return places_files_add(files, &file);
}

static int take_library(void *owner, const char *name, const char *path)
{
	struct places_files *files = owner;
	int rc = add_file(files, path, name);

	return rc == -ENOMEM ? rc : 0;
}

static int add_libraries(struct places_files *files, int fd)
{
	char loader[PATH_MAX];
	int rc;

	if (!read_loader(fd, loader))
		return 0;
	if (!loader_is_trusted(loader)) {
		add_note(files, " is no loader of this system: libraries are not searched",
			 (struct str){ loader, (uint32_t)strlen(loader) });
		return 0;
	}
	rc = loader_list(loader, files->items[0].seen, take_library, files);
	if (rc == -ENOENT)
		add_note(files, " needs libraries that are not found",
			 places_file_name(&files->items[0]));
	else if (rc < 0 && rc != -ENOMEM)
		add_note(files, ": the loader does not say what libraries it needs",
			 places_file_name(&files->items[0]));
	return rc == -ENOMEM ? rc : 0;
}

static int refuse(struct err *err, int code, const char *program)
{
	static const struct {
		int code;
		const char *why;
	} reasons[] = {
		{ -ENOENT, "there is no such program" },
		{ -EACCES, "it may not be read" },
		{ -ENOEXEC, "it is no program for x86-64" },
		{ -ENOMEM, "no memory" },
		{ -ELOOP, "scripts whose interpreters are scripts" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].code == code)
			return err_set(err, code, "cannot look into '%s': %s", program,
				       reasons[i].why);
	return err_set(err, code, "cannot look into '%s': %s", program, strerror(-code));
}

/* Opens the program behind `name`; of a script, what runs it. Notes what it passed on the way. */
static int open_program(struct places_files *files, const char *name, char path[PATH_MAX])
{
	char next[SCRIPT_BYTES + 1];
	struct stat st;

	for (int i = 0; i < MAX_SCRIPTS; i++) {
		const char *slash;
		int fd;

		if (!find_program(name, path))
			return -ENOENT;
		fd = openfile_regular(path, &st);
		if (fd < 0 || !read_script(fd, next))
			return fd;
		close(fd);
		slash = strrchr(path, '/');
		add_note(files, " is a script: what runs it is searched",
			 (struct str){ slash != NULL ? slash + 1 : path,
				       (uint32_t)strlen(slash != NULL ? slash + 1 : path) });
		name = next;
	}
	return -ELOOP;
}

int places_files_of_program(const char *program, struct places_files *out, struct err *err)
{
	SCOPED(places_files_free) struct places_files files = PLACES_FILES_EMPTY;
	char path[PATH_MAX];
	int rc;
	SCOPED(fd_close) int fd = open_program(&files, program, path);

	if (fd < 0)
		return refuse(err, fd, program);
	rc = elffile_check(fd);
	if (rc == 0)
		rc = add_file(&files, path, path);
	if (rc == 0)
		rc = add_libraries(&files, fd);
	if (rc < 0)
		return refuse(err, rc, program);
	*out = files;
	files = PLACES_FILES_EMPTY;
	return 0;
}
