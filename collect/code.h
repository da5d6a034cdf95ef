/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_CODE_H
#define COLLECT_CODE_H

/*
 * Names of code that a process makes at run time. A JIT compiler lists its functions in a perf map
 * (/tmp/perf-PID.map: start, size and name on each line) or in a jitdump (jit-PID.dump, which the
 * process maps executable). The collector remembers the addresses of the process's backtraces that
 * are in no module. When the process has ended, it reads these files, and describes each address
 * that has a name like a module of one byte.
 *
 * Memory of code is used again, so an address may have several names. Both files grow in the order
 * of time: the last name that was there when the address was first seen counts.
 *
 * The files are believed no more than any input: the process, and everybody who can write to its
 * /tmp, decides what is there.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/map.h"
#include "collect/watch.h"

/* A runtime that can write such a file. */
enum code_runtime {
	CODE_NO_RUNTIME,
#define JIT(name, prefix, option) CODE_##name,
#include "base/jit.def"
#undef JIT
};

struct code_address {
	uint64_t address;
	uint64_t seen_ns;   /* when it was first seen, CLOCK_MONOTONIC */
	uint64_t map_bytes; /* length of the perf map at that time */
	uint32_t name;	    /* offset in struct code.names, plus 1; 0: no name */
	bool is_reused;	    /* a later function had this address, too */
};

struct code_range {
	uint64_t from, to;
};

struct code {
	/* the process; NULL: its addresses are not collected */
	const struct watch *watch;
	uid_t uid;
	bool is_owner; /* the process is of the owner of the run */
	time_t start;  /* start of the process, in seconds since 1970 */
	enum code_runtime runtime;
	ARRAY_OF(struct code_range) modules; /* sorted, may overlap */
	ARRAY_OF(struct code_address) addresses;
	struct map index; /* address: index in `addresses`, plus 1 */
	ARRAY_OF(char) names;
	bool is_open; /* the following members are set */
	int tmp;      /* the /tmp of the process; -1: none */
	int dump;     /* a jitdump; -1: none */
	/* results of code_read() */
	const char *problem; /* why a file was not used, or not all of it; NULL: no problem */
	char file[64];	     /* name of the file that `problem` or the names are about; "": none */
	uint32_t named, reused;
};

void code_begin(struct code *code, const struct watch *watch, uid_t uid, bool is_owner,
		time_t start);
void code_free(struct code *code);

/* Notes a module of the process. `path` is not terminated. */
void code_module(struct code *code, uint64_t from, uint64_t to, const char *path, size_t length);

/* Notes an address of a backtrace, which may have been noted before. For htr_watch(). */
void code_see(void *code, uint64_t address);

/*
 * Reads the names of all addresses. beat: called while a long file is read. Returns false if no
 * address needs a name.
 */
bool code_read(struct code *code, void (*beat)(void *), void *context);

/* The name of an address, or NULL. Valid until code_free(). */
const char *code_name(const struct code *code, const struct code_address *address);

#endif
