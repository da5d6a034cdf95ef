/* SPDX-License-Identifier: MIT */
#ifndef DWP_H
#define DWP_H

/*
 * Split units: most of their DWARF is in a .dwo file, or in a .dwp package of all .dwo files of a
 * program, found by number through .debug_cu_index (GNU's version 2, DWARF 5's version 5). Either
 * is copied to a .dwo file in memory, which libdw opens as if it were on disk: libdw before 0.191
 * cannot read packages, and this process may not open other files. Every byte is hostile.
 */

#include <elfutils/libdw.h>

#include "resolver/elffile.h"

struct dwp;

/* The part of a split unit that stays in the program. */
struct dwp_skeleton {
	uint64_t id;
	uint64_t base;	    /* its DW_AT_low_pc */
	uint64_t addresses; /* offset of its part of .debug_addr */
	uint64_t ranges;    /* offset of its part of .debug_ranges, before DWARF 5 */
	uint8_t version;    /* of DWARF; 0: not a split unit */
	uint8_t address_size;
};

/*
 * package: or NULL; program: the file with the skeletons, which libdw has opened before. Both must
 * outlive the result. A package that cannot be used is ignored. Returns NULL on failure.
 */
struct dwp *dwp_create(const struct elffile *package, const struct elffile *program,
		       const struct dwp_skeleton *skeletons, size_t count);

void dwp_destroy(struct dwp *dwp);

/*
 * Finds the first DIE of the index-th skeleton's unit in the package, and the unit's size in bytes.
 * Returns false if the package does not have it.
 */
bool dwp_find(struct dwp *dwp, size_t index, Dwarf_Die *unit, uint64_t *size);

/* The same from this .dwo file, whose descriptor it closes. At most once for each skeleton. */
bool dwp_take(struct dwp *dwp, size_t index, int file, Dwarf_Die *unit, uint64_t *size);

#endif
