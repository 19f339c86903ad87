/* module.c - files that are mapped: read once, shared, named lazily. */
#include "sense/module.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/debugfile.h"
#include "sense/demangle.h"
#include "sense/grow.h"
#include "sense/module_parts.h"

#define PLT	       "@plt"
#define MAX_FILES      (4 * MODULES_MAX)
#define MAX_WITH_LINES 64u /* each holds two descriptors */

const struct tables *module_tables(const struct module *m)
{
	return &m->tables;
}

uint32_t module_mark(const struct module *m)
{
	return m->mark;
}

void module_set_mark(struct module *m, uint32_t mark)
{
	m->mark = mark;
}

struct str module_name(const struct module *m)
{
	return m->name;
}

void module_hold(struct module *m)
{
	if (m != NULL)
		m->holders++;
}

void module_drop(struct module *m)
{
	if (m != NULL)
		m->holders--;
}

static void module_free(struct module *m)
{
	tables_free(&m->tables);
	sources_free(&m->sources);
	inlines_free(&m->inlines);
	free(m->frame_of);
	free(m);
}

uint64_t modules_lines_ns(const struct modules *m)
{
	return m->lines_ns;
}

uint64_t modules_unread(const struct modules *m)
{
	return m->unread;
}

struct parser *modules_namer(struct modules *m)
{
	return m->namer;
}

void modules_mind(struct modules *m)
{
	parser_mind(m->parser);
	parser_mind(m->namer);
}

uint64_t modules_reading_ns(const struct modules *m)
{
	struct parser_facts files, names;

	parser_facts(m->parser, &files);
	parser_facts(m->namer, &names);
	return files.live_ns + names.live_ns;
}

int modules_open(struct naming *names, struct modules **out)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (m != NULL)
		m->vdso_fd = -1;
	if (m == NULL || parser_open(false, &m->parser) < 0 || parser_open(false, &m->namer) < 0) {
		modules_close(m);
		return -ENOMEM;
	}
	parser_call(m->namer, "tare-names");
	m->names = names;
	*out = m;
	return 0;
}

void modules_close(struct modules *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->count; i++)
		module_free(m->items[i]);
	free(m->items);
	free(m->files);
	if (m->vdso_fd >= 0)
		close(m->vdso_fd);
	while (m->awaited_count > 0)
		module_forget_awaited(m, m->awaited[0].module);
	debuginfod_close(m->servers);
	parser_close(m->parser);
	parser_close(m->namer);
	free(m);
}

/* Frees the module at `at` and forgets its files. */
static void evict(struct modules *m, size_t at)
{
	struct module *gone = m->items[at];
	size_t kept = 0;

	for (size_t i = 0; i < m->file_count; i++)
		if (m->files[i].module != gone)
			m->files[kept++] = m->files[i];
	m->file_count = kept;
	m->bytes -= gone->bytes;
	m->with_lines -= gone->has_lines_open;
	module_forget_awaited(m, gone);
	memmove(&m->items[at], &m->items[at + 1], (m->count - at - 1) * sizeof(struct module *));
	m->count--;
	module_free(gone);
}

/* Makes room for `bytes` more, oldest first of those that nobody holds. False: there is none. */
static bool make_room(struct modules *m, size_t bytes, bool *out_freed)
{
	size_t at = 0;

	while (at < m->count && (m->bytes + bytes > MODULES_MAX_BYTES || m->count == MODULES_MAX)) {
		if (m->items[at]->holders > 0) {
			at++;
			continue;
		}
		evict(m, at);
		*out_freed = true;
	}
	return m->bytes + bytes <= MODULES_MAX_BYTES && m->count < MODULES_MAX;
}

static struct str base_name(struct str path)
{
	const char *slash = path.len > 0 ? memrchr(path.bytes, '/', path.len) : NULL;

	if (slash == NULL)
		return path;
	return (struct str){ slash + 1, path.len - (uint32_t)(slash + 1 - path.bytes) };
}

/* Takes over `t`. NULL: no room, `t` is freed. */
static struct module *add(struct modules *m, struct tables *t, struct str path, uint64_t file_bytes,
			  bool *out_freed)
{
	size_t slots = t->symbol_count + t->function_count + 1;
	size_t bytes = tables_bytes(t) + slots * sizeof(struct frame *);
	struct module *module = calloc(1, sizeof(*module));
	struct str name = base_name(path);
	void *items;

	if (module != NULL) {
		module->sources = SOURCES_EMPTY;
		module->inlines = INLINES_EMPTY;
	}
	if (module != NULL)
		module->frame_of = calloc(slots, sizeof(*module->frame_of));
	if (module == NULL || module->frame_of == NULL || !make_room(m, bytes, out_freed)) {
		tables_free(t);
		if (module != NULL)
			module_free(module);
		return NULL;
	}
	module->tables = *t;
	*t = (struct tables){ 0 };
	module->bytes = bytes;
	module->file_bytes = file_bytes;
	module->name = naming_keep(m->names, name.bytes, name.len);
	items = m->items;
	if (grow(&items, &m->room, m->count + 1, MODULES_MAX, sizeof(struct module *)) < 0) {
		module_free(module);
		return NULL;
	}
	m->items = items;
	m->items[m->count++] = module;
	m->bytes += bytes;
	return module;
}

static struct module *find_build(const struct modules *m, const struct tables *id, uint64_t bytes)
{
	for (size_t i = 0; id->build_id_bytes > 0 && i < m->count; i++) {
		struct module *module = m->items[i];

		if (module->tables.build_id_bytes == id->build_id_bytes &&
		    module->file_bytes == bytes &&
		    memcmp(module->tables.build_id, id->build_id, id->build_id_bytes) == 0)
			return module;
	}
	return NULL;
}

/* The build-id and the debuglink, asked for once: the tables may take more than one look. */
static int identify(struct modules *m, const struct parser_file *file)
{
	int rc;

	if (memcmp(&m->identified, &file->id, sizeof(file->id)) == 0)
		return 0;
	rc = parser_read_id(m->parser, file, &m->identity);
	if (rc == 0)
		m->identified = file->id;
	return rc;
}

/* The file that has the debug information: itself, or the debug file that its symbols came from. */
static int lines_fd(const struct tables *t, const struct parser_file *file)
{
	if (t->has_lines)
		return file->fd;
	if (t->has_debug_lines && t->debug_file > 0 && t->debug_file <= file->debug_count)
		return file->debug_fds[t->debug_file - 1];
	return -1;
}

void module_open_lines(struct modules *m, struct module *module, const struct parser_file *file)
{
	int fd = lines_fd(&module->tables, file);

	if (fd < 0 || module->has_lines_open || m->with_lines >= MAX_WITH_LINES)
		return;
	/* Those of a large debug file take 0.1 s to read, for each that is installed: only for who wants to wait for names. */
	if (module->tables.has_lines || m->servers != NULL)
		sources_open(&module->sources, fd);
	inlines_open(&module->inlines, fd);
	module->has_lines_open = true;
	m->with_lines++;
}

/* Reads a file that we have not seen. 0 without a module: there is no room. */
static int read_new(struct modules *m, struct parser_file *file, struct str path, bool *out_freed,
		    struct module **out)
{
	struct tables t = { 0 };
	int rc = identify(m, file);

	if (rc < 0)
		return rc;
	*out = find_build(m, &m->identity, file->id.bytes);
	if (*out != NULL)
		return 0;
	debugfile_open(&m->identity, path, file);
	rc = parser_read_tables(m->parser, file, &t);
	if (rc == 0)
		*out = add(m, &t, path, file->id.bytes, out_freed);
	if (rc == 0 && *out != NULL) {
		module_open_lines(m, *out, file);
		module_await_debug(m, *out, file->fd);
	}
	debugfile_close(file);
	return rc;
}

/* Without room it is merely looked at again. */
static void remember(struct modules *m, const struct seen_file *file)
{
	void *files = m->files;

	if (grow(&files, &m->file_room, m->file_count + 1, MAX_FILES, sizeof(*file)) == 0) {
		m->files = files;
		m->files[m->file_count++] = *file;
	}
}

struct module *modules_get(struct modules *m, int fd, struct str path, struct modules_found *out)
{
	struct parser_file file = { .fd = fd };
	struct seen_file seen = { .module = NULL };
	int rc;

	*out = (struct modules_found){ false, false };
	if (parser_file_identify(&file) < 0)
		return NULL;
	for (size_t i = 0; i < m->file_count; i++) {
		if (memcmp(&m->files[i].id, &file.id, sizeof(file.id)) == 0) {
			module_hold(m->files[i].module);
			return m->files[i].module;
		}
	}
	rc = read_new(m, &file, path, &out->has_freed, &seen.module);
	out->is_pending = rc == -EAGAIN;
	m->unread += rc == -EIO;
	if (rc == -EAGAIN || rc == -ENOMEM || (rc == 0 && seen.module == NULL))
		return NULL;
	seen.id = file.id;
	remember(m, &seen);
	module_hold(seen.module);
	return seen.module;
}

/* A file that holds our own vdso. Returns a descriptor or a negative errno. */
static int copy_vdso(void)
{
	const Elf64_Ehdr *h =
		(const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	size_t bytes;
	int fd;

	if (h == NULL)
		return -ENOENT;
	bytes = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, h, bytes) != (ssize_t)bytes) {
		close(fd);
		return -EIO;
	}
	return fd;
}

struct module *modules_vdso(struct modules *m, struct modules_found *out)
{
	*out = (struct modules_found){ false, false };
	if (!m->is_vdso_read && m->vdso_fd < 0)
		m->vdso_fd = copy_vdso();
	if (!m->is_vdso_read && m->vdso_fd >= 0) {
		/* Held for good, so that it is never freed. */
		m->vdso = modules_get(m, m->vdso_fd, (struct str)STR_LITERAL("[vdso]"), out);
	}
	if (!m->is_vdso_read && !out->is_pending) {
		m->is_vdso_read = true;
		if (m->vdso_fd >= 0)
			close(m->vdso_fd);
		m->vdso_fd = -1;
	}
	module_hold(m->vdso);
	return m->vdso;
}

/* A name that may be mangled, and what it stands for: `text`, of `len` bytes. */
struct plain {
	char text[DEMANGLE_MAX_OUT + sizeof(PLT)];
	size_t len;
};

static void take_plain(void *owner, size_t at, struct str name)
{
	struct plain *plain = owner;

	(void)at;
	plain->len = name.len < DEMANGLE_MAX_OUT ? name.len : DEMANGLE_MAX_OUT;
	memcpy(plain->text, name.bytes, plain->len);
}

/* -EAGAIN: `out` has the mangled name, for the time being. */
static int read_plain(struct modules *m, struct str mangled, struct plain *out)
{
	const struct parser_plain_names names = { &mangled, 1, take_plain, out };
	size_t done;
	int rc = 0;

	out->len = 0;
	if (demangle_may(mangled.bytes, mangled.len))
		rc = parser_read_plain(m->namer, &names, &done);
	if (out->len == 0) {
		out->len = mangled.len;
		memcpy(out->text, mangled.bytes, mangled.len);
	}
	return rc;
}

static const struct frame *name_symbol(struct modules *m, struct module *module,
				       const struct symbol *symbol, bool *out_is_pending)
{
	struct plain plain;
	struct str mangled = { module->tables.names + symbol->name, symbol->name_len };
	struct frame frame = { .kind = FRAME_NATIVE, .module = module->name };
	struct source_place place;

	*out_is_pending = read_plain(m, mangled, &plain) == -EAGAIN;
	if (symbol->is_plt) {
		memcpy(plain.text + plain.len, PLT, sizeof(PLT) - 1);
		plain.len += sizeof(PLT) - 1;
	}
	frame.name = (struct str){ plain.text, (uint32_t)plain.len };
	place = sources_find(&module->sources,
			     &(struct sources_of){ m->parser, &module->tables, m->names }, symbol);
	frame.file = place.file;
	frame.line = place.line;
	return naming_frame(m->names, &frame);
}

/* Where the file says that programs begin is `_start`, also when its names were stripped off. */
static bool is_entry(const struct tables *t, const struct function *function)
{
	return function != NULL && t->entry != 0 && function->start == t->entry;
}

/* "[libfoo.so.0+0x1a2b0]": where the code begins, by the addresses of the file. Without `function`, only the file. */
static const struct frame *name_address(struct modules *m, const struct module *module,
					const struct function *function)
{
	char text[STR_MAX_BYTES + 32];
	struct frame frame = { .kind = FRAME_NATIVE, .module = module->name };
	int len;

	if (is_entry(&module->tables, function))
		len = snprintf(text, sizeof(text), "_start");
	else if (function != NULL)
		len = snprintf(text, sizeof(text), "[%.*s+0x%llx]", (int)module->name.len,
			       module->name.bytes,
			       (unsigned long long)(module->tables.base + function->start));
	else
		len = snprintf(text, sizeof(text), "[%.*s]", (int)module->name.len,
			       module->name.bytes);
	frame.name = (struct str){ text, len > 0 ? (uint32_t)len : 0 };
	return naming_frame(m->names, &frame);
}

const struct frame *module_name_function(struct modules *m, struct module *module, uint32_t pc,
					 struct module_frames *out)
{
	const struct tables *t = &module->tables;
	const struct symbol *symbol = tables_symbol(t, pc);
	const struct function *function = symbol == NULL ? tables_function(t, pc) : NULL;
	size_t slot = symbol != NULL	 ? (size_t)(symbol - t->symbols)
		      : function != NULL ? t->symbol_count + (size_t)(function - t->functions)
					 : t->symbol_count + t->function_count;
	const struct frame *frame = module->frame_of[slot];

	out->is_named = symbol != NULL || is_entry(t, function);
	if (frame != NULL)
		return frame;
	frame = symbol != NULL ? name_symbol(m, module, symbol, &out->is_pending)
			       : name_address(m, module, function);
	if (!out->is_pending)
		module->frame_of[slot] = frame;
	return frame;
}

void module_frames(struct modules *m, struct module *module, uint32_t pc, struct module_frames *out)
{
	const struct inlines_of of = { m->namer, m->names, module->name, module->tables.base,
				       &m->inlines_ns };
	uint64_t before_ns = module->sources.own_ns + module->inlines.own_ns;
	struct inlines_found inlined;

	*out = (struct module_frames){ .function = NULL };
	out->function = module_name_function(m, module, pc, out);
	inlined = inlines_find(&module->inlines, &of, pc);
	out->inlined = inlined.frames;
	out->inlined_count = inlined.count;
	out->is_pending = out->is_pending || inlined.is_pending;
	m->lines_ns += module->sources.own_ns + module->inlines.own_ns - before_ns;
}
