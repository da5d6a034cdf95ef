/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_FRAMES_H
#define PROCESS_FRAMES_H

/*
 * Walks the stacks of threads, by the unwinding rules of the files that a process has mapped.
 * frames_open() opens the files; they are read at the first walk, which should be in a sandbox,
 * because they may be hostile. Ends the program if memory runs out (base/memory.h). Stacks are
 * copies, or are read from the subject while its threads are stopped.
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
	uint64_t registers[REGISTERS_COUNT + 1]; /* by DWARF number */
	bool has_registers;			 /* else only the stack pointer is known */
	struct subject_stack stack;		 /* without bytes: memory is read from the
						  * subject */
};

/* The subject must outlive the frames. */
struct frames *frames_open(const struct subject *subject);
void frames_close(struct frames *frames);

/* The modules, for other questions; the first call reads the mapped files. NULL: no memory. */
Dwfl *frames_modules(struct frames *frames);

/*
 * Calls take for each frame, innermost first, until it returns a value other than DWARF_CB_OK.
 * Returns whether the walk reached the end of the stack.
 */
bool frames_walk(struct frames *frames, const struct frames_thread *thread,
		 int (*take)(Dwfl_Frame *frame, void *user), void *user);

#endif
