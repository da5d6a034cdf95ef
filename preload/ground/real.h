/* SPDX-License-Identifier: MIT */
#ifndef REAL_H
#define REAL_H

/*
 * The functions behind the hooks, as the next library in the search order has them: libc's, or
 * those of another allocator that was preloaded or linked.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <mntent.h>
#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>

#include "hooks.h"

/* No header has them any more: what they are called with is what their heirs are called with. */
extern __typeof__(pthread_mutex_init) __pthread_mutex_init;
extern __typeof__(pthread_mutex_destroy) __pthread_mutex_destroy;
extern __typeof__(pthread_mutex_lock) __pthread_mutex_lock, __pthread_mutex_trylock,
	__pthread_mutex_unlock;
extern __typeof__(pthread_rwlock_init) __pthread_rwlock_init;
extern __typeof__(pthread_rwlock_destroy) __pthread_rwlock_destroy;
extern __typeof__(pthread_rwlock_rdlock) __pthread_rwlock_rdlock, __pthread_rwlock_tryrdlock,
	__pthread_rwlock_wrlock, __pthread_rwlock_trywrlock, __pthread_rwlock_unlock;

/* What open and openat become with _FORTIFY_SOURCE, which we are built without. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

/* C23's are newer than many a libc, cfree was taken out of the headers (glibc 2.26). */
void cfree(void *ptr);
void free_sized(void *ptr, size_t size);
void free_aligned_sized(void *ptr, size_t alignment, size_t size);

/* In libc since 2.36; the same in every header that has them. */
int pidfd_open(pid_t pid, unsigned int flags);
int pidfd_getfd(int pidfd, int theirfd, unsigned int flags);
int open_tree(int dirfd, const char *path, unsigned int flags);
int fspick(int dirfd, const char *path, unsigned int flags);
int fsopen(const char *type, unsigned int flags);
int fsmount(int fsfd, unsigned int flags, unsigned int attributes);

/* What they become with _FORTIFY_SOURCE, and old names. */
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
 * Until real_find() is done its pointers are NULL but for malloc, calloc, realloc, free and the
 * aligned ones, which then serve from the pool. Stubs reach it after stub_begin() or real_ready().
 */
extern struct real real;

/* The name of a hook, one of hooks.def. */
const char *real_name(enum hook_number hook);

/* The real function of a hook. */
void *real_of(enum hook_number hook);

struct libc_places;

/*
 * Finds them all. Called again, or while it works (dlsym may call calloc), it does nothing. known:
 * where a libc has them, or NULL.
 */
void real_find(const struct libc_places *known);

/*
 * The same for a library that came into a program which runs, under the loader's lock. False:
 * there is no allocator that we could stand before.
 */
bool real_find_late(void);

extern bool real_is_found;

/* Before the first use of real in a stub that does not record. */
static inline void real_ready(void)
{
	if (__builtin_expect(!real_is_found, 0))
		real_find(NULL);
}

/*
 * Whether a real function of a hook begins there, or one of libc that another module's stands
 * before; and whether it is one of that name.
 */
bool real_has(uintptr_t address);
bool real_is_called(uintptr_t address, const char *name);

/* Where the functions behind the hooks begin, by the hook's number; 0: this libc has none. */
void real_tell(uint64_t *addresses);

/* The pool: memory for those who allocate before the real allocator is known. Never given back. */
void *pool_malloc(size_t size);
bool pool_owns(const void *address);

/* Bytes of a block of the pool. */
size_t pool_size(const void *block);

#endif
