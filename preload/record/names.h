/* SPDX-License-Identifier: MIT */
#ifndef NAMES_H
#define NAMES_H

/*
 * What the program says of itself through holdtrace.h: the names of its contexts and of its own
 * classes of resource, which contexts are entered, and marks. A name stands in every stream of the
 * program before the first event that needs it, so a fork's child tells all of them anew.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "preload/ground/plain.h"
#include "thread.h"

/* Contexts that the calling thread has entered, and those of the whole process. */
extern __thread uint32_t names_own_contexts;
extern uint32_t names_all_contexts;

static inline uint32_t names_contexts(void)
{
	return names_own_contexts | __atomic_load_n(&names_all_contexts, __ATOMIC_RELAXED);
}

/* The bit of a context, new or known; 0: there are 32 already. */
uint32_t names_context(const char *name);

/* How many contexts there are. */
uint32_t names_context_count(void);

/* The ordinal of a class, new or known; 0: there are 32 already, ours among them. */
uint32_t names_class(const char *name, const char *description, bool counted);

/* Whether the program made this class and the user wants to see it. */
bool names_class_is_listed(uint32_t ordinal);

/* Tells what has not been told yet. Nothing is told where nothing can be recorded. */
void names_tell(struct thread *thread);

/* A line of text for the trace. */
void names_mark(struct thread *thread, const char *text);

/* We are a new process with a stream of its own. */
void names_forked(void);

#endif
