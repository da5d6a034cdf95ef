/* SPDX-License-Identifier: MIT */
#ifndef PROOF_H
#define PROOF_H

/*
 * Whether memory of the program can be read, before anything else has read it: it is the thread's
 * own stack, or the kernel is asked, once a page. Under a filter for system calls nothing is asked,
 * and what is not on the stack counts as unreadable.
 */

#include <stdbool.h>
#include <stddef.h>

struct call;

bool proof_of(const struct call *call, const void *address, size_t size);

/* The text, of which only the first ARENA_TEXT_MAX bytes are looked at; "" if it cannot be read. */
const char *proof_text(const struct call *call, const char *text);

#endif
