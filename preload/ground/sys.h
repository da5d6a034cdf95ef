/* SPDX-License-Identifier: MIT */
#ifndef SYS_H
#define SYS_H

/*
 * System calls without libc: inside the traced program we must not change errno, be a cancellation
 * point, or pass through a function that may be hooked. Each call returns its result, or -errno.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/unistd.h>
#include <linux/errno.h>

#include "arch.h"

struct msghdr;
struct sockaddr;
struct statx;
struct timespec;

static inline long sys_call0(long number)
{
	return sys_call3(number, 0, 0, 0);
}

static inline long sys_call1(long number, long a)
{
	return sys_call3(number, a, 0, 0);
}

static inline long sys_call2(long number, long a, long b)
{
	return sys_call3(number, a, b, 0);
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
	return sys_call6(number, a, b, c, d, 0, 0);
}

static inline long sys_call5(long number, long a, long b, long c, long d, long e)
{
	return sys_call6(number, a, b, c, d, e, 0);
}

/*
 * Returns the error in the result of a system call that returns a pointer, or 0 if the call
 * succeeded. The kernel returns errors as addresses in the last page.
 */
static inline int sys_error(const void *result)
{
	return (uintptr_t)result > (uintptr_t)-4096 ? (int)(intptr_t)result : 0;
}

/* Processes and threads. */

static inline int sys_getpid(void)
{
	return (int)sys_call0(__NR_getpid);
}

static inline int sys_gettid(void)
{
	return (int)sys_call0(__NR_gettid);
}

/*
 * Forks: the child has a copy of the memory and the same stack. flags: CLONE_*, and the signal that
 * the parent gets at the child's end (0: none). libc does not know of the child and runs no atfork
 * handlers, so the child must use raw system calls only.
 */
static inline int sys_clone(unsigned long flags)
{
	/* The order of the fourth and fifth argument depends on the processor; both are 0. */
	return (int)sys_call5(__NR_clone, (long)flags, 0, 0, 0, 0);
}

static inline int sys_execve(const char *path, char *const arguments[], char *const environment[])
{
	return (int)sys_call3(__NR_execve, (long)path, (long)arguments, (long)environment);
}

static inline int sys_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			    unsigned long d)
{
	return (int)sys_call5(__NR_prctl, option, (long)a, (long)b, (long)c, (long)d);
}

static inline __attribute__((noreturn)) void sys_exit_group(int status)
{
	for (;;)
		sys_call1(__NR_exit_group, status);
}

/* Waits and signals. */

/*
 * Sleeps while *word equals `value`, at most for the time in `timeout` (relative; NULL: no limit).
 * shared: other processes use the word, too. Returns 0 when woken, -EAGAIN if the word has another
 * value, -ETIMEDOUT, or -EINTR.
 */
static inline int sys_futex_wait(const uint32_t *word, uint32_t value,
				 const struct timespec *timeout, int shared)
{
	enum { FUTEX_WAIT_ = 0, FUTEX_PRIVATE_ = 128 };

	return (int)sys_call4(__NR_futex, (long)word, FUTEX_WAIT_ | (shared ? 0 : FUTEX_PRIVATE_),
			      (long)value, (long)timeout);
}

/* Wakes at most `count` sleepers. Returns the number of sleepers that it woke. */
static inline int sys_futex_wake(const uint32_t *word, int count, int shared)
{
	enum { FUTEX_WAKE_ = 1, FUTEX_PRIVATE_ = 128 };

	return (int)sys_call3(__NR_futex, (long)word, FUTEX_WAKE_ | (shared ? 0 : FUTEX_PRIVATE_),
			      count);
}

/*
 * Sleeps by pselect6, not by nanosleep: in a thread that is borrowed for an attach, nanosleep would
 * make the kernel forget the remaining time of the program's own sleep.
 */
static inline void sys_sleep(long ns)
{
	long time[2] = { ns / 1000000000, ns % 1000000000 };

	sys_call6(__NR_pselect6, 0, 0, 0, 0, (long)time, 0);
}

/* The kernel's signal sets have 64 bits; signal 1 is bit 0. `set` or `old` may be NULL. */
static inline int sys_rt_sigprocmask(int how, const uint64_t *set, uint64_t *old)
{
	return (int)sys_call4(__NR_rt_sigprocmask, how, (long)set, (long)old, sizeof(*set));
}

/* Memory. */

/* Set by ring_be_quiet(): the library then stops making system calls. */
extern bool sys_is_quiet __attribute__((visibility("hidden")));
bool sys_is_quiet __attribute__((weak));

/*
 * Whether the 8 bytes at `address` can be read; false if the library may not make system calls. The
 * kernel copies the signal set before it rejects the invalid `how` with EINVAL; EFAULT means that
 * the bytes are unreadable. The call needs no descriptor and changes nothing (Abseil's
 * AddressIsReadable() uses it, too).
 */
static inline bool sys_is_readable(const void *address)
{
	return !sys_is_quiet && sys_rt_sigprocmask(-1, address, NULL) == -EINVAL;
}

/* Whether the first and the last byte of the memory can be read. */
static inline bool sys_are_readable(const void *address, size_t size)
{
	uintptr_t from = (uintptr_t)address, last = from + size - 1;

	return sys_is_readable((const void *)(from & ~(uintptr_t)7)) &&
	       sys_is_readable((const void *)(last & ~(uintptr_t)7));
}

/* Returns the address, or an error that sys_error() decodes. */
static inline void *sys_mmap(void *address, size_t size, int protection, int flags, int fd,
			     int64_t offset)
{
	return (void *)sys_call6(__NR_mmap, (long)address, (long)size, protection, flags, fd,
				 (long)offset);
}

/* Returns the new address, or an error that sys_error() decodes. */
static inline void *sys_mremap(void *old, size_t old_size, size_t size, int flags, void *address)
{
	return (void *)sys_call5(__NR_mremap, (long)old, (long)old_size, (long)size, flags,
				 (long)address);
}

static inline int sys_munmap(void *address, size_t size)
{
	return (int)sys_call2(__NR_munmap, (long)address, (long)size);
}

static inline int sys_mprotect(void *address, size_t size, int protection)
{
	return (int)sys_call3(__NR_mprotect, (long)address, (long)size, protection);
}

static inline int sys_madvise(void *address, size_t size, int advice)
{
	return (int)sys_call3(__NR_madvise, (long)address, (long)size, advice);
}

static inline int sys_memfd_create(const char *name, unsigned int flags)
{
	return (int)sys_call2(__NR_memfd_create, (long)name, (long)flags);
}

/* Files. A relative path starts at `directory`, which may be AT_FDCWD. */

static inline int sys_openat(int directory, const char *path, int flags, unsigned int mode)
{
	return (int)sys_call4(__NR_openat, directory, (long)path, flags, (long)mode);
}

static inline int sys_close(int fd)
{
	return (int)sys_call1(__NR_close, fd);
}

static inline long sys_read(int fd, void *data, size_t size)
{
	return sys_call3(__NR_read, fd, (long)data, (long)size);
}

static inline int sys_statx(int directory, const char *path, int flags, unsigned int mask,
			    struct statx *file)
{
	return (int)sys_call5(__NR_statx, directory, (long)path, flags, (long)mask, (long)file);
}

static inline int sys_ftruncate(int fd, int64_t size)
{
	return (int)sys_call2(__NR_ftruncate, fd, (long)size);
}

static inline int sys_dup3(int from, int to, int flags)
{
	return (int)sys_call3(__NR_dup3, from, to, flags);
}

static inline long sys_fcntl(int fd, int command, long argument)
{
	return sys_call3(__NR_fcntl, fd, command, argument);
}

/* Returns the length, at most `size`. The text has no final NUL. */
static inline long sys_readlinkat(int directory, const char *path, char *text, size_t size)
{
	return sys_call4(__NR_readlinkat, directory, (long)path, (long)text, (long)size);
}

/* Returns the length, including the final NUL. */
static inline long sys_getcwd(char *text, size_t size)
{
	return sys_call2(__NR_getcwd, (long)text, (long)size);
}

/* Sockets. */

static inline int sys_socket(int family, int type, int protocol)
{
	return (int)sys_call3(__NR_socket, family, type, protocol);
}

static inline int sys_connect(int fd, const struct sockaddr *address, unsigned int size)
{
	return (int)sys_call3(__NR_connect, fd, (long)address, (long)size);
}

static inline long sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return sys_call3(__NR_sendmsg, fd, (long)message, flags);
}

static inline long sys_recvmsg(int fd, struct msghdr *message, int flags)
{
	return sys_call3(__NR_recvmsg, fd, (long)message, flags);
}

static inline int sys_getsockopt(int fd, int level, int name, void *value, unsigned int *size)
{
	return (int)sys_call5(__NR_getsockopt, fd, level, name, (long)value, (long)size);
}

#endif
