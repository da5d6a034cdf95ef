/* SPDX-License-Identifier: MIT */
#ifndef LIVE_FILE_LOCKS_H
#define LIVE_FILE_LOCKS_H

/*
 * Finds the processes that hold file locks. proc_locks(5) lists all locks. But for a lock of an
 * open file description (F_OFD_SETLKW) the list names no process, and for flock(2) only the process
 * that locked the file, which may have passed the open file on. All holders are found through the
 * descriptors (/proc/PID/fdinfo) of the processes that this user may read.
 */

#include "live/await.h"

#define FILE_RING_MAX 16

/*
 * Sets the owners in the waits for file locks. scans: reads the descriptors of all processes in
 * addition to proc_locks(5).
 */
void file_locks_find_owners(const struct live_process *process, struct await *awaits, bool scans);

/*
 * A deadlock cycle of processes. Each process waits for the next one, and the last process for the
 * first.
 */
struct file_ring {
	int pids[FILE_RING_MAX];
	uint64_t switches[FILE_RING_MAX]; /* context switches of each process's thread */
	size_t count;
};

/*
 * Finds the cycle that begins with a process. Returns false if the process is not in a cycle, or if
 * one of the cycle's locks may still be released: by another thread of a process, by another
 * process that has the open file, or because of a timeout, which is assumed if a process catches
 * SIGALRM. If two calls return the same cycle, none of its processes has run between the calls.
 */
bool file_ring_find(struct file_ring *ring, int pid);

#endif
