/* SPDX-License-Identifier: MIT */
#ifndef KEEP_STATE_H
#define KEEP_STATE_H

/*
 * What remains of the first sections of a stream: the identity of the process, its classes and
 * mappings, and the calls that acquired the objects that were live at their end. A reader of the
 * next sections then knows all live objects, who acquired them, when and why, as if it had read
 * everything.
 */

#include "keep/pieces.h"

/*
 * Makes the section that replaces these pieces, which are the first ones of a stream, up to the end
 * of a section. to: a file for the new section. since_ns: start of the part that is kept whole.
 * Returns 0 or a negative errno.
 */
int state_make(int from, const struct piece *pieces, size_t count, uint64_t since_ns, int to,
	       struct error *err);

#endif
