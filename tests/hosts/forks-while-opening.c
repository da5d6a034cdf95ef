/* SPDX-License-Identifier: MIT */
/*
 * forks-while-opening LIBRARY: loads it with RTLD_DEEPBIND, and forks in the middle of that, when
 * memory is first made writable: by a filter that makes a signal of such a call, put on where no
 * hook sees it. The child loads it, too, and both have it allocate.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PASSES 4711 /* the fourth argument, of which mprotect has no use */

static long (*call)(long, ...);
static const char *path;
static int forks, status;

static int load(void)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	void (*allocate)(void);

	if (!library)
		return 3;
	*(void **)&allocate = dlsym(library, "allocate");
	allocate();
	return 0;
}

static void make_writable(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	int error = errno;
	long result;

	(void)number;
	(void)info;
	if (!forks++) {
		pid_t child = fork();

		if (child == 0)
			_exit(load());
		waitpid(child, &status, 0);
	}
#if defined(__x86_64__)
	result = call(SYS_mprotect, at->uc_mcontext.gregs[REG_RDI], at->uc_mcontext.gregs[REG_RSI],
		      PROT_READ | PROT_WRITE, PASSES);
	at->uc_mcontext.gregs[REG_RAX] = result;
#elif defined(__aarch64__)
	result = call(SYS_mprotect, at->uc_mcontext.regs[0], at->uc_mcontext.regs[1],
		      PROT_READ | PROT_WRITE, PASSES);
	at->uc_mcontext.regs[0] = (unsigned long)result;
#endif
	errno = error;
}

#define WORD_OF(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))

static int put_filter_on(void)
{
	struct sock_filter lines[] = {
		WORD_OF(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 5),
		WORD_OF(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 0, 3),
		WORD_OF(args[3]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PASSES, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(lines[0]), lines };

	call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = make_writable,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (argc != 2)
		return 2;
	path = argv[1];
	*(void **)&call = dlsym(dlopen("libc.so.6", RTLD_NOW), "syscall");
	if (sigaction(SIGSYS, &action, NULL) || put_filter_on())
		return 77;
	if (load())
		return 3;
	printf("forked %d, status %d\n", forks > 0, status);
	return 0;
}
