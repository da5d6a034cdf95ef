/* SPDX-License-Identifier: MIT */
#ifndef KEEP_STATE_H
#define KEEP_STATE_H

/*
 * What is left of the first sections of a stream: who the process is, its classes and mappings, and
 * the very calls that gained what it held at their end. So whoever reads on from there knows of all
 * that is held by whom, since when and why, as if he had read it all.
 */

#include "keep/pieces.h"

/*
 * Of these pieces, which are the first of a stream up to the end of a section. to: a file for the
 * section that stands for them. since_ns: from then on all is there. Returns 0 or a negative errno.
 */
int state_make(int from, const struct piece *pieces, size_t count, uint64_t since_ns, int to,
	       struct error *err);

#endif
