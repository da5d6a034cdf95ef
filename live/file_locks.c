/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PROCESSES_MAX	4096   /* if there are more processes, no descriptors are read */
#define DESCRIPTORS_MAX 100000 /* maximum number of descriptors to read, of all processes */

/* A file lock that a process holds or that a thread waits for. */
struct file_lock {
	enum { FLOCK, OF_PROCESS, OF_OPEN_FILE, KINDS } kind;
	bool is_write;
	unsigned high, low;	  /* major and minor number of the device */
	uint64_t inode, from, to; /* from, to: first and last byte of the range */
	int taker; /* process that locked the file; -1: an open file description has the lock */
	int pid;   /* process that holds the lock; 0: unknown */
	/* descriptor of the file in process `pid`; -1: the lock was found in proc_locks(5) */
	int fd;
};

struct file_locks {
	struct file_lock *items;
	size_t count, capacity;
	size_t left; /* number of descriptors that may still be read; 0: some were not read */
};

/* ---- held locks ---- */

/*
 * Adds the lock in a line of proc_locks(5) or /proc/PID/fdinfo. Skips leases, and lines of waiters,
 * which have an arrow instead of the kind.
 */
static void add_lock(struct file_locks *locks, const char *line, int pid, int fd)
{
	static const char *const kinds[] = { "FLOCK", "POSIX", "OFDLCK" };
	char kind[16], access[16], last[24];
	struct file_lock lock = { .fd = fd }, *added;

	if (sscanf(line, "%*d: %15s %*s %15s %d %x:%x:%" SCNu64 " %" SCNu64 " %23s", kind, access,
		   &lock.taker, &lock.high, &lock.low, &lock.inode, &lock.from, last) != 8)
		return;
	lock.to = strcmp(last, "EOF") ? strtoull(last, NULL, 10) : UINT64_MAX;
	lock.is_write = !strcmp(access, "WRITE");
	lock.pid = pid ? pid : lock.taker > 0 ? lock.taker : 0;
	while (lock.kind < KINDS && strcmp(kind, kinds[lock.kind]) != 0)
		lock.kind++;
	added = lock.kind < KINDS ? ARRAY_ADD(locks) : NULL;
	if (added)
		*added = lock;
}

static void read_locks(struct file_locks *locks, bool scans)
{
	cleanup_file FILE *file = fopen("/proc/locks", "re");
	size_t count, fd_count;
	cleanup_free int32_t *pids = proc_numbers("/proc", &count);
	char line[256], name[64];

	*locks = (struct file_locks){ 0 };
	while (file && fgets(line, sizeof(line), file))
		add_lock(locks, line, 0, -1);
	locks->left = scans && count <= PROCESSES_MAX ? DESCRIPTORS_MAX : 0;
	for (size_t i = 0; i < count && locks->left; i++) {
		snprintf(name, sizeof(name), "/proc/%d/fdinfo", pids[i]);
		cleanup_free int32_t *fds = proc_numbers(name, &fd_count);

		for (size_t k = 0; k < fd_count && locks->left; k++, locks->left--) {
			snprintf(name, sizeof(name), "fdinfo/%d", fds[k]);
			cleanup_free char *text = proc_text(pids[i], 0, name);

			for (const char *at = text; at && (at = strstr(at, "\nlock:")) != NULL;) {
				at += strlen("\nlock:");
				add_lock(locks, at, pids[i], fds[k]);
			}
		}
	}
}

/* ---- the lock that a thread waits for: the whole file by flock(), a range by fcntl() ---- */

/*
 * Sets the byte range of a lock of fcntl(2). If the range cannot be computed, it stays the whole
 * file.
 */
static void find_range(const struct flock *lock, int64_t size, struct file_lock *wanted)
{
	int64_t start = lock->l_whence == SEEK_END ? size : 0;
	cleanup_free char *text = NULL;
	char name[32];

	if (lock->l_whence == SEEK_CUR) {
		/*
		 * the range starts relative to the position of the descriptor, for example with
		 * lockf(3)
		 */
		snprintf(name, sizeof(name), "fdinfo/%d", wanted->fd);
		text = proc_text(wanted->pid, 0, name);
		if (!text || sscanf(text, "pos: %" SCNd64, &start) != 1)
			return;
	}
	if (__builtin_add_overflow(start, lock->l_start, &start) || start < 0 ||
	    (lock->l_len < 0 && start + lock->l_len < 0))
		return;
	wanted->from = (uint64_t)start;
	if (lock->l_len < 0) {
		wanted->from = (uint64_t)(start + lock->l_len);
		wanted->to = (uint64_t)start - 1;
	} else if (lock->l_len) {
		wanted->to = wanted->from + (uint64_t)lock->l_len - 1;
	}
}

static bool find_wanted(const struct live_process *process, const struct proc_call *call,
			struct file_lock *wanted)
{
	struct flock lock = { 0 };
	struct statx status;
	char path[64];

	*wanted = (struct file_lock){ .is_write = true,
				      .to = UINT64_MAX,
				      .pid = process->subject.pid,
				      .fd = (int)call->argument[0] };
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", wanted->pid, wanted->fd);
	/* use statx(), since stat() may block forever on a network file system or FUSE */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &status) != 0)
		return false;
	wanted->inode = status.stx_ino;
	wanted->high = status.stx_dev_major;
	wanted->low = status.stx_dev_minor;
	if (call->number != SYS_fcntl)
		return true;
	if (subject_get(&process->subject, call->argument[2], &lock, sizeof(lock)))
		return false;
	wanted->kind = call->argument[1] == F_OFD_SETLKW ? OF_OPEN_FILE : OF_PROCESS;
	wanted->is_write = lock.l_type == F_WRLCK;
	find_range(&lock, (off_t)status.stx_size, wanted);
	return true;
}

/* ---- the holder ---- */

static bool is_same_file(const struct file_lock *a, const struct file_lock *b)
{
	return a->inode == b->inode && a->high == b->high && a->low == b->low;
}

static const struct file_lock *find_holder(const struct file_locks *locks,
					   const struct file_lock *wanted)
{
	const struct file_lock *found = NULL;
	int best = 0;

	for (size_t i = 0; i < locks->count; i++) {
		const struct file_lock *lock = &locks->items[i];

		/* two locks of fcntl(2) do not conflict if they have the same kind and process */
		bool conflicts = is_same_file(lock, wanted) &&
				 (lock->kind == FLOCK) == (wanted->kind == FLOCK) &&
				 lock->from <= wanted->to && wanted->from <= lock->to &&
				 (lock->is_write || wanted->is_write) &&
				 (lock->kind == FLOCK || lock->kind != wanted->kind ||
				  lock->pid != wanted->pid);
		/*
		 * prefer a holder that was found by its descriptor, then the process that locked
		 * the file
		 */
		int rank = 1 + (lock->fd >= 0 ? 2 : 0) + (lock->pid == lock->taker);

		if (lock->pid && conflicts && rank > best) {
			found = lock;
			best = rank;
		}
	}
	/*
	 * a process from proc_locks(5) may have ended while other processes still have its open
	 * file
	 */
	return found && (found->fd >= 0 || !kill(found->pid, 0) || errno == EPERM) ? found : NULL;
}

/* Finds the process that holds the lock. Returns true if it certainly is the only holder. */
static bool find_owner(const struct file_locks *locks, const struct live_process *process,
		       const struct live_thread *thread, struct await *await)
{
	struct file_lock wanted;
	const struct file_lock *held =
		find_wanted(process, &thread->call, &wanted) ? find_holder(locks, &wanted) : NULL;

	if (!held)
		return false;
	await->owner_pid = held->pid;
	proc_name(held->pid, 0, await->owner_name, sizeof(await->owner_name));
	for (size_t i = 0; i < locks->count; i++) {
		const struct file_lock *lock = &locks->items[i];

		/*
		 * not certainly the only holder: another process has a lock that looks the same,
		 * and may be a read lock of another open file description
		 */
		if (lock->pid != held->pid && lock->fd >= 0 && is_same_file(lock, held) &&
		    lock->kind == held->kind && lock->is_write == held->is_write &&
		    lock->from == held->from && lock->to == held->to && lock->taker == held->taker)
			return false;
	}
	return locks->left && held->fd >= 0;
}

void file_locks_find_owners(const struct live_process *process, struct await *awaits, bool scans)
{
	struct file_locks locks = { 0 };
	bool is_read = false;

	for (size_t i = 0; i < process->thread_count; i++) {
		if (awaits[i].kind != AWAIT_FILE_LOCK)
			continue;
		if (!is_read)
			read_locks(&locks, scans);
		is_read = true;
		find_owner(&locks, process, &process->threads[i], &awaits[i]);
	}
	free(locks.items);
}

/* ---- deadlock cycles ---- */

/* Returns the process that this process waits for, if no other process can end the wait; else 0. */
static int next_in_ring(const struct file_locks *locks, int pid, uint64_t *switches)
{
	struct await await = { 0 };
	struct live_process process;

	if (live_look(&process, pid, NULL) == 0 && process.thread_count == 1 &&
	    !(proc_status(pid, 0, "SigCgt", 16) >> (SIGALRM - 1) & 1)) {
		await_find(&await, &process, process.threads, NULL, 0);
		*switches = process.threads[0].switches;
		if (await.kind != AWAIT_FILE_LOCK ||
		    !find_owner(locks, &process, process.threads, &await))
			await.owner_pid = 0;
	}
	live_free(&process);
	return await.owner_pid;
}

bool file_ring_find(struct file_ring *ring, int pid)
{
	struct file_locks locks;
	int next = pid;

	*ring = (struct file_ring){ 0 };
	read_locks(&locks, true);
	do {
		ring->pids[ring->count] = next;
		next = next_in_ring(&locks, next, &ring->switches[ring->count++]);
	} while (next && next != pid && ring->count < FILE_RING_MAX);
	free(locks.items);
	return next == pid;
}
