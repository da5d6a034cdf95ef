/* SPDX-License-Identifier: MIT */
#ifndef SCAN_NAMED_H
#define SCAN_NAMED_H

/*
 * Names of what a process has mapped, and the frames of its threads' stacks, from copies: it has
 * gone on by then. The files are those of the process, which anybody may have made: all but
 * names_open(), which opens them, is to be called in the sandbox alone.
 */

#include "scan/moment.h"

struct names;

/* Open until the scanner ends. */
struct names *names_open(const struct process *process);

/*
 * Walks all stacks. Of a thread that is at the end of its process, what of its stack libc, the
 * loader and our library use holds nothing, and the registers are those of the caller of exit().
 */
void frames_find(struct names *names, struct process *process);

/* A variable; its name and module live as long as names. */
struct name {
	const char *name; /* NULL: not known */
	const char *module;
	uint64_t from, to; /* addresses; where there is no name both are address */
	uint64_t offset;   /* of from, as the file counts */
};

/* What an address of a module's data is of. False: of no module that is known. */
bool names_find(struct names *names, uint64_t address, struct name *name);

#endif
