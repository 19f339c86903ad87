/* report_json.h - what the JSON of a report and its schema have in common. */
#ifndef TARE_CLI_REPORT_JSON_H
#define TARE_CLI_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fields.h"
#include "core/frame.h"

/* The word for a kind of frame: "thread", "native", "kernel", "marker". */
const char *report_kind(enum frame_kind kind);

/* Is 0 in this column of the label a thing that was never measured? */
bool report_is_unmeasured_at_zero(const char *column);

#endif
