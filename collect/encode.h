/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ENCODE_H
#define COLLECT_ENCODE_H

/*
 * Encodes events as packets of the binary stream, directly into a large buffer that the caller
 * empties: whole packets only, no allocation, no system call. If there is an htr, encodes them for
 * it instead; then the buffer only passes on what has no other form than a packet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/htr.h"
#include "collect/merge.h"
#include "collect/ticks.h"
#include "hooks.h"
#include "settings.h"
#include "wire.h"

/* The most bytes that one call adds to the buffer. */
#define ENCODE_MOST (160u << 10)

/* The facts that calls of a hook had in common when they last came by the fast path. */
struct encode_kind {
	uint64_t key; /* of the facts that it was made from; 0: not made */
	struct htr_kind kind;
};

struct encoder {
	uint8_t *buffer;
	/* the caller empties the buffer before less than ENCODE_MOST bytes are left */
	size_t used, room;
	bool tails;	 /* protocol 2.0; else exactly the document of the protocol, 1.4 */
	struct htr *htr; /* NULL: packets; set after encode_init() */
	const struct ticks *ticks;
	uint64_t ms_start; /* ns at which the millisecond of `timestamp` began */
	uint32_t timestamp;
	uint64_t classes;		/* registered classes, a bit each */
	uint32_t functions[HOOK_COUNT]; /* their numbers in htr + 1; 0: not yet defined */
	uint32_t arguments[HOOK_COUNT][HOOK_ARGUMENTS_MAX]; /* likewise of their arguments' names */
	uint64_t addresses[HOOK_COUNT];			    /* of the functions; 0: not known */
	/* the stream has a call of the function */
	bool is_called[HOOK_COUNT];
	/* second index: record_call.part */
	struct encode_kind kinds[HOOK_COUNT][RECORD_MOVED_PART + 1];
};

/* The contents of a PINF packet. */
struct encode_process {
	int32_t pid;
	int32_t parent_pid;
	const char *name;
	uint32_t machine; /* ELF machine number; 0: this machine's */
	uint32_t depth;
	uint64_t session[2];
	uint32_t stream;
	uint32_t parent_stream;
	uint64_t start;	      /* ticks */
	uint64_t realtime_ns; /* difference between the time since 1970 and the clock's time */
	uint32_t version;     /* of holdtrace: major << 16 | minor */
};

/* A note: an event that is not a call, with a name that begins with ~ and values. */
struct encode_note {
	const char *name;
	const struct wire_value *values;
	uint32_t count;
	const struct merge_thread *thread; /* NULL: the note is about the process */
	uint64_t time;			   /* ticks */
	/* a call that has not returned yet; NULL: the note is not about a call */
	const struct arena_open *open;
	uint32_t depth;		/* of that call: how many calls of its thread it is nested in */
	const uint64_t *frames; /* innermost first */
	uint32_t frame_count;
};

/* buffer: room bytes, at least twice ENCODE_MOST; it stays the caller's. */
void encode_init(struct encoder *encoder, void *buffer, size_t room, enum setting_protocol protocol,
		 const struct ticks *ticks);

/* Writes the start of a stream: handshake, PINF and MINF. Classes follow at their first use. */
void encode_start(struct encoder *encoder, const struct encode_process *process);

/*
 * Encodes a call by the fast path, into an htr whose block has room for it. False: pass it as an
 * event instead.
 */
bool encode_fast(struct encoder *encoder, const struct fast_call *fast);

/* Continues with this htr, which knows no definitions of the htr before it. */
void encode_to(struct encoder *encoder, struct htr *htr);

/* Encodes one event of the merge: RECORD_CALL, NOTE, MODULE, HEAP, CONTEXT or CLASS. */
void encode_event(struct encoder *encoder, const struct merge_event *event);

void encode_note(struct encoder *encoder, const struct encode_note *note);

/* Passes whole packets on to an htr, in pieces that it can take. A handshake may come first. */
void encode_hand_over(struct htr *htr, const uint8_t *bytes, size_t size);

/*
 * How many of the first size bytes of a buffer are whole packets, and in *calls how many calls (no
 * notes) the buffer has after those. A handshake may come first.
 */
size_t encode_whole(const uint8_t *buffer, size_t used, size_t size, uint64_t *calls);

#endif
