/* SPDX-License-Identifier: MIT */
#ifndef SCAN_ROOTS_H
#define SCAN_ROOTS_H

/*
 * Where a program's pointers begin: what it can read without having been given it. All memory that
 * it wrote counts but blocks themselves and what is known to be dead: memory that the allocator
 * keeps for itself, stacks of threads that have ended, stacks below where they are in use.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"

/* In the order in which ways are looked for: what has a name comes first. */
enum root_kind {
	ROOT_GLOBAL,   /* data of a program or library */
	ROOT_TLS,      /* data of a thread */
	ROOT_STACK,    /* of a thread */
	ROOT_REGISTER, /* of a thread */
	ROOT_KERNEL,   /* what the kernel keeps for the program */
	ROOT_MAPPING,  /* memory that was mapped */
	ROOT_OWN,      /* data of holdtrace's library, which keeps what it will hand on */
	ROOT_HEAP,     /* of the allocator, where not all blocks are known */
	ROOT_KINDS,
};

extern const char *const root_words[ROOT_KINDS];

/* One that hits have in common: a variable, a thread's registers, a frame of its stack. */
struct root {
	enum root_kind kind;
	uint64_t from;	      /* where it begins; of a kernel's word its index */
	int thread;	      /* 0: of none */
	const char *name;     /* of the variable, or what the kernel says; NULL: not known */
	const char *module;   /* path; NULL: of none */
	uint64_t offset;      /* in the module, as its file counts addresses */
	const char *function; /* whose frame it is; NULL: not known */
	uint64_t pc;	      /* in it; 0: not known */
};

struct roots {
	ARRAY_OF(struct root) list;
};

/* Finds all hits of the graph, after frames_find(). */
void roots_find(struct graph *graph, struct process *process, const struct live *live);

/*
 * Names the roots of the hits, and gives them their numbers. names: NULL: none are to be had.
 */
struct names;
void roots_name(struct roots *roots, struct graph *graph, const struct process *process,
		struct names *names);

#endif
