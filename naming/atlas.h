/* SPDX-License-Identifier: MIT */
#ifndef ATLAS_H
#define ATLAS_H

/*
 * The modules of many processes in one space of addresses: every file gets a place of its own,
 * wherever the processes had it mapped. So the same line of a program is the same address in all
 * of them, their backtraces can be compared, and one resolver answers for all. What is put into
 * an atlas outlives the trace it came from.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "trace/event.h"

#define ATLAS_MODULE_SPACE (1ull << 40)

/* A file as it was mapped, at its place in the atlas. */
struct atlas_module {
	uint32_t id;
	const char *path;
	const char *build_id;	 /* hexadecimal digits, "": none */
	bool has_tail;		 /* code and offset are known; from is the load base */
	uint64_t from, to, code; /* in the atlas */
	uint64_t offset;
};

/* A mapping of the process that is being told of. */
struct atlas_mapping {
	uint64_t start, end;
	uint64_t since; /* see struct trace_mapping */
	uint64_t move;	/* from here to the atlas: add it */
};

#define ATLAS_MEMO 64u

/* Where frames of a trace are in the atlas, at whatever call, by their number in their tree. */
struct atlas_memo {
	uintptr_t from; /* where the first of them would be: those of other trees are elsewhere */
	uint32_t age;
	uint32_t to[ATLAS_MEMO]; /* numbers of the atlas's nodes; 0: not known */
};

struct atlas {
	struct pool pool;
	struct table modules;
	struct trace_nodes nodes; /* of addresses in the atlas: equal backtraces are the same one */
	struct table programs;	  /* paths of executables, and of their directories with a slash */
	ARRAY_OF(struct atlas_module *) module_list;
	ARRAY_OF(struct atlas_mapping) mappings; /* in order of their coming */
	ARRAY_OF(const struct trace_node *)
	way;				  /* frames of a trace whose place here is looked for */
	ARRAY_OF(struct atlas_memo) memo; /* of the process: where frames went */
	uint32_t age;			  /* entries of the memo that are older are void */
};

void atlas_init(struct atlas *atlas);
void atlas_free(struct atlas *atlas);

/* Another process: its mappings are not known yet. */
void atlas_begin_process(struct atlas *atlas);

/* All is read: what sped it up is given back, and would be made again. */
void atlas_rest(struct atlas *atlas);

/* The process runs this program, whose functions need no mention of it. Returns 0 or -ENOMEM. */
int atlas_add_program(struct atlas *atlas, const char *path);

/* Is the path the program of a process? */
bool atlas_is_program(const struct atlas *atlas, const char *path);

/* Does the file lie in the directory of a process's program? */
bool atlas_is_beside_program(const struct atlas *atlas, const char *path);

/* A mapping of the process. One that makes no sense is left out. Returns 0 or -ENOMEM. */
int atlas_map(struct atlas *atlas, const struct trace_mapping *mapping);

/*
 * A backtrace of the process, taken at the call with that index: what was mapped then counts.
 * Frames in no mapping keep their address. NULL: no memory.
 */
const struct trace_node *atlas_backtrace(struct atlas *atlas, const struct backtrace *backtrace,
					 uint64_t index);

/* The same of frames that are no trace's. */
const struct trace_node *atlas_frames(struct atlas *atlas, const uint64_t *frames, size_t count,
				      uint64_t index);

/* The module at an address of the process, at the call with that index; or NULL. */
const struct atlas_module *atlas_module_of(const struct atlas *atlas, uint64_t address,
					   uint64_t index);

/* The module at an address of the atlas, or NULL. */
const struct atlas_module *atlas_module_at(const struct atlas *atlas, uint64_t address);

#endif
