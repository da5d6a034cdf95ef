/* SPDX-License-Identifier: MIT */
#ifndef FOLLOW_H
#define FOLLOW_H

/* Which processes of a run are recorded (--follow). Those that are not are counted. */

#include <stdbool.h>

/*
 * Whether this program is to be recorded. choice: "all", "no", or comma-separated globs of
 * programs; is_first: the run began with this program.
 */
bool follow_has_chosen(const char *choice, bool is_first);

/* Whether the children that a recorded program forks are recorded, too. */
bool follow_wants_children(const char *choice);

#endif
