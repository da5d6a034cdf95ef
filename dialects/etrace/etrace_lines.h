/* SPDX-License-Identifier: MIT */
#ifndef ETRACE_LINES_H
#define ETRACE_LINES_H

/*
 * Collects the lines of an etrace text until they can be printed. Each line starts with the name of
 * its task. Names are numbered in the order of the tasks' births, and some births become known only
 * at the end. The lines of one call form a block and stay together. Blocks are written to a
 * temporary file, so memory does not grow with the number of blocks.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/out.h"
#include "base/spill_file.h"
#include "dialects/etrace/tasks.h"

struct etrace_block {
	uint64_t time_ns;
	uint32_t task, cpu;
	uint32_t length, pad; /* length: bytes of the lines that follow, with their newlines */
};

struct etrace_lines {
	struct spill_file spill;
	ARRAY_OF(char) buffer;
	size_t block; /* offset of the current block in `buffer` */
};

void etrace_lines_init(struct etrace_lines *lines);
void etrace_lines_free(struct etrace_lines *lines);

/* Ends the previous block, and begins a block of lines of one task. */
void etrace_block(struct etrace_lines *lines, const struct task *task, uint64_t time_ns,
		  uint32_t cpu);

/* Adds a line to the block, without its newline. */
void etrace_line(struct etrace_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds a text as a line with a tag. A text that is long or contains newlines is split into several
 * lines.
 */
void etrace_text(struct etrace_lines *lines, const char *tag, const char *text, size_t length);

/* Adds an argument of a program. Splits it like etrace_text(), but writes no end marker. */
void etrace_argument(struct etrace_lines *lines, unsigned number, const char *text, size_t length);

/*
 * Prints all blocks, births and exits of tasks in order of time. Times increase by at least 1 ns
 * from line to line. prefix: printed at the start of each line. Returns 0 or a negative errno.
 */
int etrace_lines_print(struct etrace_lines *lines, struct tasks *tasks, struct out *out,
		       const char *prefix, struct error *err);

#endif
