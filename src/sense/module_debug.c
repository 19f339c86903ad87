/* module_debug.c - names that come while the run goes on: from debug files that servers have. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sense/module_parts.h"

void modules_ask_servers(struct modules *m, struct debuginfod *servers)
{
	m->servers = servers;
}

size_t modules_awaited(const struct modules *m)
{
	size_t come = 0;

	for (size_t i = 0; i < m->awaited_count; i++)
		come += m->awaited[i].debug_fd >= 0;
	return come + (m->servers != NULL ? debuginfod_outstanding(m->servers) : 0);
}

void module_await_debug(struct modules *m, struct module *module, int fd)
{
	const struct tables *t = &module->tables;
	int own;

	if (m->servers == NULL || t->has_symtab || t->build_id_bytes == 0 ||
	    m->awaited_count == MODULES_MAX_AWAITED)
		return;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return;
	m->awaited[m->awaited_count++] =
		(struct awaited){ .module = module, .fd = own, .debug_fd = -1 };
	debuginfod_want(m->servers, t->build_id, t->build_id_bytes);
}

static void drop(struct modules *m, size_t at)
{
	struct awaited *a = &m->awaited[at];

	close(a->fd);
	if (a->debug_fd >= 0)
		close(a->debug_fd);
	free(a->renames);
	*a = m->awaited[--m->awaited_count];
}

void module_forget_awaited(struct modules *m, const struct module *module)
{
	for (size_t i = m->awaited_count; i-- > 0;)
		if (m->awaited[i].module == module)
			drop(m, i);
}

/* Gives a file that has come to the module that it is of, or closes it. */
static void give(struct modules *m, const struct debuginfod_file *file)
{
	for (size_t i = 0; i < m->awaited_count; i++) {
		struct awaited *a = &m->awaited[i];
		const struct tables *t = &a->module->tables;

		if (a->debug_fd < 0 && t->build_id_bytes == file->build_id_bytes &&
		    memcmp(t->build_id, file->build_id, t->build_id_bytes) == 0) {
			a->debug_fd = file->fd;
			return;
		}
	}
	close(file->fd);
}

/* Those frames of the module that are addresses so far. */
static void list_renames(struct awaited *a)
{
	const struct module *module = a->module;
	const struct tables *t = &module->tables;

	a->rename_count = 0;
	a->renames = calloc(t->function_count > 0 ? t->function_count : 1, sizeof(*a->renames));
	for (size_t i = 0; a->renames != NULL && i < t->function_count; i++) {
		const struct frame *frame = module->frame_of[t->symbol_count + i];

		if (frame != NULL)
			a->renames[a->rename_count++] =
				(struct rename){ frame, t->functions[i].start };
	}
}

/* Takes the names of other tables of the same file. Rows stay where they are: who walks points into them. */
static int take_names(struct modules *m, struct module *module, struct tables *t)
{
	struct tables *own = &module->tables;
	size_t slots = t->symbol_count + own->function_count + 1;
	const struct frame **frame_of = calloc(slots, sizeof(*frame_of));
	struct tables old = { .symbols = own->symbols, .names = own->names };
	size_t bytes;

	if (frame_of == NULL || m->bytes + tables_bytes(t) > MODULES_MAX_BYTES) {
		free(frame_of);
		return -ENOMEM;
	}
	own->symbols = t->symbols;
	own->symbol_count = t->symbol_count;
	own->names = t->names;
	own->name_bytes = t->name_bytes;
	own->has_symtab = t->has_symtab;
	own->has_debug_lines = t->has_debug_lines;
	own->debug_file = t->debug_file;
	t->symbols = NULL;
	t->names = NULL;
	tables_free(&old);
	sources_forget(&module->sources);
	free(module->frame_of);
	module->frame_of = frame_of;
	bytes = tables_bytes(own) + slots * sizeof(struct frame *);
	m->bytes += bytes - module->bytes;
	module->bytes = bytes;
	return 0;
}

/* Reads the names of a debug file that has come. 0, -EAGAIN, or: it is of no use. */
static int read_debug(struct modules *m, struct awaited *a)
{
	struct parser_file file = { .fd = a->fd, .debug_fds = { a->debug_fd }, .debug_count = 1 };
	struct tables t = { .base = 0 };
	int rc = parser_file_identify(&file);

	if (rc == 0)
		rc = parser_read_tables(m->parser, &file, &t);
	if (rc < 0)
		return rc;
	if (t.debug_file == 0 || t.function_count != a->module->tables.function_count) {
		tables_free(&t);
		return -ENOENT;
	}
	list_renames(a);
	rc = take_names(m, a->module, &t);
	tables_free(&t);
	if (rc == 0)
		module_open_lines(m, a->module, &file);
	return rc;
}

/* Tells what frames are called now; those that the parser has no time for stay. */
static void tell_renames(struct modules *m, struct awaited *a, modules_renamed *renamed,
			 void *owner)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->rename_count; i++) {
		struct module_frames frames = { .function = NULL };
		const struct frame *frame =
			module_name_function(m, a->module, a->renames[i].pc, &frames);

		if (frames.is_pending)
			a->renames[kept++] = a->renames[i];
		else if (frame != a->renames[i].from)
			renamed(owner, a->renames[i].from, frame);
	}
	a->rename_count = kept;
}

bool modules_take_debug(struct modules *m, modules_renamed *renamed, void *owner)
{
	struct debuginfod_file file;
	bool has_changed = false;

	while (m->servers != NULL && debuginfod_take(m->servers, &file))
		give(m, &file);
	for (size_t i = m->awaited_count; i-- > 0;) {
		struct awaited *a = &m->awaited[i];
		int rc = 0;

		if (a->debug_fd < 0)
			continue;
		if (!a->is_read)
			rc = read_debug(m, a);
		if (rc == -EAGAIN)
			continue;
		has_changed = has_changed || (rc == 0 && !a->is_read);
		a->is_read = rc == 0;
		if (rc == 0)
			tell_renames(m, a, renamed, owner);
		if (rc < 0 || a->rename_count == 0)
			drop(m, i);
	}
	return has_changed;
}
