/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_maps.bpf.h - what the programs of record.bpf.c share: types, settings, maps. */
#ifndef TARE_BPF_RECORD_MAPS_BPF_H
#define TARE_BPF_RECORD_MAPS_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/record.h"

/* Of the kernel's structs, the members that are read; their places are found when the program is loaded. */
struct mm_struct {
	unsigned long start_stack;
} __attribute__((preserve_access_index));
struct sched_entity {
	unsigned long long exec_start, sum_exec_runtime;
} __attribute__((preserve_access_index));
struct task_struct {
	struct mm_struct *mm;
	int pid, tgid;
	struct task_struct *group_leader;
	unsigned long long start_time; /* CLOCK_MONOTONIC */
	unsigned long nvcsw, nivcsw;
	struct sched_entity se;
} __attribute__((preserve_access_index));

/* Fixed when the program is loaded. */
SETTING uint64_t begun_ns;		 /* who is older has ran_before[] */
SETTING uint64_t pid_ns_dev, pid_ns_ino; /* in which pids are told; 0: the first */
SETTING uint64_t jiffy_ns = 10000000;	 /* between two ticks of the kernel's own */
SETTING uint64_t ring_bytes = 1;
SETTING bool is_timed; /* count took_ns ourselves */
SETTING bool has_kernel;
SETTING bool
	is_checked; /* send a copy of the stack with every sample, so that walks can be compared */

struct record_counts counts;

/* By the process's first thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct record_member);
} members SEC(".maps");

/* What is known of a thread; made at its first tick, and freed with the thread. */
struct thread {
	uint64_t ran_ns;  /* at its last sample */
	uint64_t base_ns; /* when it began to be watched */
	uint32_t is_known;
	uint16_t has_ticked;
	uint16_t has_ended; /* what it still runs counts as gone at once */
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* CPU time that a thread had before it was watched, by its number. The true size is set when it is made. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ran_before SEC(".maps");

/* By pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RECORD_PROCESSES);
	__type(key, uint32_t);
	__type(value, struct record_offer);
} offers SEC(".maps");

/* By their numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RECORD_SPACES);
	__type(key, uint32_t);
	__type(value, struct record_space);
} spaces SEC(".maps");

/* By their numbers, from 1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RECORD_CHUNKS);
	__type(key, uint32_t);
	__type(value, struct record_chunk);
} chunks SEC(".maps");

/* What is told; its true size is set when it is made. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1);
} ring SEC(".maps");

/* How far the clock by which the kernel counts a thread's time is from CLOCK_MONOTONIC, seen from one CPU. */
struct clock {
	int64_t ahead_ns, ahead_before_ns; /* the most in this span, and in the one before */
	uint64_t span;			   /* number of this one */
};

/* By CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct clock);
} clocks SEC(".maps");

#define FRAMES_MOST (RECORD_MAX_USER + RECORD_MAX_KERNEL)

/* A record in work. One a CPU: ticks do not interrupt each other. */
struct draft {
	struct record_sample head;
	/* Frames, what was left, stack: laid end to end. A page more: the verifier does not see that the last part of the stack is
	 * what the others have left over. */
	uint8_t bytes[FRAMES_MOST * 8 + sizeof(struct record_left) + RECORD_STACK_BYTES + 4096];
	uint64_t spare[8];
};

/* By CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct draft);
} drafts SEC(".maps");

#endif
