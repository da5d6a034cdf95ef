/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_FRAMES_H
#define PROCESS_FRAMES_H

/*
 * Walks the stacks of threads by the unwinding rules in the files that a process has mapped.
 * frames_open() opens the files. The first walk reads the files, which may be hostile, so the
 * caller should be in a sandbox by then. A stack is a copy, or is read from the subject while its
 * threads are stopped. These functions end the program if there is no memory (base/memory.h).
 */

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/registers.h"
#include "process/subject.h"

struct frames;

/* The thread whose stack is walked. */
struct frames_thread {
	int tid;
	uint64_t pc;
	/* indexed by DWARF number */
	uint64_t registers[REGISTERS_COUNT + 1];
	/* false: only the program counter and the stack pointer are known */
	bool has_registers;
	/* a copy of the stack; if it has no bytes, the stack is read from the subject */
	struct subject_stack stack;
};

/* Opens the files that the subject has mapped. The subject must live longer than the frames. */
struct frames *frames_open(const struct subject *subject);
void frames_close(struct frames *frames);

/*
 * Returns libdw's list of the mapped modules, for uses other than walks. The first call reads the
 * mapped files. NULL: libdw failed.
 */
Dwfl *frames_modules(struct frames *frames);

/*
 * Calls `take` for each frame, innermost first, until `take` returns a value other than
 * DWARF_CB_OK. Returns whether the walk reached the end of the stack.
 */
bool frames_walk(struct frames *frames, const struct frames_thread *thread,
		 int (*take)(Dwfl_Frame *frame, void *user), void *user);

#endif
