/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FILE_LOCKS_H
#define LIVE_FILE_LOCKS_H

/*
 * The processes that hold the lock of a file. proc_locks(5) lists all locks, but no process for an
 * open file description lock (F_OFD_SETLKW), and for a flock(2) only the process that locked the
 * file, which may have passed the open file on. The descriptors of the processes that we may read
 * (/proc/PID/fdinfo) show all holders.
 */

#include "live/await.h"

#define FILE_RING_MAX 16

/* Fills in the owners of waits for file locks. scans: also reads descriptors, not only the list. */
void file_locks_find_owners(const struct live_process *process, struct await *awaits, bool scans);

/* Processes in a deadlock cycle: each waits for the next one, the last one for the first. */
struct file_ring {
	int pids[FILE_RING_MAX];
	uint64_t switches[FILE_RING_MAX]; /* context switches of each process's thread */
	size_t count;
};

/*
 * Finds the cycle that begins with a process. Returns false if there is none, or if one of its
 * locks may still be released: by another thread of a process, by another process that has the open
 * file, or by a timeout, which is assumed if a process catches SIGALRM. If two calls give the same
 * cycle, none of its processes has run in between.
 */
bool file_ring_find(struct file_ring *ring, int pid);

#endif
