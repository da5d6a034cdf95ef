/* SPDX-License-Identifier: MIT */
#ifndef EFFECTS_H
#define EFFECTS_H

/*
 * The functions that rows of hooks.def name in the columns BEFORE, AFTER and REAL, and the memory
 * that the effects of a call share.
 *
 * An effect (a function in BEFORE or AFTER) receives the call and the event that the row describes
 * (part 0, not yet recorded). The effect may change this event, and record other parts of the call
 * first. Effects are defined in hand_*.c.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include "stub.h"

/* Sizes of a socket address as text: the family; and a path, @name, 127.0.0.1:80 or [::1]:80. */
#define ADDRESS_FAMILY_MAX 24
#define ADDRESS_TEXT_MAX   (sizeof(struct sockaddr_un) + 8)

/* Memory that an effect BEFORE fills for one AFTER. The compiler removes unused members. */
struct spare {
	uint64_t word;
	int number;
	siginfo_t info;
	char family[ADDRESS_FAMILY_MAX], text[ADDRESS_TEXT_MAX];
};

/* If `condition` is true, the call acquired no new object: it used an existing one. */
static inline void only_used(struct call *call, struct call_event *event, bool condition)
{
	(void)call;
	if (condition)
		event->operation = OPERATION_USE;
}

/* ---- memory ---- */

void *resize(void *block, size_t size);
void *resize_array(void *block, size_t count, size_t size);
void block_moved(struct call *call, struct call_event *event, void *old);

/* Like block_moved(). If count * size overflows, the call frees nothing, even if it wraps to 0. */
static inline void array_moved(struct call *call, struct call_event *event, void *old, size_t count,
			       size_t size)
{
	if (__builtin_mul_overflow(count, size, &event->size))
		event->size = SIZE_MAX;
	block_moved(call, event, old);
}

/* ---- mappings ---- */

void mapping_covered(struct call *call, struct call_event *event, bool is_fixed);
void mapping_moved(struct call *call, struct call_event *event, void *old, size_t length,
		   int flags);
void break_asked(struct call *call, struct call_event *event, struct spare *spare);
void break_moved(struct call *call, struct call_event *event, uint64_t old, int64_t growth);

/* ---- shared memory ---- */

uint64_t shm_hash(const char *name);
void shm_opened(struct call *call, struct call_event *event, const char *name, int flags);
void segment_attached(struct call *call, struct call_event *event, int id, struct spare *spare);
void segment_removed(struct call *call, struct call_event *event, int id);

/* ---- descriptors ---- */

/* Whether open() has a mode argument: only if it may create the file (open(2)). */
#define MAKES_FILE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

/* Whether the command of bpf(2) opens a descriptor, if it succeeds (enum bpf_cmd). */
static inline bool bpf_opens(int command)
{
	/* BPF_MAP_CREATE, BPF_PROG_LOAD, BPF_OBJ_GET */
	const uint64_t commands = 1ull << 0 | 1ull << 5 | 1ull << 7 |
				  /* BPF_*_GET_FD_BY_ID, BPF_RAW_TRACEPOINT_OPEN */
				  1ull << 13 | 1ull << 14 | 1ull << 17 |
				  /* BPF_BTF_*, BPF_LINK_*, statistics, iterator, token */
				  1ull << 18 | 1ull << 19 | 1ull << 28 | 1ull << 30 | 1ull << 32 |
				  1ull << 33 | 1ull << 36;

	return command >= 0 && command < 64 && commands >> command & 1;
}

/* Records that the call opened a descriptor. related: the object that uses it, such as a stream. */
static inline void fd_acquired(struct call *call, uint8_t part, int fd, uint64_t related,
			       const struct call_argument *arguments)
{
	CALL_EVENT(call, .resource = RESOURCE_FD, .operation = OPERATION_ALLOC,
		   .moment = MOMENT_LEAVE, .part = part, .object = WORD(fd), .related = related,
		   .size = 1, .arguments = arguments);
}

/*
 * Records that the call closed a descriptor; does nothing if fd is negative. related: the object
 * that was closed with it, for example a stream. If shm_open opened the descriptor, the next part
 * records the close in shm_open's class, too. moment: ENTER, or HALF if the call then sleeps.
 */
void fd_lost(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/* Does what fd_lost() does in shm_open's class, if shm_open opened the descriptor. */
void fd_lost_shm(struct call *call, enum moment moment, uint8_t part, int fd, uint64_t related);

/* Notes that shm_open opened the descriptor. Returns false if its number is too high. */
bool fd_note_shm(struct call *call, int fd);

void fd_closed(struct call *call, struct call_event *event, int fd);
void fd_replaced(struct call *call, struct call_event *event, int oldfd, int newfd);
void fd_pair(struct call *call, struct call_event *event, const int *one, const int *other);
void fd_made_standard(struct call *call, struct call_event *event, int fd);
void range_closes(struct call *call, struct call_event *event, unsigned int first,
		  unsigned int last, int flags);

/* ---- calls that block ---- */

/* Returns the other end of a pipe or socketpair; of an eventfd, the eventfd itself; -1: unknown. */
int fd_other_end(int fd);

/* Sets the other end of `one`; -1: it has none, or `one` is closed. */
void fd_join(const struct call *call, int one, int other);

/* Whether a call that sends may block, or may end the wait of another thread. */
#define MAY_SEND(fd, flags) (!((flags)&MSG_DONTWAIT) || fd_other_end(fd) >= 0)

/*
 * A stream's descriptor (negative: none). needs: whether libc looks at the stream at all; if not,
 * the pointer may be invalid.
 */
#define STREAM_FD(stream, needs) ((needs) ? (stream)->_fileno : -1)

/*
 * Whether a call reads, or may read, from the stream's descriptor. READS: to get a number of bytes;
 * for 0 bytes, libc does not look at the stream. LACKS: to get a line that ends with `end` or has
 * `most` bytes. SCANS: for scanf. IS_SHORT: false while data is left of a read that filled the
 * buffer; more data then follows, usually from a file.
 */
#define STREAM_UNBUFFERED   2 /* glibc's _IO_UNBUFFERED */
#define STREAM_LEFT(stream) ((stream)->_IO_read_end - (stream)->_IO_read_ptr)
#define STREAM_IS_SHORT(stream)                                                         \
	(STREAM_LEFT(stream) <= 0 || (stream)->_IO_read_end != (stream)->_IO_buf_end || \
	 (stream)->_flags & STREAM_UNBUFFERED)
#define STREAM_READS(stream, bytes) \
	((bytes) != 0 && STREAM_LEFT(stream) < (ptrdiff_t)(bytes) && (stream)->_fileno >= 0)
#define STREAM_LACKS(stream, end, most) \
	((most) > 0 && STREAM_IS_SHORT(stream) && stream_lacks(stream, end, most))
#define STREAM_SCANS(stream) \
	(STREAM_LEFT(stream) < 64 && STREAM_IS_SHORT(stream) && (stream)->_fileno >= 0)
bool stream_lacks(const FILE *stream, int end, intptr_t most);

/*
 * Whether a call writes, or may write, to the stream's descriptor. WRITES: a number of bytes.
 * PRINTS: a text of unknown length. FLUSHES: what is in the buffer.
 */
#define STREAM_ENOUGH 512 /* most printed texts are shorter */
#define STREAM_WRITES(stream, bytes)                                                               \
	((bytes) != 0 && (stream)->_IO_write_end - (stream)->_IO_write_ptr < (ptrdiff_t)(bytes) && \
	 (stream)->_fileno >= 0)
#define STREAM_PRINTS(stream)  STREAM_WRITES(stream, STREAM_ENOUGH)
#define STREAM_FLUSHES(stream) (!(stream) || (stream)->_IO_write_ptr > (stream)->_IO_write_base)

/* The start of glibc's struct _IO_wide_data, which no header defines since glibc 2.28. */
struct stream_wide {
	const wchar_t *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end;
};

/* The buffer of wide characters; NULL: the stream has none, or none yet, so a call may wait. */
#define STREAM_WIDE(stream)                                                                   \
	((stream)->_mode > 0 ? (const struct stream_wide *)(const void *)(stream)->_wide_data \
			     : NULL)
#define STREAM_READS_WIDE(stream)  \
	((stream)->_fileno >= 0 && \
	 (!STREAM_WIDE(stream) || STREAM_WIDE(stream)->read_ptr >= STREAM_WIDE(stream)->read_end))
#define STREAM_SCANS_WIDE(stream)  \
	((stream)->_fileno >= 0 && \
	 (!STREAM_WIDE(stream) ||  \
	  STREAM_WIDE(stream)->read_end - STREAM_WIDE(stream)->read_ptr < 64))
#define STREAM_PRINTS_WIDE(stream, letters) \
	((stream)->_fileno >= 0 &&          \
	 (!STREAM_WIDE(stream) ||           \
	  STREAM_WIDE(stream)->write_end - STREAM_WIDE(stream)->write_ptr < (letters)))

/* Whether a command of fcntl waits for a lock of a file. */
#define LOCKS_FILE(command) ((command) == F_SETLKW || (command) == F_OFD_SETLKW)

void fd_counts(struct call *call, struct call_event *event, int fd);
void other_end_notified(struct call *call, struct call_event *event, int fd);
void poll_begins(struct call *call, struct call_event *event, const struct pollfd *fds,
		 nfds_t count, struct spare *spare);
void poll_ended(struct call *call, struct call_event *event, const struct pollfd *fds, nfds_t count,
		struct spare *spare);
void select_begins(struct call *call, struct call_event *event, int count, const fd_set *reads,
		   const fd_set *writes, const fd_set *others, struct spare *spare);
void select_ended(struct call *call, struct call_event *event, int count, const fd_set *reads,
		  const fd_set *writes, const fd_set *others, struct spare *spare);
void epoll_ended(struct call *call, struct call_event *event);
void file_locked(struct call *call, struct call_event *event, int command, int fd);

/* ---- sockets ---- */

void peer_asked(struct call *call, struct call_event *event, const struct sockaddr *address,
		const socklen_t *length, struct spare *spare);
void peer_known(struct call *call, struct call_event *event, const struct sockaddr *address,
		const socklen_t *length, struct spare *spare);
void address_known(struct call *call, struct call_event *event, const struct sockaddr *address,
		   socklen_t length, struct spare *spare);

/* ---- streams and directories ---- */

void stream_opened(struct call *call, struct call_event *event, FILE *stream);
void stream_asked(struct call *call, struct call_event *event, FILE *stream, struct spare *spare);
void stream_closed(struct call *call, struct call_event *event, int fd);
void stream_goes(struct call *call, struct call_event *event, FILE *stream, uint8_t part);
void directory_opened(struct call *call, struct call_event *event, DIR *directory);
void directory_asked(struct call *call, struct call_event *event, DIR *directory,
		     struct spare *spare);
void directory_closed(struct call *call, struct call_event *event, int fd);

/* ---- contended locks ---- */

/*
 * Records only locks for which a thread waits (--locks=contended). A lock call that does not wait
 * increments a counter of its thread. A lock call that waits is recorded, and so is the release of
 * its lock. The thread's private block lists the recorded locks that the thread holds. Once the
 * list has overflowed, all releases by the thread are recorded.
 */

/* Bits of pthread_mutex_t's kind: robust, and two priority protocols. */
#define MUTEX_IS_SPECIAL 0x70

static inline void contended_count(void)
{
	struct thread *thread = thread_self;

	if (likely(thread && !call_is_forked()))
		thread->slot->uncontended++;
}

/*
 * Whether this unlock releases an inner lock of a recursive mutex. Inner locks (of a mutex that the
 * thread holds already) never wait, so they are not recorded. Mutexes of the special kinds are
 * never tried (try_mutex()), so all their locks are recorded. Inner read locks cannot be recognised
 * in this way.
 */
static inline bool contended_is_inner(enum hook_number hook, uint64_t lock)
{
	const pthread_mutex_t *mutex = (const pthread_mutex_t *)(uintptr_t)lock;

	return (hook == HOOK_pthread_mutex_unlock || hook == HOOK___pthread_mutex_unlock ||
		hook == HOOK_mtx_unlock) &&
	       (mutex->__data.__kind & (3 | MUTEX_IS_SPECIAL)) == PTHREAD_MUTEX_RECURSIVE_NP &&
	       mutex->__data.__count > 1;
}

/* Removes a lock from the thread's recorded locks. Returns whether its release must be recorded. */
static inline bool contended_forget(enum hook_number hook, uint64_t lock)
{
	struct thread *thread = thread_self;

	if (likely(!thread || !thread->taken_count))
		return false;
	if (contended_is_inner(hook, lock))
		return false;
	if (thread->taken_count > THREAD_TAKEN_MAX)
		return true;
	for (uint32_t i = 0; i < thread->taken_count; i++)
		if (thread->taken[i] == lock) {
			thread->taken[i] = thread->taken[--thread->taken_count];
			return true;
		}
	return false;
}

/* Adds a lock, which a recorded call has acquired, to the thread's list of recorded locks. */
static inline void contended_note(struct thread *thread, uint64_t lock)
{
	if (thread->taken_count < THREAD_TAKEN_MAX)
		thread->taken[thread->taken_count] = lock;
	if (thread->taken_count <= THREAD_TAKEN_MAX)
		thread->taken_count++;
}

static inline bool contended_is_mutex(enum hook_number hook)
{
	return hook == HOOK_pthread_mutex_lock || hook == HOOK___pthread_mutex_lock ||
	       hook == HOOK_mtx_lock || hook == HOOK_pthread_mutex_timedlock ||
	       hook == HOOK_pthread_mutex_clocklock || hook == HOOK_mtx_timedlock;
}

/*
 * Returns the member `related` for a call that is about to wait: the kernel's id of the thread that
 * owns the mutex (0: unknown), and whether a trylock found the lock busy.
 */
static inline uint64_t contended_by(enum hook_number hook, uint64_t lock, bool is_busy)
{
	const pthread_mutex_t *mutex = (const pthread_mutex_t *)(uintptr_t)lock;

	if (!contended_is_mutex(hook))
		return is_busy ? RELATED_BUSY : 0;
	/* mutexes of these kinds are never tried (try_mutex()) */
	if (mutex->__data.__kind & MUTEX_IS_SPECIAL)
		is_busy = false;
	return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) |
	       (is_busy ? RELATED_BUSY : 0);
}

/* ---- threads, conditions, semaphores ---- */

/*
 * Tries to lock a plain mutex. Other mutexes are not tried: if a robust mutex cannot be recovered,
 * glibc's trylock function leaves it locked, but glibc's lock function does not.
 */
static inline int try_mutex(pthread_mutex_t *mutex)
{
	if (mutex->__data.__kind & MUTEX_IS_SPECIAL || !real.pthread_mutex_trylock)
		return EBUSY;
	return real.pthread_mutex_trylock(mutex);
}

/*
 * Whether a lock call with a time limit accepts this clock. Such a call is first tried without
 * waiting, but only if libc would accept its arguments. libc checks the time limit at once for a
 * read-write lock, but for a mutex only when the call has to wait.
 */
static inline bool is_clock_of_locks(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline int try_mutex_by(pthread_mutex_t *mutex, clockid_t clock)
{
	return is_clock_of_locks(clock) ? try_mutex(mutex) : EBUSY;
}

/*
 * Whether libc would accept the time limit of a lock call. NULL means no limit; libc's headers
 * declare the parameter nonnull, so the compiler would remove the test for NULL. The empty asm
 * statement prevents this.
 */
static inline bool can_end(clockid_t clock, const struct timespec *until)
{
	__asm__("" : "+r"(until));
	return !until || (is_clock_of_locks(clock) && (unsigned long)until->tv_nsec < 1000000000);
}

static inline int try_rdlock_by(pthread_rwlock_t *rwlock, clockid_t clock,
				const struct timespec *until)
{
	return can_end(clock, until) ? real.pthread_rwlock_tryrdlock(rwlock) : EBUSY;
}

static inline int try_wrlock_by(pthread_rwlock_t *rwlock, clockid_t clock,
				const struct timespec *until)
{
	return can_end(clock, until) ? real.pthread_rwlock_trywrlock(rwlock) : EBUSY;
}

void thread_goes(struct call *call, struct call_event *event, uint64_t thread);
void thread_joined(struct call *call, struct call_event *event, uint64_t thread);
void condition_sleeps(struct call *call, struct call_event *event, void *cond, void *mutex);
void condition_returned(struct call *call, struct call_event *event, void *cond, void *mutex);
void set_asked(struct call *call, struct call_event *event, key_t key, int flags,
	       struct spare *spare);
void set_controlled(struct call *call, struct call_event *event, bool is_removed);

/* ---- processes ---- */

int close_library(void *handle);
void library_closed(struct call *call, struct call_event *event);
void child_waited(struct call *call, struct call_event *event, const int *status,
		  struct spare *spare);
void child_told(struct call *call, struct call_event *event, const siginfo_t *info, int options,
		struct spare *spare);
void exec_begins(struct call *call, struct call_event *event);

/* Call the real functions, with the variables of late_environment() in the environment. */
int exec_path(const char *path, char *const *argv, char *const *environment);
int exec_word(const char *word, char *const *argv, char *const *environment);
int exec_own_path(const char *path, char *const *argv);
int exec_own_word(const char *word, char *const *argv);
int exec_fd(int fd, char *const *argv, char *const *environment);
int exec_at(int directory, const char *path, char *const *argv, char *const *environment,
	    int flags);
int spawn_path(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	       const posix_spawnattr_t *attributes, char *const *argv, char *const *environment);
int spawn_word(pid_t *pid, const char *word, const posix_spawn_file_actions_t *actions,
	       const posix_spawnattr_t *attributes, char *const *argv, char *const *environment);
void exec_failed(struct call *call, struct call_event *event);

/* Returns where wait() stores the status: in `spare` if the program passes NULL. */
static inline int *wait_status(int *status, struct spare *spare)
{
	spare->number = 0;
	return status ? status : &spare->number;
}

static inline siginfo_t *wait_info(struct spare *spare)
{
	spare->info = (siginfo_t){ 0 };
	return &spare->info;
}

#endif
