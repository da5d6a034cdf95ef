/* SPDX-License-Identifier: MIT */
#ifndef HTR_CONTAINER_H
#define HTR_CONTAINER_H

/*
 * What is known of an .htr while it is read, between the parts of its reader: htr_blocks.c finds
 * blocks, checks and unpacks them, htr_definitions.c takes what they define, read_htr.c makes
 * events of their columns. Nobody else includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "htr_table.h"
#include "trace/decode.h"
#include "trace/event.h"
#include "trace/state.h"

#define COLUMNS_SLACK 256u /* bytes behind the columns: an event's values, and a look ahead */

_Static_assert(COLUMNS_SLACK >= (HTR_VALUE_COUNT + 3) * HTR_VARINT_MAX + 8, "one event fits");

/* What reading something came to. */
enum got { GOT_IT, GOT_DAMAGE, GOT_NO_MEMORY };

struct thread {
	uint32_t id;
	uint64_t pthread;
	uint64_t block; /* number of the block in which model is its own */
	uint32_t model;
};

/* What the events of a shape have in common; event is its last one, which the trace handed out. */
struct shape {
	bool is_known, is_entry;
	uint32_t resource, values, rules, depth;
	struct event event;
};

/* A backtrace: a frame and what is under it. Those of lost blocks have no frame. */
struct node {
	const struct trace_node *node;
	const struct backtrace *backtrace; /* NULL: not yet made */
};

/* Where the packets of the block stand. */
struct packet {
	uint64_t place;
	const uint8_t *bytes;
	size_t size;
};

/* A part of a block, unpacked: room for what the largest one until now needed. */
struct part {
	uint8_t *bytes;
	size_t room;
};

#define LIST(type)                      \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

struct container {
	ZSTD_DCtx *zstd;
	uint64_t section; /* offset of the stream's start */
	bool is_open;	  /* its index has not come, which is the last that is written */
	LIST(const struct function *) functions;
	LIST(struct thread) threads;
	LIST(const char *) names;
	LIST(struct shape) shapes;
	LIST(struct node) nodes; /* number 1 is the first */
	LIST(uint32_t) made;	 /* numbers of those whose backtraces were made in this epoch: */
	uint32_t epoch;		 /* of the registry */

	/* the block that is being read */
	struct htr_block block;
	uint64_t number;
	LIST(struct packet) packets;
	size_t next_packet;
	uint32_t next_event;
	bool has_events; /* and they are wanted */
	uint32_t stop;	 /* the first event that something else comes before */
	uint64_t calls;	 /* that stood before */
	struct part definitions, events;
	const uint8_t *columns[HTR_COLUMN_COUNT], *ends[HTR_COLUMN_COUNT];
	struct htr_model *models[HTR_MODELS], *model;
	uint32_t model_count;
	const struct thread *thread;
	uint64_t last_ns;
	struct htr_stamp stamp;

	LIST(struct htr_entry) index; /* if a part of the time is wanted and there is one */
	size_t place;		      /* in it */
	struct wire_value arguments[DECODE_ARGUMENTS_MAX];
};

/* htr_definitions.c */

/* Brings the numbers to where the block's begin: places of lost blocks are filled with nothing. */
enum got container_fill_gaps(struct trace *trace);

/* Takes the definitions of the block, which are unpacked. */
enum got container_add_definitions(struct trace *trace);

/* htr_blocks.c */

/* The index, if there is one and the input lets us look: a help, and never needed. */
void container_read_index(struct trace *trace);

/* A stream begins at the source's place: forgets all numbers. Returns 0 or a negative errno. */
int container_begin_section(struct trace *trace, struct error *err);

/*
 * Goes to the next block and opens its insides: definitions are taken, columns ready if its events
 * are wanted. Returns 0, -ENODATA at the end, or another negative errno.
 */
int container_next_block(struct trace *trace, struct error *err);

#endif
