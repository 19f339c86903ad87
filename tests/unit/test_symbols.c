/* test_symbols.c - what addresses are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "core/scoped.h"
#include "modules_desk.h"
#include "sense/debugfile.h"
#include "sense/demangle.h"
#include "sense/elffile.h"
#include "sense/kallsyms.h"

/* The start of the symbol with this name as it is in the file. */
static uint32_t start_of(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < t->symbol_count; i++) {
		const struct symbol *s = &t->symbols[i];

		if (!s->is_plt && s->name_len == strlen(name) &&
		    memcmp(t->names + s->name, name, s->name_len) == 0)
			return s->start;
	}
	return 0;
}

static void assert_named(struct module *m, uint32_t pc, const char *want, bool wants_symbol)
{
	struct module_frames frames = frames_at(m, pc);
	const struct frame *f = frames.function;

	print_message("%.*s\n", (int)f->name.len, f->name.bytes);
	assert_int_equal(f->name.len, strlen(want));
	assert_memory_equal(f->name.bytes, want, f->name.len);
	assert_int_equal(frames.is_named, wants_symbol);
	assert_int_not_equal(f->key, 0);
}

static void of_several_names_the_plainest_global_one_is_taken(void **state)
{
	struct module *m = read_module("libnames.so");
	const struct tables *t = module_tables(m);

	(void)state;
	assert_int_not_equal(start_of(t, "plain"), 0);
	assert_int_equal(start_of(t, "_plain"), 0);
	assert_int_equal(start_of(t, "__plain"), 0);
	assert_int_equal(start_of(t, "pl"), 0); /* shorter, but local */
	assert_int_not_equal(start_of(t, "strong"), 0);
	assert_int_equal(start_of(t, "weak_of_strong"), 0);
	assert_named(m, start_of(t, "plain"), "plain", true);
	module_drop(m);
}

static void mangled_names_are_shown_as_written(void **state)
{
	struct module *m = read_module("libnames.so");
	const struct tables *t = module_tables(m);

	(void)state;
	assert_named(m, start_of(t, "_ZN5space5thing3runEi"), "space::thing::run(int)", true);
	assert_named(m, start_of(t, "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
		     "core::fmt::Write::write_fmt", true);
	assert_named(m, start_of(t, "_RNvCskwGfYPst2Cb_3foo16example_function"),
		     "foo::example_function", true);
	module_drop(m);
}

/* The first address behind the last function that is described. */
static uint32_t last_end(const struct tables *t)
{
	const struct function *last = &t->functions[t->function_count - 1];

	return last->start + last->size;
}

static void what_has_no_symbol_is_named_by_its_start_never_by_a_neighbour(void **state)
{
	struct module *full = read_module("libnames.so");
	struct module *bare = read_module("libnames_stripped.so");
	uint32_t hidden = start_of(module_tables(full), "hidden");
	char want[64];

	(void)state;
	assert_int_not_equal(hidden, 0);
	snprintf(want, sizeof(want), "[libnames_stripped.so+0x%x]", hidden);
	assert_named(full, hidden + 3, "hidden", true);
	assert_named(bare, hidden, want, false);
	assert_named(bare, hidden + 3, want, false); /* one function, one name */
	assert_named(bare, start_of(module_tables(full), "use") + 1, "use", true);
	assert_named(bare, 0, "[libnames_stripped.so]", false);
	assert_named(bare, last_end(module_tables(bare)), "[libnames_stripped.so]", false);
	module_drop(full);
	module_drop(bare);
}

/* Tries all that may be the debug file of `t`, as the parser child does. */
static int add_debug_file(struct tables *t, const char *path)
{
	struct parser_file file = { .fd = -1 };
	int rc = -ENOENT;

	debugfile_open(t, (struct str){ path, (uint32_t)strlen(path) }, &file);
	for (uint32_t i = 0; i < file.debug_count && rc < 0; i++)
		rc = debugfile_use(file.debug_fds[i], (file.linked_mask >> i & 1) != 0, t);
	debugfile_close(&file);
	return rc;
}

static void a_debug_file_by_link_is_believed_when_its_checksum_is_right(void **state)
{
	struct module *full = read_module("libnames.so");
	struct module *linked = read_module("libnames_linked.so");
	uint32_t hidden = start_of(module_tables(full), "hidden");
	struct tables t;
	char path[PATH_MAX];
	int fd;

	(void)state;
	assert_named(linked, hidden + 3, "hidden", true);
	traced_path("libnames_linked.so", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elffile_read(fd, &t), 0);
	close(fd);
	assert_int_equal(start_of(&t, "hidden"), 0);
	t.debuglink_crc++;
	assert_true(add_debug_file(&t, path) < 0);
	assert_int_equal(start_of(&t, "hidden"), 0);
	t.debuglink_crc--;
	assert_int_equal(add_debug_file(&t, path), 0);
	assert_int_equal(start_of(&t, "hidden"), hidden);
	t.build_id[0]++; /* of another build */
	assert_true(add_debug_file(&t, path) < 0);
	tables_free(&t);
	module_drop(full);
	module_drop(linked);
}

static void plt_entries_are_named_by_what_they_jump_to(void **state)
{
	struct module *m = read_module("libnames_linked.so");
	const struct tables *t = module_tables(m);
	bool has_puts = false;

	(void)state;
	for (size_t i = 0; i < t->symbol_count; i++) {
		const struct symbol *s = &t->symbols[i];

		if (s->is_plt && s->name_len == 4 && memcmp(t->names + s->name, "puts", 4) == 0) {
			assert_named(m, s->start, "puts@plt", true);
			assert_named(m, s->start + s->size - 1, "puts@plt", true);
			has_puts = true;
		}
	}
	assert_true(has_puts);
	module_drop(m);
}

static void functions_know_where_their_source_is(void **state)
{
	struct module *m = read_module("libnames.so");
	const struct frame *f = frames_at(m, start_of(module_tables(m), "hidden")).function;

	(void)state;
	assert_true(f->line > 0);
	assert_true(f->file.len > 7);
	assert_memory_equal(f->file.bytes + f->file.len - 7, "names.c", 7);
	assert_int_equal(f->line, 1234); /* as the #line there says */
	assert_int_not_equal(modules_lines_ns(modules), 0);
	module_drop(m);
}

static void one_build_is_read_once_wherever_it_lies(void **state)
{
	struct module *a = read_module("libnames.so"), *b = read_module("libnames.so");
	struct modules_found found;
	struct module *vdso;

	(void)state;
	do
		vdso = modules_vdso(modules, &found);
	while (found.is_pending);
	assert_ptr_equal(a, b);
	assert_ptr_equal(vdso, modules_vdso(modules, &found));
	if (vdso != NULL)
		assert_int_not_equal(start_of(module_tables(vdso), "__vdso_clock_gettime"), 0);
	module_drop(a);
	module_drop(b);
}

static void a_name_that_grows_without_end_is_cut(void **state)
{
	static char bomb[DEMANGLE_MAX_IN], out[DEMANGLE_MAX_OUT];
	size_t len = 0;

	(void)state;
	/* Each argument is a pair of the one before: 2^40 letters. */
	len += (size_t)snprintf(bomb, sizeof(bomb), "_Z1fI1aE1bIS_S_E");
	for (int i = 0; i < 40; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char ref[8];

		if (i < 36)
			snprintf(ref, sizeof(ref), "S%c_", digits[i]);
		else
			snprintf(ref, sizeof(ref), "S1%c_", digits[i - 36]);
		len += (size_t)snprintf(bomb + len, sizeof(bomb) - len, "1cI%s%sE", ref, ref);
	}
	assert_in_range(demangle(bomb, len, out), 0, DEMANGLE_MAX_OUT);
	assert_int_equal(demangle("main", 4, out), 0);
	assert_int_equal(demangle("_Z", 2, out), 0);
	assert_int_equal(demangle("_Znonsense", 10, out), 0);
}

static void names_of_the_kernel_come_with_their_module(void **state)
{
	static const char list[] = "0000000000000000 A fixed\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000100 t second\n"
				   "ffffffff81000200 D no_code\n"
				   "ffffffffc0001000 t inside\t[disk]\n"
				   "nonsense\n"
				   "ffffffffc0001000 t alias\t[disk]\n";
	char path[] = "/tmp/tare-test-XXXXXX";
	struct kallsyms *k;
	struct str name, module;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, list, sizeof(list) - 1), sizeof(list) - 1);
	assert_int_equal(kallsyms_open(path, &k), 0);
	assert_string_equal(kallsyms_reason(path), "");
	assert_true(kallsyms_find(k, UINT64_C(0xffffffff810002ff), &name, &module));
	assert_memory_equal(name.bytes, "second", name.len);
	assert_memory_equal(module.bytes, "kernel", module.len);
	assert_true(kallsyms_find(k, UINT64_C(0xffffffffc0001001), &name, &module));
	assert_memory_equal(name.bytes, "inside", name.len);
	assert_memory_equal(module.bytes, "[disk]", module.len);
	assert_false(kallsyms_find(k, UINT64_C(0xffffffff80ffffff), &name, &module));
	assert_false(kallsyms_find(k, UINT64_C(0xffffffffd0000000), &name, &module));
	assert_false(kallsyms_find(k, 0x1000, &name, &module));
	kallsyms_close(k);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, "0000000000000000 T a\n0000000000000000 T b\n", 42, 0), 42);
	assert_int_equal(kallsyms_open(path, &k), -EACCES);
	assert_non_null(strstr(kallsyms_reason(path), "kptr_restrict"));
	close(fd);
	unlink(path);
	assert_int_equal(kallsyms_open(path, &k), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_several_names_the_plainest_global_one_is_taken),
		cmocka_unit_test(mangled_names_are_shown_as_written),
		cmocka_unit_test(what_has_no_symbol_is_named_by_its_start_never_by_a_neighbour),
		cmocka_unit_test(a_debug_file_by_link_is_believed_when_its_checksum_is_right),
		cmocka_unit_test(plt_entries_are_named_by_what_they_jump_to),
		cmocka_unit_test(functions_know_where_their_source_is),
		cmocka_unit_test(one_build_is_read_once_wherever_it_lies),
		cmocka_unit_test(a_name_that_grows_without_end_is_cut),
		cmocka_unit_test(names_of_the_kernel_come_with_their_module),
	};

	return cmocka_run_group_tests(tests, open_modules, close_modules);
}
