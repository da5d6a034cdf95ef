/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_LINES_H
#define ETRACE_LINES_H

/*
 * The lines of an etrace text while their heads are not known: births of tasks are told later than
 * they happened, and names of tasks depend on the order of all. Lines of one call are a block,
 * which stays together. Blocks wait in a buffer and behind it in a temporary file, so memory does
 * not grow with them.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/out.h"
#include "base/spool.h"
#include "dialects/etrace/tasks.h"

struct etrace_block {
	uint64_t time_ns;
	uint32_t task, cpu;
	uint32_t length, pad; /* bytes of lines behind it, each with its newline */
};

struct etrace_lines {
	struct spool spool;
	int directory; /* of the spool */
	ARRAY_OF(char) buffer;
	size_t block; /* where the one that is being made begins */
	int error;    /* 0, or the first one of the temporary file */
	struct error why;
};

int etrace_lines_init(struct etrace_lines *lines, struct error *err);
void etrace_lines_free(struct etrace_lines *lines);

/* A block of lines of one task; ends at the next call of this or at the end. */
void etrace_block(struct etrace_lines *lines, const struct task *task, uint64_t time_ns,
		  uint32_t cpu);

/* One line of the block, without its newline. */
void etrace_line(struct etrace_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A data event: text under a tag, in parts where it is long or has newlines. */
void etrace_text(struct etrace_lines *lines, const char *tag, const char *text, size_t length);

/* Argument number n of a program, likewise; ends with no marker of its own. */
void etrace_argument(struct etrace_lines *lines, unsigned number, const char *text, size_t length);

/*
 * Prints all blocks and the births of tasks in the order of their times, which grow by 1 ns at
 * least from line to line. prefix: before each line. Returns 0 or a negative errno.
 */
int etrace_lines_print(struct etrace_lines *lines, struct tasks *tasks, struct out *out,
		       const char *prefix, struct error *err);

#endif
