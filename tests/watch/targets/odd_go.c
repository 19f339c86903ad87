/* odd_go.c - what a Go binary is known by: its build information and its build id. Return probes kill such programs, as
 * their stacks move; this one would live, and only looks so. */
#include "truth.h"

__asm__(".pushsection .go.buildinfo,\"aw\",@progbits\n"
	".balign 16\n"
	".byte 0xff\n"
	".ascii \" Go buildinf:\"\n"
	".byte 8, 2\n"
	".zero 16\n"
	".byte 8\n"
	".ascii \"go1.21.0\"\n"
	".byte 0\n"
	".popsection\n"
	".pushsection .note.go.buildid,\"a\",@note\n"
	".balign 4\n"
	".long 4, 4, 4\n"
	".asciz \"Go\"\n"
	".byte 0\n"
	".ascii \"odd!\"\n"
	".popsection\n");

static WATCHED uint64_t work(uint64_t x)
{
	return spin(x, 1000);
}

int main(void)
{
	uint64_t sum = 1;

	for (uint64_t i = 0; i < 100; i++)
		sum += work(i);
	say_calls("work", 100);
	printf("checksum %016" PRIx64 "\n", sum);
	return 0;
}
