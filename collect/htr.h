/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_HTR_H
#define COLLECT_HTR_H

/*
 * Encodes the contents of the blocks of an .htr container (htr.def): events as varints of their
 * differences from earlier events, names as definitions. Does not compress the blocks;
 * collect/pack.h does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/fast_path.h"
#include "collect/packet.h"
#include "htr_table.h"
#include "terms.h"

struct htr;

/* One CALL packet of protocol 2.0. The number `function` replaces the name in the packet. */
struct htr_event {
	const struct encode_packet_call *call;
	uint32_t function; /* a number that htr_function() returned */
	bool has_arguments;
	const uint64_t *frames; /* the backtrace, innermost frame first */
	uint32_t frame_count;
};

/* All fields of struct htr_shape, packed for a fast comparison. */
struct htr_key {
	uint64_t words[3];
};

#define HTR_KIND_SHAPES 16u

/*
 * What calls of one kind on the fast path have in common. key: the part of a shape's key that does
 * not depend on the values of a call (values, rules and depth are 0). shapes: the latest shapes.
 */
struct htr_kind {
	struct htr_key key;
	/* each entry: (values, rules and depth) << 32 | number of the shape; 0: none */
	uint64_t shapes[HTR_KIND_SHAPES];
};

/* The contents of a block. free() frees all of it. */
struct htr_block_parts {
	struct htr_block header; /* sizes in the file and checksums are not set */
	uint8_t bytes[];	 /* the definitions, then the events */
};

/* Returns NULL if there is no memory. */
struct htr *htr_create(void);
void htr_destroy(struct htr *htr);

/*
 * Makes an htr without definitions, which continues the count of calls of `before` and keeps its
 * callback. The blocks of `before` must have been taken.
 */
struct htr *htr_next(const struct htr *before);

/* From now on, this htr and its successors call see(context, address) for each new frame. */
void htr_watch(struct htr *htr, void (*see)(void *context, uint64_t address), void *context);

/* Number of calls that this htr and its predecessors have encoded. */
uint64_t htr_calls(const struct htr *htr);

/* Bytes of memory that the htr uses for its definitions, which only grow. */
size_t htr_known_bytes(const struct htr *htr);

/* Returns the number of a function. Defines the function if it is new. */
uint32_t htr_function(struct htr *htr, const char *name, size_t length);

/*
 * Adds an event. If event->has_arguments is set, the caller then adds the arguments by
 * htr_argument(), and ends them by htr_arguments_end(). Returns false if there are too many shapes,
 * a number is too large, or there is no memory; the caller must then pass the event to
 * htr_packets().
 */
bool htr_event(struct htr *htr, const struct htr_event *event);

void htr_make_kind(struct htr_kind *kind, const struct encode_packet_call *call, uint32_t function);

/*
 * Adds an event by the fast path. The encoded bytes are the same as those of htr_event(); the
 * arguments are added in the same way. Returns false if the block is full, or in the cases in which
 * htr_event() returns false.
 */
bool htr_fast(struct htr *htr, struct htr_kind *kind, const struct fast_call *fast,
	      uint64_t time_ns, uint64_t lasted_ns);

/* Returns the number of an argument's name. Defines the name if it is new. */
uint32_t htr_argument_name(struct htr *htr, const char *name, size_t length);

void htr_argument(struct htr *htr, uint32_t name, const char *value, size_t length);
void htr_arguments_end(struct htr *htr);

/*
 * If an earlier call had the same bytes of arguments, adds the remembered list of these arguments
 * with its end. `tag` identifies the function and its number of arguments. Returns false if the
 * bytes are new: the caller must then add the arguments one by one, and the htr remembers the list.
 */
bool htr_arguments_again(struct htr *htr, uint32_t tag, const void *given, size_t size);

/*
 * Adds bytes that cannot be encoded as an event; they are stored unchanged. is_call: the bytes are
 * a CALL with its ARGS and BTRC; otherwise they are a handshake or one packet.
 */
void htr_packets(struct htr *htr, const uint8_t *bytes, size_t size, bool is_call);

/* Whether the caller should take the block before it adds the next event. */
bool htr_is_full(const struct htr *htr);
bool htr_is_empty(const struct htr *htr);

/* Whether an allocation has ever failed; later events may be incomplete. */
bool htr_has_failed(const struct htr *htr);

/* Returns the block, and begins the next one. NULL: the block is empty, or there is no memory. */
struct htr_block_parts *htr_take(struct htr *htr);

#endif
