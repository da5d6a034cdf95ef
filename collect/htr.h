/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_HTR_H
#define COLLECT_HTR_H

/*
 * Encodes events as varints of their difference to earlier ones, and the names in them as
 * definitions: the contents of the blocks of an .htr container (htr.def). It knows nothing of
 * compression and files: collect/pack makes the bytes of a block.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/fast_path.h"
#include "collect/packet.h"
#include "htr_table.h"
#include "terms.h"

struct htr;

/* One CALL packet with our tail. The number `function` replaces its name. */
struct htr_event {
	const struct encode_packet_call *call;
	uint32_t function; /* of htr_function() */
	bool has_arguments;
	const uint64_t *frames; /* innermost first */
	uint32_t frame_count;
};

/* All fields of struct htr_shape, packed so that they are compared at once. */
struct htr_key {
	uint64_t words[3];
};

#define HTR_KIND_SHAPES 16u

/*
 * The facts that calls of the fast path have in common: a key in which values, rules and depth are
 * still 0, and the last shapes that were made from it.
 */
struct htr_kind {
	struct htr_key key;
	/* values, rules and depth << 32 | number of the shape; 0: none */
	uint64_t shapes[HTR_KIND_SHAPES];
};

/* The contents of a block, freed as a whole by free(). */
struct htr_block_parts {
	struct htr_block header; /* without sizes in the file and checksums */
	uint8_t bytes[];	 /* definitions, then events */
};

/* NULL: no memory. */
struct htr *htr_create(void);
void htr_destroy(struct htr *htr);

/* An htr without definitions, which continues the counts of another one, which is empty. */
struct htr *htr_next(const struct htr *before);

/* How many calls this htr and those before it have taken. */
uint64_t htr_calls(const struct htr *htr);

/* Bytes of memory for its definitions, which only grow. */
size_t htr_known_bytes(const struct htr *htr);

/* The number of a function. Defines it if it is new. */
uint32_t htr_function(struct htr *htr, const char *name, size_t length);

/*
 * Adds an event. If has_arguments, the arguments follow by htr_argument(), ended by
 * htr_arguments_end(). False: too many shapes; the event must be passed as packets instead.
 */
bool htr_event(struct htr *htr, const struct htr_event *event);

void htr_make_kind(struct htr_kind *kind, const struct encode_packet_call *call, uint32_t function);

/*
 * Adds an event by the fast path, while the block is not full. The result is the same as of
 * htr_event(); arguments follow in the same way. False where htr_event() returns false.
 */
bool htr_fast(struct htr *htr, struct htr_kind *kind, const struct fast_call *fast,
	      uint64_t time_ns, uint64_t lasted_ns);

/* The number of an argument's name. Defines it if it is new. */
uint32_t htr_argument_name(struct htr *htr, const char *name, size_t length);

void htr_argument(struct htr *htr, uint32_t name, const char *value, size_t length);
void htr_arguments_end(struct htr *htr);

/*
 * Adds all arguments of a call, and their end, again as for the last call whose record had the same
 * bytes; tag says what the bytes are. False: there was no such call, so the caller must add the
 * arguments one by one, and they are remembered.
 */
bool htr_arguments_again(struct htr *htr, uint32_t tag, const void *given, size_t size);

/*
 * Adds bytes that have no other form: a handshake, one packet, or a CALL with its ARGS and BTRC
 * (is_call).
 */
void htr_packets(struct htr *htr, const uint8_t *bytes, size_t size, bool is_call);

/* Whether the block should be taken before the next event. */
bool htr_is_full(const struct htr *htr);
bool htr_is_empty(const struct htr *htr);

/* Whether memory ran out: events since then are incomplete. */
bool htr_has_failed(const struct htr *htr);

/* Ends the block and begins the next one. NULL: no memory, or the block is empty. */
struct htr_block_parts *htr_take(struct htr *htr);

#endif
