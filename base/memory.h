/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/*
 * Handling of failed allocations. Programs set a handler that prints an error and exits. Therefore
 * the functions of base/ do not return after a failed allocation, and their callers need no check.
 * The installed library (libholdtrace-trace) sets no handler, so there these functions return NULL
 * or an error. One part of the library (library/account.c) sets a handler for its thread while it
 * runs code that does not check allocations. An allocation above a caller's own limit (pool_alloc()
 * with a limit) always returns the failure.
 */

#include <stddef.h>

/*
 * A handler for failed allocations. It runs in the thread whose allocation failed, before anything
 * has been cleaned up, and must not return.
 */
typedef void memory_end(void);

void memory_set_end(memory_end *end);

/*
 * Sets a handler for the calling thread alone, NULL for none. The library uses it to run code that
 * does not check allocations: its handler leaves that code by longjmp(). Returns the previous
 * handler.
 */
memory_end *memory_set_thread_end(memory_end *end);

/*
 * Like malloc(), calloc(), realloc(), strdup() and strndup(), but they return NULL only if no
 * handler is set. free() releases the result.
 */
void *memory_alloc(size_t size) __attribute__((malloc));
void *memory_zalloc(size_t count, size_t size) __attribute__((malloc));
void *memory_resize(void *memory, size_t size);
char *memory_text(const char *text) __attribute__((malloc));
char *memory_text_part(const char *text, size_t length) __attribute__((malloc));

/*
 * Behaves like a failed allocation: returns NULL, or calls the handler. Callers use it if the size
 * to allocate would overflow.
 */
void *memory_none(void);

/* Formats a text like asprintf(). Returns NULL only if no handler is set. */
char *memory_format(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));

#endif
