/* frame.c - the identity of a frame: a hash of all it says. */
#include "core/frame.h"

#include <string.h>

/* Folds a word into a hash: the halves of a 128-bit product, as wyhash (Wang Yi, 2019) does. */
static uint64_t fold(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ UINT64_C(0xa0761d6478bd642f)) *
				    (word ^ UINT64_C(0xe7037ed1a0b428db));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t fold_str(uint64_t hash, struct str text)
{
	uint64_t word = 0;
	uint32_t at = 0;

	hash = fold(hash, text.len); /* so that "ab" + "c" is not "a" + "bc" */
	for (; text.len - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text.bytes + at, sizeof(word));
		hash = fold(hash, word);
	}
	if (at == text.len)
		return hash;
	word = 0;
	memcpy(&word, text.bytes + at, text.len - at);
	return fold(hash, word);
}

const char *frame_mark(enum frame_kind kind)
{
	return kind == FRAME_INLINED ? " (inlined)" : kind == FRAME_JIT ? " (jit)" : "";
}

uint64_t frame_key(const struct frame *f, uint64_t salt)
{
	uint64_t hash = fold(salt, (uint64_t)f->kind << 32 | f->line);

	hash = fold(hash, (uint64_t)f->pid << 32 | f->tid);
	hash = fold_str(hash, f->name);
	hash = fold_str(hash, f->module);
	hash = fold_str(hash, f->file);
	hash = fold(hash, hash >> 32);
	return hash == 0 ? 1 : hash;
}

static bool begins(struct str name, struct str start)
{
	return name.len >= start.len && memcmp(name.bytes, start.bytes, start.len) == 0;
}

bool frame_is_why(enum frame_kind kind, struct str name)
{
	return kind == FRAME_MARKER &&
	       (begins(name, STR_LITERAL("[waits")) || begins(name, STR_LITERAL("[runnable]")));
}
