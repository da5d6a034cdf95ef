/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUDGET_H
#define COLLECT_BUDGET_H

/*
 * How much memory the collector and the program may use together: rings are charged to the program,
 * held-back events to the collector, and one limit may cover both.
 */

#include <stdint.h>

/* The smallest memory limit of our control groups, or the machine's memory, in bytes. */
uint64_t budget_memory(void);

/*
 * The smallest limit of the groups that a file like /proc/self/cgroup lists, whose hierarchies are
 * mounted below a directory like /sys/fs/cgroup. UINT64_MAX: no limit.
 */
uint64_t budget_of_groups(const char *list, const char *mount);

#endif
