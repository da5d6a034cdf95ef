/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_CODE_H
#define COLLECT_CODE_H

/*
 * Names of code that a process makes at run time. A JIT compiler lists its functions in a perf map
 * (/tmp/perf-PID.map: start, size and name on each line) or in a jitdump (jit-PID.dump, which the
 * process maps executable). The collector remembers which addresses in the process's backtraces are
 * in no module. When the process has ended, the collector reads these files. It writes each address
 * that has a name to the stream, as a module of one byte.
 *
 * The JIT compiler uses memory of code again, so an address may have several names. Both files grow
 * in the order of time: an address gets the last name that the file had when the address was first
 * seen.
 *
 * The files are untrusted input: the process, and everybody who can write to its /tmp, can change
 * them.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/map.h"
#include "collect/watch.h"

/* The language runtimes that can write a perf map or a jitdump. */
enum code_runtime {
	CODE_NO_RUNTIME,
#define JIT(name, prefix, option) CODE_##name,
#include "base/jit.def"
#undef JIT
};

struct code_address {
	uint64_t address;
	uint64_t seen_ns;   /* when the address was first seen, CLOCK_MONOTONIC */
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
	bool is_owner; /* the process belongs to the owner of the run */
	time_t start;  /* start of the process, in seconds since 1970 */
	enum code_runtime runtime;
	ARRAY_OF(struct code_range) modules; /* sorted, may overlap */
	ARRAY_OF(struct code_address) addresses;
	struct map index; /* maps an address to its index in `addresses`, plus 1 */
	ARRAY_OF(char) names;
	bool is_open; /* `tmp` and `dump` are set */
	int tmp;      /* descriptor of the process's /tmp; -1: none */
	int dump;     /* descriptor of a jitdump; -1: none */
	/* results of code_read() */
	const char *problem; /* why a file was not read, or only in part; NULL: no problem */
	char file[64];	     /* name of the file that was read or has the problem; "": none */
	uint32_t named, reused;
};

void code_begin(struct code *code, const struct watch *watch, uid_t uid, bool is_owner,
		time_t start);
void code_free(struct code *code);

/* Remembers a module of the process. `path` has `length` bytes and no NUL. */
void code_module(struct code *code, uint64_t from, uint64_t to, const char *path, size_t length);

/* Remembers an address of a backtrace, unless it is known. A callback for htr_watch(). */
void code_see(void *code, uint64_t address);

/*
 * Reads the names of all remembered addresses. Calls beat(context) repeatedly while it reads a long
 * file. Returns false if no address needs a name.
 */
bool code_read(struct code *code, void (*beat)(void *), void *context);

/* The name of an address, or NULL. Valid until code_free(). */
const char *code_name(const struct code *code, const struct code_address *address);

#endif
