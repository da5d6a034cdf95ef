/* SPDX-License-Identifier: MIT */
#ifndef SCAN_REGISTERS_H
#define SCAN_REGISTERS_H

/* What differs between processors: a stopped thread's registers. */

#include "scan/process.h"

/* What a thread sleeps in, where that must be asked before it is stopped. */
void registers_ask_before(int pid, int tid, struct proc_call *call);

/* Reads them into the thread. Returns 0 or a negative errno. */
int registers_read(struct process_thread *thread);

/*
 * Some calls of the kernel end with EINTR whenever their thread was stopped (signal(7)), which no
 * program expects that has no handler. Those begin anew instead.
 */
void registers_restart(const struct process_thread *thread);

/* Numbers of DWARF, of which a frame may restore these: those that calls keep. */
extern const int registers_kept[];
extern const unsigned registers_kept_count;
extern const int registers_stack_pointer;

/* The registers by their numbers of DWARF from 0 on; returns how many. */
unsigned registers_by_number(const struct process_thread *thread, uint64_t *values, unsigned max);

#endif
