/* SPDX-License-Identifier: MIT */
#ifndef KEEP_STATE_H
#define KEEP_STATE_H

/*
 * Makes a section that replaces the first sections of a stream. The new section has the identity of
 * the process, and its classes and mappings. It also has the calls that acquired the objects that
 * were live at the end of the replaced sections. A reader that begins with the new section finds
 * the same live objects, acquired by the same calls, as a reader of the whole stream.
 */

#include "keep/pieces.h"

/*
 * Makes the section that replaces these pieces, which must be all pieces of a stream up to the end
 * of a section. to: a file for the new section. since_ns: start of the part that is kept
 * completely. Returns 0 or a negative errno.
 */
int state_make(int from, const struct piece *pieces, size_t count, uint64_t since_ns, int to,
	       struct error *err);

#endif
