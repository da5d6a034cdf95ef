/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * Errors as values. A function that can fail returns 0 or a negative errno value and takes a struct
 * error as its last parameter. The function that detects a failure fills the struct, each caller
 * returns it to its own caller, and only main() prints it.
 */

#define ERROR_TEXT_MAX 1024

struct error {
	int number;		   /* a positive errno value; 0: no error */
	char text[ERROR_TEXT_MAX]; /* one sentence without a final stop or newline */
};

/*
 * Fills err with a printf-style sentence; err may be NULL. number: a positive errno value. Returns
 * -number, so that a function can fail with `return error_set(...)`.
 */
int error_set(struct error *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like error_set(), but appends ": " and strerror(number). */
int error_system(struct error *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prepends "context: " to the text of an error that a callee has set. Returns -err->number. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
