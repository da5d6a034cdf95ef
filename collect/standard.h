/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STANDARD_H
#define COLLECT_STANDARD_H

/* What the standard descriptors are called, which most programs of a run inherit from its maker. */

#include "arena.h"

/* Those of this process, where a program may look whether the name still leads there. */
void standard_find(struct board *board);

#endif
