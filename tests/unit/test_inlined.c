/* test_inlined.c - what the compiler put into one another is told apart, by the parser child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>

#include "core/scoped.h"
#include "modules_desk.h"

static const struct symbol *symbol_of(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < t->symbol_count; i++)
		if (t->symbols[i].name_len == strlen(name) &&
		    memcmp(t->names + t->symbols[i].name, name, strlen(name)) == 0)
			return &t->symbols[i];
	fail_msg("no symbol '%s'", name);
	return NULL;
}

static bool ends_with(struct str s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && memcmp(s.bytes + s.len - len, end, len) == 0;
}

static bool is_frame(const struct frame *f, const char *name, uint32_t line)
{
	return f->kind == FRAME_INLINED && f->name.len == strlen(name) &&
	       memcmp(f->name.bytes, name, f->name.len) == 0 && f->line == line &&
	       ends_with(f->file, "inlined.c") && f->module.len > 0 && f->key != 0;
}

static void inlined_functions_are_frames_of_their_own_with_file_and_line(void **state)
{
	struct module *m = read_module("libinlined.so");
	const struct symbol *s = symbol_of(module_tables(m), "use_inlined");
	size_t none = 0, one = 0, two = 0;

	(void)state;
	for (uint32_t pc = s->start; pc < s->start + s->size; pc++) {
		struct module_frames f = frames_at(m, pc);

		assert_memory_equal(f.function->name.bytes, "use_inlined", strlen("use_inlined"));
		assert_int_equal(f.function->kind, FRAME_NATIVE);
		assert_true(f.inlined_count <= 2);
		if (f.inlined_count > 0)
			assert_true(is_frame(f.inlined[0], "middle_one", 100));
		if (f.inlined_count > 1)
			assert_true(is_frame(f.inlined[1], "inner_one", 50));
		none += f.inlined_count == 0;
		one += f.inlined_count == 1;
		two += f.inlined_count == 2;
	}
	print_message("%zu bytes of its own, %zu of one inlined, %zu of two\n", none, one, two);
	assert_true(none > 0 && one > 0 && two > 0);
	module_drop(m);
}

static void a_function_without_inlined_ones_is_alone(void **state)
{
	struct module *m = read_module("libinlined.so");
	const struct symbol *s = symbol_of(module_tables(m), "uses_none");

	(void)state;
	for (uint32_t pc = s->start; pc < s->start + s->size; pc++)
		assert_int_equal(frames_at(m, pc).inlined_count, 0);
	module_drop(m);
}

static uint64_t parser_cpu_ns(void)
{
	struct parser_facts facts;

	parser_facts(modules_namer(modules), &facts);
	return facts.spent_ns;
}

static void an_address_is_asked_for_once(void **state)
{
	struct module *m = read_module("libinlined.so");
	uint32_t pc = symbol_of(module_tables(m), "use_inlined")->start;
	struct module_frames first = frames_at(m, pc), again;
	uint64_t before_ns = parser_cpu_ns();

	(void)state;
	for (int i = 0; i < 1000; i++)
		again = frames_at(m, pc);
	assert_int_equal(parser_cpu_ns(), before_ns);
	assert_ptr_equal(first.function, again.function);
	assert_ptr_equal(first.inlined, again.inlined);
	module_drop(m);
}

static void take_none(void *owner, struct str name, struct str file, uint32_t line)
{
	(void)name;
	(void)file;
	(void)line;
	++*(size_t *)owner;
}

/* Files without debug information, and what is no file at all. */
static void what_says_nothing_is_left_alone(void **state)
{
	struct parser *parser = modules_namer(modules);
	struct parser_file file = { .fd = memfd_create("test", MFD_CLOEXEC) };
	size_t taken = 0;
	struct parser_inlined_at at = { .address = 64, .take = take_none, .owner = &taken };
	char path[PATH_MAX];
	int rc;

	(void)state;
	assert_int_equal(write(file.fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(parser_file_identify(&file), 0);
	while ((rc = parser_read_inlined(parser, &file, &at)) == -EAGAIN)
		;
	assert_int_equal(rc, -ENOEXEC);
	close(file.fd);
	traced_path("walker_stripped", path);
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(parser_file_identify(&file), 0);
	while ((rc = parser_read_inlined(parser, &file, &at)) == -EAGAIN)
		;
	assert_true(rc == -ENOEXEC || rc == -ENOENT);
	assert_int_equal(taken, 0);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_frames_of_their_own_with_file_and_line),
		cmocka_unit_test(a_function_without_inlined_ones_is_alone),
		cmocka_unit_test(an_address_is_asked_for_once),
		cmocka_unit_test(what_says_nothing_is_left_alone),
	};

	return cmocka_run_group_tests(tests, open_modules, close_modules);
}
