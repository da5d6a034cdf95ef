/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_UNTRACED_H
#define COLLECT_UNTRACED_H

/* Why a process that does not record any more, and lives, was not traced after its exec. */

#include <stdint.h>

enum untraced {
#define UNTRACED(name, word, sentence) UNTRACED_##name,
#include "base/untraced.def"
#undef UNTRACED
};

extern const char *const untraced_words[];

/* By what /proc shows of it; UNTRACED_UNKNOWN where that tells nothing. */
enum untraced untraced_find(int32_t pid);

#endif
