/* SPDX-License-Identifier: MIT */
/*
 * older-kernel PROGRAM [WORD]...: runs it, and all that it starts, as on a kernel before Linux 6.5,
 * which does not know getsockopt(SO_PEERPIDFD). Ends with 77 where that cannot be done.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* The lower half of an argument. */
#define ARGUMENT(i) (offsetof(struct seccomp_data, args[i]))

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_PEERPIDFD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	int ends[2], pidfd;
	socklen_t size = sizeof(pidfd);

	/* root need not forbid itself to gain rights, which programs of the test may */
	if (argc < 2 || (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
	    !getsockopt(ends[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) || errno != ENOPROTOOPT)
		return 77;
	close(ends[0]);
	close(ends[1]);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
