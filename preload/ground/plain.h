/* SPDX-License-Identifier: MIT */
#ifndef PLAIN_H
#define PLAIN_H

/*
 * The few functions of string.h that the library needs, as plain loops: the code that records an
 * event must not call libc, and no code may call libc before the loader has relocated libc.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * Marks a large table of which a short-lived process uses only a few entries. The linker sorts
 * sections by name and so places the table after all other zeroed variables, which then share a few
 * pages. Each page that is touched costs the process a page fault.
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

static inline bool plain_begins(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

/* The last component of a path, with a final slash if there is one. */
static inline const char *plain_last_part(const char *path)
{
	const char *part = path;

	for (; *path; path++)
		if (*path == '/' && path[1])
			part = path + 1;
	return part;
}

/* Copies at most `room` - 1 bytes and a NUL. Returns the number of bytes, including the NUL. */
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

#define PLAIN_WORD 8u

/*
 * Whether a text can be read word by word from `text` on. An aligned word crosses neither a page
 * nor a granule of tagged memory, so it can be read beyond the NUL; memcheck accepts the read, too.
 * Needs a little-endian processor.
 */
static inline bool plain_is_word(const char *text)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (uintptr_t)text % PLAIN_WORD == 0;
}

/* Loads a word of text. Returns how many of its bytes precede the NUL; at most PLAIN_WORD. */
static inline size_t plain_word(const char *text, uint64_t *word)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t ends;

	__builtin_memcpy(word, text, PLAIN_WORD);
	ends = (*word - ones) & ~*word & ones << 7;
	return ends ? (size_t)__builtin_ctzll(ends) / 8 : PLAIN_WORD;
}

/* Like strnlen(): the length of a text, but at most `most` bytes. */
static inline size_t plain_length_most(const char *text, size_t most)
{
	size_t n = 0;
	uint64_t word;

	for (; n < most && !plain_is_word(text + n); n++)
		if (!text[n])
			return n;
	for (; n + PLAIN_WORD <= most; n += PLAIN_WORD) {
		size_t size = plain_word(text + n, &word);

		if (size < PLAIN_WORD)
			return n + size;
	}
	while (n < most && text[n])
		n++;
	return n;
}

/* Stores the first `size` bytes of a word; `size` must be less than PLAIN_WORD. */
static inline void plain_put(char *to, uint64_t word, size_t size)
{
	if (size & 4) {
		__builtin_memcpy(to, &word, 4);
		word >>= 32;
		to += 4;
	}
	if (size & 2) {
		__builtin_memcpy(to, &word, 2);
		word >>= 16;
		to += 2;
	}
	if (size & 1)
		*to = (char)word;
}

/* Like plain_copy(), word by word. Reads the whole aligned word that contains the last byte. */
static inline size_t plain_copy_words(char *to, const char *from, size_t room)
{
	size_t n = 0;
	uint64_t word;

	for (; n + 1 < room && !plain_is_word(from + n); n++) {
		to[n] = from[n];
		if (!to[n])
			return n + 1;
	}
	while (n + 1 < room) {
		size_t left = room - 1 - n, size = plain_word(from + n, &word);

		if (size > left)
			size = left;
		if (size < PLAIN_WORD) {
			plain_put(to + n, word, size);
			n += size;
			break;
		}
		__builtin_memcpy(to + n, &word, PLAIN_WORD);
		n += PLAIN_WORD;
	}
	to[n] = 0;
	return n + 1;
}

/* Writes a number in base 10 or 16, and a NUL. Returns the end. `to` has room for 21 bytes. */
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

/* Reads hexadecimal or decimal digits. Returns a pointer to the first other character. */
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

/* Changes *state from `from` to `to`. Returns whether this thread made the change. */
static inline bool plain_claim(uint32_t *state, uint32_t from, uint32_t to)
{
	return __atomic_load_n(state, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Raises *value to at least `least`. Other threads may raise it at the same time. */
static inline void plain_raise(uint32_t *value, uint32_t least)
{
	uint32_t before = __atomic_load_n(value, __ATOMIC_RELAXED);

	while (before < least && !__atomic_compare_exchange_n(value, &before, least, false,
							      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* The hash function of DT_GNU_HASH. */
static inline uint32_t plain_symbol_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

#endif
