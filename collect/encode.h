/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ENCODE_H
#define COLLECT_ENCODE_H

/*
 * Encodes events as packets of the binary stream into a large buffer, which the caller empties. The
 * buffer only ever has whole packets; the encoder neither allocates memory nor makes system calls.
 * If the encoder has an htr (a writer of .htr files, collect/htr.h), it passes events to the htr
 * instead. It then uses the buffer only for data that must be packets.
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

/* The maximum number of bytes that one call adds to the buffer. */
#define ENCODE_MOST (160u << 10)

/* Facts that a hook's latest calls on the fast path had in common. */
struct encode_kind {
	uint64_t key; /* the key for which `kind` was made, see kind_key(); 0: not made yet */
	struct htr_kind kind;
};

struct encoder {
	uint8_t *buffer;
	/* the caller must empty the buffer before fewer than ENCODE_MOST bytes are left */
	size_t used, room;
	/* true: protocol 2.0; false: protocol 1.4, exactly as in its document */
	bool tails;
	/* gets the events, set by encode_to(); NULL: events become packets in the buffer */
	struct htr *htr;
	const struct ticks *ticks;
	uint64_t ms_start; /* start of the millisecond of `timestamp`, in ns */
	uint32_t timestamp;
	uint64_t classes; /* registered classes, one bit each */
	/* indexed by hook: number of the function in htr, plus 1; 0: not yet defined */
	uint32_t functions[HOOK_COUNT];
	/* by hook and argument: number of the argument's name in htr, plus 1; 0: not yet defined */
	uint32_t arguments[HOOK_COUNT][HOOK_ARGUMENTS_MAX];
	/* indexed by hook: address of the function; 0: unknown */
	uint64_t addresses[HOOK_COUNT];
	/* indexed by hook: whether the stream has a call of the function */
	bool is_called[HOOK_COUNT];
	/* indexed by hook and by record_call.part */
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
	uint64_t start;	      /* start of the process, in ticks */
	uint64_t realtime_ns; /* CLOCK_REALTIME minus the run's clock */
	uint32_t version;     /* version of holdtrace: major << 16 | minor */
};

/* A note: an event that is not a call. It has values, and a name that begins with ~. */
struct encode_note {
	const char *name;
	const struct wire_value *values;
	uint32_t count;
	const struct merge_thread *thread; /* NULL: the note is about the process */
	uint64_t time;			   /* time of the note, in ticks */
	/* the open call that the note is about; NULL: the note is not about a call */
	const struct arena_open *open;
	uint32_t depth; /* number of unfinished calls of the thread that enclose this call */
	const uint64_t *frames; /* the backtrace, innermost frame first */
	uint32_t frame_count;
};

/* `buffer` has `room` bytes, at least twice ENCODE_MOST. The caller frees it. */
void encode_init(struct encoder *encoder, void *buffer, size_t room, enum setting_protocol protocol,
		 const struct ticks *ticks);

/* Writes the start of a stream: handshake, PINF and MINF. A class follows when it is first used. */
void encode_start(struct encoder *encoder, const struct encode_process *process);

/* Encodes a call on the fast path. Returns false if encode_event() must encode the call. */
bool encode_fast(struct encoder *encoder, const struct fast_call *fast);

/* From now on, passes events to a new htr, which does not have the definitions of the last one. */
void encode_to(struct encoder *encoder, struct htr *htr);

/*
 * Encodes one record that the merge passes on: RECORD_CALL, NOTE, MODULE, HEAP, CONTEXT, CLASS or
 * FUNCTIONS.
 */
void encode_event(struct encoder *encoder, const struct merge_event *event);

void encode_note(struct encoder *encoder, const struct encode_note *note);

/* Passes whole packets to an htr, in pieces that it accepts. `bytes` may begin with a handshake. */
void encode_hand_over(struct htr *htr, const uint8_t *bytes, size_t size);

/*
 * Returns the total size of the packets that are completely within the first `size` bytes of a
 * buffer with `used` bytes. The buffer may begin with a handshake, which is included. *calls:
 * number of calls, without notes, in the packets that follow.
 */
size_t encode_whole(const uint8_t *buffer, size_t used, size_t size, uint64_t *calls);

#endif
