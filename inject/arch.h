/* SPDX-License-Identifier: MIT */
#ifndef INJECT_ARCH_H
#define INJECT_ARCH_H

/*
 * The processor-specific code that makes a thread of another process call a function: registers,
 * instructions, and the frame that the kernel writes for a signal. One file for each supported
 * processor defines the same names; on other processors ARCH_INJECTS is 0.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "process/stopping.h"

#define ARCH_VECTOR_MAX 16384u
#define ARCH_FRAME_MAX	(ARCH_VECTOR_MAX + 8192u)

/* The part of a stopped thread's state that a call may change. */
struct arch_state {
	struct user_regs_struct regs;
	uint8_t vector[ARCH_VECTOR_MAX] __attribute__((aligned(64)));
	size_t vector_size;
	uint64_t mask; /* the signals that the thread blocks */
	/*
	 * the next two members are set only if ARCH_FORGETS_CALLS is 1, because `regs` then lacks
	 * these facts
	 */
	bool is_at_call; /* the pc is at the instruction of a system call, or just after it */
	uint64_t thread_pointer;
};

/* A call that a stopped thread will make. function: an address, or a system call number. */
struct arch_call {
	uint64_t function;
	uint64_t argument[6];
};

#if defined(__x86_64__)
#include "inject/arch-x86_64.h"
#elif defined(__aarch64__)
#include "inject/arch-aarch64.h"
#else
#define ARCH_INJECTS 0
#endif

#endif
