/* SPDX-License-Identifier: MIT */
#ifndef ARENA_H
#define ARENA_H

/*
 * The memory that traced programs share with the collector. A run has one *control page*, which the
 * collector writes and every program reads. A process image has an *arena*, which it makes and
 * hands to the collector: chunks of memory, each a sealed memfd with a page for its head, slots,
 * and a ring for each slot. Every field says who writes it; a field has two writers only where that
 * is stated.
 *
 * No side trusts what another one may write. The producer keeps its positions in private memory and
 * reads from a slot only the tail, which it checks. The collector knows the geometry from the
 * message that came with the memory, and copies a record before it checks it.
 *
 * A record is published by a store of its state with release, after its bytes; the collector loads
 * the state with acquire. The head is stored with release, after the header of the newest record.
 *
 *
 * The order of records, and the low watermark
 *
 * A ring is in order of completion, not of time: a thread publishes the record of a call when the
 * call returns, but its time may be that of the entry. So when the collector sees a record, another
 * thread may still publish an earlier one. Each slot therefore has a low watermark: no record that
 * its thread has not published yet is older; 0: the thread has nothing to publish.
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
 * A call that sleeps clears the low watermark before the sleep and sets it again afterwards; what
 * it did before the sleep is then a record of its own (MOMENT_HALF).
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "settings.h"
#include "terms.h"

#define CONTROL_MAGIC	    0x6472616f62617468ull /* "htaboard" */
#define CONTROL_ENVIRONMENT "HOLDTRACE_ARENA"
/*
 * "IDSECRET:PID:FD": session id and secret as 32 hex digits each, the collector's pid, its
 * descriptor of the control page. CONTROL_FIRST follows in the environment of the program with
 * which the run begins.
 */
#define CONTROL_FIRST	      '!'
#define CONTROL_SOCKET_PREFIX "holdtrace-" /* abstract socket: this prefix and the id */
#define CONTROL_NAME	      "holdtrace"
#define ARENA_NAME	      "holdtrace-arena"

#define ARENA_RING_LEAST (64u << 10) /* initial size of a ring … */
#define ARENA_RING_MOST	 (1u << 20)  /* … which grows fourfold each time, up to this, … */
/*
 * … within this budget for all rings of a process, divided by its threads. A lone thread that fills
 * its ring all the time waits less with 256 KiB than with 64, and hardly less with 1 MiB. Four
 * threads that share a lock, and the one that created them, have 1 MiB each: a thread that waits
 * for space with the lock held makes all others wait, and they wait a quarter as often as with 256
 * KiB, and wake the collector a third as often. More threads profit less: with eight or more that
 * fill their rings all the time, smaller rings cost less, because they stay in the caches. A thread
 * without space waits, so no event is dropped.
 */
#define ARENA_RINGS_BUDGET (6u << 20)
#define ARENA_SLOTS_FIRST  2u	/* slots of a first chunk; each further chunk has twice as many */
#define ARENA_SLOTS_MOST   512u /* of one chunk */
#define ARENA_CHUNKS	   64u	/* of one process */
#define ARENA_SPARES	   64u	/* of a first chunk */
#define ARENA_SPARES_MOST  512u
#define ARENA_FRAMES_MAX   500u
#define ARENA_MEMORY_MAX   640u /* kept and new frames of a record, with those that are cut off */
#define ARENA_OPEN_MAX	   64u
/*
 * Producers check after this many bytes, or a quarter of their ring, whether the collector sleeps.
 */
#define ARENA_WAKE_STEP (256u << 10)
#define ARENA_TOLD	32u

enum control_state {
	CONTROL_STARTING, /* the collector has not reported yet */
	CONTROL_RUNNING,  /* the output exists; events are accepted */
	CONTROL_FAILED,	  /* the collector could not start; the library records nothing */
	CONTROL_COMPLETE, /* everything has been written; no process is attached any more */
};

/* The unit of ticks; one for all processes of a run. */
enum control_clock {
	CONTROL_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC in ns */
	CONTROL_CLOCK_COUNTER,	 /* the processor's counter: invariant TSC, cntvct */
};

/*
 * Facts about a run. Its maker and the collector map it before it is sealed against further
 * writers; programs map it read-only.
 */
#define LIBC_ID_MAX 32

/*
 * Addresses of the hooked functions in a libc, which its build-id identifies, so that processes
 * with the same libc do not look them up.
 */
struct libc_places {
	uint32_t id_size; /* 0: not known */
	uint8_t id[LIBC_ID_MAX];
	uint32_t place[HOOK_COUNT]; /* offset from libc's load address; 0: unknown */
};

/* Names of the maker's descriptors 0, 1 and 2; longer names are left out. */
#define CONTROL_STANDARDS    3
#define CONTROL_STANDARD_MAX 128

struct control_page {
	uint64_t magic;
	uint64_t contract;   /* hash of the tables: two builds never misread each other */
	uint64_t size;	     /* bytes of the memfd */
	uint64_t session[2]; /* random */
	uint64_t secret[2];  /* random; proves that a process belongs to the run */
	uint32_t clock;	     /* enum control_clock; final once state is CONTROL_RUNNING */
	uint32_t machine;    /* ELF machine number of the traced programs */
	/* collector */
	uint32_t state __attribute__((aligned(64))); /* enum control_state; futex */
	int32_t collector;			     /* its pid as its parent sees it */
	uint64_t heartbeat;   /* changes whenever the collector took something, or looked and found
			       * nothing */
	uint64_t rounds;      /* rounds through all rings */
	uint32_t sleeping;    /* odd: the collector sleeps on this word; the value identifies the
			       * sleep; futex */
	uint32_t detached;    /* futex: streams completed so far */
	uint32_t attached;    /* streams begun so far */
	uint32_t alive;	      /* of these, processes that have not ended */
	uint32_t left_out;    /* processes that --follow did not choose */
	uint32_t left_unsaid; /* of these, processes that no stream mentions */
	uint32_t settled;     /* 1: all processes that attached before told_pid was set are counted;
			       * futex */
	int32_t listener;     /* descriptor of a listening socket with a path, for other network
			       * namespaces; -1: none */
	uint32_t crowded;     /* enum crowd: new processes should wait for a moment */
	uint32_t ring_most;   /* bytes up to which a ring may grow */
	uint32_t rings_budget;
	char failure[512]; /* error text; set before CONTROL_FAILED, or while running */
	uint32_t paused __attribute__((aligned(64))); /* changes with each pause; odd: new calls are
						       * not recorded; futex */
	/* maker, before the collector starts: names the first file; 0: the first attach makes it */
	int32_t guest;	       /* a process in whose network namespace the collector listens, too;
				* 0: none */
	int32_t starter;       /* pid of the first process */
	char starter_name[64]; /* like arena_hello.name */
	struct libc_places libc;
	char standard[CONTROL_STANDARDS][CONTROL_STANDARD_MAX]; /* empty: unknown */
	int32_t maker; /* pid of the maker, to ask for other names of its descriptors; 0: none */
	/* launcher: status of its child (wait(2)), noted before any program could consume it */
	int32_t told_status;
	int32_t told_pid; /* set last; 0: it has not ended */
	struct settings settings;
};

/* Whose processes exceed what the collector can finish with; bits of control page.crowded. */
enum crowd {
	CROWD_OF_OWNER = 1 << 0, /* the run's owner and root */
	CROWD_OF_OTHERS = 1 << 1,
};

enum process_flag {
	PROCESS_FORKED = 1 << 0,   /* made by fork, without an exec of its own */
	PROCESS_EXITED = 1 << 1,   /* exit() has completed */
	PROCESS_ATTACHED = 1 << 2, /* it ran before, without the library */
	PROCESS_DETACHED = 1 << 3, /* it continues without the library */
	PROCESS_DROPPED = 1 << 4,  /* the program that it executes has no library in LD_PRELOAD */
	PROCESS_GIVEN = 1 << 5,	   /* the program that it executes has one */
	PROCESS_HIDDEN = 1 << 6,   /* the program has one, but the file is not visible there */
};

/*
 * A process sends this to the collector's socket with the descriptor of its memory, without waiting
 * for an answer; or stores it beside a spare that it took.
 */
struct arena_hello {
	uint64_t contract;
	uint64_t secret[2];
	uint64_t key[2];	/* identifies the image: its start in ticks, and its pid */
	uint64_t parent[2];	/* key of the process that forked it; 0: none */
	uint32_t parent_stream; /* number of that process's stream, if it is known, or
				   WIRE_NO_STREAM */
	uint32_t chunk;		/* 0: a new image; else the number of a further chunk */
	uint32_t slots;
	uint32_t ring_size; /* bytes of address space for each ring */
	uint32_t spares;
	int32_t pid; /* in its own pid namespace */
	int32_t parent_pid;
	uint32_t flags; /* enum process_flag */
	uint64_t start; /* ticks */
	char name[64];	/* last component of argv[0] or of the executable, truncated to fit */
};

/* An open call, for threads that are killed or blocked. Written by its thread. */
struct arena_open {
	uint16_t hook;
	uint16_t half;	 /* class of what its first half released, and may acquire again */
	uint32_t serial; /* of slot.stack, if that still is the call's backtrace */
	uint64_t object;
	uint64_t related;
	uint64_t enter; /* ticks */
	uint64_t frame; /* caller's stack pointer after the return */
	uint64_t call;
	uint64_t ip; /* return address in the caller */
};

/* A thread's slot; its ring is elsewhere (chunk_ring). */
struct slot {
	/* the producer's cache lines */
	/*
	 * The low watermark: lower bound of the time of everything that this thread has not
	 * published yet; 0: nothing. Stored before the clock is read; the collector's membarrier
	 * replaces the fence between the two.
	 */
	uint64_t watermark;
	/*
	 * Bytes reserved so far whose headers are written. Records are multiples of 8 bytes long;
	 * the low bits are the size of the ring (ring_bytes()). The ring grows only when every
	 * unread byte has the same place in the larger ring.
	 */
	uint64_t head;
	uint64_t pthread;
	int32_t thread;		   /* kernel's thread id */
	uint32_t state;		   /* enum slot_state */
	uint64_t lost[LOSS_COUNT]; /* written by the thread alone; accumulates over the slot's
				      threads */
	uint64_t uncontended;	   /* likewise: locks acquired without a wait (--locks=contended) */
	/* the collector's cache line */
	uint64_t tail
		__attribute__((aligned(64))); /* bytes consumed so far; futex of a full ring */
	uint32_t waiting; /* producer: 1 while it sleeps on tail; then the collector wakes it */
	/* open calls, innermost last */
	uint32_t open_count __attribute__((
		aligned(64))); /* may exceed ARENA_OPEN_MAX; further calls are not shown */
	/* the thread's current backtrace, outermost frame first, and its serial number */
	uint32_t stack_serial;
	uint32_t stack_count;
	struct arena_open open[ARENA_OPEN_MAX];
	uint64_t stack[ARENA_FRAMES_MAX];
};

#define ARENA_SLOT_SIZE 8192u
_Static_assert(sizeof(struct slot) <= ARENA_SLOT_SIZE, "a slot has two pages");

enum slot_state {
	SLOT_UNUSED,
	SLOT_TAKEN,    /* the collector may read it */
	SLOT_LEFT,     /* its thread is about to end, or has ended */
	SLOT_CLEANING, /* collector: frees the pages of its ring; no thread may take it */
};

struct arena_own {
	uint64_t from, to;
};

#define ARENA_OWN 20u /* ranges; most processes have some ten */

/* What children a process had when it ended. */
enum arena_children {
	CHILDREN_UNKNOWN,
	CHILDREN_NONE,
	CHILDREN_RUNNING, /* and none has ended */
	CHILDREN_ENDED,	  /* at least one has ended that the process has not waited for */
};

/* What a process did past all hooks, as far as the library noticed; a bit each. */
enum arena_past {
	PAST_NAMESPACE, /* the loader made another link namespace, whose libraries have a libc of
			 * their own */
	PAST_MEMORY,	/* syscall(2): memory mapped that an allocator may use */
	PAST_MAPPING,	/* syscall(2), like all that follow */
	PAST_FD,
	PAST_PROCESS,
	PAST_COUNT
};

/*
 * The head of a chunk. Except for used, slots, ring_size and own_*, members count in the first
 * chunk only.
 */
struct arena {
	uint32_t used;	  /* one more than the highest slot ever taken */
	uint32_t chunks;  /* chunks that exist; incremented before the last of them is used */
	uint32_t flags;	  /* enum process_flag, set later; atomic or */
	uint32_t toggles; /* pauses and resumes that the signal asked for; atomic */
	uint32_t stream;  /* collector: number of the stream, plus 1 */
	uint32_t refused; /* collector: number of the first chunk that it does not read, plus 1; 0:
			   * it reads all */
	uint64_t ended;	  /* ticks: when the process reported its end or exec; 0: it has not */
	uint64_t lost[LOSS_COUNT]; /* atomic adds: events that belong to no slot */
	uint32_t descriptors;	   /* open in the kernel at the process's end; 0: unknown */
	uint32_t children;	   /* enum arena_children, likewise */
	uint32_t past;		   /* a bit for each enum arena_past; atomic or */
	/*
	 * Status of ended children, as wait(2) gave it to this process: the newest ones, with the
	 * pid in the upper half.
	 */
	uint32_t told_count;
	uint64_t told[ARENA_TOLD];
	/*
	 * At its end the process may wait to be scanned: the thread that waits, 0: none. The
	 * collector changes scan_beat while the scan makes progress, and sets released when the
	 * process may go on; futex.
	 */
	int32_t ending;
	uint32_t scan_beat, released;
	/*
	 * Of each chunk: range of the library's private memory, which remembers words of stacks; it
	 * keeps no block reachable.
	 */
	uint64_t own_from, own_to;
	/*
	 * Of a further chunk, written before chunks counts it: number of its slots, bytes of a
	 * ring.
	 */
	uint32_t slots, ring_size;
	/* Other private memory that an earlier attach has left, a range each; 0: none. */
	struct arena_own own[ARENA_OWN];
};

/* A process with one thread and no calls touches one page with head and slots. */
#define ARENA_HEAD_SIZE 1024u
_Static_assert(sizeof(struct arena) <= ARENA_HEAD_SIZE, "slots lie behind the head");

enum spare_state {
	SPARE_FREE,
	SPARE_FILLING, /* claimed by compare-and-swap */
	SPARE_READY,   /* process: the collector may read it */
	SPARE_KNOWN,   /* collector; becomes free again when its process has ended */
};

/*
 * Memory for a process that can make or hand over none, such as a child of fork under a seccomp
 * filter: one slot and one small ring, after the first chunk of its nearest ancestor that could
 * make memory. The only part of that memory that the ancestor's children keep.
 */
struct arena_spare {
	uint32_t used;	/* in the entry before the first: 1 + the highest number ever taken */
	uint32_t state; /* enum spare_state */
	struct arena head;
	struct arena_hello hello;
};

#define ARENA_SPARE_SIZE 1024u
_Static_assert(sizeof(struct arena_spare) <= ARENA_SPARE_SIZE, "spares are counted by it");

/*
 * All chunks of a process are in one sparse file, whose size is set once. Both sides map a chunk
 * together with the beginning of the next one. From there mremap() maps the next one, without a
 * descriptor.
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

/* The bits of a head that give the size of the ring. */
#define RING_LEVEL 7ull

/* Size of the ring at this head, in bytes; if above ARENA_RING_MOST the head is invalid. */
static inline uint64_t ring_bytes(uint64_t head)
{
	return (uint64_t)ARENA_RING_LEAST << 2 * (head & RING_LEVEL);
}

/* Producers check after this many bytes whether the collector sleeps. */
static inline uint64_t ring_step(uint64_t bytes)
{
	return bytes / 4 < ARENA_WAKE_STEP ? bytes / 4 : ARENA_WAKE_STEP;
}

/* Whether a chunk may have this geometry; checked before it is used. */
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

/* Whether this many bytes leave most of the address space to a process with this RLIMIT_AS. */
static inline bool arena_leaves_room(uint64_t size, uint64_t limit)
{
	return size <= limit / 8;
}

/* Requests of `holdtrace ctl` and others, for the whole run. */
enum control_command {
	CONTROL_NONE,
	CONTROL_START,	  /* start to record */
	CONTROL_STOP,	  /* stop recording */
	CONTROL_MARK,	  /* write text into all streams */
	CONTROL_SNAPSHOT, /* make everything recorded so far readable in the files */
	CONTROL_SCAN, /* scan the named process for unreachable blocks and for owners of the others
		       */
	CONTROL_LEFT_OUT, /* a program that --follow did not choose reports its name and goes on */
	CONTROL_PROCESS,  /* return the number here and the pidfd of the process whose stream has
			   * the number in text */
	CONTROL_CONTROL, /* return the control page's descriptor to a program that cannot open it */
};

/*
 * A request, sent to the socket without a descriptor. The answer: paths, one a line; "+N" replaces
 * N more that did not fit.
 */
struct control_request {
	uint64_t contract;
	uint64_t secret[2];
	uint32_t command; /* enum control_command */
	int32_t pid;	  /* of the named process: its stream comes first in the answer */
	char text[1024];
};

/* One packet of a socket. The kernel's buffer for it is somewhat larger. */
#define CONTROL_ANSWER_MAX 131072u

enum record_kind {
	RECORD_PAD,	  /* padding up to the end of the ring */
	RECORD_CALL,	  /* struct record_call */
	RECORD_THREAD,	  /* struct record_thread: another thread takes the slot */
	RECORD_MODULE,	  /* struct record_module */
	RECORD_NOTE,	  /* struct record_note: a ~ call */
	RECORD_HEAP,	  /* struct record_heap */
	RECORD_CONTEXT,	  /* struct record_name: a context of the program */
	RECORD_CLASS,	  /* struct record_name: a class of resource of the program */
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
	uint32_t length; /* bytes of the whole record */
	uint8_t state;	 /* enum record_state */
	uint8_t kind;	 /* enum record_kind */
	uint16_t more;	 /* depends on kind */
	uint64_t time;	 /* ticks: when it happened; records are ordered by it */
};

/*
 * One event of a call. The struct is followed by the hook's arguments, both kinds in their order:
 * `numbers` numbers of 8 bytes, then `text` bytes of texts, each NUL-terminated, together padded to
 * 8; then by `fresh` frames of 8 bytes. A record without arguments (both 0) is for a part or a
 * half.
 *
 * The thread's backtrace consists of the `kept` outermost frames of the last record and the fresh
 * ones, innermost first. If cut is not 0 only the innermost cut frames count, and the others are
 * for later records. A record with CALL_NO_BACKTRACE has no backtrace and does not change the
 * thread's. A record with RECORD_ASIDE (from a signal handler in the middle of another record) has
 * its whole backtrace in fresh, and does not change the thread's either.
 */
struct record_call {
	struct record record; /* more: hook */
	uint64_t enter;	      /* ticks */
	uint64_t leave;	      /* ticks; 0 in a first half */
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
	uint8_t moment;	   /* MOMENT_ENTER, LEAVE, HALF, or SPLIT (RECORD_MOVED_PART) */
	uint8_t part;
	uint8_t flags;	  /* enum call_flag, and RECORD_ASIDE */
	uint8_t resource; /* enum resource of this part, if it succeeded */
	uint8_t numbers;  /* arguments that are not texts; ARGUMENT_TIME takes two: s, ns */
	uint16_t cut;	  /* not 0: number of frames in the backtrace */
	int32_t cpu;	  /* -1: unknown */
	uint32_t context;
};

#define RECORD_ASIDE 0x80u

/*
 * The record of most calls: it has one part, and values that it does not have are those of the last
 * record of a call in the ring (struct record_model), or 0. With SHORT_RELATED the related object
 * follows, in 8 bytes; with SHORT_MORE, struct short_more; then `fresh` frames. The backtrace is as
 * in record_call; kept is SHORT_NO_BACKTRACE for a record without one. A record with SHORT_SPLIT is
 * what a record with MOMENT_SPLIT is: it is SHORT_RELATED and succeeded, and its time is that of
 * its first event, the entry.
 */
struct record_short {
	struct record record; /* more: hook */
	uint64_t object;
	uint32_t size;
	int32_t frame; /* minus the model's */
	uint16_t kept;
	uint16_t fresh;
	uint8_t call; /* minus the model's */
	uint8_t depth;
	uint8_t form;	  /* operation, and enum short_form */
	uint8_t resource; /* and SHORT_MORE, SHORT_SPLIT */
};

enum short_form {
	SHORT_OPERATION = 15,  /* the bits of the operation */
	SHORT_LEAVES = 1 << 4, /* MOMENT_LEAVE; else MOMENT_ENTER */
	SHORT_MADE = 1 << 5,   /* the result is the object; else 0 */
	SHORT_RELATED = 1 << 6,
	/*
	 * no call was open when this one began: later records in the ring are not earlier in time
	 */
	SHORT_CLOSES = 1 << 7,
};

#define SHORT_NO_BACKTRACE UINT16_MAX
#define SHORT_MORE	   0x80u
#define SHORT_SPLIT	   0x40u
_Static_assert(RESOURCES_MAX < SHORT_SPLIT, "bits of their own");

/*
 * Part of the short record of a call with a duration or arguments, or that failed; if it is missing
 * all are 0. The arguments follow as in record_call, padded to 8 bytes, at most SHORT_VALUES_MAX.
 */
struct short_more {
	uint32_t lasted; /* ticks from entry to return; the record's time is one of the two */
	uint16_t text;
	uint8_t numbers;
	uint8_t error; /* not 0: it failed */
};

#define SHORT_VALUES_MAX 512u

/* Bytes of the arguments of a call. */
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
 * What both sides remember of the last record of a call in a ring, RECORD_CALL or RECORD_SHORT,
 * without RECORD_ASIDE. Not known for a new thread, or after a writer was left by a jump.
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
 * A record with MOMENT_SPLIT is two events: `related` was released at entry, as this part of the
 * call, and `object` was acquired at return. So realloc costs one record.
 */
#define RECORD_MOVED_PART 1u

/* From here on records are this thread's; its remembered backtrace is empty. */
struct record_thread {
	struct record record;
	int32_t thread;
	int32_t creator_thread;
	uint64_t pthread;
	uint64_t creator; /* number of the pthread_create call that made it, 0: unknown */
};

/* A module, before the first event that has a frame in it. Its path and build-id follow. */
struct record_module {
	struct record record;
	uint64_t base;	/* start of the executable mapping - its file offset */
	uint64_t start; /* executable mapping */
	uint64_t end;
	uint64_t offset;
	uint16_t path_size; /* including the NUL */
	uint16_t build_id_size;
	uint32_t pad;
};

/* A note as texts, each NUL-terminated: its name, then pairs of names and values. */
struct record_note {
	struct record record; /* more: number of pairs */
	uint32_t text;	      /* bytes of text that follow */
	uint32_t pad;
};

/* The heap of brk(2) at exit. */
struct record_heap {
	struct record record;
	uint64_t bottom, top;
};

/*
 * Addresses of the hooks' real functions in this process, indexed by hook: count numbers of 8 bytes
 * follow. Not written to the stream; at the end the collector writes those of functions that were
 * called.
 */
struct record_functions {
	struct record record;
	uint32_t count;
	uint32_t pad;
};

/* A name that the program defined. The name and its description follow, each NUL-terminated. */
struct record_name {
	struct record record;
	uint32_t id;	    /* a context's bit, or a class's ordinal */
	uint32_t flags;	    /* flags of RESR */
	uint16_t name_size; /* including the NUL */
	uint16_t description_size;
	uint32_t pad;
};

/*
 * Maximal bytes of a record: a call with all frames and two paths. Producers truncate each text to
 * ARENA_TEXT_MAX.
 */
#define ARENA_TEXT_MAX	 4096u
#define ARENA_RECORD_MAX 16384u

_Static_assert(sizeof(struct record) == 16, "records are laid out by hand");
_Static_assert(sizeof(struct record_call) % 8 == 0, "frames follow aligned");
_Static_assert(sizeof(struct record_short) == 40, "what follows it is aligned");
_Static_assert(sizeof(struct short_more) == 8, "what follows it is aligned");
_Static_assert(OPERATION_COUNT <= SHORT_OPERATION + 1, "an operation is a part of form");

#endif
