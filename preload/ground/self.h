/* SPDX-License-Identifier: MIT */
#ifndef SELF_H
#define SELF_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
