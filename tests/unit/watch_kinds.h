/* watch_kinds.h - recordings of a watch for tests of the report: known to the letter. */
#ifndef TARE_TEST_WATCH_KINDS_H
#define TARE_TEST_WATCH_KINDS_H

#include "build_watch.h"

/* A game server for an hour: frames, slow ones with a rhythm, functions of every sort, two that are not watched. */
void watch_kind_world(struct build_watch *b);

/* None of the names could be watched. */
void watch_kind_nothing(struct build_watch *b);

#endif
