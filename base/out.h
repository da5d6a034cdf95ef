/* SPDX-License-Identifier: MIT */
#ifndef BASE_OUT_H
#define BASE_OUT_H

/*
 * Buffered output to a descriptor. The first error is kept and later output is discarded, so that
 * callers check once, with out_error() or out_close(). Untrusted text is printed by out_name() or,
 * in messages, by print_message().
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define OUT_SIZE (64u << 10) /* size of the buffer in bytes */

struct out {
	int fd;
	int error; /* 0 or a negative errno: EPIPE, ENOSPC ... */
	size_t used;
	char *buffer;
};

/*
 * How untrusted text is escaped. Each byte of a control character (also U+0080 to U+009F), of
 * invalid UTF-8, or of a bidirectional formatting character becomes \xNN.
 */
enum escape {
	ESCAPE_LINES, /* keeps tabs, which separate words of a text trace */
	ESCAPE_ALL,
};

/* Starts output to fd, which the caller closes. Ends the program if memory runs out. */
void out_open(struct out *out, int fd);

void out_flush(struct out *out);

/* Returns 0, or the first error as a negative errno. */
int out_error(const struct out *out);

/* Flushes and frees the buffer. Returns out_error(). */
int out_close(struct out *out);

/* The slow path of out_bytes(): `size` bytes do not fit into the buffer. */
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
void out_hex(struct out *out, uint64_t number); /* in hexadecimal, without 0x */

/* Prints a number with leading zeros, at least `digits` digits. */
void out_padded(struct out *out, uint64_t number, unsigned digits);

/* Prints untrusted text. */
void out_name(struct out *out, const char *text, size_t length, enum escape escape);

/*
 * Prints a message for people: formats it, escapes it as out_name() does, including newlines, and
 * ends the line. A message has at most 8 KiB. before: a prefix, also escaped; may be empty.
 */
void print_message(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void print_message_list(FILE *to, const char *before, const char *format, va_list list)
	__attribute__((format(printf, 3, 0)));

/*
 * The number of terminal columns of the text after out_name() has escaped it. A wide character has
 * 2 columns, a combining character has 0 (wcwidth(3)).
 */
size_t name_columns(const char *text, size_t length);

/* The length in bytes of the longest prefix of the text that fits into `columns` columns. */
size_t name_start(const char *text, size_t length, size_t columns);

/*
 * Prints untrusted text inside a quoted CSV cell and doubles its quotes. begins: whether the text
 * is the start of the cell. A spreadsheet runs a cell that begins with = + - @ as a formula, so
 * such text gets a leading ' (OWASP, CSV injection). Numbers must not be printed by this function.
 */
void out_cell(struct out *out, const char *text, size_t length, bool begins);

/* Prints untrusted text as text or an attribute of XML, which also forbids control characters. */
void out_xml(struct out *out, const char *text, size_t length);

/* Prints like printf(3), at most 1 KiB per call. */
void out_format(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * True for code points that can be printed without side effects: no control characters,
 * bidirectional formatting characters, line separators or invisible characters.
 */
bool code_is_plain(uint32_t code);

/*
 * Decodes the UTF-8 sequence at `text` into *code. Returns its length, 1 to 4 bytes; 0: invalid.
 * length: bytes available, at least 1.
 */
unsigned utf8_decode(const char *text, size_t length, uint32_t *code);

#endif
