/* SPDX-License-Identifier: MIT */
#ifndef CACHE_H
#define CACHE_H

/*
 * Answers that are kept in a directory from one run to the next, a file for each build-id and style
 * of names. Only whole answers are kept, with function, file and line, because debug information
 * that is not there today may be there tomorrow. The files are read with distrust, too.
 */

#include "resolver/crew.h"

/* Makes the directory if there is none. Returns 0 or a negative errno value. */
int cache_open(const char *directory, struct error *err);

/* Takes in what is kept of this module, if its build-id is known. */
void cache_load(struct crew *crew, struct entry *entry);

/* Writes what is worth it of all modules; entries: all there are. */
void cache_save(const struct crew *crew, struct entry *const *entries, size_t count);

#endif
