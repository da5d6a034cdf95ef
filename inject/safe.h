/* SPDX-License-Identifier: MIT */
#ifndef INJECT_SAFE_H
#define INJECT_SAFE_H

/*
 * Decides whether a stopped thread may be made to call the loader. Neither its current function nor
 * any of its callers may belong to an allocator, to the loader, or to fork and similar functions.
 * The words of the thread's stack are tested first; if a word is doubtful, the frames are walked.
 */

#include "inject/borrowed.h"
#include "inject/target.h"

struct safe;

struct safe *safe_create(const struct target *target);
void safe_destroy(struct safe *safe);

/* Returns NULL if the thread may be borrowed, else a text that names the code in which it is. */
const char *safe_judge(struct safe *safe, const struct remote *remote);

/*
 * If safe_judge() could not decide without walking frames, reads the data for the walk. Call this
 * function while no thread is stopped, because it takes as long as several stops. Before this call,
 * safe_judge() tests only words of the stack.
 */
void safe_prepare(struct safe *safe);

#endif
