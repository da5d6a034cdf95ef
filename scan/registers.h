/* SPDX-License-Identifier: MIT */
#ifndef SCAN_REGISTERS_H
#define SCAN_REGISTERS_H

/* What differs between processors: a stopped thread's registers. */

#include "scan/process.h"

/*
 * Reads them into the thread, and settles those that it has (process/stopping.h): so it goes on
 * well even if this process is killed. Returns 0 or a negative errno.
 */
int registers_read(struct process_thread *thread);

/* The same at the end, when it is known how long the thread stood. */
void registers_settle(const struct process_thread *thread);

/* Numbers of DWARF, of which a frame may restore these: those that calls keep. */
extern const int registers_kept[];
extern const unsigned registers_kept_count;
extern const int registers_stack_pointer;

/* The registers by their numbers of DWARF from 0 on; returns how many. */
unsigned registers_by_number(const struct process_thread *thread, uint64_t *values, unsigned max);

#endif
