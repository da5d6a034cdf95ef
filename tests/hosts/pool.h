/* SPDX-License-Identifier: MIT */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

#define JOIN(a, b)  JOIN_(a, b)
#define JOIN_(a, b) a##b
#define POOL(name)  JOIN(PREFIX, name)

void *POOL(malloc)(size_t size);
void *POOL(calloc)(size_t count, size_t size);
void *POOL(realloc)(void *old, size_t size);
void *POOL(aligned_alloc)(size_t alignment, size_t size);
int POOL(posix_memalign)(void **block, size_t alignment, size_t size);
void POOL(free)(void *block);
void POOL(free_sized)(void *block, size_t size);

#endif
