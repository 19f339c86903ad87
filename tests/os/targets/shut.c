/* shut.c - runs a program where some system calls are forbidden, as the usual profiles of containers do: usage:
 * shut EPERM|ENOSYS CALL[,CALL] CMD... The calls: perf_event_open, bpf, ptrace. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	uint32_t number;
} calls[] = { { "perf_event_open", SYS_perf_event_open },
	      { "bpf", SYS_bpf },
	      { "ptrace", SYS_ptrace } };

static int forbid(uint32_t number, uint32_t code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int forbid_named(const char *name, size_t len, uint32_t code)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == len && memcmp(calls[i].name, name, len) == 0)
			return forbid(calls[i].number, code);
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	uint32_t code;

	if (argc < 4)
		return 98;
	code = strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return 97;
	for (const char *at = argv[2]; *at != '\0';) {
		size_t len = strcspn(at, ",");

		if (forbid_named(at, len, code) != 0) {
			perror(argv[2]);
			return 97;
		}
		at += len + (at[len] == ',');
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 96;
}
