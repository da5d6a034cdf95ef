/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BESIDE_H
#define COLLECT_BESIDE_H

/* Programs that lie beside ours, where we were built or installed, and work for us. */

#include <sys/types.h>

#define BESIDE_FIRST 3 /* the number of the first descriptor that one is given */
#define BESIDE_MOST  4

/*
 * Starts one with these descriptors and no other business of ours; argv[0] becomes its name. It can
 * be ended by any signal. Returns 0 or a positive errno.
 */
int beside_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/* Ends one that was started, and waits for it. */
void beside_end(pid_t *pid);

#endif
