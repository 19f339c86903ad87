/* watch_found.h - what watch_places.c and watch_again.c share: places that were found, and the sources over them. */
#ifndef TARE_CLI_WATCH_FOUND_H
#define TARE_CLI_WATCH_FOUND_H

#include "cli/watch.h"

/* What all searches have in common; borrowed from the options. */
struct places_settings watch_places_settings_of(const struct watch_session *s);

/* Can any of them be watched? */
bool watch_places_has_point(const struct places *places);

/* Notes which patterns have chosen something that can be watched. */
void watch_places_note_found(struct watch_session *s, const struct places *places);

/* Opens a source and adds it; `places` may be NULL, and is taken over. */
int watch_places_open_source(struct watch_session *s, const struct watch_source_ops *ops,
			     struct places *places, struct err *err);

/* Opens libtare's mapping. -ENOENT: the process has none; any other reason is kept for the label. */
int watch_places_open_inside(struct watch_session *s, struct err *err);

#endif
