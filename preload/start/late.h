/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LATE_H
#define PRELOAD_LATE_H

/* The library in a program that ran before it came: what it is ordered to do, under the loader's
 * lock. */

#include <stdbool.h>
#include <stddef.h>

/*
 * What a program that this process executes needs to record, too. Nothing of it is in the
 * environment of a program that was attached to, nor ever will be: it is added to what the new
 * program is given, in memory of the caller's. Bytes for that; 0: it is to be given as it is.
 */
size_t late_room(char *const *environment);

/* room: so many bytes, aligned as pointers are. Returns the environment with it, which lies there.
 */
char *const *late_environment(void *room, char *const *environment);

/*
 * Says in the arena whether the program to be executed finds the library by LD_PRELOAD: what
 * becomes of it may be too short for the collector to see. Bytes for its environment without the
 * library, where that is not there (after chroot(2), say) and the loader would complain to the
 * program's standard error; 0: it is to be given as it is.
 */
size_t late_look(char *const *environment);
char *const *late_without(void *room, char *const *environment);

/* What the program calls its environment. */
char *const *late_own_environment(void);

/* Whether this copy of the library obeys orders, and begins nothing by itself. */
bool late_is_injected(void);

/* What it was injected for, within its constructor. */
void late_obey_first(void);

#endif
