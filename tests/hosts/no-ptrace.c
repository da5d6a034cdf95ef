/* SPDX-License-Identifier: MIT */
/*
 * no-ptrace PROGRAM [WORD]...: runs it, and all that it starts, where ptrace and process_vm_readv
 * are not permitted, as in a container. Ends with 77 if it cannot.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	/* root need not forbid itself to gain rights, which programs of the test may */
	if (argc < 2 || (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return 77;
	execvp(argv[1], argv + 1);
	return 77;
}
