/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LATE_H
#define PRELOAD_LATE_H

/*
 * The library in a program that ran before: executes the injector's orders under the loader's lock.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * The environment of a program that was attached to does not name the library. So it is added to
 * the environment of programs that this process executes, in memory of the caller. Returns the
 * number of bytes needed; 0: pass the environment unchanged.
 */
size_t late_room(char *const *environment);

/*
 * room: that many bytes, aligned as pointers are. Returns the changed environment, which is stored
 * there.
 */
char *const *late_environment(void *room, char *const *environment);

/*
 * late_look() notes in the arena whether the program to be executed will have the library in its
 * LD_PRELOAD: it may end before the collector can see. If the library's file is missing there
 * (after chroot(2), for example) the loader would complain on the program's standard error: then it
 * returns the bytes that late_without() needs for an environment without it; else 0.
 */
size_t late_look(char *const *environment);
char *const *late_without(void *room, char *const *environment);

/* Whether this copy of the library was injected: it only executes orders. */
bool late_is_injected(void);

/* Executes the order for which it was injected, within its constructor. */
void late_obey_first(void);

#endif
