/* SPDX-License-Identifier: MIT */
#ifndef LIMIT_H
#define LIMIT_H

/* Limits of this process (RLIMIT_*) that stand in our way for a moment. */

#include <stdint.h>

struct rlimit;

/*
 * Raises one as far as it may be; what was there before goes to *before. Returns the limit from
 * here on. In a process with several threads nothing is raised: another one could use it, or set a
 * limit, which limit_restore() would undo.
 */
uint64_t limit_lift(int which, struct rlimit *before);

/* As it was. */
void limit_restore(int which, const struct rlimit *before);

#endif
