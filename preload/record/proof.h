/* SPDX-License-Identifier: MIT */
#ifndef PROOF_H
#define PROOF_H

/*
 * Whether memory of the program is readable, although neither the kernel nor libc has read it: it
 * is on the thread's own stack, or the kernel, which is asked once for each page, can read it.
 * Under a seccomp filter the kernel is not asked, and memory outside of the stack counts as
 * unreadable.
 */

#include <stdbool.h>
#include <stddef.h>

struct call;

bool proof_of(const struct call *call, const void *address, size_t size);

/* Returns the text, or "" if it is not readable. Checks the first ARENA_TEXT_MAX bytes only. */
const char *proof_text(const struct call *call, const char *text);

#endif
