/* late.c - a target whose code comes late: `late PLUGIN MS` spins MS by itself, then loads PLUGIN and spins MS in it.
 * Begins when a byte arrives on stdin. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000u : 0;
	void (*spin)(uint64_t(*clock)(void), uint64_t until_ns);
	void *plugin;
	char byte;

	if (argc < 3 || write(STDOUT_FILENO, "here\n", 5) != 5 || read(STDIN_FILENO, &byte, 1) != 1)
		return 3;
	while (cpu_ns() < ns)
		for (volatile int i = 0; i < 20000; i++)
			;
	plugin = dlopen(argv[1], RTLD_NOW);
	if (plugin == NULL)
		return 4;
	*(void **)&spin = dlsym(plugin, "late_outer");
	if (spin == NULL)
		return 5;
	spin(cpu_ns, cpu_ns() + ns);
	return 0;
}
