/* places_glob.h - globs over names and files. Pure; any bytes. */
#ifndef TARE_SENSE_PLACES_GLOB_H
#define TARE_SENSE_PLACES_GLOB_H

#include <stdbool.h>

#include "core/frame.h"

/* Does `glob` (* ? [a-z] [!a-z] \x) mean all of `text`? Only the last star is taken back: no glob is a bomb. */
bool pattern_glob(struct str glob, struct str text);

#endif
