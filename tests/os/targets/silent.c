/* silent.c - a program with a file of a file system in user space (FUSE) that takes questions and says nothing.
 *   silent stack MS   the file lies beside a thread's stack: who reads from there upward waits for ever for its first page
 *   silent code MS    the file holds the code that runs; once it does, who opens it or asks for its size waits for ever
 * Says "here", begins when a byte arrives on stdin, spins for so long, says "done". 77: no such file system can be mounted here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_HERE    77
#define STACK_BYTES 65536u
#define FILE_BYTES  1048576u
#define FILE_NODE   2u

/* dec rdi; jnz back; ret */
static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
static bool is_code, is_mute;

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .size = FILE_BYTES, .nlink = 1, .blksize = 4096 };

	attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755u : S_IFREG | 0644u;
	return attr;
}

static void answer(int fd, uint64_t unique, const void *bytes, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len), .unique = unique };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)bytes, len } };

	if (bytes == NULL)
		head.error = -ENOSYS;
	if (writev(fd, parts, len > 0 ? 2 : 1) < 0 && errno != ENOENT)
		_exit(1);
}

static void serve_one(int fd, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					    .minor = FUSE_KERNEL_MINOR_VERSION,
					    .max_write = 4096 };
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					      .entry_valid = is_code ? 0 : 1000,
					      .attr_valid = is_code ? 0 : 1000,
					      .attr = attr_of(FILE_NODE) };
	const struct fuse_attr_out attr = { .attr_valid = is_code ? 0 : 1000,
					    .attr = attr_of(in->nodeid) };
	const struct fuse_open_out open = { .fh = 1 };
	char page[4096] = "";

	if (is_mute)
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(fd, in->unique, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(fd, in->unique, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(fd, in->unique, &open, sizeof(open));
		break;
	case FUSE_READ:
		if (!is_code)
			break;
		memcpy(page, code, sizeof(code));
		answer(fd, in->unique, page, sizeof(page));
		is_mute = true;
		break;
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
		break; /* no answer */
	default:
		answer(fd, in->unique, NULL, 0);
	}
}

static _Noreturn void serve(int fd)
{
	static _Alignas(8) char bytes[1 << 17];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, bytes, sizeof(bytes)) >= (ssize_t)sizeof(struct fuse_in_header))
		serve_one(fd, (const struct fuse_in_header *)bytes);
	_exit(0);
}

/* Opens a file of the silent file system; -1: it cannot be had. */
static int open_silent(pid_t *out_server)
{
	char folder[] = "/tmp/silent-XXXXXX", options[96], path[64];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), file;

	if (fd < 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mkdtemp(folder) == NULL)
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		 (unsigned int)geteuid(), (unsigned int)getegid());
	if (mount("silent", folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
		rmdir(folder);
		return -1;
	}
	*out_server = fork();
	if (*out_server == 0)
		serve(fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/page", folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return file;
}

static void (*spin)(uint64_t) = NULL;

static void spin_here(uint64_t count)
{
	for (volatile uint64_t i = 0; i < count; i++)
		;
}

static void *spin_for(void *ms)
{
	struct timespec now;
	uint64_t end_ns = 0, now_ns;

	do {
		spin(5000);
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (end_ns == 0)
			end_ns = now_ns + *(uint64_t *)ms * 1000000u;
	} while (now_ns < end_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	pid_t server = 0;
	int file;
	char *memory = mmap(NULL, STACK_BYTES + FILE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	char byte;

	is_code = argc > 1 && strcmp(argv[1], "code") == 0;
	file = open_silent(&server);
	printf("here\n");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 3;
	if (file < 0 || memory == MAP_FAILED ||
	    mmap(memory + STACK_BYTES, FILE_BYTES, is_code ? PROT_READ | PROT_EXEC : PROT_READ,
		 MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
		return NOT_HERE;
	spin = is_code ? (void (*)(uint64_t))(void *)(memory + STACK_BYTES) : spin_here;
	spin(1);
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, memory, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attr, spin_for, &ms) != 0)
		return 3;
	pthread_join(thread, NULL);
	printf("done\n");
	fflush(stdout);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
