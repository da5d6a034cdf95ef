/* SPDX-License-Identifier: MIT */
#include "inject/borrowed.h"

#if ARCH_INJECTS

#include "base/cleanup.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#if defined(__x86_64__)
#define JAIL_ARCH AUDIT_ARCH_X86_64
#else
#define JAIL_ARCH AUDIT_ARCH_AARCH64
#endif

#define UNREADABLE   "that only root may read, or that the kernel does not let holdtrace read"
#define FILTERS_MOST 64
#define STEPS_MOST   65536u

/* The system calls that the borrowed thread, the loader and the library make in an attach. */
static const struct {
	const char *name;
	int number;
	uint64_t arguments[4];
} needed[] = {
#define NEED(name, ...)             \
	{                           \
#name, SYS_##name,  \
		{                   \
			__VA_ARGS__ \
		}                   \
	}
	NEED(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS),
	NEED(mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED),
	NEED(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED),
	NEED(mprotect, 4096, 4096, PROT_READ | PROT_EXEC),
	NEED(mprotect, 4096, 4096, PROT_READ | PROT_WRITE),
	NEED(mprotect, 4096, 4096, PROT_READ),
	NEED(munmap, 4096, 4096),
	NEED(mremap, 4096, 4096, 4096),
	NEED(madvise, 4096, 4096, MADV_DONTDUMP),
	NEED(memfd_create, 4096, 1),
	NEED(ftruncate, 5, 4096),
	NEED(openat, (uint64_t)AT_FDCWD, 4096, O_RDONLY | O_CLOEXEC),
	NEED(read, 5, 4096, 832),
	NEED(pread64, 5, 4096, 832),
	NEED(close, 5),
	NEED(newfstatat, 5, 4096, 4096),
	NEED(statx, 5, 4096, 0),
	NEED(readlinkat, (uint64_t)AT_FDCWD, 4096, 4096, 4096),
	NEED(getdents64, 5, 4096, 4096),
	NEED(getcwd, 4096, 4096),
	NEED(fcntl, 5, F_GET_SEALS, 0),
	NEED(fcntl, 5, F_GETFD, 0),
	NEED(flock, 5, 1),
	NEED(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	NEED(connect, 5, 4096, 64),
	NEED(getsockopt, 5, SOL_SOCKET, SO_PEERCRED, 4096),
	NEED(sendmsg, 5, 4096, MSG_NOSIGNAL | MSG_DONTWAIT),
	NEED(recvmsg, 5, 4096, 0),
	NEED(futex, 4096, 1, 1),
	NEED(pselect6, 0, 0, 0, 0),
	NEED(rt_sigprocmask, 0, 4096, 4096, 8),
	NEED(rt_sigreturn, 0),
	NEED(getpid, 0),
	NEED(getppid, 0),
	NEED(geteuid, 0),
	NEED(faccessat, (uint64_t)AT_FDCWD, 4096, R_OK),
	NEED(gettid, 0),
	NEED(tgkill, 1, 1, 0),
	NEED(prlimit64, 0, 7, 0, 4096),
	NEED(membarrier, 0, 0, 0),
	NEED(brk, 0),
#undef NEED
};

/* ---- an interpreter of seccomp's BPF (Documentation/networking/filter.rst) ---- */

struct machine {
	uint32_t a, x, store[BPF_MEMWORDS];
	const struct seccomp_data *data;
};

static uint32_t compute(uint32_t a, uint32_t b, uint16_t operation)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	case BPF_NEG:
		return 0u - a;
	default:
		return 0;
	}
}

static bool jumps(uint32_t a, uint32_t b, uint16_t operation)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSET:
		return a & b;
	default:
		return false;
	}
}

static void load_into(struct machine *machine, const struct sock_filter *step, uint32_t *to)
{
	switch (BPF_MODE(step->code)) {
	case BPF_ABS:
		*to = 0;
		if (step->k <= sizeof(*machine->data) - sizeof(*to))
			memcpy(to, (const char *)machine->data + step->k, sizeof(*to));
		break;
	case BPF_IMM:
		*to = step->k;
		break;
	case BPF_LEN:
		*to = sizeof(*machine->data);
		break;
	case BPF_MEM:
		*to = step->k < BPF_MEMWORDS ? machine->store[step->k] : 0;
		break;
	default:
		break;
	}
}

/*
 * Returns the filter's action for a system call. If the filter is invalid, the action refuses the
 * call.
 */
static uint32_t run_filter(const struct sock_filter *filter, uint32_t count,
			   const struct seccomp_data *data)
{
	struct machine machine = { .data = data };

	for (uint32_t at = 0, steps = 0; at < count && steps < STEPS_MOST; at++, steps++) {
		const struct sock_filter *step = &filter[at];
		uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;

		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			load_into(&machine, step, &machine.a);
			break;
		case BPF_LDX:
			load_into(&machine, step, &machine.x);
			break;
		case BPF_ST:
		case BPF_STX:
			if (step->k < BPF_MEMWORDS)
				machine.store[step->k] =
					BPF_CLASS(step->code) == BPF_ST ? machine.a : machine.x;
			break;
		case BPF_ALU:
			machine.a = compute(machine.a, operand, BPF_OP(step->code));
			break;
		case BPF_JMP:
			if (BPF_OP(step->code) == BPF_JA)
				at += step->k;
			else
				at += jumps(machine.a, operand, BPF_OP(step->code)) ? step->jt
										    : step->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		case BPF_MISC:
			if (BPF_MISCOP(step->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
			break;
		default:
			return SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* ---- the filters of a thread ---- */

static int refuse_filter(struct error *err, const char *why)
{
	return error_set(err, EPERM,
			 "the process has a filter of system calls (seccomp) %s: start the program "
			 "by `holdtrace record --start=off`, which loads the library before the "
			 "filter is installed",
			 why);
}

static int check_filter(const struct remote *remote, long index, bool *is_last, struct error *err)
{
	long count = ptrace(PTRACE_SECCOMP_GET_FILTER, remote->thread, index, NULL);
	struct sock_filter *filter;
	const char *forbidden = NULL;
	char why[96];

	*is_last = count < 0 && errno == ENOENT;
	if (*is_last)
		return 0;
	if (count <= 0 || count > BPF_MAXINSNS)
		return refuse_filter(err, UNREADABLE);
	filter = calloc((size_t)count, sizeof(*filter));
	if (!filter || ptrace(PTRACE_SECCOMP_GET_FILTER, remote->thread, index, filter) != count) {
		free(filter);
		return refuse_filter(err, "that cannot be read");
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) && !forbidden; i++) {
		struct seccomp_data data = { .nr = needed[i].number,
					     .arch = JAIL_ARCH,
					     .instruction_pointer = remote->target->syscall };
		uint32_t action;

		memcpy(data.args, needed[i].arguments, sizeof(needed[i].arguments));
		action = run_filter(filter, (uint32_t)count, &data) & SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			forbidden = needed[i].name;
	}
	free(filter);
	if (!forbidden)
		return 0;
	snprintf(why, sizeof(why), "that forbids %s, which the library needs", forbidden);
	return refuse_filter(err, why);
}

bool jail_is_open(void)
{
	return proc_status(getpid(), 0, "CapEff", 16) >> CAP_SYS_ADMIN & 1 &&
	       proc_status(getpid(), 0, "Seccomp", 10) <= SECCOMP_MODE_DISABLED;
}

int jail_look(pid_t pid, pid_t thread, int64_t *filters, struct error *err)
{
	int64_t mode = proc_status(pid, thread, "Seccomp", 10), count;
	cleanup_free int32_t *threads = NULL;
	size_t thread_count;

	*filters = 0;
	if (mode <= SECCOMP_MODE_DISABLED)
		return 0;
	if (mode != SECCOMP_MODE_FILTER)
		return refuse_filter(
			err, "that allows only the basic calls of strict mode (read, write, exit)");
	if (!jail_is_open())
		return refuse_filter(err, UNREADABLE);
	/* threads with the same number of filters are assumed to have the same filters */
	*filters = count = proc_status(pid, thread, "Seccomp_filters", 10);
	threads = proc_threads(pid, &thread_count);
	for (size_t i = 0; i < thread_count; i++) {
		int64_t other = proc_status(pid, threads[i], "Seccomp_filters", 10);

		if (other != count && other >= 0) /* the thread may have ended */
			*filters = -1;
	}
	return 0;
}

int jail_is_unknown(const char *where, struct error *err)
{
	char why[192];

	snprintf(why, sizeof(why), "that cannot be read without harm, because a thread is in %s",
		 where);
	return refuse_filter(err, why);
}

int jail_check(const struct remote *remote, int64_t filters, struct error *err)
{
	pid_t pid = remote->target->subject.pid;
	bool is_last = false;
	int status = 0;

	if (proc_status(pid, remote->thread, "Seccomp", 10) <= SECCOMP_MODE_DISABLED)
		return 0;
	for (long i = 0; !status && !is_last && i < FILTERS_MOST; i++)
		status = check_filter(remote, i, &is_last, err);
	if (!status && filters != proc_status(pid, remote->thread, "Seccomp_filters", 10))
		return refuse_filter(err, "that differs between its threads");
	return status;
}

#endif
