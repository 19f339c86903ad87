/* places_forms.c - from a symbol to what people call it. */
#include "sense/places_forms.h"

#include <string.h>

#include "core/scoped.h"
#include "core/text.h"
#include "sense/places_types.h"

/* Suffixes behind a dot that stand for a whole function. What is not listed may be a part of one. */
static const struct str whole_suffixes[] = {
	STR_LITERAL("constprop"), STR_LITERAL("isra"),	  STR_LITERAL("lto_priv"),
	STR_LITERAL("llvm"),	  STR_LITERAL("__uniq"),  STR_LITERAL("localalias"),
	STR_LITERAL("clone"),	  STR_LITERAL("default"),
};

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static bool is_number(struct str part)
{
	for (uint32_t i = 0; i < part.len; i++)
		if (part.bytes[i] < '0' || part.bytes[i] > '9')
			return false;
	return part.len > 0;
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

static bool is_whole(struct str suffix)
{
	if (is_number(suffix))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(whole_suffixes); i++)
		if (is_same(suffix, whole_suffixes[i]))
			return true;
	return false;
}

/* Reads the suffixes behind the first dot. */
static void read_suffixes(struct forms *f)
{
	const char *end = f->symbol.bytes + f->symbol.len;
	const char *dot = memchr(f->symbol.bytes, '.', f->symbol.len);
	bool is_all_whole = true;

	f->base_len = f->symbol.len;
	if (dot == NULL || dot == f->symbol.bytes)
		return;
	for (const char *at = dot; at < end;) {
		const char *next = memchr(at + 1, '.', (size_t)(end - at - 1));
		struct str part = { at + 1, 0 };

		next = next != NULL ? next : end;
		part.len = (uint32_t)(next - at - 1);
		f->is_cold = f->is_cold || is_same(part, STR_LITERAL("cold"));
		is_all_whole = is_all_whole && is_whole(part);
		at = next;
	}
	if (is_all_whole)
		f->base_len = (uint32_t)(dot - f->symbol.bytes);
}

void forms_set(struct forms *f, struct str symbol)
{
	f->symbol = symbol;
	f->is_cold = f->is_filled = false;
	f->is_mangled = symbol.len > 2 && symbol.bytes[0] == '_' &&
			(symbol.bytes[1] == 'Z' || symbol.bytes[1] == 'R');
	f->is_thunk = f->is_mangled && symbol.bytes[1] == 'Z' &&
		      (symbol.bytes[2] == 'T' || symbol.bytes[2] == 'G');
	read_suffixes(f);
}

uint32_t forms_squeeze(struct str name, char *out)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < name.len; i++)
		if (name.bytes[i] != ' ')
			out[len++] = name.bytes[i];
	return len;
}

uint32_t forms_find_word(struct str name, struct str word)
{
	for (uint32_t at = 0; at + word.len <= name.len; at++) {
		bool begins = at == 0 || !is_word_byte(name.bytes[at - 1]);
		bool ends = at + word.len == name.len || !is_word_byte(name.bytes[at + word.len]);

		if (begins && ends && memcmp(name.bytes + at, word.bytes, word.len) == 0)
			return at;
	}
	return name.len;
}

/* Signs of an operator's name that look like brackets: "operator<<", "operator->", "operator()". Returns how many bytes
 * behind `at`, where "operator" ends. */
static uint32_t operator_signs(struct str name, uint32_t at)
{
	static const struct str signs[] = {
		STR_LITERAL("()"),  STR_LITERAL("[]"),	STR_LITERAL("->*"), STR_LITERAL("->"),
		STR_LITERAL("<=>"), STR_LITERAL("<<="), STR_LITERAL(">>="), STR_LITERAL("<<"),
		STR_LITERAL(">>"),  STR_LITERAL("<="),	STR_LITERAL(">="),  STR_LITERAL("<"),
		STR_LITERAL(">"),
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (name.len - at >= signs[i].len &&
		    memcmp(name.bytes + at, signs[i].bytes, signs[i].len) == 0)
			return signs[i].len;
	return 0;
}

/* Bytes of "operator" and its signs at `at`; 0: none stands there. */
static uint32_t operator_at(struct str name, uint32_t at)
{
	static const struct str word = STR_LITERAL("operator");

	if (name.len - at < word.len || memcmp(name.bytes + at, word.bytes, word.len) != 0 ||
	    (at > 0 && is_word_byte(name.bytes[at - 1])))
		return 0;
	at += word.len;
	if (at < name.len && is_word_byte(name.bytes[at]))
		return 0;
	return word.len + operator_signs(name, at);
}

uint32_t forms_strip_templates(struct str name, char *out)
{
	uint32_t len = 0, depth = 0, step;

	for (uint32_t i = 0; i < name.len; i += step) {
		step = operator_at(name, i);
		if (step == 0) {
			step = 1;
			depth += name.bytes[i] == '<';
		}
		if (depth == 0) {
			memcpy(out + len, name.bytes + i, step);
			len += step;
		}
		if (step == 1 && name.bytes[i] == '>' && depth > 0 && name.bytes[i - 1] != '-')
			depth--;
	}
	return len;
}

/* Where the name begins behind its return type, which only template functions have: after the last blank outside of
 * brackets, but not one of "operator bool". */
static uint32_t name_start(struct str name)
{
	uint32_t start = 0, depth = 0, step;

	for (uint32_t i = 0; i < name.len; i += step) {
		char c = name.bytes[i];

		step = operator_at(name, i);
		if (step > 0 && depth == 0)
			break;
		step = step > 0 ? step : 1;
		if (c == '<' || c == '(' || c == '{' || c == '[')
			depth++;
		else if ((c == '>' || c == ')' || c == '}' || c == ']') && depth > 0)
			depth--;
		else if (c == ' ' && depth == 0)
			start = i + 1;
	}
	return start;
}

static void fill_mangled(struct forms *f)
{
	char base[DEMANGLE_MAX_OUT];
	uint32_t start;
	struct str plain = { base, (uint32_t)demangle(f->symbol.bytes, f->base_len, base) };

	f->full.bytes = f->full_text;
	f->full.len = (uint32_t)demangle(f->symbol.bytes, f->symbol.len, f->full_text);
	if (plain.len == 0 || f->full.len == 0)
		return;
	f->signature.bytes = f->signature_text;
	f->signature.len =
		types_shorten(f->signature_text, forms_squeeze(plain, f->signature_text));
	if (!f->is_thunk) {
		plain = text_without_arguments(plain);
		start = name_start(plain);
		plain = (struct str){ plain.bytes + start, plain.len - start };
	}
	f->plain.bytes = f->plain_text;
	f->plain.len = types_shorten(f->plain_text, forms_squeeze(plain, f->plain_text));
	f->bare = (struct str){ f->bare_text, forms_strip_templates(f->plain, f->bare_text) };
}

void forms_fill(struct forms *f)
{
	if (f->is_filled)
		return;
	f->is_filled = true;
	f->full = STR_EMPTY;
	f->signature = f->plain = f->bare = (struct str){ f->symbol.bytes, f->base_len };
	if (f->is_mangled)
		fill_mangled(f);
	if (f->full.len == 0)
		f->full = f->symbol;
}
