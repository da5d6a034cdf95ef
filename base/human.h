/* SPDX-License-Identifier: MIT */
#ifndef BASE_HUMAN_H
#define BASE_HUMAN_H

/*
 * Formats numbers for people. Thousands are separated by commas. Sizes use powers of 1000 (KB, MB,
 * GB), as heaptrack and disks do. Times use a unit that needs few digits. Each formatting function
 * fills its first argument and returns the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct human {
	char text[48];
};

/* Formats a number: 26,120 */
const char *human_count(struct human *human, uint64_t number);

/* Formats a number of bytes: 512 B, 50.2 KB, 1.3 MB */
const char *human_bytes(struct human *human, uint64_t bytes);

/* Like human_bytes(), but exact below a million, so that blocks of equal size can be recognised. */
const char *human_exact_bytes(struct human *human, uint64_t bytes);

/* Formats a duration: 250 ns, 12.3 us, 0.8 ms, 12.3 s, 3 min 12 s, 2 h 5 min */
const char *human_time(struct human *human, uint64_t ns);

/*
 * Formats a time: 0.031 s. From 1 ms on, the unit is always seconds, so that a column of times is
 * aligned; a shorter time is formatted by human_time(): 31.4 us.
 */
const char *human_moment(struct human *human, uint64_t ns);

/*
 * The number of bytes in a unit such as B, KB or MiB; 0: unknown unit. `unit` has `length`
 * characters.
 */
uint64_t human_unit(const char *unit, size_t length);

/*
 * Parses a decimal number and multiplies it by `unit`. The result is exact, unlike a double, which
 * cannot hold the nanoseconds of a time since 1970. Returns the text after the number, or NULL if
 * `text` is not a number or the product overflows.
 */
const char *human_decimal(const char *text, uint64_t unit, uint64_t *value);

/* Parses a duration: 90, 1.5s, 250ms, 10us, 5ns, 5m, 2min, 1h or 7d. false: not a duration. */
bool human_duration(uint64_t *ns, const char *text);

/* Parses a size: 500KB, 2MiB or 500000. Returns bytes; 0: not a size. */
uint64_t human_size(const char *text);

#endif
