/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/*
 * What happens where no memory is left. A program has no better answer than to end with one
 * sentence: it sets an end, and then no function of base/ returns for want of memory, and no caller
 * asks whether it did. The installed library sets none: there each function returns its failure.
 * An allocation that exceeds a limit of its own (pool_alloc() with a limit) always returns.
 */

#include <stddef.h>

/* Ends the program; it must not return. Called in any thread, with nothing released. */
typedef void memory_end(void);

void memory_set_end(memory_end *end);

/*
 * As malloc(), calloc(), realloc(), strdup() and strndup(), but they return NULL only
 * if no end is set. free() releases what they return.
 */
void *memory_alloc(size_t size) __attribute__((malloc));
void *memory_zalloc(size_t count, size_t size) __attribute__((malloc));
void *memory_resize(void *memory, size_t size);
char *memory_text(const char *text) __attribute__((malloc));
char *memory_text_part(const char *text, size_t length) __attribute__((malloc));

/* Where no number is left for another item: as an allocation that fails. Returns NULL. */
void *memory_none(void);

/* As asprintf(), likewise. */
char *memory_format(const char *format, ...) __attribute__((malloc, format(printf, 1, 2)));

#endif
