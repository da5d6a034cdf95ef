/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PERFETTO_H
#define VIEWERS_PERFETTO_H

/*
 * Packets of a Perfetto trace (protos/perfetto/trace of google/perfetto). Events are first written
 * to a temporary file and sorted by time: names in backtraces are known only after the whole run
 * was read, but interned data and tracks must precede the events.
 */

#include "base/array.h"
#include "base/map.h"
#include "base/proto.h"
#include "base/spill_sort.h"
#include "stacks.h"

/* Field numbers of TracePacket. */
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_PROFILE = 37,
	PACKET_TRACK = 60,
};

/* Field numbers of TrackDescriptor and of the messages inside it. */
enum {
	TRACK_ID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_DESCRIPTION = 14,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum { UNIT_COUNT = 2, UNIT_BYTES = 3 };

/* Field numbers of TrackEvent. */
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	EVENT_STACK = 56,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	ANNOTATION_UNSIGNED = 3,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
	ANNOTATION_TEXT_ID = 17,
};

/* Field numbers of ProfilePacket. */
enum { PROFILE_PROCESS = 5, PROFILE_INDEX = 7 };
enum { DUMP_PID = 1, DUMP_SAMPLE = 2, DUMP_FROM_START = 3, DUMP_TIME = 9, DUMP_HEAP = 11 };
enum {
	SAMPLE_STACK = 1,
	SAMPLE_ALLOCATED = 2,
	SAMPLE_FREED = 3,
	SAMPLE_ALLOCATIONS = 5,
	SAMPLE_FREES = 6
};

/* The order of events with equal times: ends precede begins. */
enum packet_rank { RANK_END, RANK_WOKEN, RANK_WAKES, RANK_BEGIN };

struct perfetto_packets {
	struct spill_sort sort;
	struct proto packet, body, inner, innermost;
	/* key: address of a backtrace; value: its number */
	struct map stacks;
	ARRAY_OF(const struct trace_node *) stack_list; /* indexed by number of the backtrace - 1 */
	/* the descriptions of tracks, which precede events */
	struct proto head;
	uint64_t tracks; /* number of the last track */
};

void perfetto_open(struct perfetto_packets *packets);
void perfetto_close(struct perfetto_packets *packets);

/* Returns the number of a backtrace, from 1. */
uint32_t perfetto_stack(struct perfetto_packets *packets, const struct trace_node *backtrace);

/*
 * Begins the description of a track in packets->body; perfetto_track_end() writes the description
 * to the trace. track: a new number, ++packets->tracks. parent 0: no parent. name NULL: no name.
 */
void perfetto_track(struct perfetto_packets *packets, uint64_t track, uint64_t parent,
		    const char *name);
void perfetto_track_end(struct perfetto_packets *packets);

/* Begins an event in packets->body; perfetto_event_end() writes the event to the trace. */
void perfetto_event(struct perfetto_packets *packets, unsigned type, uint64_t track);
void perfetto_event_end(struct perfetto_packets *packets, uint64_t time_ns, enum packet_rank rank);

/* Adds an annotation to the event, unless `number` is 0 or `text` is NULL or "". */
void perfetto_note(struct perfetto_packets *packets, const char *name, unsigned kind,
		   uint64_t number);
void perfetto_note_text(struct perfetto_packets *packets, const char *name, const char *text);

/* Writes the heap dump whose process_dumps the caller has put into packets->body. */
void perfetto_dump(struct perfetto_packets *packets, uint64_t time_ns);

/*
 * Writes the whole trace. wall_ns: what to add to a time of the trace to get ns since 1970; 0:
 * unknown. Fails if reading or writing the temporary file failed.
 */
int perfetto_print(struct perfetto_packets *packets, struct stacks *stacks,
		   const struct address_space *space, uint64_t start_ns, uint64_t wall_ns,
		   struct out *out, struct error *err);

#endif
