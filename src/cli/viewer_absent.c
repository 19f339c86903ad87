/* viewer_absent.c - a build without the viewer: pages are refused. */
#include "cli/viewer.h"

const struct viewer_part viewer_parts[1] = { { NULL, NULL, 0, NULL } };
const size_t viewer_part_count = 0;
