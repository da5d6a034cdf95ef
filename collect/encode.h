/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ENCODE_H
#define COLLECT_ENCODE_H

/*
 * Events as packets of the binary stream, straight into a large buffer that the caller empties:
 * whole packets only, nothing allocated, no system call. Or, if there is an htr, as what it makes
 * of them: then the buffer is only used to hand over what has no form but a packet.
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

/* No call puts more than this into the buffer. */
#define ENCODE_MOST (160u << 10)

/* What a hook's calls have in common that came the short way last. */
struct encode_kind {
	uint64_t key; /* of what it was made; 0: it was not */
	struct htr_kind kind;
};

struct encoder {
	uint8_t *buffer;
	size_t used, room; /* empty it before less than ENCODE_MOST is left */
	bool tails;	   /* 2.0; else the protocol document to the letter: 1.4 */
	struct htr *htr;   /* NULL: packets; set behind encode_init() */
	const struct ticks *ticks;
	uint64_t ms_start; /* ns at which the millisecond of `timestamp` began */
	uint32_t timestamp;
	uint64_t classes;		/* that were registered: a bit for each */
	uint32_t functions[HOOK_COUNT]; /* their numbers in htr and 1; 0: not yet told */
	uint32_t arguments[HOOK_COUNT][HOOK_ARGUMENTS_MAX]; /* likewise of their arguments' names */
	uint64_t addresses[HOOK_COUNT];			    /* where they begin; 0: not known */
	bool is_called[HOOK_COUNT];			    /* the stream has a call of it */
	struct encode_kind kinds[HOOK_COUNT][RECORD_MOVED_PART + 1]; /* and part */
};

/* What PINF says. */
struct encode_process {
	int32_t pid;
	int32_t parent_pid;
	const char *name;
	uint32_t machine; /* ELF's number; 0: this one's */
	uint32_t depth;
	uint64_t session[2];
	uint32_t stream;
	uint32_t parent_stream;
	uint64_t start;	      /* ticks */
	uint64_t realtime_ns; /* what makes the clock's time that since 1970 */
	uint32_t version;     /* of holdtrace: major << 16 | minor */
};

/* A fact that is no call: a name beginning with ~ and values. */
struct encode_note {
	const char *name;
	const struct wire_value *values;
	uint32_t count;
	const struct merge_thread *thread; /* NULL: of the process */
	uint64_t time;			   /* ticks */
	/* a call that is still under way; NULL: the note is about none */
	const struct arena_open *open;
	uint32_t depth;		/* of it: calls of its thread that it is in */
	const uint64_t *frames; /* innermost first */
	uint32_t frame_count;
};

/* buffer: room bytes, at least twice ENCODE_MOST; the caller keeps it. */
void encode_init(struct encoder *encoder, void *buffer, size_t room, enum setting_protocol protocol,
		 const struct ticks *ticks);

/* Handshake, PINF and MINF: the start of a stream. Classes come when they are first used. */
void encode_start(struct encoder *encoder, const struct encode_process *process);

/*
 * A call the short way: into an htr whose block has room for it. False: it is to come as an event.
 */
bool encode_brief(struct encoder *encoder, const struct brief *brief);

/* What comes from now on goes to this htr, which knows nothing of what went to the one before. */
void encode_to(struct encoder *encoder, struct htr *htr);

/* One event of merge: RECORD_CALL, NOTE, MODULE, HEAP, CONTEXT or CLASS. */
void encode_event(struct encoder *encoder, const struct merge_event *event);

void encode_note(struct encoder *encoder, const struct encode_note *note);

/*
 * Hands whole packets over to an htr, as the pieces that it takes. A handshake may come first.
 */
void encode_hand_over(struct htr *htr, const uint8_t *bytes, size_t size);

/*
 * How much of the first size bytes of a buffer is whole packets, and in *calls how many calls (no
 * notes) stand in the buffer behind those. A handshake may come first.
 */
size_t encode_whole(const uint8_t *buffer, size_t used, size_t size, uint64_t *calls);

#endif
