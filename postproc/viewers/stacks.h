/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_STACKS_H
#define VIEWERS_STACKS_H

/*
 * Numbers the functions and frames of a run, for file formats that write each function or frame
 * once and then refer to it by number. Memory use grows with the number of distinct frames.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/naming.h"

/* maximum number of frames of a backtrace; further callers are left out */
#define STACKS_DEPTH_MAX 1024u

/*
 * A function of a module. Functions of different modules are different, even if they have the same
 * name.
 */
struct stacks_function {
	const char *name;	   /* the name that is shown; never NULL */
	const char *file, *module; /* paths; "": unknown */
	uint32_t number;	   /* number of the function, from 1 */
};

/* A frame: an address in a function. */
struct stacks_frame {
	const struct stacks_function *function;
	uint64_t address; /* address in the run's address map; 0: the frame is in no module */
	uint64_t offset;  /* offset of the address in the module */
	unsigned line;	  /* line of the source; 0: unknown */
	bool is_inlined;
	uint32_t number; /* number of the frame, from 1 */
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

void stacks_init(struct stacks *stacks, struct naming *naming);
void stacks_free(struct stacks *stacks);

/*
 * Writes the frames of a backtrace to stacks->stack, innermost first, where they are valid until
 * the next call. called: the function to show if the backtrace has no frames. Returns the number of
 * frames, at least 1.
 */
size_t stacks_of(struct stacks *stacks, const struct trace_node *backtrace, const char *called);

/*
 * Returns the functions of a backtrace, outermost first, as "main;serve;take". The text is valid
 * until the next call.
 */
const char *stacks_line(struct stacks *stacks, const struct trace_node *backtrace,
			const char *called);

/*
 * Describes a frame in valgrind's format: "0x1149: read_config (demo.c:12)". The caller frees the
 * text.
 */
char *stacks_describe(const struct stacks_frame *frame);

#endif
