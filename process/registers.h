/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_REGISTERS_H
#define PROCESS_REGISTERS_H

/* The registers of a stopped thread by DWARF number, for each type of processor. */

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* numbers of the System V ABI, AMD64 supplement, figure 3.36; 16 is the return address */
#define REGISTERS_COUNT 17
#define REGISTERS_STACK 7
#define REGISTERS_PC	16
/* the registers that a call preserves: rbx, rbp, r12 to r15 */
#define REGISTERS_KEPT               \
	{                            \
		3, 6, 12, 13, 14, 15 \
	}
#define REGISTERS_VECTORS NT_X86_XSTATE

typedef struct user_regs_struct registers_native;

static inline uint64_t registers_pc(const registers_native *from)
{
	return from->rip;
}

static inline uint64_t registers_sp(const registers_native *from)
{
	return from->rsp;
}

static inline uint64_t registers_tls(const registers_native *from)
{
	return from->fs_base;
}

/*
 * Returns the number of the system call that the thread is in, and its first arguments. Returns -1
 * if the thread is in none, or if the registers of this processor do not show that.
 */
static inline int64_t registers_call(const registers_native *from, uint64_t arguments[3])
{
	arguments[0] = from->rdi;
	arguments[1] = from->rsi;
	arguments[2] = from->rdx;
	return (int64_t)from->orig_rax;
}

static inline void registers_copy(const registers_native *from, uint64_t *to)
{
	const uint64_t values[REGISTERS_COUNT] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip,
	};

	for (int i = 0; i < REGISTERS_COUNT; i++)
		to[i] = values[i];
}

#define REGISTERS_HAVE_CALL true

#elif defined(__aarch64__)

/* numbers of "DWARF for the Arm 64-bit Architecture": X0 to X30, SP */
#define REGISTERS_COUNT 32
#define REGISTERS_STACK 31
#define REGISTERS_PC	32 /* no register of this table has the program counter */
#define REGISTERS_KEPT                                     \
	{                                                  \
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 \
	}
#define REGISTERS_VECTORS NT_PRFPREG
/* NT_ARM_TLS: the thread pointer is in a separate register set */
#define REGISTERS_TLS	  0x401

typedef struct user_regs_struct registers_native;

static inline uint64_t registers_pc(const registers_native *from)
{
	return from->pc;
}

static inline uint64_t registers_sp(const registers_native *from)
{
	return from->sp;
}

static inline uint64_t registers_tls(const registers_native *from)
{
	(void)from;
	return 0;
}

static inline void registers_copy(const registers_native *from, uint64_t *to)
{
	for (int i = 0; i < 31; i++)
		to[i] = from->regs[i];
	to[REGISTERS_STACK] = from->sp;
}

#else

/* on an unknown processor, walks find only the innermost function of a thread */
#define REGISTERS_COUNT 0
#define REGISTERS_STACK 0
#define REGISTERS_PC	0
#define REGISTERS_KEPT \
	{              \
		0      \
	}

typedef struct {
	char none;
} registers_native;

static inline void registers_copy(const registers_native *from, uint64_t *to)
{
	(void)from;
	(void)to;
}

#endif

#ifndef REGISTERS_HAVE_CALL
#define REGISTERS_HAVE_CALL false

static inline int64_t registers_call(const registers_native *from, uint64_t arguments[3])
{
	(void)from;
	(void)arguments;
	return -1;
}
#endif

#endif
