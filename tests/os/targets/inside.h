/* inside.h - a test's other process: the test runs itself anew with INSIDE_WORD as first argument. */
#ifndef TARE_TESTS_INSIDE_H
#define TARE_TESTS_INSIDE_H

#define INSIDE_WORD "inside"

/* The program of targets/inside.c. */
int inside_main(int argc, char **argv);

#endif
