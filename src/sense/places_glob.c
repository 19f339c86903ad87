/* places_glob.c - globs over names. */
#include "sense/places_glob.h"

/* Reads one [set] behind its bracket; `*at` moves behind it. False: `c` is not in it, or it does not end. */
static bool takes_set(struct str glob, uint32_t *at, char c)
{
	uint32_t i = *at;
	bool is_not = i < glob.len && (glob.bytes[i] == '!' || glob.bytes[i] == '^');
	bool is_in = false, is_first = true;

	i += is_not;
	for (; i < glob.len && (is_first || glob.bytes[i] != ']'); i++, is_first = false) {
		unsigned char low = (unsigned char)glob.bytes[i], high = low;

		if (i + 2 < glob.len && glob.bytes[i + 1] == '-' && glob.bytes[i + 2] != ']') {
			high = (unsigned char)glob.bytes[i + 2];
			i += 2;
		}
		is_in = is_in || ((unsigned char)c >= low && (unsigned char)c <= high);
	}
	*at = i < glob.len ? i + 1 : i;
	return i < glob.len && is_in != is_not;
}

/* Does the piece of the glob at `*at` take the byte `c`? Moves behind the piece. */
static bool takes_byte(struct str glob, uint32_t *at, char c)
{
	char g = glob.bytes[(*at)++];

	if (g == '?')
		return true;
	if (g == '[')
		return takes_set(glob, at, c);
	if (g == '\\' && *at < glob.len)
		g = glob.bytes[(*at)++];
	return g == c;
}

bool pattern_glob(struct str glob, struct str text)
{
	uint32_t g = 0, t = 0, star = UINT32_MAX, star_text = 0;

	while (t < text.len) {
		if (g < glob.len && glob.bytes[g] == '*') {
			star = ++g;
			star_text = t;
			continue;
		}
		if (g < glob.len && takes_byte(glob, &g, text.bytes[t])) {
			t++;
			continue;
		}
		if (star == UINT32_MAX)
			return false;
		g = star;
		t = ++star_text;
	}
	while (g < glob.len && glob.bytes[g] == '*')
		g++;
	return g == glob.len;
}
