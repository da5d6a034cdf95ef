/* SPDX-License-Identifier: MIT */
#ifndef SCAN_NAMED_H
#define SCAN_NAMED_H

/*
 * Names of a process's variables, and the frames on its threads' stacks, from copies, after the
 * process has continued. Its files may be hostile, so all functions except names_open(), which
 * opens the files, must be called in the sandbox.
 */

#include "scan/moment.h"

struct names;

/* Stays open until the scanner ends. */
struct names *names_open(const struct process *process);

/*
 * Walks all stacks. For a thread at the end of its process, the frames of libc, the loader and our
 * library count as unused, and the registers become those of the caller of exit().
 */
void frames_find(struct names *names, struct process *process);

/* A variable; its name and module live as long as names. */
struct name {
	const char *name; /* NULL: unknown */
	const char *module;
	uint64_t from, to; /* addresses; without a name both are the given address */
	uint64_t offset;   /* of from, as the file counts addresses */
};

/* Finds the variable at an address of a module's data. Returns false if none is known. */
bool names_find(struct names *names, uint64_t address, struct name *name);

#endif
