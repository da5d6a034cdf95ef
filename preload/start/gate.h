/* SPDX-License-Identifier: MIT */
#ifndef GATE_H
#define GATE_H

/*
 * Which processes the library stays out of, whoever preloads it (/etc/ld.so.preload reaches all):
 * programs that gained rights when they started, and our own, which would trace themselves for
 * ever.
 */

#include <stdbool.h>

/* Once, before anything else is done. */
bool gate_is_closed(void);

#endif
