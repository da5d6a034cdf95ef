/* SPDX-License-Identifier: MIT */
#ifndef INJECT_TARGET_H
#define INJECT_TARGET_H

/*
 * The facts about a running program that are collected before any of its threads is stopped: its
 * mappings, addresses in its libc that calls need, and the ranges of code where no thread may be
 * borrowed (made to call functions). Also finds the reasons why holdtrace must not attach to a
 * program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "process/subject.h"

/* A range of code in which no thread may be borrowed. what: describes the code. */
struct range {
	uint64_t low, high;
	const char *what;
};

struct target {
	struct subject subject;
	ARRAY_OF(struct range) ranges;
	uint64_t lowest, highest;	   /* bounds of all ranges */
	uint64_t dlopen, dlclose, dlerror; /* functions of libc */
	uint64_t syscall, restorer;   /* addresses of instructions; syscall: in libc; restorer: in
					 libc or the vDSO */
	uint64_t code_low, code_high; /* address range of libc's code */
	uint8_t *code;		      /* a copy of libc's code */
	uint64_t program_low, program_high; /* address range of the program's own code */
	bool has_malloc;		    /* the program defines malloc */
	bool has_allocator;		    /* a library other than libc defines malloc */
	bool has_sanitizer;
	int64_t rseq; /* offset of struct rseq from the thread pointer; 0: unknown */
};

/*
 * Examines the process and opens its memory. Returns 0, or a negative errno with a sentence that
 * says why the process was not touched and what to do instead.
 */
int target_open(struct target *target, pid_t pid, struct error *err);
void target_close(struct target *target);

/*
 * Returns the description of the forbidden range that contains the address; NULL: a thread may be
 * borrowed there.
 */
const char *target_forbids(const struct target *target, uint64_t address);

/* Reads the mappings again. */
int target_read_maps(struct target *target, struct error *err);

int target_write(const struct target *target, uint64_t address, const void *bytes, size_t size);

#endif
