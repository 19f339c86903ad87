/* odd_life.c - processes and files that come and go while a function is watched: fork, vfork, exec inside, death inside, a
 * library that is loaded and unloaded. Usage: odd_life MODE [PLUGIN] */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static uint64_t sum = 1;
static char **arguments;

static WATCHED uint64_t work(uint64_t x)
{
	return spin(x, 100000);
}

static void run_work(uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++)
		sum += work(i);
}

static int end_of(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static WATCHED pid_t divide(void)
{
	return fork();
}

/* The child returns from a call that began before it was born. */
static int run_fork(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child;

		run_work(10);
		fflush(stdout);
		child = divide();
		if (child == 0) {
			run_work(30);
			_exit(7);
		}
		sum += (uint64_t)end_of(child);
	}
	run_work(100);
	say_calls("work of the parent", 300);
	say_calls("work of all", 900);
	return 0;
}

static WATCHED int replace(const char *mode)
{
	char *next[] = { arguments[0], (char *)(uintptr_t)mode, NULL };

	fflush(stdout);
	execv("/proc/self/exe", next);
	return 1;
}

static int run_exec(void)
{
	run_work(130);
	say_calls("work before", 130);
	return replace("after");
}

static int run_after(void)
{
	run_work(140);
	say_calls("work after", 140);
	return 0;
}

static WATCHED void die(void)
{
	work(1);
	kill(getpid(), SIGKILL);
	work(2);
}

static int run_death(void)
{
	run_work(100);
	say_calls("work", 101);
	fflush(stdout);
	die();
	return 1;
}

static int run_unload(void)
{
	for (int i = 0; i < 200; i++) {
		void *library = dlopen(arguments[2], RTLD_NOW);
		uint64_t (*call)(uint64_t);

		if (library == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&call = dlsym(library, "plugged");
		for (uint64_t k = 0; k < 5; k++)
			sum += call(k);
		dlclose(library);
	}
	say_calls("plugged", 1000);
	run_work(100);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "fork", run_fork },	{ "exec", run_exec },	  { "after", run_after },
		{ "death", run_death }, { "unload", run_unload },
	};
	int status;

	arguments = argv;
	status = run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc > 1 ? argv[1] : NULL);
	printf("checksum %016" PRIx64 "\n", sum);
	return status;
}
