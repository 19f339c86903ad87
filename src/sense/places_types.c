/* places_types.c - spellings of C++ types. */
#include "sense/places_types.h"

#include <stdbool.h>
#include <string.h>

#include "core/scoped.h"

static const struct str const_word = STR_LITERAL("const");

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == ':' || (unsigned char)c >= 0x80;
}

static bool stands_at(struct str name, uint32_t at, struct str word)
{
	return name.len - at >= word.len && memcmp(name.bytes + at, word.bytes, word.len) == 0;
}

static uint32_t skip_blanks(struct str name, uint32_t at)
{
	while (at < name.len && name.bytes[at] == ' ')
		at++;
	return at;
}

static uint32_t skip_word(struct str name, uint32_t at)
{
	while (at < name.len && is_word_byte(name.bytes[at]))
		at++;
	return at;
}

/* Behind the '>' that closes the '<' at `at`. */
static uint32_t skip_template(struct str name, uint32_t at)
{
	uint32_t depth = 0;

	for (; at < name.len; at++) {
		depth += name.bytes[at] == '<';
		depth -= name.bytes[at] == '>';
		if (depth == 0)
			return at + 1;
	}
	return at;
}

/* Is it one of the words that builtin types have several of? */
static bool is_part_of_builtin(struct str word)
{
	static const struct str parts[] = { STR_LITERAL("unsigned"), STR_LITERAL("signed"),
					    STR_LITERAL("long"),     STR_LITERAL("short"),
					    STR_LITERAL("int"),	     STR_LITERAL("char"),
					    STR_LITERAL("double") };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (word.len == parts[i].len && stands_at(word, 0, parts[i]))
			return true;
	return false;
}

/* Behind the type that begins at `at`: "unsigned long", "std::vector<int>::iterator". */
static uint32_t skip_type(struct str name, uint32_t at)
{
	uint32_t end = skip_word(name, at);

	while (is_part_of_builtin((struct str){ name.bytes + at, end - at })) {
		uint32_t next = skip_blanks(name, end), next_end = skip_word(name, next);

		if (!is_part_of_builtin((struct str){ name.bytes + next, next_end - next }))
			return end;
		at = next;
		end = next_end;
	}
	while (end < name.len && name.bytes[end] == '<')
		end = skip_word(name, skip_template(name, end));
	return end;
}

/* Does a type that begins with const stand at `at`, behind "(", "," or "<"? */
static bool has_const_first(struct str name, uint32_t at)
{
	uint32_t before = at;

	if (!stands_at(name, at, const_word) || at + const_word.len >= name.len ||
	    name.bytes[at + const_word.len] != ' ')
		return false;
	while (before > 0 && name.bytes[before - 1] == ' ')
		before--;
	return before > 0 && strchr("(,<", name.bytes[before - 1]) != NULL &&
	       name.bytes[before - 1] != '\0';
}

uint32_t types_move_const(struct str name, char *out)
{
	uint32_t len = 0, at = 0;

	while (at < name.len) {
		uint32_t type, end;

		if (!has_const_first(name, at)) {
			out[len++] = name.bytes[at++];
			continue;
		}
		type = skip_blanks(name, at + const_word.len);
		end = skip_type(name, type);
		memcpy(out + len, name.bytes + type, end - type);
		len += end - type;
		out[len++] = ' ';
		memcpy(out + len, const_word.bytes, const_word.len);
		len += const_word.len;
		at = end;
	}
	return len;
}

/* What stands at `at` that is written shorter: its length, and what takes its place. 0: nothing. */
static uint32_t long_form(struct str name, uint32_t at, struct str *out_short)
{
	static const struct str cxx11 = STR_LITERAL("std::__cxx11::");
	static const struct str allocator = STR_LITERAL(",std::allocator<");

	if (stands_at(name, at, cxx11)) {
		*out_short = STR_LITERAL("std::");
		return cxx11.len;
	}
	if (stands_at(name, at, allocator)) {
		*out_short = STR_EMPTY;
		return skip_template(name, at + allocator.len - 1) - at;
	}
	return 0;
}

/* The strings that are left when allocators and namespaces are gone. */
static uint32_t string_form(struct str name, uint32_t at, struct str *out_short)
{
	static const struct str string =
		STR_LITERAL("std::basic_string<char,std::char_traits<char>>");
	static const struct str bare = STR_LITERAL("std::basic_string<char>");

	*out_short = STR_LITERAL("std::string");
	if (stands_at(name, at, string))
		return string.len;
	return stands_at(name, at, bare) ? bare.len : 0;
}

static uint32_t replace(char *name, uint32_t length,
			uint32_t (*find)(struct str name, uint32_t at, struct str *out_short))
{
	uint32_t len = 0, at = 0;

	while (at < length) {
		struct str shorter = STR_EMPTY;
		uint32_t gone = find((struct str){ name, length }, at, &shorter);

		if (gone == 0) {
			name[len++] = name[at++];
			continue;
		}
		if (shorter.len > 0)
			memmove(name + len, shorter.bytes, shorter.len);
		len += shorter.len;
		at += gone;
	}
	return len;
}

uint32_t types_shorten(char *name, uint32_t length)
{
	return replace(name, replace(name, length, long_form), string_form);
}
