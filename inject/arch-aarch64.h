/* SPDX-License-Identifier: MIT */
#ifndef INJECT_ARCH_AARCH64_H
#define INJECT_ARCH_AARCH64_H

/*
 * At a ptrace stop in a system call, the kernel has already decided how the call continues: either
 * the pc is back at the svc instruction with the first argument in x0, or the pc is after it and x0
 * is -EINTR. The registers no longer show that the thread was in a call (do_signal() in
 * arch/arm64/kernel/signal.c).
 */

#include <asm/ptrace.h>
#include <asm/sigcontext.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

#define ARCH_INJECTS	 1
#define ARCH_MACHINE	 EM_AARCH64
#define ARCH_VECTOR_NOTE NT_PRFPREG
#define ARCH_RED_ZONE	 0u
#define ARCH_CODE_STEP	 4u

#define ARCH_FORGETS_CALLS 1

static const uint8_t arch_syscall_code[] = { 0x01, 0x00, 0x00, 0xd4,   /* svc #0 */
					     0xc0, 0x03, 0x5f, 0xd6 }; /* ret */
/* the vDSO's code that returns from a signal handler: mov x8, #rt_sigreturn; svc #0 */
static const uint8_t arch_restorer_code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

/* The same steps as in arch-x86_64.h. Input: x16: the function; x19: a struct remote_word. */
static const uint8_t arch_call_code[] = {
	0x00, 0x02, 0x3f, 0xd6, /* blr x16 */
	0x60, 0x06, 0x00, 0xf9, /* str x0, [x19, #8] */
	0x21, 0x00, 0x80, 0x52, /* mov w1, #1 */
	0x61, 0x02, 0x00, 0xb9, /* str w1, [x19] */
	0x08, 0x09, 0x80, 0xd2, /* mov x8, #pselect6 */
	0x00, 0x00, 0x80, 0xd2, /* mov x0, #0 */
	0x01, 0x00, 0x80, 0xd2, /* mov x1, #0 */
	0x02, 0x00, 0x80, 0xd2, /* mov x2, #0 */
	0x03, 0x00, 0x80, 0xd2, /* mov x3, #0 */
	0x64, 0x42, 0x00, 0x91, /* add x4, x19, #16 */
	0x05, 0x00, 0x80, 0xd2, /* mov x5, #0 */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
	0x68, 0x11, 0x80, 0xd2, /* mov x8, #rt_sigreturn */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
};

#define ARCH_TRIGGER_SIZE 32u

static inline void arch_write_trigger(uint8_t *code, uint64_t function, uint64_t argument)
{
	static const uint8_t frame[16] = {
		0x80, 0x00, 0x00, 0x58, /* ldr x0, +16 */
		0xb0, 0x00, 0x00, 0x58, /* ldr x16, +20 */
		0x00, 0x02, 0x1f, 0xd6, /* br x16 */
		0x1f, 0x20, 0x03, 0xd5, /* nop */
	};

	memcpy(code, frame, sizeof(frame));
	memcpy(code + 16, &argument, 8);
	memcpy(code + 24, &function, 8);
}

static inline uint64_t arch_pc(const struct arch_state *state)
{
	return state->regs.pc;
}

static inline uint64_t arch_sp(const struct arch_state *state)
{
	return state->regs.sp;
}

static inline uint64_t arch_thread_pointer(const struct arch_state *state)
{
	return state->thread_pointer;
}

/* Returns the number of the system call whose instruction is at the pc or just before it, or -1. */
static inline int64_t arch_number(const struct arch_state *state)
{
	return state->is_at_call ? (int64_t)state->regs.regs[8] : -1;
}

/* Returns the link register, which may be the only copy of a leaf function's return address. */
static inline uint64_t arch_link(const struct arch_state *state)
{
	return state->regs.regs[30];
}

/* Removes a pointer authentication code from an address. Code is mapped below 2^48. */
static inline uint64_t arch_plain(uint64_t word)
{
	return word & 0xffffffffffffu;
}

/*
 * Whether the thread uses SVE registers or SME modes, which a system call of the thread would
 * clear.
 */
static inline bool arch_has_more(pid_t thread)
{
	static const int sets[] = { 0x405 /* NT_ARM_SVE */, 0x40b /* NT_ARM_SSVE */ };
	struct user_sve_header header;
	struct iovec part;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		part = (struct iovec){ &header, sizeof(header) };
		if (!ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)sets[i], &part) &&
		    part.iov_len == sizeof(header) && (header.flags & SVE_PT_REGS_SVE))
			return true;
	}
	return false;
}

static inline int64_t arch_syscall_result(const struct arch_state *state)
{
	return (int64_t)state->regs.regs[0];
}

static inline uint64_t arch_argument(const struct arch_state *state, int which)
{
	return state->regs.regs[which];
}

static inline bool arch_is_behind_call(const uint8_t *at)
{
	uint32_t instruction;

	memcpy(&instruction, at - 4, 4);
	return (instruction & 0xfc000000u) == 0x94000000u || /* bl */
	       (instruction & 0xfffffc1fu) == 0xd63f0000u;   /* blr */
}
#define ARCH_CALL_LENGTH 4u

/*
 * The bits PSTATE.BTYPE, which an indirect branch sets. While these bits are set, the next
 * instruction must be a valid target of indirect branches.
 */
#define ARCH_LANDING 0xc00u

static inline void arch_begin_call(struct arch_state *state, uint64_t code, uint64_t sp,
				   uint64_t word, const struct arch_call *call)
{
	state->regs.pc = code;
	state->regs.pstate &= ~ARCH_LANDING;
	state->regs.sp = sp;
	state->regs.regs[16] = call->function;
	for (int i = 0; i < 6; i++)
		state->regs.regs[i] = call->argument[i];
	state->regs.regs[19] = word;
	state->regs.regs[29] = 0;
}

static inline void arch_begin_syscall(struct arch_state *state, uint64_t instruction, uint64_t sp,
				      uint64_t restorer, const struct arch_call *call)
{
	state->regs.pc = instruction;
	state->regs.pstate &= ~ARCH_LANDING;
	state->regs.sp = sp;
	state->regs.regs[30] = restorer;
	state->regs.regs[8] = call->function;
	for (int i = 0; i < 6; i++)
		state->regs.regs[i] = call->argument[i];
}
#define ARCH_RETURN_ON_STACK 0u

/* Does nothing: the kernel has already set the registers so that the call is repeated. */
static inline void arch_make_again(struct arch_state *state)
{
	(void)state;
}

/* Whether the kernel has restart state for the interrupted call: a sleep would destroy it. */
static inline bool arch_disturbs(const struct arch_state *state)
{
	const uint64_t number = state->regs.regs[8], *argument = (const uint64_t *)state->regs.regs;

	return state->is_at_call &&
	       (number == SYS_nanosleep ||
		(number == SYS_clock_nanosleep && !(argument[1] & TIMER_ABSTIME)) ||
		(number == SYS_futex && (argument[1] & FUTEX_CMD_MASK) == FUTEX_WAIT &&
		 argument[3]));
}

static inline size_t arch_write_frame(const struct arch_state *state, uint64_t at, uint8_t *buffer)
{
	struct fpsimd_context floating = { .head = { FPSIMD_MAGIC, sizeof(floating) } };
	const struct user_fpsimd_struct *vector = (const void *)state->vector;
	ucontext_t *context = (ucontext_t *)(void *)(buffer + 128); /* follows siginfo_t */

	(void)at;
	memset(buffer, 0, 128 + sizeof(*context));
	context->uc_stack.ss_flags = 16;
	memcpy(&context->uc_sigmask, &state->mask, sizeof(state->mask));
	for (int i = 0; i < 31; i++)
		context->uc_mcontext.regs[i] = state->regs.regs[i];
	context->uc_mcontext.sp = state->regs.sp;
	context->uc_mcontext.pc = state->regs.pc;
	context->uc_mcontext.pstate = state->regs.pstate;
	floating.fpsr = vector->fpsr;
	floating.fpcr = vector->fpcr;
	memcpy(floating.vregs, vector->vregs, sizeof(floating.vregs));
	memcpy(context->uc_mcontext.__reserved, &floating, sizeof(floating));
	return 128 + sizeof(*context);
}

#endif
