/* space.h - the address spaces of watched processes: which file is mapped where, how to walk a copied stack there
 * and what its addresses are called. Tables are built once a build-id and shared by all processes. Foreign files
 * are hostile: a bad one means "unsymbolised", never a crash. One thread. */
#ifndef TARE_SENSE_SPACE_H
#define TARE_SENSE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/frame.h"
#include "sense/sampler.h"

#define SPACE_MAX_FRAMES 1024u

/* Bytes of stack that an engine copies with a sample. A copy that is shorter ended where the stack ends: a walk
 * that leaves it is broken; a walk that leaves a full one is cut. */
#define SPACE_STACK_BYTES 16384u

struct module; /* module.h */
struct spaces; /* opaque: all processes of one sampler */

/* -ENOMEM. */
int spaces_open(struct spaces **out, struct err *err);

/* Accepts NULL. */
void spaces_close(struct spaces *s);

/* Reads /proc/PID/maps anew (a late attach, or the net when an address is unknown). Quietly does nothing for a dead process. */
void spaces_read(struct spaces *s, pid_t pid);

/* One new executable mapping, as a PERF_RECORD_MMAP2 tells it. `file` is borrowed. */
struct mapping_event {
	pid_t pid;
	uint64_t start, len, file_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	struct str file; /* "/usr/lib/x.so", "[vdso]", "//anon" */
};
void spaces_map(struct spaces *s, const struct mapping_event *m);

/* A process forked (its child has the same space), executed (its space is empty) or ended. */
void spaces_fork(struct spaces *s, pid_t parent, pid_t child);
void spaces_exec(struct spaces *s, pid_t pid);
void spaces_exit(struct spaces *s, pid_t pid);

/* Order of registers in struct stack_copy.regs: the numbers of DWARF for x86-64. (REG_* are <signal.h>'s.) */
enum stack_reg {
	DWARF_RAX,
	DWARF_RDX,
	DWARF_RCX,
	DWARF_RBX,
	DWARF_RSI,
	DWARF_RDI,
	DWARF_RBP,
	DWARF_RSP,
	DWARF_R8,
	DWARF_R9,
	DWARF_R10,
	DWARF_R11,
	DWARF_R12,
	DWARF_R13,
	DWARF_R14,
	DWARF_R15,
	DWARF_RIP,
	DWARF_REG_COUNT,
};

/* What a sample brought. All borrowed. */
struct stack_copy {
	uint64_t regs[DWARF_REG_COUNT]; /* of user mode */
	uint32_t known;			/* bit n: register n is; 0: all are */
	bool has_user;			/* false: a kernel thread, or none were given */
	const uint8_t *bytes;		/* the stack from rsp upward */
	size_t len, asked;		/* asked: for so many; 0: SPACE_STACK_BYTES */
	uint64_t at_ns;			/* CLOCK_MONOTONIC of the sample; 0: now */
	const uint64_t *kernel;		/* return addresses in the kernel, innermost first */
	size_t kernel_count;
	/* What the engine walked itself, as walk_stack() writes it; `regs` and `bytes`, if there are any, stand behind that. */
	const uint64_t *walked;
	size_t walked_count;
	enum stack_end walked_end; /* without has_user */
	bool is_behind;		   /* the pc is a return address */
};

/* Walks and names a stack: frames from the root to the innermost, kernel frames last. Writes at most `max` (of a
 * deeper stack the root and the innermost stay, "[cut k]" between), returns how many. A stack that did not reach
 * its end begins with a marker frame: "[broken]" or "[cut]". Strings live until spaces_close(). */
size_t spaces_walk(struct spaces *s, pid_t pid, const struct stack_copy *copy, struct frame *out,
		   size_t max, enum stack_end *out_end);

/* Reads the kernel's names now. Otherwise the first kernel frame does, and 50 ms of reading in the middle of a drain make a
 * short period lose ticks. Once; quietly nothing where they are hidden. */
void spaces_read_kernel(struct spaces *s);

/* An executable mapping of which all is known, for an engine that walks by itself. `start` is `place` in the tables of its file,
 * modulo 2^32. The module is borrowed until the next call; NULL: code without a file, or without tables. */
struct space_area {
	uint64_t start, end;
	uint32_t place;
	struct module *module;
};

/* Writes the process's areas, rising, at most `max`; returns how many. `*out_version` changes with them. */
size_t spaces_areas(struct spaces *s, pid_t pid, struct space_area *out, size_t max,
		    uint64_t *out_version);

/* Our own CPU time that having files read into tables took so far: start-up, not part of a sample's cost. That of the child
 * which reads them is not in it. */
uint64_t spaces_table_ns(const struct spaces *s);

/* Files that the child which reads them died of, or hung over: unsymbolised. */
uint64_t spaces_unread(const struct spaces *s);

/* CPU time of the children that run and read files for us: in no getrusage() yet. */
uint64_t spaces_reading_ns(const struct spaces *s);

/* Asks symbol servers for the names that files here do not have (debuginfod.h). As debuginfod_open(). */
int spaces_ask_servers(struct spaces *s, struct err *err);

/* Lets what goes on beside be looked after: the child that reads files, names that have come. `renamed` (may be NULL) is told the
 * frames that were given out and are now called something else. Never waits; call it at each drain. */
void spaces_mind(struct spaces *s,
		 void (*renamed)(void *owner, const struct frame *from, const struct frame *to),
		 void *owner);

/* Files whose names may still come. */
size_t spaces_awaited(const struct spaces *s);

/* Frames given so far that had no symbol. */
uint64_t spaces_unnamed(const struct spaces *s);

/* Why there are no kernel names: "" when there are. */
const char *spaces_kernel_names(struct spaces *s);

#endif
