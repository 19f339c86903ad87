/* places_refused.h - functions that must not get a return probe: it puts another return address on the stack, and these are
 * not called, return twice, or look at where they return to. Pure. */
#ifndef TARE_SENSE_PLACES_REFUSED_H
#define TARE_SENSE_PLACES_REFUSED_H

#include "core/frame.h"

/* Why a function called `symbol` (without version) must be left alone; empty: it need not. Static. */
struct str refused_why(struct str symbol);

/* The same of where a program begins. */
struct str refused_why_entry(void);

#endif
