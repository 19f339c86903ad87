/* words.c - the edit distance of two words, one row at a time. */
#include "core/words.h"

#include <stdint.h>
#include <string.h>

#include "core/scoped.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t words_distance(const char *a, const char *b)
{
	size_t row[64];
	size_t len = strlen(b);

	if (len >= ARRAY_LEN(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = smaller(change, 1 + smaller(row[j], row[j - 1]));
		}
	}
	return row[len];
}
