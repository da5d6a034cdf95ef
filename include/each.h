/* SPDX-License-Identifier: MIT */
#ifndef EACH_H
#define EACH_H

/*
 * Macros that turn a list of (type, name) pairs, the form in which hooks.def has parameters, into
 * parameter declarations, names or types. The list of a function without parameters is (void).
 */

#define EACH_JOIN_(a, b)					a##b
#define EACH_JOIN(a, b)						EACH_JOIN_(a, b)
#define EACH_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define EACH_COUNT(...)						EACH_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* (int, fd, const char *, path) → int fd, const char *path */
#define EACH_PARAMETER(list)	     EACH_JOIN(EACH_PARAMETER_, EACH_COUNT list) list
#define EACH_PARAMETER_1(v)	     void
#define EACH_PARAMETER_2(t, n)	     t n
#define EACH_PARAMETER_4(t, n, ...)  t n, EACH_PARAMETER_2(__VA_ARGS__)
#define EACH_PARAMETER_6(t, n, ...)  t n, EACH_PARAMETER_4(__VA_ARGS__)
#define EACH_PARAMETER_8(t, n, ...)  t n, EACH_PARAMETER_6(__VA_ARGS__)
#define EACH_PARAMETER_10(t, n, ...) t n, EACH_PARAMETER_8(__VA_ARGS__)
#define EACH_PARAMETER_12(t, n, ...) t n, EACH_PARAMETER_10(__VA_ARGS__)

/* (int, fd), (mode_t, mode) → (int, fd, mode_t, mode) */
#define EACH_BOTH(one, other) (EACH_WITHIN one, EACH_WITHIN other)
#define EACH_WITHIN(...)      __VA_ARGS__

/* (int, fd, const char *, path) → path */
#define EACH_LAST(list)	       EACH_JOIN(EACH_LAST_, EACH_COUNT list) list
#define EACH_LAST_2(t, n)      n
#define EACH_LAST_4(t, n, ...) EACH_LAST_2(__VA_ARGS__)
#define EACH_LAST_6(t, n, ...) EACH_LAST_4(__VA_ARGS__)
#define EACH_LAST_8(t, n, ...) EACH_LAST_6(__VA_ARGS__)

/* (mode_t, mode) → mode_t mode = { 0 }; */
#define EACH_LOCAL(list)   EACH_JOIN(EACH_LOCAL_, EACH_COUNT list) list
#define EACH_LOCAL_2(t, n) t n = { 0 };
#define EACH_LOCAL_4(t, n, ...) \
	t n = { 0 };            \
	EACH_LOCAL_2(__VA_ARGS__)

/* (mode_t, mode) → mode = va_arg(rest, mode_t); */
#define EACH_TAKE(list)	  EACH_JOIN(EACH_TAKE_, EACH_COUNT list) list
#define EACH_TAKE_2(t, n) n = va_arg(rest, t);
#define EACH_TAKE_4(t, n, ...) \
	n = va_arg(rest, t);   \
	EACH_TAKE_2(__VA_ARGS__)

/* (int, fd, const char *, path) → defines int fd and const char *path from an array `words` */
#define EACH_WORD(list) EACH_JOIN(EACH_WORD_, EACH_COUNT list) list
#define EACH_WORD_1(v)
#define EACH_WORD_2(t, n)             \
	t n = ((const union {         \
		      long word;      \
		      t value;        \
	      }){ .word = *words++ }) \
		      .value;
#define EACH_WORD_4(t, n, ...) \
	EACH_WORD_2(t, n)      \
	EACH_WORD_2(__VA_ARGS__)
#define EACH_WORD_6(t, n, ...) \
	EACH_WORD_2(t, n)      \
	EACH_WORD_4(__VA_ARGS__)
#define EACH_WORD_8(t, n, ...) \
	EACH_WORD_2(t, n)      \
	EACH_WORD_6(__VA_ARGS__)
#define EACH_WORD_10(t, n, ...) \
	EACH_WORD_2(t, n)       \
	EACH_WORD_8(__VA_ARGS__)

/* (int, fd, const char *, path) → fd, path */
#define EACH_NAME(list) EACH_JOIN(EACH_NAME_, EACH_COUNT list) list
#define EACH_NAME_1(v)
#define EACH_NAME_2(t, n)	n
#define EACH_NAME_4(t, n, ...)	n, EACH_NAME_2(__VA_ARGS__)
#define EACH_NAME_6(t, n, ...)	n, EACH_NAME_4(__VA_ARGS__)
#define EACH_NAME_8(t, n, ...)	n, EACH_NAME_6(__VA_ARGS__)
#define EACH_NAME_10(t, n, ...) n, EACH_NAME_8(__VA_ARGS__)
#define EACH_NAME_12(t, n, ...) n, EACH_NAME_10(__VA_ARGS__)

#endif
