/* SPDX-License-Identifier: MIT */
#ifndef CACHE_H
#define CACHE_H

/*
 * Stores answers in a directory from one run to the next, in one file for each build-id and style
 * of names. Only complete answers are stored (function, file and line), because debug information
 * that is missing now may be installed later. The files are not trusted.
 */

#include "resolver/workers.h"

/* Creates the directory if it is missing. Returns 0 or a negative errno value. */
int cache_open(const char *directory, struct error *err);

/* Adds the module's stored answers to the pool, if the module's build-id is known. */
void cache_load(struct workers *workers, struct entry *entry);

/* Stores the complete answers of these modules, which must be all modules of the pool. */
void cache_save(const struct workers *workers, struct entry *const *entries, size_t count);

#endif
