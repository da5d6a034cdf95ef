/* SPDX-License-Identifier: MIT */
#ifndef ARENA_H
#define ARENA_H

/*
 * The memory that traced programs share with the collector. A run has one *control page*, which the
 * collector writes and every program reads. Each process image has an *arena*, which it creates and
 * sends to the collector: chunks of memory in a sealed memfd, each with a head, slots, and a ring
 * for each slot. The comment of a field names the process that writes it; a field has two writers
 * only if its comment names two.
 *
 * Neither side trusts memory that the other side can write. The producer keeps its positions in
 * private memory and reads only the tail of a slot, which it checks. The collector takes the
 * geometry from the message that was sent with the memory, and copies a record before it checks it.
 *
 * A record is published by a store of its state with release, after its bytes; the collector loads
 * the state with acquire. The head is stored with release, after the header of the newest record.
 *
 *
 * The order of records, and the low watermark
 *
 * The records of a ring are in the order of completion, not of time: a thread publishes the record
 * of a call when the call returns, but the time of the record may be that of the entry. So when the
 * collector sees a record, another thread may still publish an earlier one. Therefore each slot has
 * a low watermark: a time before which the thread publishes no further record. 0 means that the
 * thread has nothing to publish.
 *
 *   thread, for each call                        collector, in each round
 *   ------------------------------------         ----------------------------------------------
 *   store low watermark (its last time)          now = clock
 *   t = clock                                    membarrier: a fence on every running thread
 *   store low watermark = t                      for each slot: load low watermark, then head
 *   call the real function                       limit = the least of now and all low watermarks
 *   reserve (head), fill, publish                pass on all records before limit in order of time
 *   store low watermark = 0 (release)
 *
 *            earlier                                     later
 *   thread 1  --#----#----------#-----| its low watermark: a call is open since then
 *   thread 2  ----#-----#--#----------------#---| its low watermark
 *   passed on --#-#--#--#--#----#-----|  = limit; the last record of thread 2 stays in its ring
 *
 * Can a thread publish a record with a time t < limit after the collector has read its head? No:
 * the thread stored a low watermark <= t before it read t from the clock. If that store was visible
 * at the membarrier, the collector loads it, and limit <= t; or it loads a later value, and then
 * the release makes the record visible before the head is read. If the store was not visible, the
 * thread reads the clock after the membarrier, so t >= now >= limit. tests/model/order.pml checks
 * this protocol, and that it fails if one of its steps is left out.
 *
 * A call that sleeps clears the low watermark before the sleep and sets it again afterwards. Its
 * effect before the sleep is then a separate record (MOMENT_HALF).
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "patches.h"
#include "settings.h"
#include "terms.h"

#define CONTROL_MAGIC	    0x6472616f62617468ull /* the text "htaboard" */
#define CONTROL_ENVIRONMENT "HOLDTRACE_ARENA"
/*
 * The value of CONTROL_ENVIRONMENT is "IDSECRET:PID:FD": the session id and the secret as 32 hex
 * digits each, the collector's pid, and the number of its descriptor of the control page. For the
 * first program of the run, CONTROL_FIRST follows.
 */
#define CONTROL_FIRST '!'
/* the abstract socket's name is this prefix and the session id */
#define CONTROL_SOCKET_PREFIX "holdtrace-"
#define CONTROL_NAME	      "holdtrace"
#define ARENA_NAME	      "holdtrace-arena"

/* initial size of a ring; a ring grows fourfold each time */
#define ARENA_RING_LEAST (64u << 10)
/* maximum size of a ring */
#define ARENA_RING_MOST (1u << 20)
/*
 * Maximum of the total size of a process's rings. The threads of the process share it equally. A
 * single thread that fills its ring all the time waits less with 256 KiB than with 64 KiB, and
 * hardly less with 1 MiB. Four threads that share a lock, and the thread that created them, get 1
 * MiB each: a thread that waits for space while it has the lock makes all others wait; with 1 MiB
 * they wait a quarter as often as with 256 KiB, and wake the collector a third as often. More
 * threads profit less: with eight or more that fill their rings all the time, smaller rings are
 * faster, because they stay in the caches. A thread without space waits, so no event is dropped.
 */
#define ARENA_RINGS_BUDGET (6u << 20)
#define ARENA_SLOTS_FIRST  2u /* slots of a first chunk; each further chunk has twice as many */
/* maximum of slots of one chunk */
#define ARENA_SLOTS_MOST  512u
#define ARENA_CHUNKS	  64u /* maximum of chunks of one process */
#define ARENA_SPARES	  64u /* spares of a first chunk */
#define ARENA_SPARES_MOST 512u
#define ARENA_FRAMES_MAX  500u
/* maximum of `kept` plus `fresh` frames of a record, including frames that `cut` removes */
#define ARENA_MEMORY_MAX 640u
#define ARENA_OPEN_MAX	 64u
/*
 * Producers check whether the collector sleeps each time they have written this many bytes, or a
 * quarter of their ring.
 */
#define ARENA_WAKE_STEP (256u << 10)
#define ARENA_TOLD	32u

enum control_state {
	CONTROL_STARTING, /* the collector has not yet set a state */
	CONTROL_RUNNING,  /* the output was opened; events are accepted */
	CONTROL_FAILED,	  /* the collector could not start, and the library records nothing */
	CONTROL_COMPLETE, /* everything was written, and no process is attached any more */
};

/* The clock whose unit is a tick. All processes of a run use the same clock. */
enum control_clock {
	CONTROL_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC in ns */
	CONTROL_CLOCK_COUNTER,	 /* the processor's counter: invariant TSC, cntvct */
};

#define LIBC_ID_MAX 32

/*
 * Addresses of the hooked functions in a libc with this build-id. Processes with the same libc use
 * them and do not look them up.
 */
struct libc_places {
	uint32_t id_size; /* 0: unknown */
	uint8_t id[LIBC_ID_MAX];
	uint32_t place[HOOK_COUNT]; /* offset from libc's load address; 0: unknown */
};

/*
 * Names of the descriptors 0, 1 and 2 of the process that made the control page. Names that are too
 * long are omitted.
 */
#define CONTROL_STANDARDS    3
#define CONTROL_STANDARD_MAX 128

/*
 * The control page: facts about a run. The process that makes it and the collector map it for
 * writing before it is sealed; programs map it read-only.
 */
struct control_page {
	uint64_t magic;
	/* hash of the tables, so that two builds never misread each other's memory */
	uint64_t contract;
	uint64_t size;	     /* size of the memfd in bytes */
	uint64_t session[2]; /* random */
	uint64_t secret[2];  /* random; proves to the collector that a process belongs to the run */
	uint32_t clock;	     /* enum control_clock; final once state is CONTROL_RUNNING */
	uint32_t machine;    /* ELF machine number of the traced programs */
	/* written by the collector */
	uint32_t state __attribute__((aligned(64))); /* enum control_state; futex */
	int32_t collector;			     /* the collector's pid as its parent sees it */
	/*
	 * changes each time that the collector has read or written something, or has found nothing
	 * to read
	 */
	uint64_t heartbeat;
	uint64_t rounds; /* number of rounds through all rings */
	/* odd: the collector sleeps on this word, and the value identifies the sleep; futex */
	uint32_t sleeping;
	uint32_t detached; /* number of streams completed so far; futex */
	uint32_t attached; /* number of streams begun so far */
	/* number of attached processes that have not ended */
	uint32_t alive;
	/*
	 * minimum duration of a blocking call that is recorded: 1 ms, in ticks; 0: the length of a
	 * tick is not known yet
	 */
	uint64_t lasting;
	uint32_t left_out;    /* number of processes that --follow excluded */
	uint32_t left_unsaid; /* number of these processes that no stream mentions yet */
	/*
	 * 1: told_pid is set, and `attached` and `alive` include all processes that attached before
	 * that; futex
	 */
	uint32_t settled;
	/*
	 * descriptor of a listening socket with a path, for processes in other network namespaces;
	 * -1: none
	 */
	int32_t listener;
	/*
	 * bits of enum crowd: new processes of these users should wait for a moment before they
	 * start
	 */
	uint32_t crowded;
	uint32_t ring_most; /* maximum size of a ring in bytes */
	uint32_t rings_budget;
	/* an error text; CONTROL_FAILED follows, or the run continues in spite of the error */
	char failure[512];
	/* changes with each pause and each resumption; odd: new calls are not recorded; futex */
	uint32_t paused __attribute__((aligned(64)));
	/* the following members are written by the maker of the page before the collector starts */
	/* pid of a process in whose network namespace the collector also listens; 0: none */
	int32_t guest;
	/*
	 * pid of the first process; with starter_name, it determines the name of the first file; 0:
	 * the first attach determines this name
	 */
	int32_t starter;
	char starter_name[64]; /* like arena_hello.name */
	struct libc_places libc;
	struct patches patches;
	/* names of the maker's descriptors 0, 1 and 2; empty: unknown */
	char standard[CONTROL_STANDARDS][CONTROL_STANDARD_MAX];
	/*
	 * pid of the maker, in whose /proc/PID/fd the library finds the names that `standard`
	 * omits; 0: none
	 */
	int32_t maker;
	/*
	 * the exit status of the launcher's child, in the form of wait(2); written by the launcher,
	 * since the collector, which is not the parent, may be unable to get it
	 */
	int32_t told_status;
	/* pid of this child; written after told_status; 0: the child has not ended */
	int32_t told_pid;
	struct settings settings;
};

/*
 * Bits of control_page.crowded: users who start processes faster than the collector can finish
 * them.
 */
enum crowd {
	CROWD_OF_OWNER = 1 << 0, /* the run's owner and root */
	CROWD_OF_OTHERS = 1 << 1,
};

enum process_flag {
	PROCESS_FORKED = 1 << 0,   /* created by fork; no exec since then */
	PROCESS_EXITED = 1 << 1,   /* exit() has completed */
	PROCESS_ATTACHED = 1 << 2, /* the process ran before, without the library */
	PROCESS_DETACHED = 1 << 3, /* the process continues, but is no longer recorded */
	/* the process executes a program whose LD_PRELOAD does not contain the library */
	PROCESS_DROPPED = 1 << 4,
	/* the process executes a program whose LD_PRELOAD contains the library */
	PROCESS_GIVEN = 1 << 5,
	/* like PROCESS_GIVEN, but the program cannot see the library's file */
	PROCESS_HIDDEN = 1 << 6,
	/* like PROCESS_GIVEN, but the program has too few free descriptors for the library */
	PROCESS_CROWDED = 1 << 7,
};

/*
 * A process sends this message to the collector's socket, together with the descriptor of its
 * memory, and does not wait for an answer. A process that uses a spare writes the message to the
 * spare instead.
 */
struct arena_hello {
	uint64_t contract;
	uint64_t secret[2];
	uint64_t key[2];    /* identifies the process image: its start in ticks, and its pid */
	uint64_t parent[2]; /* key of the process that forked this process; 0: none */
	/* number of the parent's stream, or WIRE_NO_STREAM if it is unknown */
	uint32_t parent_stream;
	/* 0: a new image; otherwise the number of a further chunk */
	uint32_t chunk;
	uint32_t slots;
	uint32_t ring_size; /* bytes of address space for each ring */
	uint32_t spares;
	int32_t pid; /* pid in the pid namespace of the process */
	int32_t parent_pid;
	uint32_t flags; /* enum process_flag */
	uint64_t start; /* in ticks */
	char name[64]; /* last component of argv[0] or of the executable's path, truncated to fit */
};

/*
 * A call that has not returned yet, written by the thread. From these entries, the collector knows
 * in which calls threads are blocked, or were killed.
 */
struct arena_open {
	uint16_t hook;
	/* class of the object that the call's first half released and the call may acquire again */
	uint16_t half;
	/*
	 * serial number of the call's backtrace; slot.stack is this backtrace if slot.stack_serial
	 * is the same number
	 */
	uint32_t serial;
	uint64_t object;
	uint64_t related;
	uint64_t enter; /* in ticks */
	uint64_t frame; /* caller's stack pointer after the return */
	uint64_t call;
	uint64_t ip; /* return address in the caller */
};

/* A thread's slot. Its ring is in another part of the chunk (struct chunk_layout). */
struct slot {
	/* written by the producer */
	/*
	 * The low watermark: a lower bound of the times of all records that this thread has not
	 * published yet; 0: there are none. It is stored before the clock is read; the collector's
	 * membarrier replaces the fence between the two.
	 */
	uint64_t watermark;
	/*
	 * Bytes that were reserved and whose headers are written. Records are multiples of 8 bytes
	 * long; the low bits are the size of the ring (ring_bytes()). The ring grows only when
	 * every unread byte has the same offset in the larger ring.
	 */
	uint64_t head;
	uint64_t pthread;
	int32_t thread; /* the kernel's id of the thread */
	uint32_t state; /* enum slot_state */
	/*
	 * dropped events by reason: a sum for all threads that have used the slot; written by the
	 * thread
	 */
	uint64_t lost[LOSS_COUNT];
	/*
	 * locks that were acquired without a wait (--locks=contended): also a sum for all threads
	 * that have used the slot
	 */
	uint64_t uncontended;
	/* written by the collector, except `waiting` */
	uint64_t tail
		/* bytes that were consumed so far; futex of a producer with a full ring */
		__attribute__((aligned(64)));
	/* written by the producer: 1 while it sleeps on `tail`, and the collector must wake it */
	uint32_t waiting;
	/* open calls, the innermost call last */
	uint32_t open_count __attribute__((
		/* may exceed ARENA_OPEN_MAX; the calls beyond it are not in open[] */
		aligned(64)));
	/* the thread's last copied backtrace, outermost frame first, and its serial number */
	uint32_t stack_serial;
	uint32_t stack_count;
	struct arena_open open[ARENA_OPEN_MAX];
	uint64_t stack[ARENA_FRAMES_MAX];
};

#define ARENA_SLOT_SIZE 8192u
_Static_assert(sizeof(struct slot) <= ARENA_SLOT_SIZE, "a slot has two pages");

enum slot_state {
	SLOT_UNUSED,
	SLOT_TAKEN, /* the collector may read it */
	SLOT_LEFT,  /* the thread is about to end, or has ended */
	/* the collector is freeing the pages of the ring; no thread may take the slot */
	SLOT_CLEANING,
};

struct arena_own {
	uint64_t from, to;
};

#define ARENA_OWN 20u /* number of ranges; most processes use about ten */

/* The children that a process had when it ended. */
enum arena_children {
	CHILDREN_UNKNOWN,
	CHILDREN_NONE,
	CHILDREN_RUNNING, /* there were children, and none had ended */
	/* at least one child had ended, and the process had not waited for it */
	CHILDREN_ENDED,
};

/*
 * Kinds of operations that no hook saw, but that the library noticed. arena.past has a bit for
 * each.
 */
enum arena_past {
	/* the loader created another link namespace, whose libraries have a libc of their own */
	PAST_NAMESPACE,
	/* syscall(2) mapped memory that an allocator may use */
	PAST_MEMORY,
	/*
	 * syscall(2) changed a mapping; PAST_FD and the next kind: it made or released such an
	 * object
	 */
	PAST_MAPPING,
	PAST_FD,
	PAST_PROCESS,
	/* a module has the runtime of Go, which makes system calls without libc */
	PAST_ALL,
	PAST_COUNT
};

/*
 * The head of a chunk. `used`, `slots`, `ring_size`, `own_from` and `own_to` are valid in every
 * chunk, the other members in the first chunk only.
 */
struct arena {
	uint32_t used; /* highest index of a slot that was ever taken, plus 1 */
	/* number of chunks that exist; incremented before the newest chunk is used */
	uint32_t chunks;
	uint32_t flags;	  /* enum process_flag, set after the attach; atomic or */
	uint32_t toggles; /* number of pauses and resumptions that the signal requested; atomic */
	uint32_t stream;  /* written by the collector: number of the stream, plus 1 */
	/*
	 * written by the collector: number of the first chunk that it does not read, plus 1; 0: it
	 * reads all chunks
	 */
	uint32_t refused;
	/* when the process reported its end or exec, in ticks; 0: it has not */
	uint64_t ended;
	uint64_t lost[LOSS_COUNT]; /* dropped events that belong to no slot; atomic adds */
	/* number of descriptors that were open in the kernel at the process's end; 0: unknown */
	uint32_t descriptors;
	uint32_t children; /* enum arena_children, at the process's end */
	uint32_t past;	   /* a bit for each enum arena_past; atomic or */
	/*
	 * A ring buffer with the last ARENA_TOLD statuses of children that this process got from
	 * wait(2). The upper half of an item is the pid. told_count: number of statuses so far.
	 */
	uint32_t told_count;
	uint64_t told[ARENA_TOLD];
	/*
	 * A process may wait at its end until the scan of its memory has finished. ending: the
	 * thread that waits, or 0. The collector changes scan_beat while the scan makes progress,
	 * and sets released when the process may continue; futex.
	 */
	int32_t ending;
	uint32_t scan_beat, released;
	/*
	 * In each chunk: the range of the library's private memory. This memory has copies of words
	 * of stacks. A scan must not read it, because these copies must not keep blocks reachable.
	 */
	uint64_t own_from, own_to;
	/*
	 * In a further chunk, written before `chunks` counts the chunk: number of its slots, size
	 * of a ring in bytes.
	 */
	uint32_t slots, ring_size;
	/* Ranges of other private memory of the library, which an earlier attach left; 0: none. */
	struct arena_own own[ARENA_OWN];
};

/*
 * A copy of own_from and own_to of all chunks in the library's data. A core file has this data, but
 * not the chunks; a reader finds it by its first words.
 */
#define OWN_MARKS_MAGIC                                      \
	{                                                    \
		0x6b72616d2d6e776full, 0x20656361727464ffull \
	}
struct own_marks {
	uint64_t magic[2];
	struct arena_own ranges[ARENA_CHUNKS];
};

/*
 * Small enough that the head and the start of the first slot are on one page, the only page that a
 * process with one thread and no calls touches.
 */
#define ARENA_HEAD_SIZE 1024u
_Static_assert(sizeof(struct arena) <= ARENA_HEAD_SIZE, "slots lie behind the head");

enum spare_state {
	SPARE_FREE,
	SPARE_FILLING, /* the process claims it by compare-and-swap */
	SPARE_READY,   /* set by the process: the collector may read the spare */
	/* set by the collector; the spare becomes free again when its process has ended */
	SPARE_KNOWN,
};

/*
 * Memory for a process that can neither create nor send memory, such as a child of fork under a
 * seccomp filter: one slot and one small ring. Spares follow the first chunk of the nearest
 * ancestor that could create memory. A child of fork keeps no other part of its parent's arena.
 */
struct arena_spare {
	/*
	 * highest number of a spare that was ever taken, plus 1; set only in the first entry, which
	 * is not a spare
	 */
	uint32_t used;
	uint32_t state; /* enum spare_state */
	struct arena head;
	struct arena_hello hello;
};

#define ARENA_SPARE_SIZE 1024u
_Static_assert(sizeof(struct arena_spare) <= ARENA_SPARE_SIZE, "spares are counted by it");

/*
 * All chunks of a process are in one sparse file, whose size is set once. The process and the
 * collector map each chunk together with the beginning of the next one. From this beginning,
 * mremap() maps the next chunk without a descriptor.
 */
#define ARENA_FILE_MOST (64ull << 30)
#define ARENA_LINK	ARENA_RING_LEAST

/* Offsets of a chunk's parts from its start, in bytes. */
struct chunk_layout {
	uint64_t rings, spares, spare_slots, spare_rings, size;
};

static inline uint64_t arena_align(uint64_t offset)
{
	return (offset + ARENA_RING_LEAST - 1) & ~(uint64_t)(ARENA_RING_LEAST - 1);
}

static inline struct chunk_layout chunk_lay_out(uint32_t slots, uint32_t ring_size, uint32_t spares)
{
	struct chunk_layout layout;

	layout.rings = arena_align(ARENA_HEAD_SIZE + (uint64_t)slots * ARENA_SLOT_SIZE);
	layout.spares = layout.rings + (uint64_t)slots * ring_size;
	layout.spare_slots =
		(layout.spares + (spares + 1ull) * ARENA_SPARE_SIZE + 0xfff) & ~0xfffull;
	layout.spare_rings = arena_align(layout.spare_slots + (uint64_t)spares * ARENA_SLOT_SIZE);
	layout.size = layout.spare_rings + (uint64_t)spares * ARENA_RING_LEAST;
	if (!spares)
		layout.size = layout.spares;
	return layout;
}

/* The bits of slot.head that contain the size of the ring. */
#define RING_LEVEL 7ull

/*
 * The size of the ring in bytes, from the low bits of `head`. If it exceeds ARENA_RING_MOST, `head`
 * is invalid.
 */
static inline uint64_t ring_bytes(uint64_t head)
{
	return (uint64_t)ARENA_RING_LEAST << 2 * (head & RING_LEVEL);
}

/*
 * Returns how much the producer of a ring of `bytes` bytes writes until it checks again whether the
 * collector sleeps.
 */
static inline uint64_t ring_step(uint64_t bytes)
{
	return bytes / 4 < ARENA_WAKE_STEP ? bytes / 4 : ARENA_WAKE_STEP;
}

/*
 * Whether a chunk can have these numbers of slots, bytes of a ring, and spares. The collector must
 * check numbers from another process before it uses them.
 */
static inline bool chunk_is_sound(uint32_t slots, uint32_t ring_size, uint32_t spares)
{
	return slots && slots <= ARENA_SLOTS_MOST && ring_size >= ARENA_RING_LEAST &&
	       ring_size <= ARENA_RING_MOST && !(ring_size & (ring_size - 1)) &&
	       spares <= ARENA_SPARES_MOST;
}

static inline struct slot *chunk_slot(char *chunk, uint32_t i)
{
	return (struct slot *)(void *)(chunk + ARENA_HEAD_SIZE + (uint64_t)i * ARENA_SLOT_SIZE);
}

/*
 * Whether a process whose RLIMIT_AS is `limit` keeps most of its address space if it maps `size`
 * bytes.
 */
static inline bool arena_leaves_room(uint64_t size, uint64_t limit)
{
	return size <= limit / 8;
}

/* Requests of `holdtrace ctl` and of the library. Most apply to the whole run. */
enum control_command {
	CONTROL_NONE,
	CONTROL_START, /* resume recording */
	CONTROL_STOP,  /* pause recording */
	CONTROL_MARK,  /* write a text to all streams */
	/* make all events up to now readable in the files */
	CONTROL_SNAPSHOT,
	/* scan the process `pid` for unreachable blocks, and for owners of the other blocks */
	CONTROL_SCAN,
	/* report the name of a program that --follow excluded; there is no answer */
	CONTROL_LEFT_OUT,
	/* return the pid and the pidfd of the process whose stream has the number in `text` */
	CONTROL_PROCESS,
	/* return a descriptor of the control page to a program that cannot open it */
	CONTROL_CONTROL,
};

/*
 * A request, sent to the socket without a descriptor. The answer to CONTROL_SNAPSHOT is a list of
 * paths, one a line; a last line "+N" replaces N further paths that did not fit.
 */
struct control_request {
	uint64_t contract;
	uint64_t secret[2];
	uint32_t command; /* enum control_command */
	int32_t pid;	  /* the named process; its stream is the first in the answer */
	char text[1024];
};

/*
 * Maximum size of an answer, which is one packet of a socket. The kernel's buffer for a packet is
 * somewhat larger.
 */
#define CONTROL_ANSWER_MAX 131072u

enum record_kind {
	RECORD_PAD,	  /* padding up to the end of the ring */
	RECORD_CALL,	  /* struct record_call */
	RECORD_THREAD,	  /* struct record_thread: the thread that uses the slot from now on */
	RECORD_MODULE,	  /* struct record_module */
	RECORD_NOTE,	  /* struct record_note: an event that is not a call */
	RECORD_HEAP,	  /* struct record_heap */
	RECORD_CONTEXT,	  /* struct record_name: a context that the program defined */
	RECORD_CLASS,	  /* struct record_name: a class of resource that the program defined */
	RECORD_FUNCTIONS, /* struct record_functions */
	RECORD_SHORT,	  /* struct record_short */
};

enum record_state {
	RECORD_FILLING = 1,
	RECORD_DONE,
	RECORD_ABANDONED,
};

/* The header of every record. Records are multiples of 8 bytes long. */
struct record {
	uint32_t length; /* length of the whole record in bytes */
	uint8_t state;	 /* enum record_state */
	uint8_t kind;	 /* enum record_kind */
	uint16_t more;	 /* its meaning depends on kind */
	uint64_t time;	 /* in ticks: when the event happened; records are sorted by this time */
};

/*
 * One event of a call. After the struct follow the hook's arguments: first `numbers` numbers of 8
 * bytes, then texts, each NUL-terminated, of `text` bytes together, padded to a multiple of 8. Then
 * follow `fresh` frames of 8 bytes. A record of a further part or half of a call has no arguments
 * (`numbers` and `text` are 0).
 *
 * The thread's backtrace consists of the new frames, innermost first, and the `kept` outermost
 * frames of the last record. If cut is not 0, the call's backtrace is only the innermost `cut`
 * frames; the other frames are for later records. A record with CALL_NO_BACKTRACE has no backtrace
 * and does not change the thread's. A record with RECORD_ASIDE (from a signal handler in the middle
 * of another record) has its whole backtrace in its new frames, and does not change the thread's
 * either.
 */
struct record_call {
	struct record record; /* more: the hook's number */
	uint64_t enter;	      /* in ticks */
	uint64_t leave;	      /* in ticks; 0 in a first half */
	uint64_t call;	      /* number of the call in its thread, from 1 */
	uint64_t object;
	uint64_t related;
	uint64_t size;
	uint64_t result;
	uint64_t frame;
	int32_t error;
	uint16_t depth;
	uint16_t kept;
	uint16_t fresh;
	uint16_t text;
	uint8_t operation; /* enum operation */
	/* enum moment: ENTER, LEAVE, HALF, or SPLIT (see RECORD_MOVED_PART) */
	uint8_t moment;
	uint8_t part;
	uint8_t flags; /* enum call_flag, and RECORD_ASIDE */
	/* enum resource of this part, if the call succeeded */
	uint8_t resource;
	/* number of 8-byte arguments; ARGUMENT_TIME takes two: s, ns */
	uint8_t numbers;
	/* number of frames in the backtrace; 0: all */
	uint16_t cut;
	int32_t cpu; /* -1: unknown */
	uint32_t context;
};

#define RECORD_ASIDE 0x80u

/*
 * The record of most calls, which have one part. Values that it omits are 0, or those of the last
 * record of a call in the ring (struct record_model). After the struct come: with SHORT_RELATED,
 * the related object in 8 bytes; with SHORT_MORE, struct short_more and the arguments; then `fresh`
 * frames. The backtrace is as in record_call; without a backtrace, `kept` is SHORT_NO_BACKTRACE.
 * SHORT_SPLIT has the meaning of MOMENT_SPLIT: the record is SHORT_RELATED, the call succeeded, and
 * the time is that of the first event, the entry.
 */
struct record_short {
	struct record record; /* more: the hook's number */
	uint64_t object;
	uint32_t size;
	int32_t frame; /* difference to the model's frame */
	uint16_t kept;
	uint16_t fresh;
	uint8_t call; /* difference to the model's call */
	uint8_t depth;
	uint8_t form;	  /* operation, and enum short_form */
	uint8_t resource; /* enum resource, SHORT_MORE and SHORT_SPLIT */
};

enum short_form {
	SHORT_OPERATION = 15,  /* the bits of the operation */
	SHORT_LEAVES = 1 << 4, /* MOMENT_LEAVE; otherwise MOMENT_ENTER */
	SHORT_MADE = 1 << 5,   /* the result is the object; otherwise 0 */
	SHORT_RELATED = 1 << 6,
	/*
	 * no other call was open when this call began, so no later record in the ring has an
	 * earlier time
	 */
	SHORT_CLOSES = 1 << 7,
};

#define SHORT_NO_BACKTRACE UINT16_MAX
#define SHORT_MORE	   0x80u
#define SHORT_SPLIT	   0x40u
_Static_assert(RESOURCES_MAX < SHORT_SPLIT, "the flags need bits that no resource uses");

/*
 * The part of a short record for a call that took time, has arguments or failed. If it is missing,
 * all its values are 0. The arguments follow as in record_call, padded to 8 bytes, at most
 * SHORT_VALUES_MAX bytes.
 */
struct short_more {
	/* ticks from entry to return; record.time is one of these two times */
	uint32_t lasted;
	uint16_t text;
	uint8_t numbers;
	uint8_t error; /* errno or another reason of the failure; 0: the call did not fail */
};

#define SHORT_VALUES_MAX 512u

/* Bytes of a call's arguments. */
static inline uint32_t values_size(uint32_t numbers, uint32_t text)
{
	return (numbers * 8 + text + 7) & ~7u;
}

/* Bytes of a short record before struct short_more and its frames. */
static inline uint32_t short_size(uint8_t form)
{
	return (uint32_t)sizeof(struct record_short) + (form & SHORT_RELATED ? 8u : 0u);
}

/*
 * The values of the last call record in a ring (RECORD_CALL without RECORD_ASIDE, or RECORD_SHORT).
 * The library and the collector both remember them. They are unknown for a new thread, or after a
 * jump out of a function that was writing a record.
 */
struct record_model {
	uint64_t call;
	uint64_t frame;
	int32_t cpu;
	uint32_t context;
	uint16_t cut;
	uint8_t flags; /* CALL_CUT or 0 */
	bool is_known;
};

/*
 * The part of a call whose record has MOMENT_SPLIT. Such a record is two events: `related` was
 * released at entry, as this part of the call, and `object` was acquired at return. So a realloc()
 * needs only one record.
 */
#define RECORD_MOVED_PART 1u

/* The thread that wrote the following records. Its remembered backtrace is empty. */
struct record_thread {
	struct record record;
	int32_t thread;
	int32_t creator_thread;
	uint64_t pthread;
	/* number of the pthread_create call that created the thread; 0: unknown */
	uint64_t creator;
};

/*
 * record.more of a module that each thread reports itself. Other modules have a number, by which
 * the collector knows that another thread has reported them.
 */
#define MODULE_WITHOUT_NUMBER UINT16_MAX

/*
 * A module, written before the first event with a frame in it. The module's path and its build-id
 * follow the struct.
 */
struct record_module {
	struct record record;
	uint64_t base;	/* start of the executable mapping, minus its file offset */
	uint64_t start; /* start of the executable mapping */
	uint64_t end;
	uint64_t offset;
	uint16_t path_size; /* including the NUL */
	uint16_t build_id_size;
	uint32_t pad;
};

/*
 * A note. Its texts follow, each NUL-terminated: the name of the note, then pairs of names and
 * values.
 */
struct record_note {
	struct record record; /* more: the number of pairs */
	uint32_t text;	      /* bytes of the texts that follow */
	uint32_t pad;
};

/* The heap of brk(2), as it was at exit. */
struct record_heap {
	struct record record;
	uint64_t bottom, top;
};

/*
 * Addresses of the hooks' real functions in this process, by hook: `count` numbers of 8 bytes
 * follow. They are not written to the stream as they are: at the end, the collector writes the
 * addresses of the functions that were called.
 */
struct record_functions {
	struct record record;
	uint32_t count;
	uint32_t pad;
};

/* A name that the program defined. The name and a description follow, each NUL-terminated. */
struct record_name {
	struct record record;
	uint32_t id;	    /* a context's bit, or a class's number */
	uint32_t flags;	    /* flags of the RESR packet */
	uint16_t name_size; /* including the NUL */
	uint16_t description_size;
	uint32_t pad;
};

/*
 * Maximum size of a record in bytes: a call with all frames and two paths. Producers truncate each
 * text to ARENA_TEXT_MAX bytes.
 */
#define ARENA_TEXT_MAX	 4096u
#define ARENA_RECORD_MAX 16384u

_Static_assert(sizeof(struct record) == 16, "records are laid out by hand");
_Static_assert(sizeof(struct record_call) % 8 == 0, "frames follow aligned");
_Static_assert(sizeof(struct record_short) == 40, "what follows it is aligned");
_Static_assert(sizeof(struct short_more) == 8, "what follows it is aligned");
_Static_assert(OPERATION_COUNT <= SHORT_OPERATION + 1, "an operation is a part of form");

#endif
