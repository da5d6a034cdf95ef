/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BOUNDS_H
#define COLLECT_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum bound {
#define BOUND(name, of_user, of_others, in_all, what) BOUND_##name,
#include "collect/bounds.def"
#undef BOUND
	BOUND_COUNT
};

enum {
#define KNOWN(of_user, of_others, in_all) \
	KNOWN_OF_USER = of_user, KNOWN_OF_OTHERS = of_others, KNOWN_IN_ALL = in_all
#include "collect/bounds.def"
#undef KNOWN
};

/* Reasons for a refusal. Rows of BOUND come first: they have the same numbers as in enum bound. */
enum refusal {
#define BOUND(name, of_user, of_others, in_all, what) REFUSED_##name,
#define REFUSAL(name, why)			      REFUSED_##name,
#include "collect/bounds.def"
#undef BOUND
#undef REFUSAL
	REFUSAL_COUNT
};

extern struct bound_limits {
	uint32_t of_user, of_others, in_all;
} bounds[BOUND_COUNT];

/*
 * Lowers the limits of all users except the run's owner and root. Together, their threads then make
 * the collector use at most an eighth of `memory` (bytes). Their processes make it use at most two
 * thirds of `descriptors`, two for each process.
 */
void bounds_fit(uint64_t memory, uint64_t descriptors);

/* Resources in use: by all users, and by users who are neither the run's owner nor root. */
struct bounds_used {
	uint32_t by_all[BOUND_COUNT], by_others[BOUND_COUNT];
};

/* Resources that one user has in use. */
struct bounds_user {
	/* the user is root or owns the run: only the limit in_all applies */
	bool is_owner;
	uint32_t used[BOUND_COUNT];
};

/* Whether the user may use `count` more of the resource `bound`. */
bool bounds_allow(const struct bounds_used *used, const struct bounds_user *user, enum bound bound,
		  uint32_t count);

/* Adds `count` to the resources in use. A negative `count` releases resources. */
void bounds_use(struct bounds_used *used, struct bounds_user *user, enum bound bound,
		int32_t count);

/*
 * Sums over the streams of one user, of all users except the owner, or of all users. `bytes`:
 * memory for the backtraces and names that the streams have defined; `streams`: number of streams.
 * If `bytes` exceeds the limit `most`, each stream that uses at least the average begins a new
 * section without definitions.
 */
struct bounds_known {
	uint64_t bytes, most;
	uint32_t streams;
	struct bounds_known *above; /* the larger sum that includes this one; NULL: none */
};

/* Adds `streams` and `bytes` to this sum and to the larger sums; negative numbers subtract. */
void bounds_know(struct bounds_known *known, int32_t streams, int64_t bytes);

/*
 * Whether a stream whose definitions use `bytes` must begin a new section. A sum must exceed its
 * limit, and the stream must use at least the average of the streams in that sum. The new section
 * must also save enough memory.
 */
bool bounds_knows_too_much(const struct bounds_known *known, uint64_t bytes);

/*
 * The memory budget of the collector and the traced program together. The kernel charges rings to
 * the program, and waiting events to the collector; one limit may apply to both processes.
 */

#define BUDGET_GROUPS "/proc/self/cgroup"
#define BUDGET_MOUNT  "/sys/fs/cgroup"

/* Returns the smallest limit of the collector's control groups and of the machine, in bytes. */
uint64_t budget_memory(void);

/*
 * Returns the smallest limit of the groups that `list` names (a file like /proc/self/cgroup). The
 * hierarchies of these groups are mounted below `mount` (a directory like /sys/fs/cgroup).
 * UINT64_MAX: no limit.
 */
uint64_t budget_of_groups(const char *list, const char *mount);

/*
 * Returns how many processes the kernel has killed because memory ran out. The number comes from
 * the first group of `list` that has it, and includes the groups below that group. `mount`: as for
 * budget_of_groups(). UINT64_MAX: unknown.
 */
uint64_t budget_kills(const char *list, const char *mount);

#endif
