/* plan_shape.c - the hash of a plan's shape: SHA-256 over a canonical form, bottom up. An object or array that has ended stands in its
 * parent as its digest, so nothing is held but what is open. */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"

/* Bytes of one member or element within `canon`. */
struct plan_span {
	size_t from, len;
};

void plan_shape_free(struct plan_shape *s)
{
	text_free(&s->canon);
	free(s->spans);
	EVP_MD_CTX_free(s->hash);
	*s = (struct plan_shape){ .hash = NULL };
}

size_t plan_shape_begin(struct plan_shape *s, const char *key, size_t key_len)
{
	size_t from = s->canon.len;

	if (key != NULL) {
		text_add(&s->canon, key, key_len);
		text_add(&s->canon, "", 1);
	}
	return from;
}

static void add_span(struct plan_shape *s, struct plan_span span)
{
	if (s->span_count == s->span_room) {
		size_t room = s->span_room == 0 ? 64 : s->span_room * 2;
		struct plan_span *spans = reallocarray(s->spans, room, sizeof(*spans));

		if (spans == NULL) {
			s->has_failed = true;
			return;
		}
		s->spans = spans;
		s->span_room = room;
	}
	s->spans[s->span_count++] = span;
}

void plan_shape_end(struct plan_shape *s, size_t from, char kind, const char *bytes, size_t len)
{
	text_add(&s->canon, &kind, 1);
	text_add(&s->canon, bytes, len);
	s->has_failed |= s->canon.has_failed;
	if (!s->has_failed)
		add_span(s, (struct plan_span){ from, s->canon.len - from });
}

void plan_shape_leave_out(struct plan_shape *s, size_t from)
{
	if (from < s->canon.len)
		s->canon.len = from;
}

static int by_bytes(const void *a, const void *b, void *canon)
{
	const struct plan_span *x = a, *y = b;
	const char *bytes = canon;
	int order = memcmp(bytes + x->from, bytes + y->from, x->len < y->len ? x->len : y->len);

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

struct plan_mark plan_shape_mark(const struct plan_shape *s)
{
	return (struct plan_mark){ s->canon.len, s->span_count };
}

struct digest plan_shape_close(struct plan_shape *s, struct plan_mark mark, bool is_object)
{
	struct digest digest = { { 0 } };
	const EVP_MD *kind =
		NULL; /* once it is begun it stays: to look it up is half of a small hash */

	if (s->hash == NULL) {
		s->hash = EVP_MD_CTX_new();
		kind = EVP_sha256();
	}
	if (s->has_failed || s->hash == NULL || EVP_DigestInit_ex(s->hash, kind, NULL) != 1) {
		s->has_failed = true;
		return digest;
	}
	if (is_object && s->span_count > mark.spans)
		qsort_r(s->spans + mark.spans, s->span_count - mark.spans, sizeof(*s->spans),
			by_bytes, s->canon.bytes);
	for (size_t i = mark.spans; i < s->span_count; i++) {
		uint64_t len = s->spans[i].len;
		uint8_t bytes[8]; /* the same on every machine: stores are shared */

		for (size_t b = 0; b < sizeof(bytes); b++)
			bytes[b] = (uint8_t)(len >> 8 * b);
		EVP_DigestUpdate(s->hash, bytes, sizeof(bytes));
		EVP_DigestUpdate(s->hash, s->canon.bytes + s->spans[i].from, s->spans[i].len);
	}
	if (EVP_DigestFinal_ex(s->hash, digest.bytes, NULL) != 1)
		s->has_failed = true;
	s->span_count = mark.spans;
	s->canon.len = mark.bytes;
	return digest;
}
