/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PARTS_H
#define COLLECT_PARTS_H

/*
 * The collector's insides, between its parts: collect.c has the processes of the run and the loop,
 * orders.c what is asked for meanwhile, finish.c what is said of a process that has ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/door.h"
#include "collect/merge.h"
#include "collect/sample.h"
#include "collect/shared.h"
#include "collect/sink.h"
#include "collect/stream.h"
#include "collect/ticks.h"
#include "collect/watch.h"

#define MS 1000000ull

enum phase { PHASE_ALIVE, PHASE_ENDED, PHASE_CLOSING };

/* A process of the run, from its attaching until its stream is complete. */
struct member {
	uint32_t index;
	enum phase phase;
	struct watch watch;
	struct stream *stream;
	uint64_t seen; /* events when we last looked for its mapping */
};

struct collector {
	struct shared shared;
	/*
	 * As they were before anybody attached: what is shared stays writable for programs that
	 * have given up their rights since.
	 */
	struct settings settings;
	char starter_name[64];
	int32_t starter_pid; /* 0: none is known */
	struct sink_place place;
	struct merge *merge;
	struct ticks ticks;
	struct door *door;
	struct sink first; /* opened before anybody attached; fd -1: not, or taken */
	bool any;	   /* somebody has attached */
	uint32_t paused;   /* as the streams were told; see struct arena */
	int starter;	   /* pidfd of the first process, opened while it waits for us; -1 */
	int inherited;
	int reports; /* -1: nobody wants them */
	uint64_t realtime_ns;
	time_t begun; /* the run, in seconds since 1970: as old as any file of it, or older */
	uint64_t started_ns, gone_ns, polled_ns;
	uint64_t leave_ns; /* when we end whoever is still there; 0: nobody asked us to */
	bool leaving;
	char failure[ERROR_TEXT_MAX + 64]; /* why streams are not complete */
	bool has_failed;		   /* something is to be said of a stream's end */
	uint64_t unwritten;    /* events that the streams of those who have gone could not take */
	struct sample *sample; /* NULL: nobody asked for samples */
	uint64_t sampled_ns;
	uint32_t adopted; /* entries below are all known */
	uint32_t count;
	struct member *active[ARENA_PROCESSES];
	struct member *members[ARENA_PROCESSES];
	bool known[ARENA_PROCESSES];
};

/*
 * We live, though we take nothing from the rings meanwhile: opening and closing the streams of many
 * short processes can take longer than producers are patient.
 */
void collect_beat(struct collector *collector);

/* The first sample of a process, as its stream begins. */
void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time);

/* The state of machine and processes, where it was asked for and is due. */
void collect_sample(struct collector *collector, uint64_t now_ns);

/* A stream tells when nothing was recorded, or what was freed then would seem to be held. */
void collect_note_pause(struct collector *collector);

/* Does what the mailbox asks for, if anything, and answers. */
void collect_obey(struct collector *collector);

/*
 * All records of a process that has ended are handed out: says the last words, gives its slots back
 * and closes the stream. PHASE_CLOSING from here on.
 */
void collect_finish(struct collector *collector, struct member *member);

#endif
