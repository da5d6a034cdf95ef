/* SPDX-License-Identifier: MIT */
#ifndef TOGGLE_H
#define TOGGLE_H

/* The signal that stops and starts recording, for those who asked for one. */

/* Replaces the program's handler of this signal; 0: there is none to replace. */
void toggle_install(int number);

#endif
