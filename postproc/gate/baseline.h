/* SPDX-License-Identifier: MIT */
#ifndef GATE_BASELINE_H
#define GATE_BASELINE_H

/*
 * The numbers of an older run by limit and call site: with --baseline they do not count against the
 * limits. A text with a line for each call site, to be kept beside the program's sources: the name
 * of the limit and of its column, the number, and the functions of the call site, separated by
 * tabs. If the numbers of memory are estimates, a comment line says so, which is parsed, too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/hash_table.h"

struct baseline_entry {
	uint64_t number;
	uint64_t left; /* not used up yet while a run is checked */
	const char *key;
};

struct baseline {
	struct hash_table table;
	struct pool pool;
	ARRAY_OF(struct baseline_entry *) entries;
	uint64_t sample; /* memory was sampled, one sample in this many bytes; 0: no sampling */
};

void baseline_init(struct baseline *baseline);
void baseline_free(struct baseline *baseline);

/* Adds a number to the entry of that key (is_largest: keeps the maximum instead). */
void baseline_add(struct baseline *baseline, const char *key, uint64_t number, bool is_largest);

/* NULL: there is none. */
struct baseline_entry *baseline_find(const struct baseline *baseline, const char *key);

/* Whether the file starts as --format=baseline writes it; otherwise it may be a trace. */
bool baseline_recognises(const char *path);

/* Returns 0 or a negative errno; the error names the file, and the malformed line. */
int baseline_read(struct baseline *baseline, const char *path, struct error *err);

#endif
