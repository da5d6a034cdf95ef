/* SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * Errors as values. A function that can fail returns 0 or a negative errno value and takes a
 * struct error last; whoever knows most fills it, everybody else passes it up, and main() alone
 * prints it.
 */

#define ERROR_TEXT_MAX 1024

struct error {
	int number;		   /* a positive errno value, 0 while all is well */
	char text[ERROR_TEXT_MAX]; /* one sentence without a final stop or newline */
};

/*
 * Fills err (which may be NULL: then only the number travels) with a printf-style sentence.
 * number: a positive errno value. Returns -number, so that callers can return the call itself.
 */
int error_set(struct error *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As error_set(), with ": " and the system's words for number appended. */
int error_system(struct error *err, int number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text of an error that passes by. Returns -err->number. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
