/* SPDX-License-Identifier: MIT */
#ifndef BASE_OUT_H
#define BASE_OUT_H

/*
 * Buffered output to a descriptor. The first error is kept and everything after it is dropped, so
 * that callers print without asking and look once: at out_error() or out_close(). Foreign text
 * goes through out_name(), in messages through print_message().
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define OUT_SIZE (64u << 10) /* of the buffer */

struct out {
	int fd;
	int error; /* 0 or a negative errno: EPIPE, ENOSPC ... */
	size_t used;
	char *buffer;
};

/*
 * How names are made safe to print: controls, U+0080 to U+009F, invalid UTF-8 and marks of writing
 * direction become \xNN, byte by byte.
 */
enum escape {
	ESCAPE_LINES, /* all but tab, which separates words of a text trace */
	ESCAPE_ALL,
};

/* Starts output to fd, which is not closed by anything here. Returns 0 or -ENOMEM. */
int out_open(struct out *out, int fd, struct error *err);

void out_flush(struct out *out);

/* 0 or the first error as a negative errno. */
int out_error(const struct out *out);

/* Flushes and frees the buffer. Returns out_error(). */
int out_close(struct out *out);

/* out_bytes() of what the buffer has no room for. */
void out_many_bytes(struct out *out, const void *bytes, size_t size);

static inline void out_bytes(struct out *out, const void *bytes, size_t size)
{
	if (size > OUT_SIZE - out->used) {
		out_many_bytes(out, bytes, size);
		return;
	}
	memcpy(out->buffer + out->used, bytes, size);
	out->used += size;
}

static inline void out_char(struct out *out, char character)
{
	if (out->used == OUT_SIZE)
		out_flush(out);
	out->buffer[out->used++] = character;
}

void out_text(struct out *out, const char *text);
void out_unsigned(struct out *out, uint64_t number);
void out_signed(struct out *out, int64_t number);
void out_hex(struct out *out, uint64_t number); /* without 0x */

/* With leading zeros up to digits. */
void out_padded(struct out *out, uint64_t number, unsigned digits);

/* A text of foreign origin. */
void out_name(struct out *out, const char *text, size_t length, enum escape escape);

/*
 * A message for people: formats it, escapes it as out_name() does, newlines included, and ends the
 * line. before: what the line begins with, escaped too; may be empty. A message has at most 8 KiB.
 */
void print_message(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void print_message_list(FILE *to, const char *before, const char *format, va_list list)
	__attribute__((format(printf, 3, 0)));

/* Columns of a terminal that out_name() fills with it, all escaped. */
size_t name_columns(const char *text, size_t length);

/*
 * A text of foreign origin in a cell of CSV, quotes doubled. begins: nothing of the cell was
 * written before; a spreadsheet then takes what begins with = + - @ for a formula, and runs it, so
 * a ' comes first (OWASP, CSV injection). For texts alone: numbers stay numbers.
 */
void out_cell(struct out *out, const char *text, size_t length, bool begins);

/* For what has no function of its own; at most 1 KiB a call. */
void out_format(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True for code points that only show what they are: no controls, no marks of direction. */
bool code_is_plain(uint32_t code);

/*
 * Length of the UTF-8 sequence at text (1 to 4), or 0 if it is none. length: bytes there, not 0.
 * *code: the code point.
 */
unsigned utf8_decode(const char *text, size_t length, uint32_t *code);

#endif
