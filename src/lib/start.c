/* start.c - makes the shared mapping, and makes it anew after a fork. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/inside.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* What tare_window points to while there is no mapping. */
static const uint64_t off;	    /* no recorder can come */
static const uint64_t starting = 1; /* a forked process: its first use starts it */

const uint64_t *tare_window = &off;
struct mapping_shared *tare_in_shared;
bool tare_in_has_ticks;
uint32_t *tare_in_own_mark;
__thread struct tare_places tare_places __attribute__((tls_model("initial-exec")));
__thread struct tare_in_self tare_in_self __attribute__((tls_model("initial-exec")));

static int mapping_fd = -1;
static ino_t mapping_inode;
static uint32_t is_starting;

void tare_in_forget_self(void)
{
	tare_in_self = (struct tare_in_self){ .slot = NULL };
	tare_places = (struct tare_places){ .paces = NULL };
}

/* Forgets what was the parent's. Runs on the only thread that knows of it. */
static void let_go(void)
{
	tare_in_forget_self();
	__atomic_store_n(&is_starting, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&tare_window, &starting, __ATOMIC_RELEASE);
}

bool tare_in_let_go(void)
{
	if (__atomic_exchange_n(tare_in_own_mark, 1, __ATOMIC_RELAXED) == 0)
		let_go();
	return false;
}

/* The descriptor that a forked process has inherited. Its number may be another file's by now. */
static void close_inherited(void)
{
	struct stat seen;

	if (mapping_fd >= 0 && fcntl(mapping_fd, F_GET_SEALS) > 0 &&
	    fstat(mapping_fd, &seen) == 0 && seen.st_ino == mapping_inode)
		close(mapping_fd);
	mapping_fd = -1;
}

/* The C library's fork(), in the child, where this is the only thread: nobody else can be looking at the mapping. */
static void after_fork(void)
{
	int saved = errno;

	if (tare_in_own_mark != NULL)
		MAPPING_WRITE(*tare_in_own_mark, 1);
	let_go();
	close_inherited();
	if (tare_in_shared != NULL)
		munmap(tare_in_shared, sizeof(*tare_in_shared));
	tare_in_shared = NULL;
	errno = saved;
}

/* The same in the parent. */
static void count_fork(void)
{
	struct mapping_shared *shared = tare_in_shared;

	if (shared != NULL && tare_in_is_own())
		__atomic_fetch_add(&shared->host.forks, 1, __ATOMIC_RELAXED);
}

/* Whether a file may grow so far: past the limit the kernel would end the process by a signal. */
static bool may_be_so_large(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       limit.rlim_cur >= sizeof(struct mapping_shared);
}

/* A sealed file that neither side can shrink under the other. -1: none. */
static int make_file(void)
{
	struct stat seen;
	int fd = may_be_so_large() ? memfd_create(MAPPING_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING)
				   : -1;

	if (fd < 0)
		return -1;
	if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 ||
	    ftruncate(fd, sizeof(struct mapping_shared)) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(fd, &seen) != 0) {
		close(fd);
		return -1;
	}
	mapping_inode = seen.st_ino;
	return fd;
}

static struct mapping_shared *map_file(int fd)
{
	struct mapping_shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (shared == MAP_FAILED)
		return NULL;
	if (!tare_in_populate(shared, offsetof(struct mapping_shared, histograms))) {
		munmap(shared, sizeof(*shared));
		return NULL;
	}
	shared->host.pid = (uint32_t)getpid();
	shared->host.has_ticks = tare_in_has_ticks;
	shared->bytes = sizeof(*shared);
	shared->version = MAPPING_VERSION;
	__atomic_store_n(&shared->magic, MAPPING_MAGIC, __ATOMIC_RELEASE);
	return shared;
}

/* A word that reads 0 in a forked process, however it was forked. */
static void mark_as_own(void)
{
	if (tare_in_own_mark == NULL) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (page == MAP_FAILED)
			return;
		if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
			munmap(page, 4096);
			return;
		}
		tare_in_own_mark = page;
	}
	MAPPING_WRITE(*tare_in_own_mark, 1);
}

static bool may_read_ticks(void)
{
#ifdef __x86_64__
	int mode = 0;

	return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
#else
	return false;
#endif
}

static void start(void)
{
	int saved = errno;
	int fd;

	if (__atomic_exchange_n(&is_starting, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	close_inherited();
	tare_in_shared =
		NULL; /* forked by a bare system call: the parent's stays mapped, other threads may be looking */
	tare_in_has_ticks = may_read_ticks();
	fd = make_file();
	if (fd >= 0)
		tare_in_shared = map_file(fd);
	if (tare_in_shared == NULL) {
		if (fd >= 0)
			close(fd);
		__atomic_store_n(&tare_window, &off, __ATOMIC_RELEASE);
	} else {
		mapping_fd = fd;
		mark_as_own();
		tare_in_publish_names();
		__atomic_store_n(&tare_window, &tare_in_shared->orders.window, __ATOMIC_RELEASE);
	}
	errno = saved;
}

bool tare_in_is_at_work(void)
{
	const uint64_t *window;

	(void)tare_in_is_own();
	window = __atomic_load_n(&tare_window, __ATOMIC_ACQUIRE);
	if (window == &starting) {
		start();
		window = __atomic_load_n(&tare_window, __ATOMIC_ACQUIRE);
	}
	return window != &off && window != &starting && MAPPING_READ(*window) != 0;
}

/* At load, before the program may have locked itself in (seccomp, chroot, limits). */
__attribute__((constructor)) static void begin(void)
{
	if (pthread_atfork(NULL, count_fork, after_fork) == 0 && tare_in_watch_thread_ends())
		start();
}

/* At unload: no thread end may come here any more. The mapping stays: at exit(), other threads are still at work. */
__attribute__((destructor)) static void end(void)
{
	__atomic_store_n(&tare_window, &off, __ATOMIC_RELEASE);
	tare_in_forget_thread_ends();
}
