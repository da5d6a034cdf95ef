/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LATE_H
#define PRELOAD_LATE_H

/* The library in a program that ran before it came: what it is ordered to do, under the loader's
 * lock. */

#include <stdbool.h>

/* Whether this copy of the library waits for orders, and begins nothing by itself. */
bool late_is_injected(void);

#endif
