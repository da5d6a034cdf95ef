/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_REGISTERS_H
#define PROCESS_REGISTERS_H

/* A stopped thread's registers by their DWARF numbers: what differs between processors. */

#include <stdint.h>
#include <sys/user.h>

#if defined(__x86_64__)

#define REGISTERS_COUNT                                                           \
	17 /* System V ABI, AMD64 supplement, figure 3.36; 16: the return address \
	    */
#define REGISTERS_STACK 7
#define REGISTERS_PC	16

typedef struct user_regs_struct registers_native;

static inline uint64_t registers_copy(const registers_native *from, uint64_t *to)
{
	const uint64_t values[REGISTERS_COUNT] = {
		from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15, from->rip,
	};

	for (int i = 0; i < REGISTERS_COUNT; i++)
		to[i] = values[i];
	return from->rip;
}

#elif defined(__aarch64__)

#define REGISTERS_COUNT 32 /* DWARF for the Arm 64-bit Architecture: X0 to X30, SP */
#define REGISTERS_STACK 31
#define REGISTERS_PC	32 /* none: told apart */

typedef struct user_regs_struct registers_native;

static inline uint64_t registers_copy(const registers_native *from, uint64_t *to)
{
	for (int i = 0; i < 31; i++)
		to[i] = from->regs[i];
	to[REGISTERS_STACK] = from->sp;
	return from->pc;
}

#else

#define REGISTERS_COUNT 0 /* nobody has described them: a thread's own function alone is told */
#define REGISTERS_STACK 0
#define REGISTERS_PC	0

typedef struct {
	char none;
} registers_native;

static inline uint64_t registers_copy(const registers_native *from, uint64_t *to)
{
	(void)from;
	(void)to;
	return 0;
}

#endif

#endif
