/* switches.c - a library that shows by its symbols that it switches stacks: by what it uses of the C library, or with
 * DEFINES by what it has. Nothing in it is called. */
#include <stddef.h>
#include <ucontext.h>

#ifdef DEFINES
__attribute__((visibility("default"))) void jump_fcontext(void);

__attribute__((visibility("default"))) void jump_fcontext(void)
{
}
#else
__attribute__((visibility("default"))) int switches(ucontext_t *from, const ucontext_t *to);

__attribute__((visibility("default"))) int switches(ucontext_t *from, const ucontext_t *to)
{
	return swapcontext(from, to);
}
#endif
