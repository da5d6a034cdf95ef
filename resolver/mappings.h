/* SPDX-License-Identifier: MIT */
#ifndef MAPPINGS_H
#define MAPPINGS_H

/* Which module lies where, as the trace has told so far. */

#include "base/table.h"
#include "resolver/layout.h"
#include "resolver/symbol.h"

struct entry;

/* One way in which a module was mapped; the same one told twice is one place. */
struct place {
	struct entry *entry;
	uint64_t start, size;			/* of the range as it was told */
	uint64_t exec_start, exec_size, offset; /* 0: not known */
};

struct mappings {
	void *tree; /* of struct mapping, see tsearch(3) */
	struct table places;
};

void mappings_init(struct mappings *mappings);
void mappings_free(struct mappings *mappings);

/* Lays module over what is mapped there. Returns 0, -EINVAL for an empty range, or -ENOMEM. */
int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry);

/* The place around address, or NULL. */
const struct place *mappings_find(const struct mappings *mappings, uint64_t address);

/* Is the place one of the file's? If not, the file is not the one that was mapped. */
bool place_fits(const struct place *place, const struct layout *layout);

/* The address as the module's file counts it. Returns false if it is no code of that file. */
bool place_address(const struct place *place, const struct layout *layout, uint64_t address,
		   uint64_t *found);

#endif
