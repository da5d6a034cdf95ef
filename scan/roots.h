/* SPDX-License-Identifier: MIT */
#ifndef SCAN_ROOTS_H
#define SCAN_ROOTS_H

/*
 * Roots: the memory from which a program can reach its blocks. All memory that was written counts,
 * except the blocks themselves and memory that is known to be unused: the allocator's own data,
 * stacks of ended threads, and the parts of stacks below the stack pointer.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"

/* The kinds of roots, in the order in which paths are searched: roots with names come first. */
enum root_kind {
	ROOT_GLOBAL,   /* data of a program or library */
	ROOT_TLS,      /* data of a thread */
	ROOT_STACK,    /* stack of a thread */
	ROOT_REGISTER, /* register of a thread */
	ROOT_KERNEL,   /* words that the kernel stores for the program */
	ROOT_MAPPING,  /* anonymous or shared mapping */
	ROOT_OWN,      /* data of holdtrace's library, which buffers values of the program */
	ROOT_HEAP,     /* heap memory outside of known blocks */
	ROOT_KINDS,
};

extern const char *const root_words[ROOT_KINDS];

/*
 * The origin of one or more hits: a variable, a frame of a thread's stack, the registers of a
 * thread.
 */
struct root {
	enum root_kind kind;
	uint64_t from; /* start address; for ROOT_REGISTER and ROOT_KERNEL, an index */
	int thread;    /* thread id; 0: the root belongs to no thread */
	/* name of the variable, or what a word in the kernel belongs to; NULL: unknown */
	const char *name;
	const char *module;   /* path of the module; NULL: none */
	uint64_t offset;      /* address in the module's file */
	const char *function; /* function of the frame; NULL: unknown */
	uint64_t pc;	      /* address in that function; 0: unknown */
};

/* The stack of a thread, from its lowest address up to the thread's descriptor. */
struct dead_stack {
	uint64_t from, to;		     /* to: address of the thread's descriptor */
	const struct process_thread *thread; /* NULL: the thread has ended */
};

struct dead {
	struct ranges ranges;	/* unused ranges: pointers in them are not roots */
	struct ranges doubtful; /* ranges that are possibly unused: pointers in them are weak */
	/* heaps of libc's allocator; pointers in them are weak, except in blocks and in `given` */
	struct ranges heaps;
	struct ranges given; /* parts of heaps that the program itself got from brk() */
	ARRAY_OF(struct dead_stack) stacks; /* in ascending order of addresses */
};

struct roots {
	ARRAY_OF(struct root) list;
	struct dead dead;
};

/* Finds unused memory, and all hits (words that lead to blocks). Call it after frames_find(). */
void roots_find(struct roots *roots, struct graph *graph, const struct process *process,
		const struct live *live);

/*
 * Groups the hits into roots, names the roots, and stores in each hit the number of its root.
 * names: may be NULL; then variables have no names.
 */
struct names;
void roots_name(struct roots *roots, struct graph *graph, const struct process *process,
		struct names *names);

/*
 * Returns the library that defines malloc, if it is only an allocator; else NULL. A library that
 * wraps libc's malloc, or defines malloc among other functions, also has data of the program.
 */
const char *dead_allocator(const struct process *process);

/*
 * Sets is_lost of the handles of `live`, after graph_mark(): streams, directories and threads that
 * the program can no longer close or join. A stream is in libc's list of all streams, and a
 * thread's own stack and descriptor contain its id; this alone does not make a handle reachable. In
 * case of doubt, a handle is reachable.
 */
void handles_judge(struct live *live, const struct graph *graph, const struct process *process,
		   const struct roots *roots);

/* ---- results ---- */

/*
 * The result of a scan is a sequence of notes, which the collector writes into the stream. Each
 * note consists of a name, pairs of name and value, and an empty string; each string ends with a
 * NUL.
 */

struct report {
	unsigned number; /* number of the scan */
	const struct graph *graph;
	const struct roots *roots;
	const struct process *process;
	const struct live *live;
	uint64_t pause_ns, whole_ns;
};

/* Writes the notes. Returns 0 or a negative errno. */
int report_write(const struct report *report, int fd, struct error *err);

#endif
