/* SPDX-License-Identifier: MIT */
/* A seccomp filter that is installed by syscall(2) and refuses futexes: as without a trace. */
#include "expect.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rows) / sizeof(*rows), rows };
	int word = 0;
	long fd;

	if (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0))
		return 1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
		return 2;
	errno = 0;
	if (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) != -1 || errno != EDOM)
		return 3;
	if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) != -1 || errno != EDOM)
		return 4;
	fd = syscall(SYS_eventfd2, 3, 0);
	expect("eventfd<fd>(1) = 0x%lx\n\t$value = 3\n\t$flags = 0x0", fd);
	if (fd < 0 || syscall(SYS_close, fd))
		return 5;
	expect("close<fd>(0x%lx)", fd);
	expect_print();
	return 0;
}
