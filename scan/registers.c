/* SPDX-License-Identifier: MIT */
#include "scan/registers.h"

#include "process/registers.h"

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

#if REGISTERS_COUNT > 0

/* Returns whether the thread has other registers now. */
static bool settle(const struct process_thread *thread, registers_native *registers)
{
	struct iovec part = { registers, sizeof(*registers) };

	memcpy(registers, thread->registers, sizeof(*registers));
	return stopping_settle(&thread->stopping, registers, STOPPING_READ) &&
	       !ptrace(PTRACE_SETREGSET, thread->tid, (void *)(uintptr_t)NT_PRSTATUS, &part);
}

/* The registers as they are, before they are settled. */
static void keep(struct process_thread *thread, const registers_native *registers)
{
	registers_native settled;

	memcpy(thread->registers, registers, sizeof(*registers));
	thread->register_count = sizeof(*registers) / 8;
	stopping_stopped(&thread->stopping, registers);
	settle(thread, &settled);
}

void registers_settle(const struct process_thread *thread)
{
	registers_native registers;

	settle(thread, &registers);
	stopping_shorten(&thread->stopping, &registers);
}

#endif

#if defined(__x86_64__)

const int registers_kept[] = { 3, 6, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
const unsigned registers_kept_count = 6;
const int registers_stack_pointer = 7;

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
	keep(thread, &registers);
	read_vectors(thread, NT_X86_XSTATE);
	return 0;
}

#elif defined(__aarch64__)

const int registers_kept[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
const unsigned registers_kept_count = 11;
const int registers_stack_pointer = 31;

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
	thread->is_in_call = thread->stopping.call.number == (long)registers.regs[8] &&
			     thread->stopping.call.sp == registers.sp &&
			     thread->stopping.call.pc - registers.pc <= 4;
	keep(thread, &registers);
	read_vectors(thread, NT_PRFPREG);
	return 0;
}

#else

const int registers_kept[] = { -1 };
const unsigned registers_kept_count = 0;
const int registers_stack_pointer = -1;

int registers_read(struct process_thread *thread)
{
	(void)thread;
	(void)read_vectors;
	return -ENOSYS;
}

void registers_settle(const struct process_thread *thread)
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
