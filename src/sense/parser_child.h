/* parser_child.h - the child's side of parser.h. */
#ifndef TARE_SENSE_PARSER_CHILD_H
#define TARE_SENSE_PARSER_CHILD_H

/* Gives up everything but its socket, and answers questions from it until it is closed. Call it in a child process; does not
 * return. */
_Noreturn void parser_child_run(int socket);

#endif
