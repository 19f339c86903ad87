/* parser_link.h - the parser child as a process, and its answers as bytes: started when first needed, asked one thing at a
 * time, never waited for longer than core/care allows, killed when it hangs, started again after a pause. For parser*.c only.
 * One thread. */
#ifndef TARE_SENSE_PARSER_LINK_H
#define TARE_SENSE_PARSER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/care.h"
#include "sense/parser.h"
#include "sense/parser_wire.h"

/* The bytes of an answer: checked for their number, not for what they say. The empty value is all zero. */
struct parser_reply {
	struct parser_answer answer;
	union {
		struct tables tables;
		struct parser_names_head names;
		struct parser_jit_head jit;
		char bytes[PARSER_MAX_HEAD];
	} head;
	void *parts[PARSER_MAX_PARTS]; /* owned; NULL: no bytes */
};

/* Accepts the empty value, and may run twice. */
void parser_reply_free(struct parser_reply *r);

/* One question, with what says whether two are the same. */
struct parser_ask {
	struct parser_question question;
	struct parser_file_id id;
	const int *fds; /* question.file_count of them; borrowed */
	const uint64_t *wanted;
	const char *text;      /* question.text_bytes of it; borrowed */
	uint64_t most_bytes;   /* of all parts of the answer */
	uint64_t most_wait_ns; /* at once, if patience reaches so far */
	uint64_t
		least_wait_ns; /* and however little of it is left, when the child has nothing else to do */
};

struct parser_link {
	struct care care;
	const char *comm; /* of its children; NULL: ours */
	bool is_patient;  /* waits for every answer, and tries again at once a few times */
	pid_t pid;	  /* 0: none runs */
	int socket;
	/* the question in work */
	bool is_busy;
	struct parser_ask asked; /* its pointers are stale */
	struct mono asked_at;
	uint64_t asked_cpu_ns;
	struct parser_reply reply; /* as far as it has come */
	uint64_t have_bytes;	   /* of it, all in one count */
	/* the last answer that nobody has taken yet */
	bool is_ready;
	struct mono ready_at;
	struct parser_ask ready_ask;
	struct parser_reply ready;
	uint64_t ended_cpu_ns; /* of children that are gone */
	uint64_t deaths;
};

/* parser.h gives it out. */
struct parser {
	struct parser_link link;
};

/* Asks one question about a file, with all its descriptors; `question` is filled in but for what says which file it is. As the
 * functions of parser.h. */
int parser_ask_file(struct parser *p, const struct parser_file *file, struct parser_ask *question,
		    struct parser_reply *out);

/* How many items of `item_bytes` part `at` of a reply has; false: not a whole number. */
bool parser_reply_count(const struct parser_reply *r, size_t at, size_t item_bytes,
			size_t *out_count);

/* Starts nothing yet. */
void parser_link_open(struct parser_link *l, bool is_patient);

/* Ends the child. Accepts one that is all zero, and may run twice. */
void parser_link_close(struct parser_link *l);

/* Asks, or goes on with what was asked. 0: out_reply has it, and its result is the file's; -EAGAIN: not yet, ask the same again
 * later; -EIO: the child died of it or was killed; -ENOMEM. */
int parser_link_ask(struct parser_link *l, const struct parser_ask *ask,
		    struct parser_reply *out_reply);

/* Takes what has come, and kills a child that hangs, whoever asked it. */
void parser_link_mind(struct parser_link *l);

/* CPU time of the child that runs, and of all together. */
uint64_t parser_link_live_ns(const struct parser_link *l);
uint64_t parser_link_spent_ns(const struct parser_link *l);

#endif
