/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/*
 * What happens when no memory is left. A program ends with one sentence: it sets a handler, and
 * then no function of base/ returns for want of memory and callers do not check. The installed
 * library sets no handler, so that each function returns the failure, except while a thread of it
 * works on an account (library/account.c). An allocation above a caller's own limit (pool_alloc()
 * with a limit) always returns the failure.
 */

#include <stddef.h>

/* Ends the program and must not return. Runs in any thread, before anything is released. */
typedef void memory_end(void);

void memory_set_end(memory_end *end);

/*
 * The same for the calling thread alone, where a library has code run that does not check: it
 * leaves that code by longjmp(). NULL: none. Returns the handler that was set before.
 */
memory_end *memory_set_thread_end(memory_end *end);

/*
 * As malloc(), calloc(), realloc(), strdup() and strndup(), but they return NULL only if no
 * handler is set. free() releases the result.
 */
void *memory_alloc(size_t size) __attribute__((malloc));
void *memory_zalloc(size_t count, size_t size) __attribute__((malloc));
void *memory_resize(void *memory, size_t size);
char *memory_text(const char *text) __attribute__((malloc));
char *memory_text_part(const char *text, size_t length) __attribute__((malloc));

/* Treats an overflow of numbers or sizes as an allocation that failed. Returns NULL. */
void *memory_none(void);

/* As asprintf(), likewise. */
char *memory_format(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));

#endif
