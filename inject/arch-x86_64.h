/* SPDX-License-Identifier: MIT */
#ifndef INJECT_ARCH_X86_64_H
#define INJECT_ARCH_X86_64_H

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define ARCH_INJECTS	 1
#define ARCH_MACHINE	 EM_X86_64
#define ARCH_VECTOR_NOTE NT_X86_XSTATE
#define ARCH_RED_ZONE	 128u
#define ARCH_CODE_STEP	 1u /* alignment of instructions */

#define ARCH_FORGETS_CALLS 0

static const uint8_t arch_syscall_code[] = { 0x0f, 0x05, 0xc3 }; /* syscall; ret */
/* libc's code that returns from a signal handler: mov $rt_sigreturn, %rax; syscall */
static const uint8_t arch_restorer_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

/*
 * Calls the function in rax, stores its result at rbx + 8, sets the word at rbx to 1, and sleeps
 * for the time at rbx + 16. During the sleep the injector stops the thread and restores its
 * registers. If the injector does not do this, the thread itself restores them from the frame at
 * its stack pointer. The sleep is a pselect6, which leaves no restart state in the kernel and so
 * does not replace the restart state of the program's own interrupted call.
 */
static const uint8_t arch_call_code[] = {
	0xff, 0xd0,			    /* call *%rax */
	0x48, 0x89, 0x43, 0x08,		    /* mov %rax, 8(%rbx) */
	0xc7, 0x03, 0x01, 0,	0,    0,    /* movl $1, (%rbx) */
	0xb8, 0x0e, 0x01, 0,	0,	    /* mov $pselect6, %eax */
	0x31, 0xff, 0x31, 0xf6, 0x31, 0xd2, /* xor %edi, %edi; %esi, %esi; %edx, %edx */
	0x45, 0x31, 0xd2,		    /* xor %r10d, %r10d */
	0x4c, 0x8d, 0x43, 0x10,		    /* lea 16(%rbx), %r8 */
	0x45, 0x31, 0xc9,		    /* xor %r9d, %r9d */
	0x0f, 0x05,			    /* syscall */
	0xb8, 0x0f, 0,	  0,	0,	    /* mov $rt_sigreturn, %eax */
	0x0f, 0x05,			    /* syscall */
};

/* Jumps to a function: movabs $argument, %rdi; movabs $function, %rax; jmp *%rax */
#define ARCH_TRIGGER_SIZE 22u

static inline void arch_write_trigger(uint8_t *code, uint64_t function, uint64_t argument)
{
	static const uint8_t frame[ARCH_TRIGGER_SIZE] = { 0x48, 0xbf,	     [10] = 0x48,
							  0xb8, [20] = 0xff, 0xe0 };

	memcpy(code, frame, sizeof(frame));
	memcpy(code + 2, &argument, 8);
	memcpy(code + 12, &function, 8);
}

static inline uint64_t arch_pc(const struct arch_state *state)
{
	return state->regs.rip;
}

static inline uint64_t arch_sp(const struct arch_state *state)
{
	return state->regs.rsp;
}

static inline uint64_t arch_thread_pointer(const struct arch_state *state)
{
	return state->regs.fs_base;
}

/* Returns the number of the system call that the thread is in, or -1. */
static inline int64_t arch_number(const struct arch_state *state)
{
	return (int64_t)state->regs.orig_rax;
}

static inline int64_t arch_syscall_result(const struct arch_state *state)
{
	return (int64_t)state->regs.rax;
}

/*
 * Returns the return address of a leaf function if that address is possibly not on the stack; 0:
 * all return addresses are on the stack.
 */
static inline uint64_t arch_link(const struct arch_state *state)
{
	(void)state;
	return 0;
}

/* Returns the code address in a word of the stack; this processor adds no authentication code. */
static inline uint64_t arch_plain(uint64_t word)
{
	return word;
}

/* Whether the thread uses registers that neither `vector` nor a signal frame contains. */
static inline bool arch_has_more(pid_t thread)
{
	(void)thread;
	return false;
}

/* Returns an argument of the system call; which: 0, 1 or 2. */
static inline uint64_t arch_argument(const struct arch_state *state, int which)
{
	return which == 0 ? state->regs.rdi : which == 1 ? state->regs.rsi : state->regs.rdx;
}

/* Whether the instruction before `at` is a call. At least 7 bytes of code must precede `at`. */
static inline bool arch_is_behind_call(const uint8_t *at)
{
	if (at[-5] == 0xe8)
		return true;
	for (int length = 2; length <= 7; length++)
		if (at[-length] == 0xff && ((at[1 - length] >> 3) & 7) == 2)
			return true;
	return false;
}
#define ARCH_CALL_LENGTH 7u

/*
 * Sets the registers so that the thread runs the copy of arch_call_code at address `code`. word:
 * address of the struct remote_word that the code uses.
 */
static inline void arch_begin_call(struct arch_state *state, uint64_t code, uint64_t sp,
				   uint64_t word, const struct arch_call *call)
{
	struct user_regs_struct *regs = &state->regs;

	regs->rip = code;
	regs->rsp = sp;
	regs->rax = call->function;
	regs->rdi = call->argument[0];
	regs->rsi = call->argument[1];
	regs->rdx = call->argument[2];
	regs->rcx = call->argument[3];
	regs->rbx = word;
	regs->rbp = 0;
	regs->orig_rax = ~0ull;
	regs->eflags &= ~0x500ull; /* direction flag and single steps off */
}

/*
 * Sets the registers so that the thread executes the system call instruction at address
 * `instruction` in libc. If the injector dies, the code after this instruction returns to the
 * address `restorer`. On this processor, the return address is on the stack: the caller has stored
 * it below the frame.
 */
static inline void arch_begin_syscall(struct arch_state *state, uint64_t instruction, uint64_t sp,
				      uint64_t restorer, const struct arch_call *call)
{
	struct user_regs_struct *regs = &state->regs;

	(void)restorer;
	regs->rip = instruction;
	regs->rsp = sp - 8;
	regs->rax = call->function;
	regs->rdi = call->argument[0];
	regs->rsi = call->argument[1];
	regs->rdx = call->argument[2];
	regs->r10 = call->argument[3];
	regs->r8 = call->argument[4];
	regs->r9 = call->argument[5];
	regs->orig_rax = ~0ull;
}
#define ARCH_RETURN_ON_STACK 8u /* bytes below the frame, which contain the address `restorer` */

/*
 * Sets the registers so that an interrupted system call is repeated. The kernel does this for its
 * restart codes, but not after rt_sigreturn.
 */
static inline void arch_make_again(struct arch_state *state)
{
	int64_t result = (int64_t)state->regs.rax;

	if ((int64_t)state->regs.orig_rax < 0 ||
	    (result != -512 && result != -513 && result != -514 && result != -516))
		return;
	state->regs.rax = state->regs.orig_rax;
	state->regs.rip -= 2;
	state->regs.orig_rax = ~0ull;
}

/* Whether the kernel has restart state for the interrupted call: a sleep would destroy it. */
static inline bool arch_disturbs(const struct arch_state *state)
{
	return (int64_t)state->regs.rax == -516;
}

/*
 * Writes a signal frame from which rt_sigreturn restores all of `state` if the stack pointer is
 * `at`. Returns the frame's size in bytes; `buffer` has ARCH_FRAME_MAX bytes.
 */
static inline size_t arch_write_frame(const struct arch_state *state, uint64_t at, uint8_t *buffer)
{
	enum { MAGIC_FIRST = 0x46505853, MAGIC_LAST = 0x46505845, SOFTWARE = 464 };
	const struct user_regs_struct *regs = &state->regs;
	uint64_t floating = (at + sizeof(ucontext_t) + 63) & ~63ull;
	uint8_t *vector = buffer + (floating - at);
	uint32_t size = (uint32_t)state->vector_size, software[12] = { 0 }, last = MAGIC_LAST;
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	context.uc_flags = 7; /* extended state is present, and ss is restored */
	context.uc_stack.ss_flags =
		16; /* an invalid value: the thread keeps its own signal stack */
	context.uc_mcontext.gregs[REG_R8] = (long long)regs->r8;
	context.uc_mcontext.gregs[REG_R9] = (long long)regs->r9;
	context.uc_mcontext.gregs[REG_R10] = (long long)regs->r10;
	context.uc_mcontext.gregs[REG_R11] = (long long)regs->r11;
	context.uc_mcontext.gregs[REG_R12] = (long long)regs->r12;
	context.uc_mcontext.gregs[REG_R13] = (long long)regs->r13;
	context.uc_mcontext.gregs[REG_R14] = (long long)regs->r14;
	context.uc_mcontext.gregs[REG_R15] = (long long)regs->r15;
	context.uc_mcontext.gregs[REG_RDI] = (long long)regs->rdi;
	context.uc_mcontext.gregs[REG_RSI] = (long long)regs->rsi;
	context.uc_mcontext.gregs[REG_RBP] = (long long)regs->rbp;
	context.uc_mcontext.gregs[REG_RBX] = (long long)regs->rbx;
	context.uc_mcontext.gregs[REG_RDX] = (long long)regs->rdx;
	context.uc_mcontext.gregs[REG_RAX] = (long long)regs->rax;
	context.uc_mcontext.gregs[REG_RCX] = (long long)regs->rcx;
	context.uc_mcontext.gregs[REG_RSP] = (long long)regs->rsp;
	context.uc_mcontext.gregs[REG_RIP] = (long long)regs->rip;
	context.uc_mcontext.gregs[REG_EFL] = (long long)regs->eflags;
	context.uc_mcontext.gregs[REG_CSGSFS] =
		(long long)((regs->cs & 0xffff) | (regs->ss & 0xffff) << 48);
	memcpy(&context.uc_mcontext.fpregs, &floating, sizeof(floating));
	memset(buffer, 0, floating - at);
	memcpy(buffer, &context, sizeof(context));
	/* the kernel reads eight bytes of the mask */
	memcpy(buffer + offsetof(ucontext_t, uc_sigmask), &state->mask, sizeof(state->mask));
	memcpy(vector, state->vector, size);
	software[0] = MAGIC_FIRST;
	software[1] = size + (uint32_t)sizeof(last);
	memcpy(software + 2, state->vector + SOFTWARE,
	       8); /* xfeatures: the components that are saved */
	software[4] = size;
	memcpy(vector + SOFTWARE, software, sizeof(software));
	memcpy(vector + size, &last, sizeof(last));
	return (size_t)(floating - at) + size + sizeof(last);
}

#endif
