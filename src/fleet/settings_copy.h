/* settings_copy.h - a server's settings, copied and compared: the runner keeps its own while files are read again. */
#ifndef TARE_FLEET_SETTINGS_COPY_H
#define TARE_FLEET_SETTINGS_COPY_H

#include "fleet/settings.h"

/* A copy of all of it, freed by settings_server_free() (settings_parts.h). Texts that are NULL become "". -ENOMEM. */
int settings_server_copy(const struct server_settings *from, struct server_settings *out);

/* Whether a connection made by one of them can serve the other: the same place, the same way there, the same person. */
bool settings_same_place(const struct server_settings *a, const struct server_settings *b);

#endif
