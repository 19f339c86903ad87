/* top_screen.h - frames of text one after the other: drawn over each other on a terminal, one below the other elsewhere. Ends with q, Ctrl-C or
 * a signal, and gives the terminal back as it was. One at a time. */
#ifndef TARE_CLI_TOP_SCREEN_H
#define TARE_CLI_TOP_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <termios.h>

#include "core/err.h"

/* The user has seen enough, or nobody reads any more: no failure. */
#define TOP_SCREEN_ENOUGH 1

struct top_screen {
	FILE *out; /* borrowed */
	int signals;
	sigset_t old_mask;
	struct termios old_keys;
	bool is_terminal, has_keys, has_shown;
};

/* Takes the signals that end it; on a terminal the other page of the screen. Negative: nothing is taken. */
int top_screen_open(struct top_screen *s, FILE *out, struct err *err);

/* Shows a frame, lines that end with \n: on a terminal as many as it has. 0, TOP_SCREEN_ENOUGH, or -EIO and its like. */
int top_screen_show(struct top_screen *s, const char *frame);

/* Waits for the next frame's time. 0; also at once when the window changed. TOP_SCREEN_ENOUGH. */
int top_screen_wait(struct top_screen *s, uint64_t wait_ns);

/* Gives all back. Accepts one that could not be opened, and may run twice. */
void top_screen_close(struct top_screen *s);

#endif
