/* sandbox.c - a process that can only read, compute and answer. */
#include "sense/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/scoped.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1 /* terabytes of addresses */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY 0
#endif

#define ALLOW(number)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

pid_t sandbox_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	return pid < 0 ? -errno : pid;
}

const struct sandbox_limits sandbox_once = { .memory_bytes = UINT64_C(256) << 20, .cpu_s = 2 };

static int limit(const struct sandbox_limits *limits)
{
	const struct rlimit none = { 0, 0 }, cpu = { limits->cpu_s, limits->cpu_s },
			    descriptors = { limits->descriptors, limits->descriptors },
			    memory = { limits->memory_bytes, limits->memory_bytes };

	if (setrlimit(RLIMIT_NOFILE, &descriptors) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
	    (limits->cpu_s != SANDBOX_NO_LIMIT && setrlimit(RLIMIT_CPU, &cpu) < 0))
		return -errno;
	return HAS_SHADOW_MEMORY || setrlimit(RLIMIT_AS, &memory) == 0 ? 0 : -errno;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/* Without CAP_SETPCAP the bounding set stays; but then nothing of it can be had, for want of new privileges. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0 ? 0 : -errno;
}

static int install(const struct sock_filter *code, size_t count)
{
	struct sock_fprog program = { (unsigned short)count, (struct sock_filter *)code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}

static int filter_calls(bool may_receive)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_pread64),
		ALLOW(SYS_write),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_fstat),
		ALLOW(SYS_newfstatat),
		ALLOW(SYS_lseek),
		ALLOW(SYS_fcntl),
		ALLOW(SYS_futex),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
#if HAS_SHADOW_MEMORY
		ALLOW(SYS_sigaltstack), /* asked before every jump and exit */
#endif
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(may_receive ? SYS_recvmsg : SYS_exit),
		ALLOW(may_receive ? SYS_close : SYS_exit),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	return install(code, ARRAY_LEN(code));
}

int sandbox_drop_rights(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	return drop_capabilities();
}

int sandbox_enter(const struct sandbox_limits *limits)
{
	int rc = limit(limits);

	if (rc == 0)
		rc = sandbox_drop_rights();
	return rc == 0 ? filter_calls(limits->may_receive) : rc;
}
