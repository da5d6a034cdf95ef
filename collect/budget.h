/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUDGET_H
#define COLLECT_BUDGET_H

/*
 * How much memory we and the program may use: rings are charged to the program, what is held back
 * to us, and both may live under one limit.
 */

#include <stdint.h>

/* The least limit of memory of our control groups, or the machine's memory, in bytes. */
uint64_t budget_memory(void);

/*
 * The least limit of the groups in a file like /proc/self/cgroup, whose hierarchies are mounted at
 * a directory like /sys/fs/cgroup. UINT64_MAX: there is none.
 */
uint64_t budget_of_groups(const char *list, const char *mount);

#endif
