/* SPDX-License-Identifier: MIT */
/*
 * sandboxed HOW COUNT: allows itself few system calls, then allocates COUNT blocks: strict, only
 * read, write and exit; errno, a filter that refuses the rest; kill, one that kills for it. Tells
 * how it went by its exit status, since a write is all that it may still do.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "made.h"

#define ALLOW(number)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter(unsigned otherwise)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_brk),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(lines[0]), lines };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	const char *how = argc > 1 ? argv[1] : "strict";
	int refused;

	make_silently(10, 1065);
	say_made(10 + count, 1065);
	if (strcmp(how, "strict") == 0)
		refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	else
		refused = filter(strcmp(how, "kill") == 0 ? SECCOMP_RET_KILL_PROCESS
							  : SECCOMP_RET_ERRNO | 1);
	make_silently(count, 1065);
	if (write(1, "still here\n", 11) != 11)
		refused = 1;
	syscall(SYS_exit, refused ? 77 : 5);
}
