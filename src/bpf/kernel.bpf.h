/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel.bpf.h - what every program for the kernel begins with: its helpers, and the names of integers that it shares with
 * user space. No vmlinux.h: each program spells the members that it reads. */
#ifndef TARE_BPF_KERNEL_BPF_H
#define TARE_BPF_KERNEL_BPF_H

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/bpf.h>
#include <stdbool.h>

#ifdef __bpf__
typedef __u64 uint64_t;
typedef __s64 int64_t;
typedef __u32 uint32_t;
typedef __s32 int32_t;
typedef __u16 uint16_t;
typedef __u8 uint8_t;
#define UINT32_C(number) number##u
#define UINT64_C(number) number##ull
#define SETTING		 const volatile
#else /* tests run the programs as they are, and change settings */
#define SETTING
#endif

/* Adds, also while another task does. */
static __always_inline void add(uint64_t *word, uint64_t by)
{
	__sync_fetch_and_add(word, by);
}

/* Reads a word that others change. */
static __always_inline uint64_t read_once(const uint64_t *word)
{
	return *(const volatile uint64_t *)word;
}

#endif
