/* SPDX-License-Identifier: MIT */
#ifndef CACHE_H
#define CACHE_H

/*
 * Answers that are kept in a directory from one run to the next, in one file for each build-id and
 * style of names. Only complete answers are kept (function, file and line), because debug
 * information that is missing today may be installed tomorrow. The files are not trusted.
 */

#include "resolver/workers.h"

/* Creates the directory if it is missing. Returns 0 or a negative errno value. */
int cache_open(const char *directory, struct error *err);

/* Reads the module's answers into the pool, if its build-id is known. */
void cache_load(struct workers *workers, struct entry *entry);

/* Saves the complete answers of these modules, which are all modules of the pool. */
void cache_save(const struct workers *workers, struct entry *const *entries, size_t count);

#endif
