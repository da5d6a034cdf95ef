/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LATE_H
#define PRELOAD_LATE_H

/* Executes an injector's orders (attach, detach) in a running program, under the loader's lock. */

#include <stdbool.h>
#include <stddef.h>

/*
 * After an attach, the process's environment does not name the library. So the library is added to
 * the environment of each program that this process executes; the caller provides memory for the
 * changed environment. Returns the number of bytes that late_environment() needs; 0: pass the
 * environment unchanged.
 */
size_t late_room(char *const *environment);

/* Returns the changed environment in `room`: late_room() bytes, aligned as pointers are. */
char *const *late_environment(void *room, char *const *environment);

/*
 * Before an exec, late_look() notes in the arena whether LD_PRELOAD of the new program contains the
 * library, because that program may end before the collector can read its environment. The loader
 * would print an error to the program's standard error if the library's file does not exist (after
 * chroot(2), for example), or if no descriptor is free to open it. In these cases, late_look()
 * returns the number of bytes that late_without() needs to make an environment without the
 * library's name; otherwise it returns 0.
 */
size_t late_look(char *const *environment);

/* The number of bytes that late_without() needs; 0: LD_PRELOAD does not name the library. */
size_t late_size_without(char *const *environment);
char *const *late_without(void *room, char *const *environment);

/* Whether an injector loaded this copy of the library. If so, the library only executes orders. */
bool late_is_injected(void);

/* Called in the library's constructor: executes the order that came with the injection. */
void late_obey_first(void);

#endif
