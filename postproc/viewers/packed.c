/* SPDX-License-Identifier: MIT */
#include "packed.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

#define WINDOW	   (15 + 16) /* 15: zlib's largest window; + 16: with a gzip header */
#define MEMORY	   8
#define PIECE_MAX  (1u << 30) /* zlib counts bytes in unsigned int */
#define FORMAT_MAX 1024u

void packed_begin(struct packed *packed, struct out *out)
{
	packed->out = out;
	packed->stream = (z_stream){ 0 };
	if (deflateInit2(&packed->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		memory_none();
}

/* Compresses the input of packed->stream. If `flush` is Z_FINISH, also ends the stream. */
static void packed_deflate(struct packed *packed, int flush)
{
	int state;

	do {
		packed->stream.next_out = packed->buffer;
		packed->stream.avail_out = sizeof(packed->buffer);
		state = deflate(&packed->stream, flush);
		out_bytes(packed->out, packed->buffer,
			  sizeof(packed->buffer) - packed->stream.avail_out);
	} while (state == Z_OK && (packed->stream.avail_in || !packed->stream.avail_out));
}

void packed_bytes(struct packed *packed, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size) {
		size_t piece = size < PIECE_MAX ? size : PIECE_MAX;

		packed->stream.next_in = (unsigned char *)at;
		packed->stream.avail_in = (unsigned)piece;
		packed_deflate(packed, Z_NO_FLUSH);
		at += piece;
		size -= piece;
	}
}

void packed_format(struct packed *packed, const char *format, ...)
{
	char text[FORMAT_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length > 0)
		packed_bytes(packed, text,
			     (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

void packed_end(struct packed *packed)
{
	packed->stream.next_in = NULL;
	packed->stream.avail_in = 0;
	packed_deflate(packed, Z_FINISH);
	deflateEnd(&packed->stream);
}
