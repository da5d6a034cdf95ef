/* SPDX-License-Identifier: MIT */
#ifndef DWP_H
#define DWP_H

/*
 * Units whose rest lies elsewhere: in a .dwo file, or in a .dwp package of all .dwo files of a
 * program, found by number through .debug_cu_index (version 2 of GNU, version 5 of DWARF). Either
 * goes into a .dwo file in memory, for libdw to find as if it lay on disk: libdw before 0.191 knows
 * no packages, and this process opens no other files. Every byte here is hostile.
 */

#include <elfutils/libdw.h>

#include "resolver/elffile.h"

struct dwp;

/* What the program has of a unit whose rest lies elsewhere. */
struct dwp_skeleton {
	uint64_t id;
	uint64_t base;	    /* its low_pc */
	uint64_t addresses; /* where its part of .debug_addr begins */
	uint64_t ranges;    /* and of .debug_ranges, before DWARF 5 */
	uint8_t version;    /* of DWARF; 0: no skeleton */
	uint8_t address_size;
};

/*
 * package: or NULL; program: the file with the skeletons, which has been given to libdw before.
 * Both must outlive what is made. A package that cannot be used is not. Returns NULL on failure.
 */
struct dwp *dwp_create(const struct elffile *package, const struct elffile *program,
		       const struct dwp_skeleton *skeletons, size_t count);

void dwp_destroy(struct dwp *dwp);

/*
 * The first DIE of what belongs to the index-th skeleton, and how many bytes its unit has. Returns
 * false if the package has nothing for it.
 */
bool dwp_find(struct dwp *dwp, size_t index, Dwarf_Die *unit, uint64_t *size);

/* The same of this .dwo file, whose descriptor it closes. Once for each skeleton. */
bool dwp_take(struct dwp *dwp, size_t index, int file, Dwarf_Die *unit, uint64_t *size);

#endif
