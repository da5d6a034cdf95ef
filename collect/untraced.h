/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_UNTRACED_H
#define COLLECT_UNTRACED_H

/* The reasons why a process was not traced after an exec, although it is alive. */

#include <stdint.h>

enum untraced {
#define UNTRACED(name, word, sentence) UNTRACED_##name,
#include "base/untraced.def"
#undef UNTRACED
};

extern const char *const untraced_words[];

/* Finds the reason from the files in /proc. UNTRACED_UNKNOWN: the files do not show the reason. */
enum untraced untraced_find(int32_t pid);

#endif
