/* SPDX-License-Identifier: MIT */
#ifndef INJECT_TARGET_H
#define INJECT_TARGET_H

/*
 * A running program as the injector knows it before it stops anything: mappings, the places in libc
 * that it needs, those where no thread may be interrupted, and why it must not be touched at all.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "process/subject.h"

/* Addresses where nothing may be interrupted, and what they are. */
struct range {
	uint64_t low, high;
	const char *what;
};

struct target {
	struct subject subject;
	ARRAY_OF(struct range) ranges;
	uint64_t lowest, highest;	    /* all of them lie between */
	uint64_t dlopen, dlclose, dlerror;  /* functions of libc */
	uint64_t syscall, restorer;	    /* instructions there */
	uint64_t code_low, code_high;	    /* its code … */
	uint8_t *code;			    /* … and a copy of it */
	uint64_t program_low, program_high; /* code of the program itself */
	bool has_malloc;		    /* which has one … */
	bool has_allocator;		    /* … or a library does that is not libc */
	bool has_sanitizer;
	int64_t rseq; /* struct rseq, from the thread pointer; 0: unknown */
};

/*
 * Looks at the process and opens its memory. Returns 0, or a negative errno with one sentence that
 * says why nothing was touched and what to do instead.
 */
int target_open(struct target *target, pid_t pid, struct error *err);
void target_close(struct target *target);

/* The mappings as they are now. */
int target_read_maps(struct target *target, struct error *err);

int target_write(const struct target *target, uint64_t address, const void *bytes, size_t size);

#endif
