/* SPDX-License-Identifier: MIT */
#include "scan/registers.h"

#include "base/registers.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

static int get_set(int tid, int type, void *to, size_t *size)
{
	struct iovec part = { to, *size };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)type, &part))
		return -errno;
	*size = part.iov_len;
	return 0;
}

static void read_vectors(struct process_thread *thread, int type)
{
	size_t size = sizeof(thread->vectors);

	/* a wider set than we have room for is cut by the kernel */
	if (!thread->is_in_call && get_set(thread->tid, type, thread->vectors, &size) == 0)
		thread->vector_count = (unsigned)(size / 8);
}

/* Calls that return EINTR where a thread without handlers was stopped and goes on. */
static bool is_restartable(long call)
{
	static const long calls[] = {
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,  SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
#ifdef SYS_semop
		SYS_semop,
#endif
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

#if defined(__x86_64__)

#define RESTART (-514) /* ERESTARTNOHAND: the kernel's own word for it */

const int registers_kept[] = { 3, 6, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
const unsigned registers_kept_count = 6;
const int registers_stack_pointer = 7;

void registers_ask_before(int pid, int tid, struct proc_call *call)
{
	(void)pid, (void)tid;
	*call = (struct proc_call){ .number = -1 };
}

int registers_read(struct process_thread *thread)
{
	struct user_regs_struct registers;
	size_t size = sizeof(registers);
	int rc = get_set(thread->tid, NT_PRSTATUS, &registers, &size);

	if (rc)
		return rc;
	thread->sp = registers.rsp;
	thread->pc = registers.rip;
	thread->tls = registers.fs_base;
	thread->is_in_call = (long)registers.orig_rax >= 0;
	memcpy(thread->registers, &registers, sizeof(registers));
	thread->register_count = sizeof(registers) / 8;
	read_vectors(thread, NT_X86_XSTATE);
	return 0;
}

void registers_restart(const struct process_thread *thread)
{
	struct user_regs_struct registers;
	struct iovec part = { &registers, sizeof(registers) };

	memcpy(&registers, thread->registers, sizeof(registers));
	if (!is_restartable((long)registers.orig_rax) || (long)registers.rax != -EINTR)
		return;
	registers.rax = (unsigned long)RESTART;
	ptrace(PTRACE_SETREGSET, thread->tid, (void *)(uintptr_t)NT_PRSTATUS, &part);
}

#elif defined(__aarch64__)

const int registers_kept[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
const unsigned registers_kept_count = 11;
const int registers_stack_pointer = 31;

void registers_ask_before(int pid, int tid, struct proc_call *call)
{
	proc_call(pid, tid, call);
}

int registers_read(struct process_thread *thread)
{
	struct user_regs_struct registers;
	size_t size = sizeof(registers), tls = sizeof(thread->tls);
	int rc = get_set(thread->tid, NT_PRSTATUS, &registers, &size);

	if (rc)
		return rc;
	thread->sp = registers.sp;
	thread->pc = registers.pc;
	if (get_set(thread->tid, NT_ARM_TLS, &thread->tls, &tls))
		thread->tls = 0;
	/* the kernel no longer tells it: behind the call, or at it to begin it again */
	thread->is_in_call = thread->before.number == (long)registers.regs[8] &&
			     thread->before.sp == registers.sp &&
			     thread->before.pc - registers.pc <= 4;
	memcpy(thread->registers, &registers, sizeof(registers));
	thread->register_count = sizeof(registers) / 8;
	read_vectors(thread, NT_PRFPREG);
	return 0;
}

void registers_restart(const struct process_thread *thread)
{
	struct user_regs_struct registers;
	struct iovec part = { &registers, sizeof(registers) };

	memcpy(&registers, thread->registers, sizeof(registers));
	if (!thread->is_in_call || !is_restartable((long)registers.regs[8]) ||
	    (long)registers.regs[0] != -EINTR || registers.pc != thread->before.pc)
		return;
	registers.regs[0] = thread->before.argument[0];
	registers.pc -= 4;
	ptrace(PTRACE_SETREGSET, thread->tid, (void *)(uintptr_t)NT_PRSTATUS, &part);
}

#else

const int registers_kept[] = { -1 };
const unsigned registers_kept_count = 0;
const int registers_stack_pointer = -1;

void registers_ask_before(int pid, int tid, struct proc_call *call)
{
	(void)pid, (void)tid;
	*call = (struct proc_call){ .number = -1 };
}

int registers_read(struct process_thread *thread)
{
	(void)thread;
	(void)read_vectors;
	(void)is_restartable;
	return -ENOSYS;
}

void registers_restart(const struct process_thread *thread)
{
	(void)thread;
}

#endif

unsigned registers_by_number(const struct process_thread *thread, uint64_t *values, unsigned max)
{
	uint64_t all[REGISTERS_COUNT + 1];
	unsigned count = REGISTERS_COUNT < max ? REGISTERS_COUNT : max;
	registers_native native;

	memcpy(&native, thread->registers, sizeof(native));
	registers_copy(&native, all);
	memcpy(values, all, count * sizeof(*values));
	return count;
}
