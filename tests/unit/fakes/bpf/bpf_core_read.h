/* bpf_core_read.h - stands for libbpf's: members are read directly. */
#ifndef TARE_TESTS_FAKES_BPF_CORE_READ_H
#define TARE_TESTS_FAKES_BPF_CORE_READ_H

#define CORE_READ_1(from, a)	      ((from)->a)
#define CORE_READ_2(from, a, b)	      ((from)->a->b)
#define CORE_READ_BY(x, y, name, ...) name
/* `thread.fsbase` is one member of the struct itself. */
#define BPF_CORE_READ(from, ...) \
	CORE_READ_BY(__VA_ARGS__, CORE_READ_2, CORE_READ_1, x)(from, __VA_ARGS__)
#define bpf_core_field_exists(...) 1

#endif
