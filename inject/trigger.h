/* SPDX-License-Identifier: MIT */
#ifndef INJECT_TRIGGER_H
#define INJECT_TRIGGER_H

/*
 * Makes the smallest possible library: when it is loaded, it calls one function with one argument.
 * The loader calls it under its own lock, so all modules are in a consistent state.
 */

#include <stdint.h>

#define TRIGGER_SIZE 8192u

void trigger_make(uint8_t image[TRIGGER_SIZE], uint64_t function, uint64_t argument);

#endif
