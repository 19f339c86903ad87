/* kallsyms.c - the kernel's own list of its functions, as a compact sorted table. */
#include "sense/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/grow.h"

#define TOP_BASE     UINT64_C(0xffffffff00000000) /* kernel and modules lie in the top 4 GB of x86-64 */
#define MAX_SYMBOLS  (1u << 20)
#define MAX_NAMES    (32u << 20)
#define MAX_MODULES  4096u
#define MAX_BODY     (1u << 20) /* no function is larger: beyond, the address lies in no symbol */
#define READ_BYTES   65536u
#define MAX_LINE     1024u
#define MODULE_BYTES 64u

struct entry {
	uint32_t address; /* above TOP_BASE */
	uint32_t name;
	uint16_t name_len;
	uint16_t module; /* index + 1; 0: the kernel proper */
};

struct kallsyms {
	struct entry *entries;
	size_t count, room;
	char *names;
	size_t name_bytes, name_room;
	char (*modules)[MODULE_BYTES]; /* "[name]" */
	size_t module_count, module_room;
	bool has_addresses;
};

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void memory_free(char **bytes)
{
	free(*bytes);
}

void kallsyms_close(struct kallsyms *k)
{
	if (k == NULL)
		return;
	free(k->entries);
	free(k->names);
	free(k->modules);
	free(k);
}

/* One line: "ffffffff81000000 T _text\t[module]". */
struct line {
	uint64_t address;
	char type;
	const char *name, *module;
	size_t name_len, module_len;
};

static bool parse(const char *at, size_t len, struct line *out)
{
	const char *end = at + len, *tab;

	*out = (struct line){ 0 };
	for (; at < end && *at != ' '; at++) {
		unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
				 : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
							    : 16;

		if (digit > 15 || out->address >> 60 != 0)
			return false;
		out->address = out->address << 4 | digit;
	}
	if (end - at < 4 || at[2] != ' ')
		return false;
	out->type = at[1];
	out->name = at + 3;
	tab = memchr(out->name, '\t', (size_t)(end - out->name));
	out->name_len = (size_t)((tab != NULL ? tab : end) - out->name);
	if (tab != NULL) {
		out->module = tab + 1;
		out->module_len = (size_t)(end - out->module);
	}
	return out->name_len > 0;
}

/* Modules come in runs: only the last one is compared. */
static int find_module(struct kallsyms *k, const struct line *line, uint16_t *out)
{
	size_t len = line->module_len < MODULE_BYTES ? line->module_len : MODULE_BYTES - 1;
	void *modules = k->modules;
	int rc;

	*out = 0;
	if (len == 0)
		return 0;
	if (k->module_count == 0 || strlen(k->modules[k->module_count - 1]) != len ||
	    memcmp(k->modules[k->module_count - 1], line->module, len) != 0) {
		rc = grow(&modules, &k->module_room, k->module_count + 1, MAX_MODULES,
			  MODULE_BYTES);
		if (rc < 0)
			return rc;
		k->modules = modules;
		memcpy(k->modules[k->module_count], line->module, len);
		k->modules[k->module_count++][len] = '\0';
	}
	*out = (uint16_t)k->module_count;
	return 0;
}

static int add(struct kallsyms *k, const struct line *line)
{
	struct entry e = { .name_len = (uint16_t)line->name_len };
	void *entries = k->entries, *names = k->names;
	int rc;

	k->has_addresses |= line->address != 0;
	if (strchr("tTwW", line->type) == NULL || line->address < TOP_BASE)
		return 0;
	e.address = (uint32_t)(line->address - TOP_BASE);
	e.name = (uint32_t)k->name_bytes;
	rc = find_module(k, line, &e.module);
	if (rc == 0)
		rc = grow(&entries, &k->room, k->count + 1, MAX_SYMBOLS, sizeof(e));
	if (rc < 0)
		return rc;
	k->entries = entries;
	rc = grow(&names, &k->name_room, k->name_bytes + line->name_len, MAX_NAMES, 1);
	if (rc < 0)
		return rc;
	k->names = names;
	/* grow() has made room for both. */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	memcpy(k->names + k->name_bytes, line->name, line->name_len);
	k->name_bytes += line->name_len;
	k->entries[k->count++] = e; /* NOLINT(clang-analyzer-core.NullDereference) */
	return 0;
}

/* Takes the whole lines of `bytes`; returns how many bytes they were, or a negative errno. */
static ssize_t add_lines(struct kallsyms *k, const char *bytes, size_t len)
{
	size_t at = 0;
	const char *newline;

	while ((newline = memchr(bytes + at, '\n', len - at)) != NULL) {
		struct line line;
		size_t line_len = (size_t)(newline - bytes) - at;

		if (line_len <= MAX_LINE && parse(bytes + at, line_len, &line)) {
			int rc = add(k, &line);

			if (rc < 0)
				return rc;
		}
		at += line_len + 1;
	}
	return (ssize_t)at;
}

static int read_all(struct kallsyms *k, int fd)
{
	SCOPED(memory_free) char *bytes = malloc(READ_BYTES);
	size_t have = 0;
	ssize_t count, used;

	if (bytes == NULL)
		return -ENOMEM;
	while ((count = read(fd, bytes + have, READ_BYTES - have)) != 0) {
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -EACCES;
		have += (size_t)count;
		used = add_lines(k, bytes, have);
		if (used == -ENOMEM)
			return -ENOMEM;
		if (used < 0)
			return 0; /* full: what we have is good */
		if (used == 0 && have == READ_BYTES)
			return -EACCES; /* no line is that long */
		have -= (size_t)used;
		memmove(bytes, bytes + used, have);
	}
	return k->has_addresses ? 0 : -EACCES;
}

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void trim(struct kallsyms *k)
{
	void *entries = reallocarray(k->entries, k->count > 0 ? k->count : 1, sizeof(*k->entries));
	void *names = realloc(k->names, k->name_bytes > 0 ? k->name_bytes : 1);

	if (entries != NULL)
		k->entries = entries;
	if (names != NULL)
		k->names = names;
}

int kallsyms_open(const char *path, struct kallsyms **out)
{
	SCOPED(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kallsyms *k;
	int rc;

	if (fd < 0)
		return -EACCES;
	k = calloc(1, sizeof(*k));
	if (k == NULL)
		return -ENOMEM;
	rc = read_all(k, fd);
	if (rc == 0 && k->count == 0)
		rc = -EACCES;
	if (rc < 0) {
		kallsyms_close(k);
		return rc;
	}
	trim(k);
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): count is not 0 */
	qsort(k->entries, k->count, sizeof(*k->entries), by_address);
	*out = k;
	return 0;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct str *out_name,
		   struct str *out_module)
{
	uint32_t want = (uint32_t)(address - TOP_BASE);
	size_t low = 0, high = k->count;
	const struct entry *e;

	if (address < TOP_BASE)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->entries[middle].address <= want)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	/* Among names of one address the first that the kernel lists: the last found is the highest. */
	while (low > 1 && k->entries[low - 2].address == k->entries[low - 1].address)
		low--;
	e = &k->entries[low - 1];
	if (want - e->address > MAX_BODY)
		return false;
	*out_name = (struct str){ k->names + e->name, e->name_len };
	if (e->module == 0)
		*out_module = (struct str)STR_LITERAL("kernel");
	else
		*out_module = (struct str){ k->modules[e->module - 1],
					    (uint32_t)strlen(k->modules[e->module - 1]) };
	return true;
}

const char *kallsyms_reason(const char *path)
{
	SCOPED(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t count = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : -1;
	size_t at = 0;

	if (count <= 0)
		return "/proc/kallsyms cannot be read";
	while (at < (size_t)count) {
		const char *newline = memchr(bytes + at, '\n', (size_t)count - at);
		struct line line;

		if (newline == NULL)
			break;
		if (parse(bytes + at, (size_t)(newline - bytes) - at, &line) && line.address != 0)
			return "";
		at = (size_t)(newline - bytes) + 1;
	}
	return "kernel addresses are hidden (kernel.kptr_restrict)";
}
