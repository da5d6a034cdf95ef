/* SPDX-License-Identifier: MIT */
#ifndef POSTPROC_STREAM_H
#define POSTPROC_STREAM_H

/*
 * Makes sp-rtrace streams byte by byte, in each form that any version has written. Shares no code
 * and no table with the reader, so that the two cannot have the same error.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STREAM_MAX (1u << 16)

struct stream {
	bool is_big, is_size_first, is_document, has_tails;
	int pointer; /* size of a pointer in bytes */
	int major, minor;
	uint32_t calls;
	uint32_t thread; /* number of the calling thread, from 0 */
	size_t packet;	 /* offset of the packet that is being made */
	size_t size;
	unsigned char bytes[STREAM_MAX];
};

static inline void put_byte(struct stream *stream, unsigned value)
{
	stream->bytes[stream->size++] = (unsigned char)value;
}

static inline void put_number(struct stream *stream, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		put_byte(stream,
			 (unsigned)(value >> 8 * (stream->is_big ? bytes - 1 - i : i)) & 0xff);
}

static inline void put_dword(struct stream *stream, uint32_t value)
{
	put_number(stream, value, 4);
}

static inline void put_pointer(struct stream *stream, uint64_t value)
{
	put_number(stream, value, stream->pointer);
}

/* The length includes the padding, except in the form that sp-rtrace's document describes. */
static inline void put_string(struct stream *stream, const char *text)
{
	size_t length = strlen(text), padded = ((2 + length + 3) & ~(size_t)3) - 2;

	put_number(stream, stream->is_document ? length : padded, 2);
	for (size_t i = 0; i < padded; i++)
		put_byte(stream, i < length ? (unsigned char)text[i] : 0);
}

static inline void begin_packet(struct stream *stream, const char *tag)
{
	uint32_t word = (uint32_t)tag[0] | (uint32_t)tag[1] << 8 | (uint32_t)tag[2] << 16 |
			(uint32_t)tag[3] << 24;

	stream->packet = stream->size;
	put_dword(stream, stream->is_size_first ? 0 : word);
	put_dword(stream, stream->is_size_first ? word : 0);
}

static inline void end_packet(struct stream *stream)
{
	size_t end = stream->size;

	stream->size = stream->packet + (stream->is_size_first ? 0 : 4);
	put_dword(stream, (uint32_t)(end - stream->packet - (stream->is_size_first ? 4 : 8)));
	stream->size = end;
}

static inline void put_handshake(struct stream *stream, const char *arch)
{
	size_t start = stream->size, length = strlen(arch), total = (7 + length + 3) & ~(size_t)3;

	put_byte(stream, 0xf0);
	put_byte(stream, (unsigned)total - 2);
	put_byte(stream, (unsigned)stream->major);
	put_byte(stream, (unsigned)stream->minor);
	put_byte(stream, (unsigned)length);
	memcpy(stream->bytes + stream->size, arch, length);
	stream->size += length;
	put_byte(stream, stream->is_big);
	put_byte(stream, (unsigned)stream->pointer);
	while (stream->size < start + total)
		put_byte(stream, 0xaa);
}

static inline void put_process(struct stream *stream, uint32_t pid, const char *name)
{
	begin_packet(stream, "PINF");
	put_dword(stream, pid);
	put_dword(stream, 1700000000);
	put_dword(stream, 250000);
	if (stream->major > 1 || stream->minor >= 2)
		put_dword(stream, 10);
	put_string(stream, name);
	if (stream->has_tails) {
		put_dword(stream, 0x314c5448);
		put_number(stream, 0x1111, 8);
		put_number(stream, 0x2222, 8);
		put_dword(stream, 0);
		put_dword(stream, 0xffffffff);
		put_dword(stream, 1);
		put_number(stream, 5000000000, 8);
		put_number(stream, 1600000000000000000, 8);
	}
	end_packet(stream);
}

static inline void put_tracer(struct stream *stream, uint32_t id, uint32_t version,
			      const char *name)
{
	begin_packet(stream, "MINF");
	put_dword(stream, id);
	put_dword(stream, version);
	put_string(stream, name);
	end_packet(stream);
}

static inline void put_mapping(struct stream *stream, uint64_t from, uint64_t to, const char *path)
{
	begin_packet(stream, "MMAP");
	put_pointer(stream, from);
	put_pointer(stream, to);
	put_string(stream, path);
	if (stream->has_tails) {
		put_number(stream, from + 0x100, 8);
		put_number(stream, 0x100, 8);
		put_string(stream, "0123456789abcdef");
	}
	end_packet(stream);
}

static inline void put_context(struct stream *stream, uint32_t bit, const char *name)
{
	begin_packet(stream, "CTXR");
	put_dword(stream, bit);
	put_string(stream, name);
	end_packet(stream);
}

static inline void put_resource(struct stream *stream, uint32_t id, uint32_t flags,
				const char *type, const char *description)
{
	begin_packet(stream, "RESR");
	put_dword(stream, id);
	if (stream->major > 1 || stream->minor >= 3)
		put_dword(stream, flags);
	put_string(stream, type);
	put_string(stream, description);
	end_packet(stream);
}

static inline void put_two(struct stream *stream, const char *tag, const char *one, const char *two)
{
	begin_packet(stream, tag);
	put_string(stream, one);
	put_string(stream, two);
	end_packet(stream);
}

/* The fields of a call that differ between tests. put_tail() derives the tail from them. */
struct call {
	uint32_t resource, context, time, type;
	const char *name;
	uint64_t size, object;
	uint32_t flags;
};

static inline void put_tail(struct stream *stream, const struct call *call)
{
	put_byte(stream, call->type == 2 ? 1 : call->type == 1 ? 2 : 0);
	put_byte(stream, call->type == 1 ? 1 : 2);
	put_byte(stream, 0);
	put_byte(stream, call->flags);
	put_dword(stream, 4712 + stream->thread);			    /* thread */
	put_dword(stream, 1);						    /* cpu */
	put_dword(stream, 0);						    /* depth */
	put_dword(stream, 0);						    /* error */
	put_number(stream, 0x7f0000001000 + stream->thread * 0x1000ull, 8); /* pthread */
	put_number(stream, ++stream->calls, 8);				    /* call */
	put_number(stream, call->time * 1000000ull, 8);
	put_number(stream, call->time * 1000000ull + 500, 8);
	put_number(stream, call->size, 8);
	put_number(stream, 0xabc, 8);	     /* related */
	put_number(stream, call->object, 8); /* result */
	put_number(stream, 0x7ffc0000, 8);   /* frame */
}

static inline void put_call(struct stream *stream, const struct call *call)
{
	uint32_t size =
		call->size > 0x7fffffff && stream->has_tails ? 0x7fffffff : (uint32_t)call->size;

	begin_packet(stream, "CALL");
	if (stream->is_document)
		put_dword(stream, call->time);
	put_dword(stream, call->resource);
	put_dword(stream, call->context);
	if (!stream->is_document)
		put_dword(stream, call->time);
	put_dword(stream, call->type);
	put_string(stream, call->name);
	if (stream->is_document)
		put_pointer(stream, call->object);
	put_dword(stream, size);
	if (!stream->is_document)
		put_pointer(stream, call->object);
	if (stream->has_tails)
		put_tail(stream, call);
	end_packet(stream);
}

static inline void put_argument(struct stream *stream, const char *name, const char *value)
{
	begin_packet(stream, "ARGS");
	put_dword(stream, 1);
	put_string(stream, name);
	put_string(stream, value);
	end_packet(stream);
}

static inline void put_backtrace(struct stream *stream, uint32_t count, const uint64_t *frames)
{
	begin_packet(stream, "BTRC");
	put_dword(stream, count);
	for (uint32_t i = 0; i < count; i++)
		put_pointer(stream, frames[i]);
	end_packet(stream);
}

/* is_short: writes pointers as dwords, as sp-rtrace does on 64-bit machines. */
static inline void put_heap(struct stream *stream, bool is_short)
{
	begin_packet(stream, "HINF");
	put_number(stream, 0x10000, is_short ? 4 : stream->pointer);
	put_number(stream, 0x20000, is_short ? 4 : stream->pointer);
	for (uint32_t i = 1; i <= 10; i++)
		put_dword(stream, i == 10 ? 0xfffffff0 : i);
	end_packet(stream);
}

/* Writes a NULL text as sp-rtrace does. The text "", in contrast, has a length. */
static inline void put_null(struct stream *stream)
{
	put_number(stream, 0, 4);
}

/*
 * Selects the form of the stream. "1.0" to "1.4" are the forms that sp-rtrace wrote; "document" is
 * the form that its document describes. Returns false if the form is unknown.
 */
static inline bool stream_form(struct stream *stream, const char *form)
{
	memset(stream, 0, sizeof(*stream));
	stream->major = 2;
	stream->pointer = 8;
	if (!strcmp(form, "tails"))
		stream->has_tails = true;
	else if (!strcmp(form, "big"))
		stream->is_big = true;
	else if (!strcmp(form, "big-tails"))
		stream->is_big = stream->has_tails = true;
	else if (!strcmp(form, "32"))
		stream->pointer = 4;
	else if (!strcmp(form, "big-32")) {
		stream->is_big = true;
		stream->pointer = 4;
	} else if (!strcmp(form, "size-first"))
		stream->is_size_first = true;
	else if (!strcmp(form, "document"))
		stream->is_document = true;
	else if (!strncmp(form, "1.", 2) && form[2] >= '0' && form[2] <= '4' && !form[3])
		stream->is_size_first = true;
	else if (strcmp(form, "2.0") != 0)
		return false;
	if (stream->is_size_first || stream->is_document) {
		stream->major = 1;
		stream->minor = *form == '1' ? form[2] - '0' : 4;
	}
	return true;
}

/* Writes packets of all kinds. All forms of the stream give the same text. */
static inline void put_sample(struct stream *stream)
{
	static const uint64_t outer[] = { 0x400136, 0x400250, 0x400310 };
	struct call call = { 1, 0, 0, 2, "malloc", 64, 0x10010, 0 };

	put_handshake(stream, "x86_64");
	put_two(stream, "OCFG", "/tmp", "-t");
	put_process(stream, 4711, "./demo program");
	put_tracer(stream, 0, 0x10000, "main");
	put_mapping(stream, 0x400000, 0x401000, "/opt/my program/demo");
	put_tracer(stream, 1, 0x10002, "memory");
	put_resource(stream, 1, 0, "memory", "memory allocation in bytes");
	put_resource(stream, 2, 0, "fd", "file descriptor");
	put_resource(stream, 3, 1, "lock", "lock that is held");
	put_resource(stream, 4, 0, "event", "call that neither gains nor loses");
	put_context(stream, 1, "start up");
	put_two(stream, "FILE", "maps", "4711-maps-0");
	put_call(stream, &call);
	put_backtrace(stream, 3, outer);
	call = (struct call){ 2, 1, 3723004, 2, "open", 1, 3, 0 };
	put_call(stream, &call);
	put_argument(stream, "path", "/etc/my passwd");
	put_argument(stream, "flags", "0x0");
	put_backtrace(stream, 2, outer);
	call = (struct call){ 1, 0, 3723005, 1, "free", 0, 0x10010, 0 };
	put_call(stream, &call);
	put_backtrace(stream, 0, NULL);
	put_mapping(stream, 0x500000, 0x501000, "/lib/late.so");
	call = (struct call){ 3, 3, 3723006, 2, "pthread_mutex_lock", 1, 0xffff0000, 0 };
	put_call(stream, &call);
	put_backtrace(stream, 1, outer + 2);
	call = (struct call){ 4, 0, 86399999, 0, "sem_post", 0, 0x20020, 0 };
	put_call(stream, &call);
	put_backtrace(stream, 1, outer);
	put_heap(stream, false);
}

#endif
