/* SPDX-License-Identifier: MIT */
#ifndef FOLLOW_H
#define FOLLOW_H

/* Which processes of a run are recorded (--follow); the others are left out, and said to be. */

#include <stdbool.h>

/*
 * Whether this image is to be recorded. choice: "all", "no", or globs of programs parted by commas;
 * is_first: it is the program that the run began with.
 */
bool follow_has_chosen(const char *choice, bool is_first);

/* Whether a fork's child of an image that is recorded is to be, too. */
bool follow_wants_children(const char *choice);

#endif
