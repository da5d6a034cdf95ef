/* SPDX-License-Identifier: MIT */
#ifndef SCAN_NAMED_H
#define SCAN_NAMED_H

/*
 * The names of a process's variables, and the frames on its threads' stacks. Both are found from
 * copies, after the process has continued. The files of the process may be hostile. So all
 * functions except names_open(), which opens the files, must be called in the sandbox.
 */

#include "scan/moment.h"

struct names;

/*
 * Opens the files of the process. The result is never closed: it stays valid until the scanner
 * ends.
 */
struct names *names_open(const struct process *process);

/*
 * Walks all stacks. For a thread at the end of its process, the frames of libc, the loader and our
 * library count as unused, and the thread's registers are replaced by those of the caller of
 * exit().
 */
void frames_find(struct names *names, struct process *process);

/* A variable. Its name and module stay valid as long as the result of names_open(). */
struct name {
	const char *name; /* name in the source; NULL: unknown */
	const char *module;
	uint64_t from, to; /* addresses; without a name both are the address that was looked up */
	uint64_t offset;   /* address of `from` in the module's file */
};

/*
 * Finds the variable at an address in a module's data. Returns false if no module is known there.
 */
bool names_find(struct names *names, uint64_t address, struct name *name);

#endif
