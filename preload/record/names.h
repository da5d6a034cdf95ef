/* SPDX-License-Identifier: MIT */
#ifndef NAMES_H
#define NAMES_H

/*
 * Data that the program reports by the functions of holdtrace.h: names of contexts and of its own
 * classes of resources, the contexts that it enters, and marks. Each stream contains a name before
 * the first event that refers to it, so a child of fork reports all names again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "preload/ground/plain.h"
#include "thread.h"

/* The contexts entered by the calling thread, and those entered by the process: one bit each. */
extern __thread uint32_t names_own_contexts;
extern uint32_t names_all_contexts;

static inline uint32_t names_contexts(void)
{
	return names_own_contexts | __atomic_load_n(&names_all_contexts, __ATOMIC_RELAXED);
}

/* Returns the bit of a context, and adds the context if it is new; 0: the table of 32 is full. */
uint32_t names_context(const char *name);

uint32_t names_context_count(void);

/* Returns the ordinal of a class, and adds the class if it is new; 0: all numbers are in use. */
uint32_t names_class(const char *name, const char *description, bool counted);

/* Whether the program itself defined this class, and --events includes the class. */
bool names_class_is_listed(uint32_t ordinal);

/* Reports names that were not reported yet. Does nothing if `thread` is NULL. */
void names_tell(struct thread *thread);

/* Writes a line of text into the trace. */
void names_mark(struct thread *thread, const char *text);

/* Called in a new process with a stream of its own: all names will be reported again. */
void names_forked(void);

#endif
