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

#define MEMORY_BYTES (UINT64_C(256) << 20)
#define CPU_S	     2

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

static int limit(void)
{
	const struct rlimit none = { 0, 0 }, cpu = { CPU_S, CPU_S },
			    memory = { MEMORY_BYTES, MEMORY_BYTES };

	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_CPU, &cpu) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0)
		return -errno;
	return HAS_SHADOW_MEMORY || setrlimit(RLIMIT_AS, &memory) == 0 ? 0 : -errno;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capset, &header, none) == 0 ? 0 : -errno;
}

static int filter_calls(void)
{
	struct sock_filter code[] = {
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
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { ARRAY_LEN(code), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}

int sandbox_enter(void)
{
	int rc = limit();

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (rc == 0)
		rc = drop_capabilities();
	return rc == 0 ? filter_calls() : rc;
}
