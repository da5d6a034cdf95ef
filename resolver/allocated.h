/* SPDX-License-Identifier: MIT */
#ifndef ALLOCATED_H
#define ALLOCATED_H

/*
 * Finds the class of the object that a call of operator new allocates, from debug information. The
 * constructor that the same new-expression calls names the class. Its call is on the same line of
 * the same function and inlined calls; and it has the same position there, or its `this` is the
 * result of the call. The class must have the size that the call passes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "resolver/debuginfo.h"

#define ALLOCATED_MAX 1024u

/*
 * Writes the class of the object that the call at an address allocates; returns false if it is
 * unknown. address: an address inside the call.
 */
bool allocated_type(struct debuginfo *debuginfo, uint64_t address, char type[ALLOCATED_MAX]);

/* The sizes of the classes of all units. debuginfo_classes() makes the index, once. */
struct class_index *allocated_index(struct debuginfo *debuginfo);
void allocated_index_free(struct class_index *index);

#endif
