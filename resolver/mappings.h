/* SPDX-License-Identifier: MIT */
#ifndef MAPPINGS_H
#define MAPPINGS_H

/* The mappings of modules, according to the trace so far. */

#include "base/hash_table.h"
#include "resolver/layout.h"
#include "resolver/symbol.h"

struct entry;

/* A mapping of a module as the trace describes it. Equal mappings are stored once. */
struct place {
	struct entry *entry;
	uint64_t start, size;			/* the range in the trace */
	uint64_t exec_start, exec_size, offset; /* executable part; 0: unknown */
};

struct mappings {
	void *tree; /* a tree of struct mapping, made by tsearch(3) */
	struct hash_table places;
};

void mappings_init(struct mappings *mappings);
void mappings_free(struct mappings *mappings);

/*
 * Adds a mapping of `module`. It replaces earlier mappings where it overlaps them. Returns 0,
 * -EINVAL for an empty range, or -ENOMEM.
 */
int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry);

/* Returns the mapping that covers the address, or NULL. */
const struct place *mappings_find(const struct mappings *mappings, uint64_t address);

/*
 * Whether the file can have been mapped as `place` has it. If not, the program used another file.
 */
bool place_fits(const struct place *place, const struct layout *layout);

/*
 * Converts an address in memory to an address in the module's file. Returns false if the file has
 * no code at that address.
 */
bool place_address(const struct place *place, const struct layout *layout, uint64_t address,
		   uint64_t *found);

#endif
