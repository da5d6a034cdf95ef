/* SPDX-License-Identifier: MIT */
#ifndef HTR_CONTAINER_H
#define HTR_CONTAINER_H

/*
 * The state of the reader of .htr files, which two files share: htr_blocks.c finds, checks and
 * decompresses blocks and reads the definitions in them; read_htr.c makes events from their
 * columns. No other file includes this header.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "htr_table.h"
#include "trace/decode.h"
#include "trace/event.h"
#include "trace/state.h"

/* bytes that may be read after the columns: one event and an 8-byte load */
#define COLUMNS_SLACK 256u

_Static_assert(COLUMNS_SLACK >= (HTR_VALUE_COUNT + 3) * HTR_VARINT_MAX + 8,
	       "COLUMNS_SLACK must hold the largest event");

enum got { GOT_IT, GOT_DAMAGE, GOT_NO_MEMORY };

struct thread {
	uint32_t id;
	uint64_t pthread;
	uint64_t block; /* number of the block in which `model` is valid */
	uint32_t model;
};

/*
 * A shape (htr.def): the properties that several events have in common. `event` has these
 * properties. For each event of the shape, the reader sets the event's own values in `event`, which
 * trace_next() then returns.
 */
struct shape {
	bool is_known, is_entry;
	uint32_t resource, values, rules, depth;
	struct event event;
};

/* A backtrace: a frame and its callers; no frame if the definition was in a lost block. */
struct node {
	const struct trace_node *node;
	const struct backtrace *backtrace; /* NULL: not created yet */
};

/* A packet among a block's events. place: number of events of the block before the packet. */
struct packet {
	uint64_t place;
	const uint8_t *bytes;
	size_t size;
};

/* A decompressed part of a block, in a buffer that only grows. */
struct part {
	uint8_t *bytes;
	size_t room;
};

struct container {
	ZSTD_DCtx *zstd;
	uint64_t section; /* offset of the stream's start */
	/* the stream's end was not reached yet: its index, which is written last, was not read */
	bool is_open;
	ARRAY_OF(const struct function *) functions;
	ARRAY_OF(struct thread) threads;
	ARRAY_OF(const char *) names;
	ARRAY_OF(struct shape) shapes;
	ARRAY_OF(struct node) nodes; /* the first item is node 1 */
	ARRAY_OF(uint32_t)
	made;		/* numbers of the nodes whose backtrace was created in the current epoch */
	uint32_t epoch; /* epoch of the registry to which `made` belongs */

	/* the block that is being read */
	struct htr_block block;
	uint64_t number;
	ARRAY_OF(struct packet) packets;
	size_t next_packet;
	uint32_t next_event;
	bool has_events; /* the block has events that are wanted */
	/* number of the event before which a packet or the next block must be read */
	uint32_t stop;
	uint64_t calls; /* number of calls before the next event */
	struct part definitions, events;
	const uint8_t *columns[HTR_COLUMN_COUNT], *ends[HTR_COLUMN_COUNT];
	struct htr_model *models[HTR_MODELS], *model;
	uint32_t model_count;
	const struct thread *thread;
	uint64_t last_ns;
	struct htr_stamp stamp;

	ARRAY_OF(struct htr_entry)
	/* entries of the index; none if the whole trace is wanted or there is no valid index */
	index;
	size_t place; /* number of the next entry of `index` */
	struct wire_value arguments[DECODE_ARGUMENTS_MAX];
};

/* Reads the index if the input is seekable. A missing or invalid index only costs time. */
void container_read_index(struct trace *trace);

/*
 * Starts a stream at the source's position. Drops all definitions, since each stream numbers its
 * definitions from the start. Returns 0 or a negative errno.
 */
int container_begin_section(struct trace *trace, struct error *err);

/*
 * Moves to the next block: reads its definitions, and decompresses its columns if its events are
 * wanted. Returns 0, -ENODATA at the end, or another negative errno.
 */
int container_next_block(struct trace *trace, struct error *err);

/* ---- numbers, texts and pieces in a block; the first failure is permanent ---- */

struct bytes {
	const uint8_t *at, *end;
	bool has_failed;
};

static inline uint64_t take_number(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (bytes->at == bytes->end)
			break;
		byte = *bytes->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	bytes->has_failed = true;
	return 0;
}

static inline uint64_t take_difference(struct bytes *bytes)
{
	return htr_unzigzag(take_number(bytes));
}

static inline const char *take_text(struct bytes *bytes)
{
	const char *text = (const char *)bytes->at;
	const uint8_t *nul = memchr(bytes->at, 0, (size_t)(bytes->end - bytes->at));

	if (!nul) {
		bytes->has_failed = true;
		bytes->at = bytes->end;
		return "";
	}
	bytes->at = nul + 1;
	return text;
}

static inline struct htr_bytes take_bytes(struct bytes *bytes)
{
	uint64_t size = take_number(bytes);
	struct htr_bytes found = { bytes->at, 0 };

	if (size > (size_t)(bytes->end - bytes->at)) {
		bytes->has_failed = true;
		return found;
	}
	found.size = (size_t)size;
	bytes->at += size;
	return found;
}

#endif
