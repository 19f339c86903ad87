/* hot_library.c - functions of about 2 ns that begin in the three ways that decide what a probe costs, as machine code, so
 * that no compiler's flags change them. Each counts its own calls. */
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t hot_calls;

__asm__(".text\n"
	".macro hot name\n"
	".globl \\name\n"
	".type \\name, @function\n"
	".balign 16\n"
	"\\name:\n"
	".endm\n"
	".macro count\n"
	"	mov hot_calls@GOTPCREL(%rip), %rax\n"
	"	addq $1, (%rax)\n"
	"	lea 1(%rdi,%rdi,2), %rax\n"
	".endm\n"
	"hot hot_nop5\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	count\n"
	"	ret\n"
	".size hot_nop5, . - hot_nop5\n"
	"hot hot_push\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	count\n"
	"	pop %rbp\n"
	"	ret\n"
	".size hot_push, . - hot_push\n"
	"hot hot_other\n"
	"	count\n"
	"	ret\n"
	".size hot_other, . - hot_other\n");
