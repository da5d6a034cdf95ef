/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_STACKS_H
#define VIEWERS_STACKS_H

/*
 * Numbers the functions, frames and backtraces of a run, as viewers' files do: each is written once
 * and then referred to by its number. Memory grows with distinct frames.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/naming.h"

#define STACKS_DEPTH_MAX 1024u /* frames of a backtrace; outer ones are left out */

/* A function of a module. Equal names in two modules are two functions. */
struct stacks_function {
	const char *name;	   /* as shown; never NULL */
	const char *file, *module; /* "": not known */
	uint32_t number;	   /* from 1 */
};

/* A frame: an address in a function. */
struct stacks_frame {
	const struct stacks_function *function;
	uint64_t address; /* in the address map of the run; 0: in no module */
	uint64_t offset;  /* in the module */
	unsigned line;	  /* 0: not known */
	bool is_inlined;
	uint32_t number; /* from 1 */
};

struct stacks {
	struct naming *naming;
	struct pool pool;
	struct hash_table functions, frames;
	ARRAY_OF(struct stacks_function *) function_list;
	ARRAY_OF(struct stacks_frame *) frame_list;
	struct naming_symbol *symbols;
	const struct stacks_frame **stack;
	ARRAY_OF(char) line;
};

/* */
void stacks_init(struct stacks *stacks, struct naming *naming);
void stacks_free(struct stacks *stacks);

/*
 * Writes the frames of a backtrace, innermost first, to stacks->stack, valid until the next call.
 * called: the function to show if there are no frames. Returns their number, at least 1.
 */
size_t stacks_of(struct stacks *stacks, const struct trace_node *backtrace, const char *called);

/* The functions of a backtrace as "main;serve;take", outermost first, valid until the next call. */
const char *stacks_line(struct stacks *stacks, const struct trace_node *backtrace,
			const char *called);

/* A frame as valgrind writes it, "0x1149: read_config (demo.c:12)"; to be freed. */
char *stacks_describe(const struct stacks_frame *frame);

#endif
