/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_HTR_H
#define COLLECT_HTR_H

/*
 * Events as varints against what came before them, and what they name as definitions: the insides
 * of the blocks of an .htr container (htr.def). Knows nothing of compression and files:
 * collect/pack turns a block into the bytes of one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/brief.h"
#include "collect/packet.h"
#include "htr_table.h"
#include "terms.h"

struct htr;

/* One CALL with our tail. The name stands in `function`, the length of its laid-out form before. */
struct htr_event {
	const struct encode_packet_call *call;
	uint32_t function; /* of htr_function() */
	bool has_arguments;
	const uint64_t *frames; /* innermost first */
	uint32_t frame_count;
};

/* All fields of struct htr_shape, packed to be compared at once. */
struct htr_key {
	uint64_t words[3];
};

#define HTR_KIND_SHAPES 16u

/*
 * What calls that come the short way have in common: a key in which values, rules and depth are
 * still 0, and the shapes that those made of it last.
 */
struct htr_kind {
	struct htr_key key;
	uint64_t shapes[HTR_KIND_SHAPES]; /* values, rules and depth << 32 | number; 0: none */
};

/* The insides of a block, freed as a whole by free(). */
struct htr_block_parts {
	struct htr_block header; /* without sizes in the file and checksums */
	uint8_t bytes[];	 /* definitions, then events */
};

/* NULL: no memory. */
struct htr *htr_create(void);
void htr_destroy(struct htr *htr);

/* One that knows nothing yet, and goes on counting where another, which is empty, has stopped. */
struct htr *htr_next(const struct htr *before);

/* How many calls it was given, and those before it. */
uint64_t htr_calls(const struct htr *htr);

/* Bytes of memory for what it knows, which only grow. */
size_t htr_known_bytes(const struct htr *htr);

/* The number of a function, defined if need be. */
uint32_t htr_function(struct htr *htr, const char *name, size_t length);

/*
 * One event. If has_arguments: then its arguments by htr_argument(), closed by htr_arguments_end().
 * False if it cannot be said so (too many shapes): it is to come as packets instead.
 */
bool htr_event(struct htr *htr, const struct htr_event *event);

void htr_make_kind(struct htr_kind *kind, const struct encode_packet_call *call, uint32_t function);

/*
 * An event the short way, while the block is not full. Makes of it what htr_event() would; its
 * arguments, if it has any, come behind it as there. False where that would return false.
 */
bool htr_brief(struct htr *htr, struct htr_kind *kind, const struct brief *brief, uint64_t time_ns,
	       uint64_t lasted_ns);

/* The number of an argument's name, defined if need be. */
uint32_t htr_argument_name(struct htr *htr, const char *name, size_t length);

void htr_argument(struct htr *htr, uint32_t name, const char *value, size_t length);
void htr_arguments_end(struct htr *htr);

/*
 * Puts all arguments of a call, and their end, as they were put for the last one whose record had
 * these bytes; tag says what the bytes are. False: that is not known, they are to come one by one
 * and are kept in mind.
 */
bool htr_arguments_again(struct htr *htr, uint32_t tag, const void *given, size_t size);

/* What has no other form: a handshake, one packet, or a CALL with its ARGS and BTRC (is_call). */
void htr_packets(struct htr *htr, const uint8_t *bytes, size_t size, bool is_call);

/* True if the block should be taken before the next event. */
bool htr_is_full(const struct htr *htr);
bool htr_is_empty(const struct htr *htr);

/* Memory ran out: what came since is not whole. */
bool htr_has_failed(const struct htr *htr);

/* Ends the block and begins the next. NULL: no memory, or it is empty. */
struct htr_block_parts *htr_take(struct htr *htr);

#endif
