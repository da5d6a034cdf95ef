/* SPDX-License-Identifier: MIT */
#ifndef SPACE_H
#define SPACE_H

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
#include "base/hash_table.h"
#include "trace/event.h"

#define SPACE_MODULE_SPACE (1ull << 40)

/* A mapped file, with its addresses in the map. */
struct space_module {
	uint32_t id;
	const char *path;
	const char *build_id;	 /* hexadecimal digits, "": none */
	bool has_tail;		 /* code and offset are known; from is the load base */
	uint64_t from, to, code; /* in the address map */
	uint64_t offset;
};

/* A mapping of the current process. */
struct space_mapping {
	uint64_t start, end;
	uint64_t since; /* see struct trace_mapping */
	uint64_t move;	/* process address + move = address in the map */
};

#define SPACE_MEMO 64u

/* Addresses in the map of frames whose mapping never changes, by number of the frame. */
struct space_memo {
	uintptr_t from; /* address where the tree's first frame would be; tells trees apart */
	uint32_t age;
	uint32_t to[SPACE_MEMO]; /* numbers of the map's nodes; 0: unknown */
};

struct address_space {
	struct pool pool;
	struct hash_table modules;
	struct trace_nodes nodes; /* of addresses in the map: equal backtraces are the same node */
	struct hash_table programs; /* paths of executables, and of their directories with a / */
	ARRAY_OF(struct space_module *) module_list;
	ARRAY_OF(struct space_mapping) mappings; /* in the order of the trace */
	/* frames of a trace that have still to be converted */
	ARRAY_OF(const struct trace_node *) pending;
	ARRAY_OF(struct space_memo) memo; /* of the current process */
	uint32_t age;			  /* entries of the memo with another age are invalid */
};

void space_init(struct address_space *space);
void space_free(struct address_space *space);

/* Starts another process: it has no mappings yet. */
void space_begin_process(struct address_space *space);

/* All traces are read: frees the caches, which would be filled again if needed. */
void space_rest(struct address_space *space);

/* The process runs this program, whose functions are shown alone. Returns 0 or -ENOMEM. */
int space_add_program(struct address_space *space, const char *path);

/* Is the path the program of a process? */
bool space_is_program(const struct address_space *space, const char *path);

/* Does the file lie in the directory of a process's program? */
bool space_is_beside_program(const struct address_space *space, const char *path);

/* Adds a mapping of the current process. Ignores an impossible one. Returns 0 or -ENOMEM. */
int space_map(struct address_space *space, const struct trace_mapping *mapping);

/*
 * Converts a backtrace of the current process, by the mappings at the call with that index. A frame
 * outside of all mappings keeps its address. NULL: no memory.
 */
const struct trace_node *space_backtrace(struct address_space *space,
					 const struct backtrace *backtrace, uint64_t index);

/* The same for frames that belong to no trace. */
const struct trace_node *space_frames(struct address_space *space, const uint64_t *frames,
				      size_t count, uint64_t index);

/* The module at an address of the current process, at the call with that index; or NULL. */
const struct space_module *space_module_of(const struct address_space *space, uint64_t address,
					   uint64_t index);

/* The module at an address of the map, or NULL. */
const struct space_module *space_module_at(const struct address_space *space, uint64_t address);

#endif
