/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FILE_LOCKS_H
#define LIVE_FILE_LOCKS_H

/*
 * Which process holds the lock of a file. proc_locks(5) lists all locks, but names no process for
 * an open file description lock (F_OFD_SETLKW), and for a flock(2) only the process that took it,
 * which may have passed the open file on. The descriptors of the processes that we may read
 * (/proc/PID/fdinfo) name all that have it.
 */

#include "live/await.h"

#define FILE_RING_MAX 16

/* Fills the owners of waits for locks of files. scans: reads descriptors, too, not only the list.
 */
void file_locks_find_owners(const struct live_process *process, struct await *awaits, bool scans);

/* Processes that wait in a ring for each other: each for the next one, the last for the first. */
struct file_ring {
	int pids[FILE_RING_MAX];
	uint64_t switches[FILE_RING_MAX]; /* how often the thread of each went to sleep */
	size_t count;
};

/*
 * Finds the ring that begins with a process. Returns false if there is none, or if one of its locks
 * may still be released: by another thread of a process, by another process that has the open file,
 * or because a process catches SIGALRM, with which programs limit such waits. Two equal answers
 * mean that no process in it has run meanwhile.
 */
bool file_ring_find(struct file_ring *ring, int pid);

#endif
