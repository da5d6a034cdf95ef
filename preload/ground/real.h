/* SPDX-License-Identifier: MIT */
#ifndef REAL_H
#define REAL_H

/*
 * The real functions of the hooks: the next definitions after this library in the search order.
 * They are libc's, or those of another allocator that was preloaded or linked.
 */

#include <features.h>

/* This library defines the scanf and vfscanf that the headers would replace by other functions. */
#undef __GLIBC_USE_DEPRECATED_SCANF
#define __GLIBC_USE_DEPRECATED_SCANF 1

#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <mntent.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>

#include "hooks.h"

/* No header declares these functions any more; functions of the same types replaced them. */
extern __typeof__(pthread_mutex_init) __pthread_mutex_init;
extern __typeof__(pthread_mutex_destroy) __pthread_mutex_destroy;
extern __typeof__(pthread_mutex_lock) __pthread_mutex_lock, __pthread_mutex_trylock,
	__pthread_mutex_unlock;
extern __typeof__(pthread_rwlock_init) __pthread_rwlock_init;
extern __typeof__(pthread_rwlock_destroy) __pthread_rwlock_destroy;
extern __typeof__(pthread_rwlock_rdlock) __pthread_rwlock_rdlock, __pthread_rwlock_tryrdlock,
	__pthread_rwlock_wrlock, __pthread_rwlock_trywrlock, __pthread_rwlock_unlock;

/* _FORTIFY_SOURCE, which this library does not use, replaces open and openat by these functions. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

/* With _FORTIFY_SOURCE, calls that print or read into a buffer use these functions. */
ssize_t __read_chk(int fd, void *buffer, size_t count, size_t room);
char *__fgets_chk(char *restrict text, size_t room, int count, FILE *restrict stream);
size_t __fread_chk(void *restrict items, size_t room, size_t size, size_t count,
		   FILE *restrict stream);
ssize_t __recv_chk(int fd, void *buffer, size_t count, size_t room, int flags);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);

char *__fgets_unlocked_chk(char *restrict text, size_t room, int count, FILE *restrict stream);
size_t __fread_unlocked_chk(void *restrict items, size_t room, size_t size, size_t count,
			    FILE *restrict stream);
int __printf_chk(int flags, const char *restrict format, ...);
int __fprintf_chk(FILE *restrict stream, int flags, const char *restrict format, ...);
int __dprintf_chk(int fd, int flags, const char *restrict format, ...);
int __vprintf_chk(int flags, const char *restrict format, va_list list);
int __vfprintf_chk(FILE *restrict stream, int flags, const char *restrict format, va_list list);
int __vdprintf_chk(int fd, int flags, const char *restrict format, va_list list);

/* The headers replace scanf and similar functions by these, for C99 and C23 (glibc 2.38). */
int __isoc99_scanf(const char *restrict format, ...);
int __isoc99_fscanf(FILE *restrict stream, const char *restrict format, ...);
int __isoc99_vscanf(const char *restrict format, va_list list);
int __isoc99_vfscanf(FILE *restrict stream, const char *restrict format, va_list list);
int __isoc23_scanf(const char *restrict format, ...);
int __isoc23_fscanf(FILE *restrict stream, const char *restrict format, ...);
int __isoc23_vscanf(const char *restrict format, va_list list);
int __isoc23_vfscanf(FILE *restrict stream, const char *restrict format, va_list list);
int __isoc99_wscanf(const wchar_t *restrict format, ...);
int __isoc99_fwscanf(FILE *restrict stream, const wchar_t *restrict format, ...);
int __isoc99_vwscanf(const wchar_t *restrict format, va_list list);
int __isoc99_vfwscanf(FILE *restrict stream, const wchar_t *restrict format, va_list list);
int __isoc23_wscanf(const wchar_t *restrict format, ...);
int __isoc23_fwscanf(FILE *restrict stream, const wchar_t *restrict format, ...);
int __isoc23_vwscanf(const wchar_t *restrict format, va_list list);
int __isoc23_vfwscanf(FILE *restrict stream, const wchar_t *restrict format, va_list list);

/* Most libcs are older than C23, and glibc 2.26 removed cfree. */
void cfree(void *ptr);
void free_sized(void *ptr, size_t size);
void free_aligned_sized(void *ptr, size_t alignment, size_t size);

/* glibc 2.36 introduced these functions, with these declarations. */
int pidfd_open(pid_t pid, unsigned int flags);
int pidfd_getfd(int pidfd, int theirfd, unsigned int flags);
int open_tree(int dirfd, const char *path, unsigned int flags);
int fspick(int dirfd, const char *path, unsigned int flags);
int fsopen(const char *type, unsigned int flags);
int fsmount(int fsfd, unsigned int flags, unsigned int attributes);

/* System calls for which libc has no function. Their pointers in struct real are NULL or unused. */
struct open_how;
int openat2(int dirfd, const char *path, const struct open_how *how, size_t size);
int memfd_secret(unsigned int flags);
int io_uring_setup(unsigned int entries, void *parameters);
int userfaultfd(int flags);
int perf_event_open(void *attributes, pid_t pid, int cpu, int group, unsigned long flags);
int bpf(int command, void *attributes, unsigned int size);
int landlock_create_ruleset(const void *attributes, size_t size, unsigned int flags);

/* glibc 2.35 introduced this function. */
int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout,
		 const sigset_t *mask);

/* _FORTIFY_SOURCE replaces mq_open by __mq_open_2. The others are old names. */
int __mq_open_2(const char *name, int flags);
FILE *__setmntent(const char *path, const char *mode);
int __endmntent(FILE *stream);

struct real {
#define HOOK(name, ...) __typeof__(name) *name;
#include "hooks.def"
#define NAME(name) __typeof__(name) *name;
#include "real.def"
#undef NAME
};

/*
 * Until real_find() has returned, the pointers are NULL, except for malloc, calloc, realloc, free
 * and the aligned functions, which then allocate from the pool. A stub may use all pointers after
 * stub_begin() or real_ready().
 */
extern struct real real;

/*
 * libc's variables stdin and stdout. (This library itself defines a hidden symbol `stdin`.) If
 * libc's variables are not found, these point to a stream without a descriptor.
 */
extern FILE **real_stdin, **real_stdout;

/* The name of a hook or, for higher numbers, of a row of real.def. */
const char *real_name(unsigned int hook);

void *real_of(enum hook_number hook);

/*
 * Returns the name of exported function number `i` if this process's libc lacks the function, else
 * NULL. The function may also be one of real.def. A function for which real_stand_in() has set a
 * pointer is not missing.
 */
const char *real_missing(unsigned int i);

/* The number of functions, for loops over real_missing(). */
extern const unsigned int real_count;

struct libc_places;

/*
 * Finds all real functions. Does nothing if it is called again, even from within itself (dlsym may
 * call calloc). known: the addresses of the functions in a known libc, or NULL.
 */
void real_find(const struct libc_places *known);

/*
 * Finds all real functions for a library that is loaded into a running program; called under the
 * loader's lock. Returns false if no allocator was found whose calls could be hooked.
 */
bool real_find_late(void);

/*
 * Some functions of newer libcs only make a new system call. If this libc lacks such a function,
 * sets its pointer to a function that fails with ENOSYS.
 */
void real_stand_in(void);

extern bool real_is_found;

/* Must be called first by each stub that uses real functions without recording the call. */
static inline void real_ready(void)
{
	if (__builtin_expect(!real_is_found, 0))
		real_find(NULL);
}

/*
 * A hook may have two functions: its real function, and libc's function of the same name, if the
 * real function is in a module before libc. real_has(): whether the address is that of such a
 * function of any hook. real_is_called(): whether it is that of one of the two functions of the
 * hook `name`.
 */
bool real_has(uintptr_t address);
bool real_is_called(uintptr_t address, const char *name);

/* Stores the addresses of the hooks' real functions; 0: libc lacks the function. */
void real_tell(uint64_t *addresses);

/* Whether a block is from the pool: allocated before the real allocator was known, never freed. */
bool pool_owns(const void *address);

size_t pool_size(const void *block);

#endif
