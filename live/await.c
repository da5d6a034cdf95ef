/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "base/cleanup.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define MUTEX_KINDS 512u /* upper bound of the value that glibc stores as the kind of a mutex */

static const struct {
	const char *word, *text;
} kinds[] = {
#define AWAIT(kind, ...) [AWAIT_##kind] = { __VA_ARGS__ },
#include "live/await.def"
#undef AWAIT
};

const char *await_word(enum await_kind kind)
{
	return kinds[kind].word;
}

const char *await_text(enum await_kind kind)
{
	return kinds[kind].text;
}

/* ---- system calls ---- */

/* The numbers of system calls that older headers lack, the same on all processors. */
#define CALL_FUTEX_WAIT	 455
#define CALL_FUTEX_WAITV 449
#define CALL_OPENAT2	 437

/*
 * System calls that may sleep for long, with the kind of wait. If a call works on a descriptor, the
 * descriptor is its first argument.
 */
static const struct {
	long call;
	enum await_kind kind;
} calls[] = {
	{ SYS_futex, AWAIT_FUTEX },
	{ CALL_FUTEX_WAIT, AWAIT_FUTEX },
	{ CALL_FUTEX_WAITV, AWAIT_FUTEX },
	{ SYS_restart_syscall, AWAIT_FUTEX }, /* may also be the rest of a sleep or poll() */
	{ SYS_read, AWAIT_FILE },
	{ SYS_readv, AWAIT_FILE },
	{ SYS_pread64, AWAIT_FILE },
	{ SYS_recvfrom, AWAIT_FILE },
	{ SYS_recvmsg, AWAIT_FILE },
	{ SYS_recvmmsg, AWAIT_FILE },
	{ SYS_write, AWAIT_FILE },
	{ SYS_writev, AWAIT_FILE },
	{ SYS_pwrite64, AWAIT_FILE },
	{ SYS_sendto, AWAIT_FILE },
	{ SYS_sendmsg, AWAIT_FILE },
	{ SYS_accept, AWAIT_FILE },
	{ SYS_accept4, AWAIT_FILE },
	{ SYS_connect, AWAIT_FILE },
	{ SYS_fsync, AWAIT_FILE },
	{ SYS_fdatasync, AWAIT_FILE },
	{ SYS_ioctl, AWAIT_FILE },
	{ SYS_flock, AWAIT_FILE_LOCK },
	{ SYS_fcntl, AWAIT_FILE_LOCK },
	{ SYS_openat, AWAIT_OPEN },
	{ CALL_OPENAT2, AWAIT_OPEN },
	{ SYS_epoll_pwait, AWAIT_FILES },
	{ SYS_ppoll, AWAIT_FILES },
	{ SYS_pselect6, AWAIT_FILES },
#ifdef SYS_poll
	{ SYS_open, AWAIT_OPEN },
	{ SYS_epoll_wait, AWAIT_FILES },
	{ SYS_poll, AWAIT_FILES },
	{ SYS_select, AWAIT_FILES },
	{ SYS_pause, AWAIT_SIGNAL },
#endif
	{ SYS_wait4, AWAIT_CHILD },
	{ SYS_waitid, AWAIT_CHILD },
	{ SYS_nanosleep, AWAIT_TIME },
	{ SYS_clock_nanosleep, AWAIT_TIME },
	{ SYS_rt_sigtimedwait, AWAIT_SIGNAL },
	{ SYS_rt_sigsuspend, AWAIT_SIGNAL },
};

/* ---- locks of pthreads ---- */

/*
 * Prefixes of public functions that wait. The names of glibc's internal functions have underscores
 * before the prefix.
 */
static const struct {
	const char *prefix;
	enum await_kind kind;
} functions[] = {
	{ "pthread_mutex_", AWAIT_MUTEX },
	{ "mtx_", AWAIT_MUTEX },
	{ "pthread_rwlock_", AWAIT_RWLOCK },
	{ "pthread_cond_", AWAIT_CONDITION },
	{ "cnd_", AWAIT_CONDITION },
	{ "sem_", AWAIT_SEMAPHORE },
	{ "new_sem_", AWAIT_SEMAPHORE },
	{ "pthread_barrier_", AWAIT_BARRIER },
	{ "pthread_join", AWAIT_JOIN },
	{ "pthread_clockjoin", AWAIT_JOIN },
	{ "pthread_timedjoin", AWAIT_JOIN },
	{ "thrd_join", AWAIT_JOIN },
	{ "pthread_once", AWAIT_ONCE },
	{ "call_once", AWAIT_ONCE },
	/* a stop turns these calls, and futex(2) with a timeout, into restart_syscall(2) */
	{ "nanosleep", AWAIT_TIME },
	{ "clock_nanosleep", AWAIT_TIME },
	{ "poll", AWAIT_FILES },
};

static bool is_pi(const struct live_thread *thread)
{
	int operation = (int)thread->call.argument[1] & FUTEX_CMD_MASK;

	return operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

static enum await_kind kind_of_name(const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = names[i] ? names[i] + strspn(names[i], "_") : "";

		if (!strncmp(name, "GI_", 3))
			name += 3;
		name += strspn(name, "_");
		for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++)
			if (!strncmp(name, functions[k].prefix, strlen(functions[k].prefix)))
				return functions[k].kind;
	}
	return AWAIT_FUTEX;
}

static uint32_t word_at(const struct live_process *process, uint64_t address)
{
	uint32_t word = 0;

	subject_get(&process->subject, address, &word, sizeof(word));
	return word;
}

static const struct live_thread *thread_by(const struct live_process *process, uint32_t own_tid)
{
	for (size_t i = 0; own_tid && i < process->thread_count; i++)
		if ((uint32_t)process->threads[i].own_tid == own_tid)
			return &process->threads[i];
	return NULL;
}

/*
 * Returns the id of the thread whose struct pthread has this futex, or 0. pthread_join() waits
 * until the kernel clears the thread id in that structure; with glibc 2.43, until another word of
 * the structure changes. On x86-64 the structure is aligned to 64 bytes, has its own address at
 * offsets 0 and 16, and the thread id at offset 720.
 */
static uint32_t joined_thread(const struct live_process *process, uint64_t futex)
{
#ifdef __x86_64__
	for (uint64_t at = futex & ~63ul; futex - at < 2304; at -= 64) {
		uint64_t own[3];

		if (subject_get(&process->subject, at, own, sizeof(own)) == 0 && own[0] == at &&
		    own[2] == at)
			return word_at(process, at + 720);
	}
	return 0;
#else
	return word_at(process, futex);
#endif
}

/*
 * Whether the thread is in pthread_join(), whose symbol is usually missing. pthread_join() uses a
 * futex without FUTEX_PRIVATE_FLAG. Any word of the program may be equal to a thread id, especially
 * if thread ids are small (in containers), so the futex must be in a struct pthread.
 */
static bool is_join(const struct live_process *process, const struct live_thread *thread)
{
	int operation = (int)thread->call.argument[1] & ~FUTEX_CLOCK_REALTIME;
	uint32_t value = (uint32_t)thread->call.argument[2];

#ifdef __x86_64__
	/* glibc before 2.34 waits with FUTEX_WAIT */
	if (operation == FUTEX_WAIT)
		operation = FUTEX_WAIT_BITSET;
#endif
	return operation == FUTEX_WAIT_BITSET &&
	       word_at(process, thread->call.argument[0]) == value &&
	       thread_by(process, joined_thread(process, thread->call.argument[0]));
}

static bool is_plain_wait(const struct live_thread *thread)
{
	int operation = (int)thread->call.argument[1] & FUTEX_CMD_MASK;

	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

/*
 * Whether the futex belongs to a mutex. Function names do not suffice: pthread_cond_wait() locks
 * its mutex before it returns, and lock functions jump to functions without a symbol. So this
 * function reads the mutex. While threads wait, the futex is 2; in a robust mutex it is the owner's
 * thread id with FUTEX_WAITERS. A locked mutex also has an owner, a number of users and a kind.
 */
static bool is_mutex(const struct live_process *process, const struct live_thread *thread)
{
	uint64_t at = thread->call.argument[0];
	uint32_t value = (uint32_t)thread->call.argument[2], owner = word_at(process, at + 8);

	return is_plain_wait(thread) &&
	       (value == 2 || (value & FUTEX_WAITERS && (value & FUTEX_TID_MASK) == owner)) &&
	       word_at(process, at + 12) && word_at(process, at + 16) < MUTEX_KINDS &&
	       thread_by(process, owner);
}

/*
 * Whether the futex belongs to a semaphore. sem_wait() and its variants jump to functions without a
 * symbol, so this function reads struct new_sem of 64-bit glibc: the value (the futex, 0 while
 * threads wait), the number of waiters, and 128 if processes share the semaphore. The futex of a
 * condition variable may look the same, but pthread_cond_wait() has a frame with its name.
 */
static bool is_semaphore(const struct live_process *process, const struct live_thread *thread)
{
	uint64_t at = thread->call.argument[0];
	uint32_t waiters = word_at(process, at + 4);
	bool is_private = thread->call.argument[1] & FUTEX_PRIVATE_FLAG;

	return is_plain_wait(thread) && (uint32_t)thread->call.argument[2] == 0 && waiters &&
	       (!is_private || waiters <= process->thread_count + process->left_out) &&
	       word_at(process, at + 8) == (is_private ? 0 : FUTEX_PRIVATE_FLAG);
}

static enum await_kind kind_of_futex(const struct live_process *process,
				     const struct live_thread *thread, const char *const *names,
				     size_t count)
{
	enum await_kind kind = kind_of_name(names, count);

	if (thread->call.number == SYS_futex && is_pi(thread))
		return AWAIT_MUTEX;
	if (thread->call.number == CALL_FUTEX_WAIT || thread->call.number == CALL_FUTEX_WAITV)
		return AWAIT_FUTEX;
	if (thread->call.number != SYS_futex || !process->is_glibc)
		return kind == AWAIT_FUTEX && thread->call.number != SYS_futex ? AWAIT_CALL : kind;
	/* the program itself calls futex(2), from its own code or through syscall(2) */
	if (!count || (names[0] && !strcmp(names[0], "syscall")))
		return kind;
	if (kind == AWAIT_FUTEX && is_join(process, thread))
		return AWAIT_JOIN;
	if ((kind == AWAIT_FUTEX || kind == AWAIT_CONDITION) && is_mutex(process, thread))
		return AWAIT_MUTEX;
	return kind == AWAIT_FUTEX && is_semaphore(process, thread) ? AWAIT_SEMAPHORE : kind;
}

/* Sets the address and owner of the lock (in the layout of 64-bit glibc), and the time limit. */
static void find_owner(struct await *await, const struct live_process *process,
		       const struct live_thread *thread)
{
	uint64_t futex = thread->call.argument[0];
	bool is_list = thread->call.number == CALL_FUTEX_WAITV;

	/* take the address from the second member of the first struct futex_waitv */
	if (is_list && subject_get(&process->subject, futex + 8, &futex, sizeof(futex)))
		futex = 0;
	await->address = futex;
	await->has_limit = thread->call.argument[thread->call.number == CALL_FUTEX_WAIT ? 4 : 3];
	if (await->kind == AWAIT_MUTEX) {
		/*
		 * struct __pthread_mutex_s: the futex is the first word, the owner the third. For
		 * robust and priority-inheriting mutexes the owner is in the kernel's part of the
		 * futex (get_robust_list(2)).
		 */
		await->owner = (int)(is_pi(thread) ? word_at(process, futex) & FUTEX_TID_MASK
						   : word_at(process, futex + 8));
	} else if (await->kind == AWAIT_RWLOCK) {
		/*
		 * struct __pthread_rwlock_arch_t: `readers`, `writers`, the futexes of the two
		 * phases (third and fourth word), two unused words, the writer's thread id. The
		 * lowest three bits of `readers` are flags. If the lock prefers writers, a thread
		 * may also wait on the word `readers`; the value of that word is then greater than
		 * the flags of the phases.
		 */
		await->address -= (uint32_t)thread->call.argument[2] > 3 ? 0 : futex & 4 ? 12 : 8;
		await->owner = (int)word_at(process, await->address + 24);
		if (!await->owner)
			await->readers = word_at(process, await->address) >> 3;
	} else if (await->kind == AWAIT_JOIN) {
		await->address = 0;
		await->owner = (int)joined_thread(process, futex);
	}
}

void await_find(struct await *await, const struct live_process *process,
		const struct live_thread *thread, const char *const *names, size_t count)
{
	char path[64], line[128];
	cleanup_file FILE *status = NULL;

	*await = (struct await){ .fd = -1 };
	if (thread->call.number >= 0)
		await->kind = AWAIT_CALL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].call == thread->call.number)
			await->kind = calls[i].kind;
	/*
	 * fcntl() sleeps only for a lock. The descriptors of epoll_wait() and poll() are left out:
	 * an epoll descriptor does not identify the awaited file, and poll() may have many.
	 */
	if (await->kind == AWAIT_FILE || await->kind == AWAIT_FILE_LOCK) {
		await->fd = (int)thread->call.argument[0];
		snprintf(path, sizeof(path), "fd/%d", await->fd);
		proc_link(process->subject.pid, 0, path, await->path, sizeof(await->path));
	}
	if (await->kind == AWAIT_OPEN) {
		uint64_t at = thread->call.argument[1];

#ifdef SYS_open
		if (thread->call.number == SYS_open)
			at = thread->call.argument[0];
#endif
		/* the rest of `path` remains 0 */
		subject_read(&process->subject, at, await->path, sizeof(await->path) - 1);
	}
	if (await->kind != AWAIT_FUTEX)
		return;
	await->kind = kind_of_futex(process, thread, names, count);
	if (await->kind == AWAIT_CALL || await->kind == AWAIT_TIME || await->kind == AWAIT_FILES)
		return;
	find_owner(await, process, thread);
	if (!await->owner || thread_by(process, (uint32_t)await->owner))
		return;
	/*
	 * The owner may be in another process that shares the lock. If this process is in another
	 * pid namespace than ours, the owner's process cannot be found. The owner of a private
	 * futex is always in this process, so an owner that is not among the threads has ended.
	 */
	await->has_ended = thread->call.argument[1] & FUTEX_PRIVATE_FLAG;
	await->is_elsewhere = !process->has_our_numbers && !await->has_ended;
	if (!process->has_our_numbers)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", await->owner);
	status = fopen(path, "re");
	await->has_ended = true;
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &await->owner_pid) == 1)
			await->has_ended = false;
}

/* ---- deadlock cycles ---- */

size_t await_ring(const struct live_process *process, const struct await *awaits, size_t start,
		  size_t *ring, size_t max)
{
	size_t count = 0;

	for (size_t at = start; count < max && awaits[at].owner;) {
		int owner = awaits[at].owner;

		ring[count++] = at;
		at = 0;
		while (at < process->thread_count && process->threads[at].own_tid != owner)
			at++;
		if (at == start)
			return count;
		if (at == process->thread_count)
			break;
	}
	return 0;
}
