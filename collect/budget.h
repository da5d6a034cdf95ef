/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUDGET_H
#define COLLECT_BUDGET_H

/*
 * The memory that the collector and the traced program may use together. The kernel charges rings
 * to the program and waiting events to the collector; one limit may cover both.
 */

#include <stdint.h>

#define BUDGET_GROUPS "/proc/self/cgroup"
#define BUDGET_MOUNT  "/sys/fs/cgroup"

/*
 * The smallest memory limit of the collector's control groups, or the machine's memory if that is
 * smaller, in bytes.
 */
uint64_t budget_memory(void);

/*
 * Returns the smallest limit of the groups that `list` names (a file like /proc/self/cgroup). The
 * hierarchies of these groups are mounted below `mount` (a directory like /sys/fs/cgroup).
 * UINT64_MAX: no limit.
 */
uint64_t budget_of_groups(const char *list, const char *mount);

/*
 * Returns the number of processes that the kernel has killed because memory ran out. The number is
 * read from the first of these groups that states it, and includes the groups below this group.
 * UINT64_MAX: unknown.
 */
uint64_t budget_kills(const char *list, const char *mount);

#endif
