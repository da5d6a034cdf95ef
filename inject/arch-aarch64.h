/* SPDX-License-Identifier: MIT */
#ifndef INJECT_ARCH_AARCH64_H
#define INJECT_ARCH_AARCH64_H

/* Compiled, and never yet run on such a processor: qemu-user has no ptrace. */

#include <asm/sigcontext.h>
#include <elf.h>
#include <string.h>
#include <ucontext.h>

#define ARCH_INJECTS	 1
#define ARCH_MACHINE	 EM_AARCH64
#define ARCH_VECTOR_NOTE NT_PRFPREG
#define ARCH_RED_ZONE	 0u

static const uint8_t arch_syscall_code[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#define ARCH_SYSCALL_LENGTH 4u
/* the vDSO's: mov x8, #rt_sigreturn; svc #0 */
static const uint8_t arch_restorer_code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

/* As on x86-64: the function in x16, the word in x19. */
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

/* The thread pointer is a register set of its own, which nothing here needs. */
static inline uint64_t arch_thread_pointer(const struct arch_state *state)
{
	(void)state;
	return 0;
}

/*
 * The kernel tells the number by a register set of its own, and x0 has been overwritten: what was
 * interrupted goes on by the kernel's own rule, when the thread is let go where it was stopped.
 */
static inline int64_t arch_number(const struct arch_state *state)
{
	int64_t result = (int64_t)state->regs.regs[0];

	return result <= -512 && result >= -516 ? (int64_t)state->regs.regs[8] : -1;
}

static inline int64_t arch_syscall_result(const struct arch_state *state)
{
	return (int64_t)state->regs.regs[0];
}

static inline uint64_t arch_argument(const struct arch_state *state, int which)
{
	return state->regs.regs[which];
}

static inline void arch_reissue(struct arch_state *state)
{
	(void)state;
}

static inline bool arch_is_behind_call(const uint8_t *at)
{
	uint32_t instruction;

	memcpy(&instruction, at - 4, 4);
	return (instruction & 0xfc000000u) == 0x94000000u || /* bl */
	       (instruction & 0xfffffc1fu) == 0xd63f0000u;   /* blr */
}
#define ARCH_CALL_LENGTH 4u

static inline void arch_begin_call(struct arch_state *state, uint64_t code, uint64_t sp,
				   uint64_t word, const struct arch_call *call)
{
	state->regs.pc = code;
	state->regs.sp = sp;
	state->regs.regs[16] = call->function;
	for (int i = 0; i < 6; i++)
		state->regs.regs[i] = call->argument[i];
	state->regs.regs[19] = word;
	state->regs.regs[29] = 0;
}

static inline void arch_begin_syscall(struct arch_state *state, uint64_t instruction, uint64_t sp,
				      const struct arch_call *call)
{
	state->regs.pc = instruction;
	state->regs.sp = sp;
	state->regs.regs[8] = call->function;
	for (int i = 0; i < 6; i++)
		state->regs.regs[i] = call->argument[i];
}
#define ARCH_RETURN_ON_STACK 0u

static inline void arch_settle_syscall(struct arch_state *state)
{
	if (arch_number(state) >= 0)
		state->regs.regs[0] = (uint64_t)-4; /* EINTR */
}

static inline void arch_settle_sleep(struct arch_state *state)
{
	if ((int64_t)state->regs.regs[0] == -516)
		state->regs.regs[0] = (uint64_t)-4;
}

static inline size_t arch_write_frame(const struct arch_state *state, uint64_t at, uint8_t *buffer)
{
	struct fpsimd_context floating = { .head = { FPSIMD_MAGIC, sizeof(floating) } };
	const struct user_fpsimd_struct *vector = (const void *)state->vector;
	ucontext_t *context = (ucontext_t *)(void *)(buffer + 128); /* behind siginfo */

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

static const int arch_interrupted[] = { -1 };

#endif
