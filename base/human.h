/* SPDX-License-Identifier: MIT */
#ifndef BASE_HUMAN_H
#define BASE_HUMAN_H

/*
 * Numbers as people read them: thousands by commas, sizes in steps of 1000 (KB, MB, GB: heaptrack
 * and disks count so, too), times in the unit that leaves few digits. Each fills and returns its
 * first argument.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct human {
	char text[48];
};

/* 26,120 */
const char *human_count(struct human *human, uint64_t number);

/* 512 B, 50.2 KB, 1.3 MB */
const char *human_bytes(struct human *human, uint64_t bytes);

/* As human_bytes(), but to the byte below a million: equal blocks can be told by that. */
const char *human_exact_bytes(struct human *human, uint64_t bytes);

/* 250 ns, 12.3 us, 0.8 ms, 12.3 s, 3 min 12 s, 2 h 5 min */
const char *human_time(struct human *human, uint64_t ns);

/* 0.031 s: all of them in one column, but for 31.4 us */
const char *human_moment(struct human *human, uint64_t ns);

/* Bytes of a unit as people write it (B, KB, MiB ...), length characters. 0: no such unit. */
uint64_t human_unit(const char *unit, size_t length);

/*
 * A decimal number times unit, exactly: a double has no nanoseconds left at seconds since 1970.
 * Returns what is behind the number, or NULL if there is none or it is too large.
 */
const char *human_decimal(const char *text, uint64_t unit, uint64_t *value);

/* The length of time in 90, 1.5s, 250ms, 10us, 5ns, 5m, 2min, 1h or 7d; false: it is none. */
bool human_duration(uint64_t *ns, const char *text);

/* Bytes of 500KB, 2MiB or 500000. 0: it is none of these. */
uint64_t human_size(const char *text);

#endif
