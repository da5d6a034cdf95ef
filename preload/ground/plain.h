/* SPDX-License-Identifier: MIT */
#ifndef PLAIN_H
#define PLAIN_H

/*
 * The little of string.h that the library needs, as plain loops: nothing of libc may be called on
 * the path of an event, and nothing at all before libc has been relocated.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * Of a table that a short process touches little or nothing of: it stands behind all other zeroed
 * variables (the linker sorts by name), so that those share a few pages. Each page is a fault in
 * each process.
 */
#define SPARSE __attribute__((section(".bss.sparse")))

static inline size_t plain_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static inline bool plain_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Copies at most room - 1 bytes and ends them with NUL. Returns the bytes written, NUL included. */
static inline size_t plain_copy(char *to, const char *from, size_t room)
{
	size_t n = 0;

	while (n + 1 < room && from[n]) {
		to[n] = from[n];
		n++;
	}
	to[n] = 0;
	return n + 1;
}

/* Writes number in base 10 or 16 and a NUL; returns the end. to has room for 21 bytes. */
static inline char *plain_number(char *to, uint64_t number, unsigned int base)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	while (n)
		*to++ = digits[--n];
	*to = 0;
	return to;
}

/* Reads hexadecimal or decimal digits; returns what follows them. */
static inline const char *plain_parse(const char *text, unsigned int base, uint64_t *number)
{
	*number = 0;
	for (;; text++) {
		unsigned int digit;

		if (*text >= '0' && *text <= '9')
			digit = (unsigned int)(*text - '0');
		else if (base == 16 && *text >= 'a' && *text <= 'f')
			digit = (unsigned int)(*text - 'a') + 10;
		else
			return text;
		*number = *number * base + digit;
	}
}

#endif
