/* bpf_helpers.h - stands for libbpf's where programs of src/bpf are compiled for a test: the test gives the kernel's helpers. */
#ifndef TARE_TESTS_FAKES_BPF_HELPERS_H
#define TARE_TESTS_FAKES_BPF_HELPERS_H

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#define SEC(name)
/* NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared bears none */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
/* NOLINTEND(bugprone-macro-parentheses) */
#ifndef __always_inline
#define __always_inline inline
#endif
#define __noinline __attribute__((noinline))
#define __ksym
#define __weak

struct task_struct;
struct vm_area_struct;
struct range;

void *bpf_map_lookup_elem(const void *map, const void *key);
void *bpf_task_storage_get(const void *map, struct task_struct *task, void *value, uint64_t flags);
uint32_t bpf_get_smp_processor_id(void);
uint64_t bpf_ktime_get_ns(void);
uint32_t bpf_get_prandom_u32(void);
uint64_t bpf_get_attach_cookie(void *regs);
long bpf_probe_read_user(void *out, uint32_t bytes, const void *from);
struct task_struct *bpf_get_current_task_btf(void);
uint64_t bpf_get_current_task(void);
uint64_t bpf_get_current_pid_tgid(void);
long bpf_get_ns_current_pid_tgid(uint64_t dev, uint64_t ino, struct bpf_pidns_info *out,
				 uint32_t bytes);
long bpf_ringbuf_output(const void *ring, const void *record, uint64_t bytes, uint64_t flags);
long bpf_find_vma(struct task_struct *task, uint64_t address,
		  long (*keep)(struct task_struct *task, struct vm_area_struct *area,
			       struct range *range),
		  struct range *range, uint64_t flags);

#endif
