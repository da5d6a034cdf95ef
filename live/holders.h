/* SPDX-License-Identifier: MIT */
#ifndef LIVE_HOLDERS_H
#define LIVE_HOLDERS_H

/*
 * Infers which threads may hold a lock that has no owner in its memory: a lock by futex that is not
 * of pthread. A thread that holds a lock usually has the lock's address on its stack, to release
 * it. But a thread that only uses the lock may have it, too, and the holder need not have the
 * address of a lock that is at a constant address. A thread that runs is not searched.
 */

#include "live/await.h"

/* Sets may_hold in the waits for such locks. The stacks of sleeping threads must be copied. */
void holders_find(const struct live_process *process, struct await *awaits);

/*
 * Finds the threads that wait for each other in cycles without a time limit, as far as owners are
 * known or inferred. in_cycle: by thread. Such threads need not be deadlocked: a thread outside may
 * hold a lock of the cycle, too. Returns whether there are any.
 */
bool holders_find_cycles(const struct live_process *process, const struct await *awaits,
			 bool *in_cycle);

#endif
