/* made_jit.h - writes a jitdump, record by record. For tests. */
#ifndef TARE_TESTS_MADE_JIT_H
#define TARE_TESTS_MADE_JIT_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* A file's head. `flags` 1: times are of another clock. */
static inline void made_jit_begin(int fd, uint64_t flags)
{
	const uint32_t words[6] = { 0x4A695444, 1, 40, 62, 0, (uint32_t)getpid() };
	const uint64_t more[2] = { 0, flags };

	(void)!write(fd, words, sizeof(words));
	(void)!write(fd, more, sizeof(more));
}

static inline void made_jit_prefix(int fd, uint32_t id, size_t bytes, uint64_t at_ns)
{
	const uint32_t words[2] = { id, (uint32_t)(16 + bytes) };

	(void)!write(fd, words, sizeof(words));
	(void)!write(fd, &at_ns, sizeof(at_ns));
}

/* Code that came: its name, and `code_bytes` of code at `code`. */
struct made_jit_code {
	uint64_t at_ns, address, bytes;
	const char *name;
	const void *code; /* NULL: none is written */
};

static inline void made_jit_load(int fd, const struct made_jit_code *c)
{
	size_t name_bytes = strlen(c->name) + 1, code_bytes = c->code != NULL ? c->bytes : 0;
	const uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	const uint64_t words[4] = { c->address, c->address, c->bytes, 1 };

	made_jit_prefix(fd, 0, sizeof(ids) + sizeof(words) + name_bytes + code_bytes, c->at_ns);
	(void)!write(fd, ids, sizeof(ids));
	(void)!write(fd, words, sizeof(words));
	(void)!write(fd, c->name, name_bytes);
	(void)!write(fd, c->code, code_bytes);
}

static inline void made_jit_move(int fd, uint64_t at_ns, uint64_t from, uint64_t to, uint64_t bytes)
{
	const uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	const uint64_t words[5] = { to, from, to, bytes, 1 };

	made_jit_prefix(fd, 1, sizeof(ids) + sizeof(words), at_ns);
	(void)!write(fd, ids, sizeof(ids));
	(void)!write(fd, words, sizeof(words));
}

/* Where the code that comes next begins in the sources. */
static inline void made_jit_line(int fd, uint64_t address, const char *file, uint32_t line)
{
	const uint64_t words[3] = { address, 1, address };
	const uint32_t more[2] = { line, 0 };

	made_jit_prefix(fd, 2, sizeof(words) + sizeof(more) + strlen(file) + 1, 0);
	(void)!write(fd, words, sizeof(words));
	(void)!write(fd, more, sizeof(more));
	(void)!write(fd, file, strlen(file) + 1);
}

#endif
