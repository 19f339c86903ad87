/* fuzz_places.c - any bytes as patterns with names beside them, as the code of functions, as files with symbols. The first
 * byte says as what. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "sense/names_file.h"
#include "sense/places_code.h"
#include "sense/places_jumps.h"
#include "sense/places_nearest.h"
#include "sense/places_pattern.h"

/* The first line is a pattern, the others are names that it may mean. */
static void match(const char *bytes, size_t size)
{
	static struct forms forms;
	const char *end = memchr(bytes, '\n', size);
	size_t len = end != NULL ? (size_t)(end - bytes) : size;
	char *text = strndup(bytes, len);
	struct nearest nearest = { .count = 0 };
	struct pattern p;

	if (text == NULL || pattern_parse(text, &p, NULL) < 0) {
		free(text);
		return;
	}
	while (end != NULL) {
		const char *name = end + 1;
		size_t left = size - (size_t)(name - bytes);
		struct str symbol = { name, 0 };

		end = memchr(name, '\n', left);
		symbol.len = (uint32_t)(end != NULL ? (size_t)(end - name) : left);
		if (symbol.len == 0 || symbol.len > STR_MAX_BYTES)
			continue;
		forms_set(&forms, symbol);
		(void)pattern_takes_name(&p, &forms);
		(void)pattern_takes_file(&p, symbol, STR_EMPTY);
		(void)pattern_takes_version(&p, symbol, symbol.len % 2 == 0);
		forms_fill(&forms);
		if (forms.plain.len > DEMANGLE_MAX_OUT || forms.bare.len > forms.plain.len)
			abort();
		nearest_offer(&nearest, p.name, forms.plain);
	}
	pattern_free(&p);
	free(text);
}

/* A probe never lies outside of what is known, and never where a jump leads. */
static void place(const uint8_t *bytes, size_t size)
{
	struct places_code code = { .bytes = bytes,
				    .known = size,
				    .length = size,
				    .offset = size > 1 ? (uint64_t)bytes[1] << 4 : 0,
				    .next_symbol = UINT32_MAX };
	struct places_probe probe = places_code_probe(&code);
	struct places_range ranges[2] = { { 4096, 4096 + PLACES_CODE_MAX_SKIP, false },
					  { 8192, 8192 + PLACES_CODE_MAX_SKIP, false } };

	if (probe.skip > PLACES_CODE_MAX_SKIP || (probe.skip > 0 && probe.skip >= size) ||
	    (probe.skip > 0 && probe.first == PLACE_OTHER))
		abort();
	(void)place_first_of(bytes, size);
	places_jumps_veto(bytes, size, 4096, ranges, 2);
	code.length = 0;
	(void)places_code_probe(&code);
}

static void read_names(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct names_file names = NAMES_FILE_EMPTY;
	struct place_names_row row;
	size_t letters = 0;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	if (names_file_open(fd, &names) == 0) {
		(void)names_file_add_debug(&names, fd, size % 2 == 0);
		while (names_file_next(&names, &row)) {
			for (uint32_t i = 0; i < row.name.len; i++)
				letters += (unsigned char)row.name.bytes[i];
			for (uint32_t i = 0; i < row.version.len; i++)
				letters += (unsigned char)row.version.bytes[i];
		}
	}
	if (letters == SIZE_MAX)
		abort();
	names_file_close(&names);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 2)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		match((const char *)bytes + 1, size - 1);
		break;
	case 1:
		place(bytes + 1, size - 1);
		break;
	default:
		read_names(bytes + 1, size - 1);
	}
	return 0;
}
