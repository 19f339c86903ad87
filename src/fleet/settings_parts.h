/* settings_parts.h - the files of settings among themselves. */
#ifndef TARE_FLEET_SETTINGS_PARTS_H
#define TARE_FLEET_SETTINGS_PARTS_H

#include "fleet/settings.h"

/* The presets of one server, without a name; what was there is freed. -ENOMEM. */
int settings_server_presets(struct server_settings *s);

/* Accepts the empty value, and may run twice. */
void settings_server_free(struct server_settings *s);

#endif
