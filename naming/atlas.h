/* SPDX-License-Identifier: MIT */
#ifndef ATLAS_H
#define ATLAS_H

/*
 * The address map: the modules of many processes in one address space. Every file gets a range of
 * its own there, wherever the processes mapped it. So a line of a program has the same address in
 * all processes, their backtraces can be compared, and one resolver serves all. What the map stores
 * outlives the trace it came from.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "trace/event.h"

#define ATLAS_MODULE_SPACE (1ull << 40)

/* A mapped file, with its addresses in the map. */
struct atlas_module {
	uint32_t id;
	const char *path;
	const char *build_id;	 /* hexadecimal digits, "": none */
	bool has_tail;		 /* code and offset are known; from is the load base */
	uint64_t from, to, code; /* in the address map */
	uint64_t offset;
};

/* A mapping of the current process. */
struct atlas_mapping {
	uint64_t start, end;
	uint64_t since; /* see struct trace_mapping */
	uint64_t move;	/* process address + move = address in the map */
};

#define ATLAS_MEMO 64u

/*
 * Addresses in the map of frames whose mapping never changes, by the number of the frame in its
 * tree.
 */
struct atlas_memo {
	uintptr_t from; /* address where the tree's first frame would be; tells trees apart */
	uint32_t age;
	uint32_t to[ATLAS_MEMO]; /* numbers of the map's nodes; 0: unknown */
};

struct atlas {
	struct pool pool;
	struct table modules;
	struct trace_nodes nodes; /* of addresses in the map: equal backtraces are the same node */
	struct table programs;	  /* paths of executables, and of their directories with a slash */
	ARRAY_OF(struct atlas_module *) module_list;
	ARRAY_OF(struct atlas_mapping) mappings; /* in the order of the trace */
	ARRAY_OF(const struct trace_node *)
	way;				  /* frames of a trace that have still to be converted */
	ARRAY_OF(struct atlas_memo) memo; /* of the current process */
	uint32_t age;			  /* entries of the memo with another age are invalid */
};

void atlas_init(struct atlas *atlas);
void atlas_free(struct atlas *atlas);

/* Starts another process: it has no mappings yet. */
void atlas_begin_process(struct atlas *atlas);

/* All traces are read: frees the caches, which would be filled again if needed. */
void atlas_rest(struct atlas *atlas);

/*
 * The process runs this program; its functions are shown without the module's name. Returns 0 or
 * -ENOMEM.
 */
int atlas_add_program(struct atlas *atlas, const char *path);

/* Is the path the program of a process? */
bool atlas_is_program(const struct atlas *atlas, const char *path);

/* Does the file lie in the directory of a process's program? */
bool atlas_is_beside_program(const struct atlas *atlas, const char *path);

/* Adds a mapping of the current process. Ignores an impossible one. Returns 0 or -ENOMEM. */
int atlas_map(struct atlas *atlas, const struct trace_mapping *mapping);

/*
 * Converts a backtrace of the current process, by the mappings at the call with that index. A frame
 * outside of all mappings keeps its address. NULL: no memory.
 */
const struct trace_node *atlas_backtrace(struct atlas *atlas, const struct backtrace *backtrace,
					 uint64_t index);

/* The same for frames that belong to no trace. */
const struct trace_node *atlas_frames(struct atlas *atlas, const uint64_t *frames, size_t count,
				      uint64_t index);

/* The module at an address of the current process, at the call with that index; or NULL. */
const struct atlas_module *atlas_module_of(const struct atlas *atlas, uint64_t address,
					   uint64_t index);

/* The module at an address of the map, or NULL. */
const struct atlas_module *atlas_module_at(const struct atlas *atlas, uint64_t address);

#endif
