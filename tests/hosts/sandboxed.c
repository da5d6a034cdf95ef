/* SPDX-License-Identifier: MIT */
/*
 * sandboxed HOW COUNT: allows itself few system calls, then allocates COUNT blocks: strict, only
 * read, write and exit; errno, a filter that refuses the rest; kill, one that kills for it; call,
 * the same put on by the system call itself; family, one that allows children and threads, and two
 * of each do it, too. Tells how it went by its exit status, since a write is all that it may still
 * do.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "made.h"

#define ALLOW(number)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter(unsigned otherwise, bool by_call, bool is_family)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_brk),
		ALLOW(SYS_rt_sigreturn),
		/* what fork, threads and the wait for them need of libc */
		ALLOW(SYS_clone),
		ALLOW(SYS_clone3),
		ALLOW(SYS_wait4),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigaction),
		ALLOW(SYS_set_robust_list),
		ALLOW(SYS_rseq),
		ALLOW(SYS_futex),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	unsigned short all = sizeof(lines) / sizeof(lines[0]), few = (unsigned short)(all - 24);
	struct sock_fprog program = { is_family ? all : few, lines };

	lines[is_family ? 0 : few - 1] = lines[is_family ? 0 : all - 1];
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_call)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void *allocate(void *count)
{
	make_silently(*(unsigned long *)count, 1067);
	return NULL;
}

/* Two children and two threads of each of three. */
static int multiply(unsigned long count)
{
	pid_t children[2] = { -1, -1 };
	pthread_t threads[2];
	int status, bad = 0;

	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (!children[i])
			break;
	}
	for (int i = 0; i < 2; i++)
		bad |= pthread_create(&threads[i], NULL, allocate, &count);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	make_silently(count, 1065);
	if (!children[0] || !children[1])
		syscall(SYS_exit_group, bad);
	for (int i = 0; i < 2; i++)
		bad |= waitpid(children[i], &status, 0) != children[i] || status;
	return bad;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	const char *how = argc > 1 ? argv[1] : "strict";
	int refused;

	make_silently(10, 1065);
	say_made(10 + (strcmp(how, "family") ? count : 3 * count), 1065);
	if (strcmp(how, "family") == 0)
		say_made(6 * count, 1067);
	if (strcmp(how, "strict") == 0)
		refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	else
		refused = filter(strcmp(how, "errno") ? SECCOMP_RET_KILL_PROCESS
						      : SECCOMP_RET_ERRNO | 1,
				 strcmp(how, "call") == 0, strcmp(how, "family") == 0);
	if (strcmp(how, "family") == 0)
		refused |= multiply(count);
	else
		make_silently(count, 1065);
	if (write(1, "still here\n", 11) != 11)
		refused = 1;
	syscall(SYS_exit, refused ? 77 : 5);
}
