/* SPDX-License-Identifier: MIT */
#ifndef INJECT_SAFE_H
#define INJECT_SAFE_H

/*
 * Whether a stopped thread stands where it may be made to call the loader: outside of allocators,
 * of the loader itself, of fork and the like, and with no such function among its callers. The
 * words of its stack are asked first; where one of them is doubtful, its frames are.
 */

#include "inject/borrowed.h"
#include "inject/target.h"

struct safe;

struct safe *safe_create(const struct target *target);
void safe_destroy(struct safe *safe);

/* NULL: it is safe; else where it stands. */
const char *safe_judge(struct safe *safe, const struct remote *remote);

/*
 * Reads what frames need, if a judgement would have needed them: outside of a stop, for that takes
 * as long as some stops. Words alone are asked until then.
 */
void safe_prepare(struct safe *safe);

#endif
