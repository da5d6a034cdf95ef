/* SPDX-License-Identifier: MIT */
#ifndef SPACE_H
#define SPACE_H

/*
 * The address map: one address space for the modules of many processes. Every file has its own
 * range in the map, no matter where each process mapped the file. So a line of a program has the
 * same address in all processes, their backtraces can be compared, and one resolver serves all of
 * them. Objects in the map outlive the trace that they came from.
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
	const char *build_id;	 /* hexadecimal digits; "": unknown */
	bool has_tail;		 /* `code` and `offset` are known, and `from` is the load base */
	uint64_t from, to, code; /* addresses in the address map */
	uint64_t offset;
};

/* A mapping of the current process. */
struct space_mapping {
	uint64_t start, end;
	/* number of the last call before the mapping was made; see struct trace_mapping */
	uint64_t since;
	uint64_t move; /* process address + move = address in the map */
};

#define SPACE_MEMO 64u

/*
 * Caches the conversion of SPACE_MEMO consecutive frames of a trace, except frames that may be
 * converted differently for later calls.
 */
struct space_memo {
	/* in-memory address of the first of these frames; identifies their trace */
	uintptr_t from;
	uint32_t age;
	uint32_t to[SPACE_MEMO]; /* indexed by frame: number of the converted node; 0: unknown */
};

struct address_space {
	struct pool pool;
	struct hash_table modules;
	struct trace_nodes nodes;   /* converted backtraces; equal backtraces are the same node */
	struct hash_table programs; /* paths of executables, and their directories with a final / */
	ARRAY_OF(struct space_module *) module_list;
	ARRAY_OF(struct space_mapping) mappings; /* mappings in the order of the trace */
	/*
	 * indexed by number of a Python function of the current process: address of the function's
	 * module; 0: none
	 */
	ARRAY_OF(uint64_t) python;
	/*
	 * names of the code that processes generated at run time (struct space_code); key: the
	 * address in the map, from code_address()
	 */
	struct hash_table codes;
	uint64_t code_base; /* the current process's area for generated code; 0: none yet */
	uint32_t code_processes;
	/* frames of the backtrace being converted that are not in the memo */
	ARRAY_OF(const struct trace_node *) pending;
	ARRAY_OF(struct space_memo) memo; /* caches of the current process */
	uint32_t age; /* changes with each mapping; caches with another age are invalid */
};

/*
 * Addresses outside of all mappings belong to code that a process generated at run time. In the
 * map, each process has an area of its own for such code, because its names are known only when the
 * process has ended. SPACE_CODE_MASK: the bits of the address in the process.
 */
#define SPACE_CODE_BITS 47
#define SPACE_CODE_BASE (1ull << 61)
#define SPACE_CODE_MASK ((1ull << SPACE_CODE_BITS) - 1)

static inline bool space_is_code(uint64_t address)
{
	return address - SPACE_CODE_BASE < SPACE_CODE_BASE;
}

/* Returns the name of the generated code at an address of the map, or NULL. */
const char *space_code_name(const struct address_space *space, uint64_t address);

void space_init(struct address_space *space);
void space_free(struct address_space *space);

/* Makes the trace's next process the current process. It has no mappings yet. */
void space_begin_process(struct address_space *space);

/*
 * Frees the caches. Call it after all traces have been read; another conversion would fill the
 * caches again.
 */
void space_rest(struct address_space *space);

/*
 * Adds the path of a process's program, whose functions are shown without a module name. Returns 0
 * or -ENOMEM.
 */
int space_add_program(struct address_space *space, const char *path);

/* Whether `path` is the path of a process's program. */
bool space_is_program(const struct address_space *space, const char *path);

/* Whether the file is in the same directory as a process's program. */
bool space_is_beside_program(const struct address_space *space, const char *path);

/* Adds a mapping of the current process. Ignores an impossible mapping. Returns 0 or -ENOMEM. */
int space_map(struct address_space *space, const struct trace_mapping *mapping);

/*
 * Converts a backtrace of the current process. index: number of the call; if an address was mapped
 * several times, `index` selects the mapping. A frame outside of all mappings gets an address in
 * the process's area for generated code. Returns NULL if there is no memory.
 */
const struct trace_node *space_backtrace(struct address_space *space,
					 const struct backtrace *backtrace, uint64_t index);

/* Like space_backtrace(), for an array of frames, innermost first. */
const struct trace_node *space_frames(struct address_space *space, const uint64_t *frames,
				      size_t count, uint64_t index);

/*
 * Returns the module that contained an address of the current process at the time of call number
 * `index`, or NULL.
 */
const struct space_module *space_module_of(const struct address_space *space, uint64_t address,
					   uint64_t index);

/* Returns the module at an address of the address map, or NULL. */
const struct space_module *space_module_at(const struct address_space *space, uint64_t address);

#endif
