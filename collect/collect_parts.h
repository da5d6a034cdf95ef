/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PARTS_H
#define COLLECT_PARTS_H

/*
 * The collector's insides, between its parts: collect.c has the loop and the ends, guests.c
 * who comes and is taken into it, orders.c what is asked for meanwhile, finish.c what is said of a
 * process that has ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "collect/bounds.h"
#include "collect/bundle.h"
#include "collect/chunk.h"
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

/* What members are found by, however many there are (members.c). */
enum member_index {
	BY_PID,	    /* as it calls itself */
	BY_OUR_PID, /* as we call it; one that has none is not found */
	BY_KEY,	    /* of its image */
	MEMBER_INDEXES
};

#define INDEX_PLACES 4096

struct scan;
struct keeper;
struct collect_before;
struct schedule;

/* A process of the run, from its attaching until its stream is complete. */
struct member {
	struct arena_hello hello; /* what it said of itself: our copy */
	uint32_t number;	  /* of its stream */
	struct user *user;
	/*
	 * Why it is not certain which process it is; NULL: it is, by the kernel. Such a member has
	 * a stream of its own and no more: it ends no other one, and nothing is done to its
	 * process.
	 */
	const char *doubt;
	uint32_t family; /* number of the stream whose memory has its place; its own: it has its own
			  */
	uint32_t parent_stream; /* of a fork's child; else WIRE_NO_STREAM */
	enum phase phase;
	struct watch watch;
	struct stream *stream;
	struct process *process; /* in the merge */
	struct chunk *chunks[ARENA_CHUNKS];
	uint32_t chunk_count, slots;
	bool is_cut_off;	/* a further chunk was refused: no more are taken */
	uint32_t toggles, told; /* of its head that we have seen */
	uint64_t seen;		/* events when we last looked for its mapping */
	bool is_of_crowd;	/* is counted by door_crowd() */
	bool has_successor;	/* an image that came later has its number */
	bool is_told;		/* its parent said how it ended */
	int32_t told_status;
	struct scan *scan; /* that is under way; NULL: none is */
	uint32_t scans;	   /* so far */
	enum { SPARES_UNASKED, SPARES_OF_ONE_USER, SPARES_OF_ANY } spares;
	bool is_scanned_at_end;			 /* begun or done: the head may say what it likes */
	struct member *next[MEMBER_INDEXES];	 /* at the same place of an index */
	uint64_t indexed[MEMBER_INDEXES];	 /* by this */
	struct schedule *schedule[ARENA_CHUNKS]; /* of each slot of a chunk; NULL: of none yet */
};

/* One that has gone: its children may be known later. */
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

/* What members of a user have of us. */
struct user {
	struct user *next;
	uid_t uid;
	struct bounds_user bounds;
	struct merge_user merge;
	struct stream_known known;
};

struct collector {
	struct shared shared;
	struct settings settings; /* as they were when the run began */
	char starter_name[64];
	int32_t starter_pid; /* 0: none is known */
	struct sink_place place;
	struct merge *merge;
	struct ticks ticks;
	struct door *door;
	struct sink first;     /* opened before anybody attached; fd -1: not, or taken */
	struct bundle *bundle; /* of all streams; NULL: each has a sink of its own */
	bool any;	       /* somebody has attached */
	uint32_t paused;       /* as the streams were told; see struct board */
	int starter;	       /* pidfd of the first process, opened while it waits for us; -1 */
	int inherited;
	int reports; /* -1: nobody wants them */
	uint64_t realtime_ns;
	time_t begun; /* the run, in seconds since 1970: as old as any file of it, or older */
	uint64_t begun_ticks;
	uint64_t started_ns, gone_ns, polled_ns, tidied_ns;
	uint64_t leave_ns; /* when we end whoever is still there; 0: nobody asked us to */
	bool leaving;
	char failure[ERROR_TEXT_MAX + 64]; /* why streams are not complete */
	bool has_failed;		   /* something is to be said of a stream's end */
	uint64_t unwritten;    /* events that the streams of those who have gone could not take */
	struct keeper *keeper; /* NULL: all is kept */
	struct collect_before *before; /* of whom we attach to, until it is told; NULL: nothing */
	struct sample *sample;	       /* NULL: nobody asked for samples */
	uint64_t sampled_ns;
	uint32_t next_stream;
	struct ancestor ancestors[ANCESTORS];
	struct left_out left_out[LEFT_OUT_NAMES]; /* that stand in no stream yet */
	struct guest *requests;			  /* of holdtrace ctl, to be answered */
	struct user *users;
	struct bounds_used used;
	struct stream_known known;
	uint64_t refused[REFUSAL_COUNT]; /* that stand in no stream yet */
	uint64_t schedule_ns;		 /* readings of threads so far are worth so much time */
	struct schedule_place {
		uint32_t member, chunk, slot;
	} schedule_at; /* the slot that was looked at last */
	struct member **active;
	uint32_t count, room;
	struct member *index[MEMBER_INDEXES][INDEX_PLACES];
};

/*
 * We live, though we take nothing from the rings meanwhile: opening and closing the streams of many
 * short processes can take longer than producers are patient.
 */
void collect_beat(struct collector *collector);

/* What the process that is attached to has mapped, before anything is brought into it. */
void collect_look_before(struct collector *collector);

/* Behind the note that says where its recording begins: tells of that, as far as it is still there.
 */
void collect_heed_note(struct collector *collector, struct member *member,
		       const struct merge_event *event);

/* The first sample of a process, as its stream begins. */
void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time);

/* The state of machine and processes, where it was asked for and is due. */
void collect_sample(struct collector *collector, uint64_t now_ns);

/* Pauses and goes on as often as signals have asked for it. */
void collect_toggle(struct collector *collector);

/* The flight recorder, where one is asked for: begin, a look in each round, a process that has
 * left. */
int collect_keep_begin(struct collector *collector, struct error *err);
void collect_keep(struct collector *collector);
/* Nothing more may be taken out of the rings, for the file would become too long. */
bool collect_keep_is_full(const struct collector *collector);
/* How many processes the file has no more. */
uint64_t collect_keep_gone(const struct collector *collector);
void collect_keep_leave(struct collector *collector, const struct member *member);
void collect_keep_end(struct collector *collector);

/* Does what holdtrace ctl asks for, if anything, and answers. */
void collect_obey(struct collector *collector);

/* Reads how long threads ran and were blocked, where that is due. */
void collect_schedule(struct collector *collector, uint64_t now_ns);
/* Of a process that has exited and is still a zombie: the kernel's last word on its first thread.
 */
void collect_schedule_last(struct collector *collector, struct member *member);
/* Writes what is known so far of a process's threads; the latter when it has ended. */
void collect_schedule_say(struct collector *collector, struct member *member);
void collect_schedule_end(struct collector *collector, struct member *member);

/* Begins the scans that are due, and brings those that are under way on. */
void collect_scan(struct collector *collector, uint64_t now_ns);

/* holdtrace ctl asks for a scan; the guest is answered and dismissed when it is done. */
void collect_scan_asked(struct collector *collector, struct guest *guest);

/* Whether a process may stand still for us: waits for its scanner instead of sleeping. */
bool collect_scan_waits(const struct collector *collector, uint64_t ns);

/* Whether a thread of the process is in a call of fork. */
bool collect_is_forking(struct collector *collector, struct member *member);

/* In the stream of a process that has ended, before its end: no scan has been made, and why. */
void collect_say_unscanned(struct collector *collector, struct member *member);

/* Takes in all who have come with memory, and those who found a spare. */
void collect_receive(struct collector *collector);

/* The process has made more memory. */
void collect_extend(struct collector *collector, struct member *member);

/* Says what was refused and left out, in the stream of this member; NULL: of any that is open. */
void collect_say_counts(struct collector *collector, struct member *member);

/* A new one can be found, or one that has got another number; one that leaves cannot any more. */
void collect_index(struct collector *collector, struct member *member);
void collect_index_remove(struct collector *collector, struct member *member);

/*
 * The members with a number or key, one after another: NULL begins, and ends. Others with the same
 * place in the index may come, too: the caller compares.
 */
struct member *collect_find(const struct collector *collector, enum member_index index,
			    uint64_t value, const struct member *last);
static inline uint64_t collect_key(const uint64_t key[2])
{
	return key[0] ^ key[1];
}

/* What a member has of us is free for others. */
void collect_give_back(struct collector *collector, const struct member *member);

/* The latter alone. */
void collect_receive_spares(struct collector *collector);

/* A name as it may be printed and be part of a path: one line, with no slash. */
void collect_clean_name(char *name, size_t size);

/* A process came to say that --follow did not choose it. */
void collect_leave_out(struct collector *collector, const struct guest *guest);

/* Writes to this stream which programs were left out and stand in no other. */
void collect_say_left_out(struct collector *collector, struct member *member);

/* Counts a member among those that newcomers may have to wait for, or no longer. */
void collect_crowd(struct collector *collector, struct member *member, bool is_of_crowd);

/* A process is no more what it was: what it has left to say is handed out. */
void collect_end_member(struct collector *collector, struct member *member);

/* Takes what processes have been told of their children's ends, by wait(2). */
void collect_hear_ends(struct collector *collector);

/* The same of its parent and of itself alone, before it is forgotten. */
void collect_hear_end_of(struct collector *collector, struct member *member);

/* Says why streams are not complete, where the launcher looks. */
void collect_tell_failure(struct collector *collector, const struct stream *stream);

/* How a sink is to be opened; first: no other has been. */
struct sink_wish collect_wish(const struct collector *collector);

/* Says for how long its stream could not be written, if there was such a time. */
void collect_say_stalled(struct collector *collector, struct member *member);

/* What its threads wait in now, for a snapshot. */
void collect_say_waiting(struct collector *collector, struct member *member);

/*
 * All records of a process that has ended are handed out: says the last words, gives its slots back
 * and closes the stream. PHASE_CLOSING from here on.
 */
void collect_finish(struct collector *collector, struct member *member);

#endif
