/* SPDX-License-Identifier: MIT */
#ifndef GATE_BASELINE_H
#define GATE_BASELINE_H

/*
 * A baseline: the numbers of an older run, for each limit and call site. With --baseline, only the
 * excess over these numbers is checked against a limit. The baseline is a text file that users
 * store with the program's sources. It has a line for each call site: the names of the limit and of
 * its column, the number, and the class and functions of the call site, separated by tabs. If
 * memory was sampled, a comment line, which is parsed, has the sampling interval.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/hash_table.h"

struct baseline_entry {
	uint64_t number;
	/* the part of `number` that no row of the checked run has used up yet */
	uint64_t left;
	const char *key;
	const char *site; /* the limit, class and innermost functions, which similar paths share */
	struct baseline_entry *next; /* next entry with the same site; the first is in `sites` */
};

struct baseline {
	struct hash_table table, sites;
	struct pool pool;
	ARRAY_OF(struct baseline_entry *) entries;
	uint64_t sample; /* sampling interval of memory in bytes; 0: no sampling */
};

void baseline_init(struct baseline *baseline);
void baseline_free(struct baseline *baseline);

/*
 * Adds `number` to the entry with this key, which it creates if needed. If `is_largest` is set, the
 * entry has the maximum of the numbers instead of their sum.
 */
void baseline_add(struct baseline *baseline, const char *key, uint64_t number, bool is_largest);

/* Returns the entry with this key, or NULL. */
struct baseline_entry *baseline_find(const struct baseline *baseline, const char *key);

/*
 * Subtracts up to `number` from `left` of the entries that have the limit, the class and the
 * innermost functions of the key. The outer functions of a path may differ from run to run. Returns
 * how much was subtracted.
 */
uint64_t baseline_take_similar(const struct baseline *baseline, const char *key, uint64_t number);

/*
 * Limits each number to the number with the same key in `other`, or to 0 if `other` does not have
 * the key.
 */
void baseline_limit(struct baseline *baseline, const struct baseline *other);

/*
 * Adds the entries of a file, which is a baseline or the JSON of a check. Returns 0, 1 if the file
 * begins like neither of them (it may be a trace), or a negative errno. The error names the file
 * and, if a line is malformed, the line.
 */
int baseline_read(struct baseline *baseline, const char *path, struct error *err);

#endif
