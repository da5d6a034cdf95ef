/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_STACKS_H
#define VIEWERS_STACKS_H

/*
 * The functions, frames and backtraces of a run as numbers, as files of viewers have them: each is
 * told once and then meant by its number. Memory grows with distinct frames.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/table.h"
#include "naming/naming.h"

#define STACKS_DEPTH_MAX 1024u /* frames of a backtrace; what is further out is left out */

/* A function of a module; equal names of two modules are two. */
struct stacks_function {
	const char *name;	   /* as it is shown: never NULL */
	const char *file, *module; /* "": not known */
	uint32_t number;	   /* from 1 */
};

/* A place in a function. */
struct stacks_frame {
	const struct stacks_function *function;
	uint64_t address; /* in the atlas; 0: in no module */
	uint64_t offset;  /* in the module */
	unsigned line;	  /* 0: not known */
	bool is_inlined;
	uint32_t number; /* from 1 */
};

struct stacks {
	struct naming *naming;
	struct pool pool;
	struct table functions, frames;
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
 * The frames of a backtrace, innermost first, in stacks->stack until the next question. called: the
 * function that stands for a backtrace of no frames. Returns how many, at least one.
 */
size_t stacks_of(struct stacks *stacks, const struct trace_node *backtrace, const char *called);

/*
 * "main;serve;take": its functions as one line, outermost first, until the next question.
 */
const char *stacks_line(struct stacks *stacks, const struct trace_node *backtrace,
			const char *called);

/* "0x1149: read_config (demo.c:12)", to be freed; as valgrind writes it. */
char *stacks_describe(const struct stacks_frame *frame);

#endif
