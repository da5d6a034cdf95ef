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

struct map {
	uint64_t low, high, offset;
	char rights[5];
	unsigned major, minor;
	unsigned long inode;
	char *path; /* "" for none */
};

/* Addresses where nothing may be interrupted, and what they are. */
struct range {
	uint64_t low, high;
	const char *what;
};

struct target {
	pid_t pid;
	int memory; /* /proc/PID/mem */
	struct map *maps;
	size_t map_count;
	ARRAY_OF(struct range) ranges;
	uint64_t lowest, highest;	    /* all of them lie between */
	bool is_short;			    /* of memory: some range is missing */
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

/* The first mapping whose file's name begins so; NULL. */
const struct map *target_find(const struct target *target, const char *name);
const struct map *target_map_of(const struct target *target, uint64_t address);

/* The last part of its path. */
const char *target_name_of(const struct map *map);

int target_read(const struct target *target, uint64_t address, void *bytes, size_t size);
int target_write(const struct target *target, uint64_t address, const void *bytes, size_t size);

/* A line of /proc/PID/task/THREAD/status (thread 0: of the process) as a number; -1: none. */
int64_t target_status(pid_t pid, pid_t thread, const char *name, int base);

/* Opens the file that is mapped, wherever its name leads to by now; -1. */
int target_open_file(const struct target *target, const struct map *map);

#endif
