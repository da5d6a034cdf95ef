/* SPDX-License-Identifier: MIT */
#ifndef SELF_H
#define SELF_H

/*
 * This process: its program and arguments, its resource limits, and the memory that the library has
 * mapped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct rlimit;

/*
 * Set by ld.so before any code runs; points to argc, the arguments, NULL, the environment, NULL,
 * auxv on the first thread's stack.
 */
extern void *__libc_stack_end;

/*
 * The path of the file that this process runs, as in /proc/self/exe; "" if unknown. It is
 * determined only once, because a child of fork runs the same file. The first call is made at the
 * start (gate_is_closed()).
 */
const char *self_path(void);

/* Whether self_path() is the name that was passed to exec; the file may have other names, too. */
bool self_is_as_told(void);

/*
 * Whether the name that was passed to exec leads to the running program, perhaps through a link.
 * The name of a script does not lead to it: the running program is the script's interpreter.
 */
bool self_is_program(const char *path);

/* Like getauxval(3): returns an entry of the auxiliary vector, or 0. Touches no page of libc. */
uintptr_t self_auxiliary(unsigned long type);

/*
 * Raises a soft limit to the hard limit and stores the old values in *before. Returns the limit
 * that is now in force. A process with several threads keeps its limit: another thread could use
 * the raised limit, or set a limit that limit_restore() would undo.
 */
uint64_t limit_lift(int which, struct rlimit *before);

/* Restores the limit that limit_lift() raised. */
void limit_restore(int which, const struct rlimit *before);

/*
 * Sets the size of a memfd. Raises RLIMIT_FSIZE if that is needed and possible. The limit applies
 * to a memfd, too: the kernel would refuse the size and send SIGXFSZ to the program. Returns 0 or
 * -errno.
 */
int limit_truncate(int fd, uint64_t size);

/*
 * The ranges of memory that the library maps for itself. Memory that an earlier attach mapped is
 * still mapped at a later attach; only this list shows that it is not the program's memory.
 * own_add() adds a range; ranges beyond ARENA_OWN are not remembered.
 */
void own_add(const void *at, size_t size);
void own_tell(struct arena_own ranges[ARENA_OWN]);

#endif
