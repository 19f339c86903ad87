/* watch_again.c - looks for what was asked for and was not there, while the process runs: libtare, new libraries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/watch_found.h"
#include "core/scoped.h"

#define INSIDE_SOON_NS (10 * NS_PER_MS)
#define INSIDE_LATE_NS NS_PER_S
#define TRY_PART_OF    4u /* looking again takes at most one in so many parts of the price */
#define LINE_BYTES     4096u

/* FNV-1a over the lines of code that is mapped from files. 0: they cannot be read. */
static uint64_t digest_maps(pid_t pid)
{
	char path[64], line[LINE_BYTES];
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return 0;
	while (fgets(line, sizeof(line), maps) != NULL) {
		const char *flags = strchr(line, ' ');

		if (flags == NULL || strlen(flags) < 5 || flags[3] != 'x' ||
		    strchr(flags, '/') == NULL)
			continue;
		for (const char *c = strchr(flags + 5, ' '); c != NULL && *c != '\0'; c++)
			digest = (digest ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
	}
	fclose(maps);
	return digest;
}

/* How long to wait after a look that took so much. */
static uint64_t pause_ns(const struct watch_session *s, uint64_t cost_ns)
{
	return (uint64_t)((unsigned __int128)cost_ns * TRY_PART_OF * PPM / s->run.opts->price_ppm);
}

/* Looks for libtare's mapping; the next time is further off the dearer that was. */
static void try_inside(struct watch_session *s, struct mono now)
{
	uint64_t before_ns = own_cpu_ns(), wait_ns = INSIDE_LATE_NS, cost_ns;
	struct err err = ERR_EMPTY;
	int code = watch_places_open_inside(s, &err);

	if (code == 0)
		watch_sources_start(&s->sources);
	if (s->inside_tries < 7) {
		wait_ns = INSIDE_SOON_NS << s->inside_tries;
		s->inside_tries++;
	}
	cost_ns = pause_ns(s, own_cpu_ns() - before_ns);
	s->inside_next.ns = now.ns + (cost_ns > wait_ns ? cost_ns : wait_ns);
	if (code == 0)
		s->inside_tries = 0;
}

/* Looks for the names that nothing was found for, in what the process has mapped by now. */
static void try_places(struct watch_session *s)
{
	SCOPED(places_free) struct places places = PLACES_EMPTY;
	struct places_settings settings = watch_places_settings_of(s);
	char **missing = calloc(s->opts->pattern_count + 1, sizeof(*missing));
	struct err err = ERR_EMPTY;
	size_t count = 0;

	for (size_t i = 0; missing != NULL && i < s->opts->pattern_count; i++)
		if (!s->has_found[i])
			missing[count++] = s->opts->patterns[i];
	settings.pid = s->pid;
	settings.program = NULL;
	settings.patterns = missing;
	settings.pattern_count = count;
	settings.only_found = true; /* why not was said at the start */
	if (count > 0 && places_find(&settings, &places, &err) == 0 &&
	    watch_places_has_point(&places)) {
		watch_places_note_found(s, &places);
		if (watch_places_open_source(s, &watch_source_probes, &places, &err) == 0)
			watch_sources_start(&s->sources);
	}
	free(missing);
}

void watch_places_again(struct watch_session *s, struct mono now, bool has_turned)
{
	bool has_inside = watch_sources_has(&s->sources, &watch_source_inside);

	if (s->expects_inside && !has_inside && now.ns >= s->inside_next.ns)
		try_inside(s, now);
	if (has_turned && now.ns >= s->places_next.ns) {
		uint64_t before_ns = own_cpu_ns(), digest = digest_maps(s->pid);

		if (digest != 0 && digest != s->maps_digest) {
			s->maps_digest = digest;
			if (!has_inside && !s->expects_inside)
				try_inside(s, now);
			try_places(s);
		}
		s->places_next.ns = now.ns + pause_ns(s, own_cpu_ns() - before_ns);
	}
}
