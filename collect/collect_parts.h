/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PARTS_H
#define COLLECT_PARTS_H

/*
 * The collector's internals, shared by its files: collect.c has the loop, the start and the end;
 * guests.c takes processes into the run; requests.c serves control requests; finish.c writes the
 * notes of a process that has ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/bounds.h"
#include "collect/bundle.h"
#include "collect/chunk.h"
#include "collect/listener.h"
#include "collect/merge.h"
#include "collect/sample.h"
#include "collect/shared.h"
#include "collect/sink.h"
#include "collect/stream.h"
#include "collect/ticks.h"
#include "collect/watch.h"

#define MS 1000000ull

enum phase { PHASE_ALIVE, PHASE_ENDED, PHASE_CLOSING };

/* The keys by which members are found quickly, however many there are (members.c). */
enum member_index {
	BY_PID,	    /* the pid in its own namespace */
	BY_OUR_PID, /* the pid in our namespace; a member without one is not found */
	BY_KEY,	    /* the key of its process image */
	MEMBER_INDEXES
};

#define INDEX_PLACES 4096

struct scan;
struct keeper;
struct collect_before;
struct schedule;

/* A process of the run, from its attach until its stream is complete. */
struct member {
	struct arena_hello hello; /* what it said about itself: our copy */
	uint32_t number;	  /* of its stream */
	struct user *user;
	/*
	 * Why it is not certain which process this is; NULL: the kernel confirmed it. A member in
	 * doubt gets a stream of its own, but ends no other member's stream, and the collector does
	 * nothing to its process.
	 */
	const char *doubt;
	/*
	 * number of the stream whose process made the memory that this member's is part of; usually
	 * its own
	 */
	uint32_t family;
	uint32_t parent_stream; /* of a fork's child; else WIRE_NO_STREAM */
	enum phase phase;
	struct watch watch;
	struct stream *stream;
	struct process *process; /* in the merge */
	struct chunk *chunks[ARENA_CHUNKS];
	uint32_t chunk_count, slots;
	bool is_cut_off;	/* a further chunk was refused, and so are all after it */
	uint32_t toggles, told; /* values in its head that were processed so far */
	/* number of events when its mapping of the control page was last checked */
	uint64_t seen;
	bool is_of_crowd;   /* counted by listener_crowd() */
	bool has_successor; /* a later image has the same pid */
	uint32_t said_past; /* what the last note has said of arena.past */
	bool is_told;	    /* its parent reported how it ended */
	int32_t told_status;
	struct scan *scan; /* scan in progress; NULL: none */
	uint32_t scans;	   /* so far */
	enum { SPARES_UNASKED, SPARES_OF_ONE_USER, SPARES_OF_ANY } spares;
	/* the final scan has begun or is done, whatever the head says */
	bool is_scanned_at_end;
	struct member *next[MEMBER_INDEXES];	 /* next member with the same hash, in each index */
	uint64_t indexed[MEMBER_INDEXES];	 /* the value under which each index has it */
	struct schedule *schedule[ARENA_CHUNKS]; /* of each slot of a chunk; NULL: none yet */
};

/* A process that has ended, kept because children of it may still attach. */
struct ancestor {
	uint64_t key[2];
	uint32_t number, parent_stream;
};

#define ANCESTORS 64

/* Processes of one program that --follow did not choose. */
struct left_out {
	char name[64];
	uint64_t count;
};

#define LEFT_OUT_NAMES 64

/* The resources that members of one user have in use. */
struct user {
	struct user *next;
	uid_t uid;
	struct bounds_user bounds;
	struct merge_user merge;
	struct bounds_known known;
};

struct collector {
	struct shared shared;
	struct settings settings; /* as they were at the start of the run */
	char starter_name[64];
	int32_t starter_pid; /* 0: not known */
	struct sink_place place;
	struct merge *merge;
	struct ticks ticks;
	struct listener *listener;
	/* opened before the first attach; fd -1: not open, or in use by a stream */
	struct sink first;
	struct bundle *bundle; /* of all streams; NULL: each has a sink of its own */
	bool any;	       /* a process has attached */
	uint32_t paused;       /* as the streams last recorded it; see struct control_page */
	/* pidfd of the first process, opened while it waits for us; -1: none */
	int starter;
	int inherited;
	int reports; /* -1: not requested */
	uint64_t realtime_ns;
	time_t begun; /* start of the run, in seconds since 1970: no file of the run is older */
	uint64_t begun_ticks;
	uint64_t started_ns, gone_ns, polled_ns, tidied_ns;
	uint64_t leave_ns; /* time to end although processes still run; 0: not asked to */
	bool leaving;
	char failure[ERROR_TEXT_MAX + 64]; /* why streams are incomplete */
	/* a stream failed, and not only because its reader has gone away */
	bool has_failed;
	uint64_t unwritten;    /* events that streams of ended processes could not write */
	struct keeper *keeper; /* the flight recorder; NULL: the whole trace is kept */
	/* mappings of the process that is attached to, until its stream has them; NULL: none */
	struct collect_before *before;
	struct sample *sample; /* NULL: no samples were asked for */
	uint64_t sampled_ns;
	uint32_t next_stream;
	struct ancestor ancestors[ANCESTORS];
	struct left_out left_out[LEFT_OUT_NAMES]; /* not yet written to any stream */
	/* control requests of holdtrace ctl that wait for an answer */
	struct guest *requests;
	struct user *users;
	struct bounds_used used;
	struct bounds_known known, known_by_others;
	uint64_t refused[REFUSAL_COUNT]; /* not yet written to any stream */
	uint64_t schedule_ns;		 /* the time budget that the readings so far have used up */
	struct schedule_place {
		uint32_t member, chunk, slot;
	} schedule_at; /* the slot that was read last */
	struct member **active;
	uint32_t count, room;
	struct member *index[MEMBER_INDEXES][INDEX_PLACES];
};

/*
 * Moves the heartbeat although nothing is taken from the rings: opening and closing the streams of
 * many short processes can take longer than the time after which producers give up.
 */
void collect_beat(struct collector *collector);

/* Reads what the process that is attached to has mapped, before the library is loaded into it. */
void collect_look_before(struct collector *collector);

/*
 * Writes these mappings, as far as they still exist, after the note that says where the recording
 * of the process begins.
 */
void collect_heed_note(struct collector *collector, struct member *member,
		       const struct merge_event *event);

/* Writes the first sample of a process, as its stream begins. */
void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time);

/* Writes a sample of the machine and of all processes, if samples were asked for and one is due. */
void collect_sample(struct collector *collector, uint64_t now_ns);

/* Pauses or resumes the run, as often as signals have asked for it. */
void collect_toggle(struct collector *collector);

/*
 * The flight recorder, where one was asked for. _begin starts it; the next function does its work
 * of a round; _leave is called for a process that has ended.
 */
int collect_keep_begin(struct collector *collector, struct error *err);
void collect_keep(struct collector *collector);
/* Whether nothing more may be taken from the rings, because the file would become too long. */
bool collect_keep_is_full(const struct collector *collector);
/* How many processes have no events left in the file. */
uint64_t collect_keep_gone(const struct collector *collector);
void collect_keep_leave(struct collector *collector, const struct member *member);
void collect_keep_end(struct collector *collector);

/* Serves the control requests of holdtrace ctl. */
void collect_obey(struct collector *collector);

/* Reads for how long threads ran and were blocked, if a reading is due. */
void collect_schedule(struct collector *collector, uint64_t now_ns);
/* Reads the kernel's last figures of the first thread of a process that is a zombie. */
void collect_schedule_last(struct collector *collector, struct member *member);
/* Writes the figures of the threads of a process; _end when it has ended. */
void collect_schedule_say(struct collector *collector, struct member *member);
void collect_schedule_end(struct collector *collector, struct member *member);

/* Begins the scans that are due, and continues those in progress. */
void collect_scan(struct collector *collector, uint64_t now_ns);

/*
 * holdtrace ctl asks for a scan. The guest gets its answer, and is dismissed, when the scan is
 * done.
 */
void collect_scan_asked(struct collector *collector, struct guest *guest);

/* If scans are in progress, waits 1 ms for a message of a scanner, instead of sleeping. */
bool collect_scan_waits(const struct collector *collector);

/* Whether a thread of the process is inside a call of fork. */
bool collect_is_forking(struct collector *collector, struct member *member);

/* Writes to the stream of a process that has ended that no scan was made, and why. */
void collect_say_unscanned(struct collector *collector, struct member *member);

/* Accepts all processes that have sent memory, and those that have taken a spare. */
void collect_receive(struct collector *collector);

/* Maps the further memory that the process has made. */
void collect_extend(struct collector *collector, struct member *member);

/*
 * Writes how many processes were refused and left out to the stream of this member; NULL: to any
 * open stream.
 */
void collect_say_counts(struct collector *collector, struct member *member);

/* The time of a note in the member's stream: after all events that it has, before all to come. */
static inline uint64_t collect_note_time(const struct collector *collector,
					 const struct member *member)
{
	uint64_t limit = merge_limit(collector->merge, member->process);

	return limit > member->hello.start ? limit : member->hello.start;
}

/* Adds a member to the indexes, or updates it when its pid has changed; _remove when it leaves. */
void collect_index(struct collector *collector, struct member *member);
void collect_index_remove(struct collector *collector, struct member *member);

/*
 * Iterates over the members with a number or key: pass NULL first; NULL ends. Other members with
 * the same hash may be returned, too, so the caller compares.
 */
struct member *collect_find(const struct collector *collector, enum member_index index,
			    uint64_t value, const struct member *last);
static inline uint64_t collect_key(const uint64_t key[2])
{
	return key[0] ^ key[1];
}

/* Releases the collector's resources that the member used. */
void collect_give_back(struct collector *collector, const struct member *member);

/* As collect_receive(), but only processes that have taken a spare. */
void collect_receive_spares(struct collector *collector);

/* Counts a member among those that newcomers may have to wait for, or removes it from the count. */
void collect_crowd(struct collector *collector, struct member *member, bool is_of_crowd);

/* The process has ended or executed another program: hands out its remaining records. */
void collect_end_member(struct collector *collector, struct member *member);

/* Reads how children of traced processes ended, as wait(2) told their parents. */
void collect_hear_ends(struct collector *collector);

/* Likewise, but only from the member's parent and the member itself, before it is forgotten. */
void collect_hear_end_of(struct collector *collector, struct member *member);

/* Puts the reason why streams are incomplete where the launcher reads it. */
void collect_tell_failure(struct collector *collector, const struct stream *stream);

/* How a sink is to be opened. first: no other sink was opened before. */
struct sink_options collect_options(const struct collector *collector);

/* Writes for how long the member's stream could not be written, if there was such a time. */
void collect_say_stalled(struct collector *collector, struct member *member);

/* Writes what the member's threads are waiting for now, for a snapshot. */
void collect_say_waiting(struct collector *collector, struct member *member);

/* Writes a note about what the process did past all hooks, if that changed since the last one. */
void collect_say_past(struct collector *collector, struct member *member);

/*
 * All records of a process that has ended were handed out: writes its last notes, releases its
 * slots and closes the stream. From now on its phase is PHASE_CLOSING.
 */
void collect_finish(struct collector *collector, struct member *member);

#endif
