/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PARTS_H
#define COLLECT_PARTS_H

/*
 * The collector's internals, shared by its files: collect.c has the loop, the start and the end;
 * guests.c takes processes into the run; requests.c serves control requests; finish.c writes the
 * notes of a process that has ended.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"
#include "collect/bounds.h"
#include "collect/bundle.h"
#include "collect/chunk.h"
#include "collect/listener.h"
#include "collect/merge.h"
#include "collect/shared.h"
#include "collect/sink.h"
#include "collect/stream.h"
#include "collect/ticks.h"
#include "collect/watch.h"

#define MS 1000000ull

enum phase { PHASE_ALIVE, PHASE_ENDED, PHASE_CLOSING };

/* Keys for finding members (traced processes). Each key has an index, which keeps searches fast. */
enum member_index {
	BY_PID, /* the member's pid in its own namespace */
	/* the pid in the collector's namespace; a member without such a pid is not found */
	BY_OUR_PID,
	BY_KEY, /* the key of the member's process image */
	MEMBER_INDEXES
};

#define INDEX_PLACES 4096

struct scan;
struct keeper;
struct collect_before;
struct sample;
struct schedule;

/* A process of the run, from its attach until its stream is complete. */
struct member {
	/* a copy of the message by which the process attached; the process cannot change it */
	struct arena_hello hello;
	uint32_t number; /* number of the member's stream */
	struct user *user;
	/*
	 * Why it is uncertain which process this is; NULL if the kernel confirmed the process. For
	 * a member in doubt, the collector begins a new stream and ends no other member's stream.
	 * The collector neither scans nor stops the process of such a member.
	 */
	const char *doubt;
	/*
	 * Number of the stream whose process created the memory that this member uses. This is
	 * usually the member's own stream; for a spare, it is the stream of the process that
	 * provided the spare.
	 */
	uint32_t family;
	/* for the child of a fork: number of the parent's stream; otherwise WIRE_NO_STREAM */
	uint32_t parent_stream;
	enum phase phase;
	struct watch watch;
	struct stream *stream;
	struct process *process; /* the merge's state of the process */
	struct chunk *chunks[ARENA_CHUNKS];
	uint32_t chunk_count, slots;
	uint32_t mappings; /* mappings that count towards BOUND_MAPPINGS */
	/* a further chunk was refused; later chunks of this member are refused, too */
	bool is_cut_off;
	/* values of the head's toggles and told_count when the collector last processed them */
	uint32_t toggles, told;
	/* number of the member's events when its mapping of the control page was last checked */
	uint64_t seen;
	bool must_sample;   /* a sample of the process is due */
	bool is_of_crowd;   /* the member is counted by listener_crowd() */
	bool has_successor; /* a later image of the same process is another member */
	/* value of arena.past that the last note reported */
	uint32_t said_past;
	bool is_told; /* the parent reported how this process ended */
	int32_t told_status;
	struct scan *scan; /* the scan in progress; NULL: none */
	uint32_t scans;	   /* number of scans so far */
	enum { SPARES_UNASKED, SPARES_OF_ONE_USER, SPARES_OF_ANY } spares;
	/* the final scan has begun or is done; later requests in the arena's head are ignored */
	bool is_scanned_at_end;
	bool is_scan_late; /* the process waits for its final scan, which could not begin yet */
	struct member *next[MEMBER_INDEXES]; /* next member with the same hash, for each index */
	uint64_t indexed[MEMBER_INDEXES]; /* the value under which each index lists this member */
	/* for each chunk, how long the threads of its slots ran; NULL: not read yet */
	struct schedule *schedule[ARENA_CHUNKS];
};

/* A process that has ended. The collector remembers it because its children may still attach. */
struct ancestor {
	uint64_t key[2];
	uint32_t number, parent_stream;
};

#define ANCESTORS 64

/* Processes of one program that --follow excluded. */
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
	struct settings settings; /* settings of the run at its start */
	char starter_name[64];
	int32_t starter_pid; /* pid of the first process; 0: unknown */
	struct sink_place place;
	struct merge *merge;
	struct ticks ticks;
	struct listener *listener;
	/* sink that was opened before the first attach; fd -1: not open, or a stream uses it */
	struct sink first;
	/* the bundle of all streams; NULL: each stream has its own sink */
	struct bundle *bundle;
	/*
	 * memory_kills: how many processes of the control group the kernel had killed for lack of
	 * memory before the run (UINT64_MAX: unknown). kills: how many processes of the run SIGKILL
	 * has ended.
	 */
	uint64_t memory_kills, kills;
	/* whether any process has attached */
	bool any;
	/* number of pauses and resumptions in the streams; see struct control_page */
	uint32_t paused;
	/* pidfd of the first process, opened while it waits for the collector; -1: none */
	int starter;
	int inherited;
	int reports; /* descriptor for reports; -1: not requested */
	uint64_t realtime_ns;
	/* start of the run, in seconds since 1970; no file of the run is older */
	time_t begun;
	uint64_t begun_ticks;
	uint64_t started_ns, gone_ns, polled_ns, tidied_ns;
	/* time when the run ends even if processes still run; 0: not asked to end */
	uint64_t leave_ns;
	bool leaving;
	char failure[ERROR_TEXT_MAX + 64]; /* why streams are incomplete */
	/* a stream failed for another reason than a reader that closed its pipe */
	bool has_failed;
	uint64_t unwritten; /* events that streams of ended processes could not write */
	/* the flight recorder; NULL: the whole trace is kept */
	struct keeper *keeper;
	/* mappings of the process that holdtrace attaches to, until they are written; NULL: none */
	struct collect_before *before;
	struct sample *sample; /* the latest sample; NULL: none requested */
	uint64_t sampled_ns;
	uint32_t next_stream;
	struct ancestor ancestors[ANCESTORS];
	struct left_out left_out[LEFT_OUT_NAMES]; /* counts that were not written to a stream yet */
	/* control requests of holdtrace ctl that still need an answer */
	struct guest *requests;
	/* guests whose users had no time left in the round in which they arrived */
	struct guest *late;
	/* some work of this round was left for the next round (see collect_has_turn()) */
	bool is_late;
	bool is_last_chance; /* all users' work must be done now, not in a later round */
	struct user *users[INDEX_PLACES]; /* a hash table, by uid */
	struct bounds_used used;
	struct bounds_known known, known_by_others;
	/* indexed by reason: refusals that were not written to a stream yet */
	uint64_t refused[REFUSAL_COUNT];
	/*
	 * limits how often the collector reads a thread's figures from the kernel: a reading waits
	 * until schedule_ns is at least TOKEN_NS ago, and then advances schedule_ns by TOKEN_NS
	 */
	uint64_t schedule_ns;
	struct schedule_place {
		uint32_t member, chunk, slot;
	} schedule_at; /* the slot that was read last */
	struct member **active;
	uint32_t count;
	size_t room;
	struct member *index[MEMBER_INDEXES][INDEX_PLACES];
};

/* The values of a note (an event that is not a call), with space for formatted values. */
#define FACTS_MAX 16

struct facts {
	struct wire_value values[FACTS_MAX];
	uint32_t count;
	char text[FACTS_MAX][48];
};

static inline void facts_add(struct facts *facts, const char *name, const char *value)
{
	facts->values[facts->count++] = (struct wire_value){ name, value };
}

static inline __attribute__((format(printf, 3, 4))) void
facts_format(struct facts *facts, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(facts->text[facts->count], sizeof(facts->text[0]), format, args);
	va_end(args);
	facts_add(facts, name, facts->text[facts->count]);
}

static inline void facts_number(struct facts *facts, const char *name, uint64_t value)
{
	facts_format(facts, name, "%" PRIu64, value);
}

static inline void facts_time(struct facts *facts, const char *name, uint64_t ns)
{
	facts_format(facts, name, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static inline void facts_write(const struct facts *facts, struct stream *stream,
			       struct encode_note note)
{
	note.values = facts->values;
	note.count = facts->count;
	stream_note(stream, &note);
}

/*
 * Whether the user has time left in this round (merge_has_time()). If not, the caller leaves its
 * work for the next round, which then follows immediately.
 */
bool collect_has_turn(struct collector *collector, struct user *user);

/* Charges the time since begun_ns to the user, who then has less time left (merge_charge()). */
void collect_charge(struct collector *collector, struct user *user, uint64_t begun_ns);

/*
 * Increments the heartbeat while the collector takes no records from the rings. Opening and closing
 * the streams of many short processes can take longer than the time after which producers stop
 * waiting for the collector.
 */
void collect_beat(struct collector *collector);

/* Reads the mappings of a process before holdtrace attaches to it (loads the library there). */
void collect_look_before(struct collector *collector);

/* At the note that begins the recording, writes which mappings of collect_look_before() remain. */
void collect_heed_note(struct collector *collector, struct member *member,
		       const struct merge_event *event);

/* Writes the first sample of a process at the start of its stream. */
void collect_sample_begin(struct collector *collector, struct member *member, uint64_t time);

/* Writes a sample (figures from /proc) of the machine and all processes, if requested and due. */
void collect_sample(struct collector *collector, uint64_t now_ns);

/* Pauses or resumes the run once for each toggle signal that a program has received. */
void collect_toggle(struct collector *collector);

/*
 * The flight recorder, if the settings request one. collect_keep_begin() starts it, collect_keep()
 * is called in each round, collect_keep_leave() is called for each process that has ended.
 */
int collect_keep_begin(struct collector *collector, struct error *err);
void collect_keep(struct collector *collector);
/* Whether the rings must not be read now, because the file would exceed its size limit. */
bool collect_keep_is_full(const struct collector *collector);
/* Number of processes all of whose events the flight recorder has discarded. */
uint64_t collect_keep_gone(const struct collector *collector);
void collect_keep_leave(struct collector *collector, const struct member *member);
void collect_keep_end(struct collector *collector);

/* Handles the control requests of holdtrace ctl. */
void collect_obey(struct collector *collector);

/* If a reading is due, reads from the kernel how long threads have run and have been blocked. */
void collect_schedule(struct collector *collector, uint64_t now_ns);
/* If the process is a zombie, reads once more how long its first thread has run. */
void collect_schedule_last(struct collector *collector, struct member *member);
/*
 * Writes how long the threads of a process have run and have been blocked. collect_schedule_end()
 * does this when the process has ended, and frees the readings.
 */
void collect_schedule_say(struct collector *collector, struct member *member);
void collect_schedule_end(struct collector *collector, struct member *member);

/* Begins the scans for unreachable memory that are due, and advances the scans in progress. */
void collect_scan(struct collector *collector, uint64_t now_ns);

/* Starts a scan for holdtrace ctl. When the scan ends, answers `guest` and dismisses it. */
void collect_scan_asked(struct collector *collector, struct guest *guest);

/* If scans are in progress, waits up to 1 ms for a message from a scanner and returns true. */
bool collect_scan_waits(const struct collector *collector);

/* Whether a thread of the process is inside fork(). */
bool collect_is_forking(struct collector *collector, struct member *member);

/* If a process has ended without a requested final scan, writes the reason to its stream. */
void collect_say_unscanned(struct collector *collector, struct member *member);

/* Accepts all processes that have sent their memory or taken a spare (struct arena_spare). */
void collect_receive(struct collector *collector);

/* Maps the further chunks that the process has created. */
void collect_extend(struct collector *collector, struct member *member);

/* Writes to the member's stream (NULL: to any) how many processes were refused or excluded. */
void collect_say_counts(struct collector *collector, struct member *member);

/* Returns a time for a note, in ticks: no earlier event follows, and no later event was written. */
static inline uint64_t collect_note_time(const struct collector *collector,
					 const struct member *member)
{
	uint64_t limit = merge_limit(collector->merge, member->process);

	return limit > member->hello.start ? limit : member->hello.start;
}

/* Writes a note with these values at collect_note_time(). */
static inline void collect_say(const struct collector *collector, struct member *member,
			       const char *name, const struct facts *facts)
{
	facts_write(
		facts, member->stream,
		(struct encode_note){ .name = name, .time = collect_note_time(collector, member) });
}

/* Adds a member to the indexes, or updates its pid. collect_index_remove() removes the member. */
void collect_index(struct collector *collector, struct member *member);
void collect_index_remove(struct collector *collector, struct member *member);

/*
 * Iterates over the members whose value in `index` is `value`. `last`: the member that the last
 * call returned, or NULL to begin. Returns NULL at the end.
 */
struct member *collect_find(const struct collector *collector, enum member_index index,
			    uint64_t value, const struct member *last);
static inline uint64_t collect_key(const uint64_t key[2])
{
	return key[0] ^ key[1];
}

/* Subtracts the member's threads, mappings and process from the resources in use (bounds.h). */
void collect_give_back(struct collector *collector, const struct member *member);

/* Like collect_receive(), but accepts only processes that have taken a spare. */
void collect_receive_spares(struct collector *collector);

/* Adds the member to those that make new processes wait (listener_crowd()), or removes it. */
void collect_crowd(struct collector *collector, struct member *member, bool is_of_crowd);

/* Called when a process has ended or called exec: the merge passes on all its remaining records. */
void collect_end_member(struct collector *collector, struct member *member);

/* Reads from the memory of traced parents how their children ended, as wait(2) told the parents. */
void collect_hear_ends(struct collector *collector);

/* Writes the reason why streams are incomplete to the control page, where the launcher reads it. */
void collect_tell_failure(struct collector *collector, const struct stream *stream);

/* The options for opening a sink. Their member `first` is set if no process has attached yet. */
struct sink_options collect_options(const struct collector *collector);

/* Adds a note to the trace: how long the member's stream was stalled, if it was. */
void collect_say_stalled(struct collector *collector, struct member *member);

/* For a snapshot: writes what each thread of the member is waiting for. */
void collect_say_waiting(struct collector *collector, struct member *member);

/* If the process has done a new kind of operation that no hook saw, writes the kinds so far. */
void collect_say_past(struct collector *collector, struct member *member);

/*
 * Called for a process that has ended, once all its records have been handed out. Writes its last
 * notes, releases its slots and closes its stream. From then on its phase is PHASE_CLOSING.
 */
void collect_finish(struct collector *collector, struct member *member);

#endif
