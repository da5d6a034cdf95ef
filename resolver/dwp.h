/* SPDX-License-Identifier: MIT */
#ifndef DWP_H
#define DWP_H

/*
 * Reads split units. Most of their DWARF is in a .dwo file, or in a .dwp package of all .dwo files
 * of a program, where .debug_cu_index locates a unit by its id (version 2 by GNU, version 5 in
 * DWARF 5). In both cases the unit is copied to a .dwo file in memory, which libdw opens like a
 * file on disk: libdw before 0.191 cannot read packages, and this process must not open other
 * files. Every byte of the input may be hostile.
 */

#include <elfutils/libdw.h>

#include "resolver/elffile.h"

struct dwp;

/* The part of a split unit that remains in the program. */
struct dwp_skeleton {
	uint64_t id;
	uint64_t base;	    /* DW_AT_low_pc */
	uint64_t addresses; /* offset of the unit's part of .debug_addr */
	uint64_t ranges;    /* offset of the unit's part of .debug_ranges, before DWARF 5 */
	uint8_t version;    /* version of DWARF; 0: the unit is not split */
	uint8_t address_size;
};

/*
 * package: the .dwp file, or NULL; program: the file with the skeletons, which libdw has opened
 * before. Both must outlive the result. A package that cannot be used is ignored. Returns NULL on
 * failure.
 */
struct dwp *dwp_create(const struct elffile *package, const struct elffile *program,
		       const struct dwp_skeleton *skeletons, size_t count);

void dwp_destroy(struct dwp *dwp);

/*
 * Finds the unit of the index-th skeleton in the package. *unit: the unit's first DIE; *size: the
 * unit's size in bytes. Returns false if the package does not have the unit.
 */
bool dwp_find(struct dwp *dwp, size_t index, Dwarf_Die *unit, uint64_t *size);

/*
 * Like dwp_find(), but for the unit in a .dwo file. Closes `file`, the descriptor of that file.
 * Call it at most once for each skeleton.
 */
bool dwp_take(struct dwp *dwp, size_t index, int file, Dwarf_Die *unit, uint64_t *size);

#endif
