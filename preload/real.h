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
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct real {
#define HOOK(name, ...)		__typeof__(name) *name;
#define HOOK_VOID(name, ...)	__typeof__(name) *name;
#define HOOK_BY_HAND(name, ...) __typeof__(name) *name;
#include "hooks.def"
#undef HOOK
#undef HOOK_VOID
#undef HOOK_BY_HAND
	/* not hooked, only used */
	__typeof__(fileno) *fileno;
	__typeof__(malloc_usable_size) *malloc_usable_size;
	__typeof__(mallinfo2) *mallinfo2;
	__typeof__(pthread_attr_getstacksize) *pthread_attr_getstacksize;
	__typeof__(pthread_getattr_default_np) *pthread_getattr_default_np;
};

/*
 * Until real_find() is done its pointers are NULL but for malloc, calloc, realloc, free and the
 * aligned ones, which then serve from the pool. Stubs reach it after call_begin() or real_ready().
 */
extern struct real real;

/* Finds them all. Called again while it works (dlsym may call calloc) it does nothing. */
void real_find(void);

extern bool real_is_found;

/* Before the first use of real in a stub that does not record. */
static inline void real_ready(void)
{
	if (__builtin_expect(!real_is_found, 0))
		real_find();
}

/* The pool: memory for those who allocate before the real allocator is known. Never given back. */
void *pool_malloc(size_t size);
bool pool_owns(const void *address);

#endif
