/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_UNTRACED_H
#define COLLECT_UNTRACED_H

/* Why a process that is alive but no longer recorded was not traced after its exec. */

#include <stdint.h>

enum untraced {
#define UNTRACED(name, word, sentence) UNTRACED_##name,
#include "base/untraced.def"
#undef UNTRACED
};

extern const char *const untraced_words[];

/* Decides by what /proc shows of the process; UNTRACED_UNKNOWN if that does not tell. */
enum untraced untraced_find(int32_t pid);

#endif
