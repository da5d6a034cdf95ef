/* SPDX-License-Identifier: MIT */
#ifndef GATE_BASELINE_H
#define GATE_BASELINE_H

/*
 * What an older run had of each limited thing, place by place: --baseline lets that pass. A text
 * of a line for each place, which is kept beside a program's sources: name of the limit and of its
 * column, number, and the functions of the place, parted by tabs. Where numbers of memory are
 * estimates, a line for people says so, and is heeded.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/table.h"

struct baseline_entry {
	uint64_t number;
	uint64_t left; /* of it, while a run is judged */
	const char *key;
};

struct baseline {
	struct table table;
	struct pool pool;
	ARRAY_OF(struct baseline_entry *) entries;
	uint64_t sample; /* its memory was recorded by samples, one in so many bytes; 0: all */
};

void baseline_init(struct baseline *baseline);
void baseline_free(struct baseline *baseline);

/* Adds a number to the entry of that key (the larger one stays if is_largest). */
void baseline_add(struct baseline *baseline, const char *key, uint64_t number, bool is_largest);

/* NULL: there is none. */
struct baseline_entry *baseline_find(const struct baseline *baseline, const char *key);

/* Whether the file begins as one that --format=baseline made; else it may be a trace. */
bool baseline_recognises(const char *path);

/* Returns 0 or a negative errno; the sentence names the file, and the line that is none. */
int baseline_read(struct baseline *baseline, const char *path, struct error *err);

#endif
