/* SPDX-License-Identifier: MIT */
#ifndef TEXT_H
#define TEXT_H

/*
 * The lines of sp-rtrace text. Each kind of line has a struct, a parser and a printer; printing a
 * parsed line reproduces it. Lines are passed without their newline, and the slices of a struct
 * point into the line. Lines are printed as sp-rtrace 1.8 prints them; the parsers also accept the
 * form that the documentation of sp-rtrace describes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/out.h"
#include "wire.h"

struct slice {
	const char *at;
	size_t length;
};

static inline struct slice slice(const char *at, size_t length)
{
	return (struct slice){ at, length };
}

struct slice slice_of(const char *text);
bool slice_is(struct slice slice, const char *text);

/* The first line of a trace: `version=2.0, arch=x86_64, ... , ` */
#define TEXT_HEADERS_MAX 32

struct text_pair {
	struct slice key, value;
};

struct text_header {
	size_t count;
	struct text_pair pairs[TEXT_HEADERS_MAX];
};

bool text_parse_header(struct slice line, struct text_header *header);
void text_print_header(struct out *out, const struct text_header *header);

/* Returns the value of a key, or NULL if the header has no such key. */
const struct slice *text_header_value(const struct text_header *header, const char *key);

/*
 * Parses the value of `timestamp`: `2023.1.2 03:04:05` or, as sp-rtrace's library writes it,
 * `02.01.2023 03:04:05`, in local time. Returns seconds since 1970; 0: another form.
 */
uint32_t text_parse_date(struct slice value);

/*
 * A mapping: `: /usr/lib/libc.so.6 => 0x7f00-0x7f80 build-id=0123abcd`. The build-id is an
 * extension of holdtrace that sp-rtrace does not read. `build_id` is empty if the line has none.
 */
struct text_mapping {
	struct slice path;
	uint64_t from, to;
	struct slice build_id; /* hexadecimal digits */
};

bool text_parse_mapping(struct slice line, struct text_mapping *mapping);
void text_print_mapping(struct out *out, const struct text_mapping *mapping);

/* A context: `@ 1 : startup` */
struct text_context {
	uint32_t bit;
	struct slice name;
};

bool text_parse_context(struct slice line, struct text_context *context);
void text_print_context(struct out *out, const struct text_context *context);

/* A class: `<1> : memory (memory allocation in bytes) [refcount]`; the number is a bit mask */
struct text_resource {
	uint32_t ordinal;
	bool is_counted;
	struct slice type, description;
};

bool text_parse_resource(struct slice line, struct text_resource *resource);
void text_print_resource(struct out *out, const struct text_resource *resource);

/* An attachment: `& maps : 4711-maps-0` */
struct text_attachment {
	struct slice name, path;
};

bool text_parse_attachment(struct slice line, struct text_attachment *attachment);
void text_print_attachment(struct out *out, const struct text_attachment *attachment);

/*
 * A call: `12. @1 [00:01:02.003] malloc<memory>(64) = 0x5555`. Calls that do not allocate have no
 * size: `13. free<memory>(0x5555)`. `type` is empty if the line has no <...>.
 */
struct text_call {
	uint64_t index;
	uint32_t context;
	uint32_t time_ms; /* time of the call; 0: the line has none */
	struct slice name, type;
	bool is_alloc;
	uint64_t size, object;
};

bool text_parse_call(struct slice line, struct text_call *call);
void text_print_call(struct out *out, const struct text_call *call);

/* An argument: `\t$path = /etc/passwd` */
struct text_argument {
	struct slice name, value;
};

bool text_parse_argument(struct slice line, struct text_argument *argument);
void text_print_argument(struct out *out, const struct text_argument *argument);

/* A frame: `\t0x401136 main() at demo.c:12`; `text` follows the address and a blank */
struct text_frame {
	uint64_t address;
	bool has_text;
	struct slice text;
};

bool text_parse_frame(struct slice line, struct text_frame *frame);
void text_print_frame(struct out *out, const struct text_frame *frame);

/*
 * Whether a line begins with "# ". A post-processor has written such a comment, and the reader
 * drops it. All other lines that no parser accepts are comments, too, which the reader keeps.
 */
bool text_is_passing_comment(struct slice line);
void text_print_comment(struct out *out, struct slice line);

/* Prints the comments that sp-rtrace writes for some packets. There is no parser for them. */
void text_print_tracer(struct out *out, uint32_t id, uint32_t version, const char *name);
void text_print_heap(struct out *out, const struct wire_heap *heap, uint64_t lowest,
		     uint64_t highest);
void text_print_group(struct out *out, uint64_t count, uint64_t bytes);
void text_print_leaks(struct out *out, const char *type, const char *description, uint64_t count,
		      uint64_t bytes);

#endif
