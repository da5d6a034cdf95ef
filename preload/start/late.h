/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LATE_H
#define PRELOAD_LATE_H

/* Executes the injector's orders in a program that was already running, under the loader's lock. */

#include <stdbool.h>
#include <stddef.h>

/*
 * The environment of a program that was attached to does not name the library. So the library is
 * added to the environment of programs that this process executes, in the caller's memory. Returns
 * the number of bytes that late_environment() needs; 0: pass the environment unchanged.
 */
size_t late_room(char *const *environment);

/*
 * Returns the changed environment, which is stored in `room`. room: as many bytes as late_room()
 * returned, aligned as pointers are.
 */
char *const *late_environment(void *room, char *const *environment);

/*
 * late_look() notes in the arena whether the program to be executed will have the library in its
 * LD_PRELOAD, because that program may end before the collector can look. If LD_PRELOAD names a
 * file of the library that does not exist (after chroot(2), for example), or if no descriptor is
 * free to open that file, the loader would print an error to the program's standard error. So
 * late_look() then returns the bytes that late_without() needs to make an environment without that
 * name; else 0.
 */
size_t late_look(char *const *environment);
char *const *late_without(void *room, char *const *environment);

/* Whether an injector loaded this copy of the library. If so, the library only executes orders. */
bool late_is_injected(void);

/* Called in the library's constructor: executes the order that came with the injection. */
void late_obey_first(void);

#endif
