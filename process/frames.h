/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_FRAMES_H
#define PROCESS_FRAMES_H

/*
 * The frames of threads, by the unwinding rules of the files that a process has mapped. Files are
 * opened at once and read later, when the first question is asked: they may be anybody's, so that
 * is best done in a sandbox. For programs that end where no memory is left (base/memory.h). Stacks
 * are copies, or are read from the subject while they stand still.
 */

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/registers.h"
#include "process/subject.h"

struct frames;

/* A thread to be walked. */
struct frames_thread {
	int tid;
	uint64_t pc;
	uint64_t registers[REGISTERS_COUNT + 1]; /* by their DWARF numbers */
	bool has_registers;			 /* else the stack pointer alone */
	struct subject_stack stack;		 /* no bytes: of the subject */
};

/* The subject is asked as long as they are. */
struct frames *frames_open(const struct subject *subject);
void frames_close(struct frames *frames);

/*
 * The modules, for other questions; the mappings of the subject are asked for the first time.
 * NULL: no memory.
 */
Dwfl *frames_modules(struct frames *frames);

/*
 * Calls take for each frame, innermost first, until it returns other than DWARF_CB_OK. Returns
 * whether the walk came to an end by itself.
 */
bool frames_walk(struct frames *frames, const struct frames_thread *thread,
		 int (*take)(Dwfl_Frame *frame, void *user), void *user);

#endif
