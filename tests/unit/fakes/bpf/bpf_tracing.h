/* bpf_tracing.h - stands for libbpf's. */
#ifndef TARE_TESTS_FAKES_BPF_TRACING_H
#define TARE_TESTS_FAKES_BPF_TRACING_H

#define PT_REGS_SP(regs) ((regs)->rsp)

#endif
