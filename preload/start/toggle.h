/* SPDX-License-Identifier: MIT */
#ifndef TOGGLE_H
#define TOGGLE_H

/* The signal that stops and starts recording, if the user asked for one. */

/* Replaces the program's handler of this signal; 0: does nothing. */
void toggle_install(int number);

#endif
