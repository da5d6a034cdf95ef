/* SPDX-License-Identifier: MIT */
#ifndef ARENA_H
#define ARENA_H

/*
 * The memory between the programs that are traced and the collector. A run has one *board*, which
 * the collector writes and every program reads. A process image has an *arena*, which it makes
 * itself and hands to the collector: chunks of memory, each a sealed memfd of its own with a page
 * for its head, slots, and a ring for each slot. Who writes what stands beside every field; nothing
 * has two writers but what says so.
 *
 * Nobody trusts what another may write: the producer keeps its own positions in private memory and
 * takes from a slot only the tail, within what it knows; the collector knows the geometry from the
 * message that came with the memory, and copies before it checks.
 *
 * Order of memory: a record is published by storing its state with release after its bytes; the
 * collector loads state with acquire. head is stored with release after the header of the
 * newest record. floor: see struct slot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "settings.h"
#include "terms.h"

#define BOARD_MAGIC	  0x6472616f62617468ull /* "htaboard" */
#define BOARD_ENVIRONMENT "HOLDTRACE_ARENA"
/*
 * "IDSECRET:PID:FD": session id and secret as 32 hex digits each, the collector's pid, its
 * descriptor of the board. For the program that the run begins with BOARD_FIRST stands behind it.
 */
#define BOARD_FIRST	    '!'
#define BOARD_SOCKET_PREFIX "holdtrace-" /* abstract socket: this and the id */
#define BOARD_NAME	    "holdtrace"
#define ARENA_NAME	    "holdtrace-arena"

#define ARENA_RING_LEAST (64u << 10) /* a ring begins so large … */
#define ARENA_RING_MOST	 (1u << 20)  /* … and grows, four times each time, up to this, … */
/*
 * … within this, for all rings of a process, divided by its threads. A lone thread that fills its
 * ring for ever waits less in 256 KiB than in 64 and hardly less in 1 MiB. Four that hand a lock
 * round, and the one that began them, have 1 MiB each: whoever waits for room with the lock lets
 * all of them wait, and they wait a quarter as often as in 256 KiB, and wake the collector a third
 * as often. The more threads there are the less is gained: of eight or more that fill their rings
 * for ever smaller ones cost less, as they stay in the caches. Whoever finds no room waits, so
 * nothing is lost by it.
 */
#define ARENA_RINGS_BUDGET (6u << 20)
#define ARENA_SLOTS_FIRST  2u	/* slots of a first chunk; each further one has twice as many */
#define ARENA_SLOTS_MOST   512u /* of one chunk */
#define ARENA_CHUNKS	   64u	/* of one process */
#define ARENA_SPARES	   64u	/* of a first chunk */
#define ARENA_SPARES_MOST  512u
#define ARENA_FRAMES_MAX   500u
#define ARENA_MEMORY_MAX   640u /* kept and fresh frames of a record together, cut included */
#define ARENA_OPEN_MAX	   64u
/* Producers look for a sleeping collector once in so many bytes, or in a quarter of their ring. */
#define ARENA_WAKE_STEP (256u << 10)
#define ARENA_TOLD	32u

enum board_state {
	BOARD_STARTING, /* the collector has not said anything yet */
	BOARD_RUNNING,	/* the output exists; events are taken */
	BOARD_FAILED,	/* the collector could not start; the library stays silent */
	BOARD_COMPLETE, /* everything has been written; nobody is attached any more */
};

/* How ticks are counted; one for all processes of a run. */
enum board_clock {
	BOARD_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC in ns */
	BOARD_CLOCK_COUNTER,   /* the processor's counter: invariant TSC, cntvct */
};

/*
 * What all of a run know. Its maker and the collector map it before it is sealed against further
 * writers; programs map it to read.
 */
#define LIBC_ID_MAX 32

/*
 * Where the hooked functions lie in a libc, which is known by its build-id: who has the same one
 * need not look for each of them.
 */
struct libc_places {
	uint32_t id_size; /* 0: not known */
	uint8_t id[LIBC_ID_MAX];
	uint32_t place[HOOK_COUNT]; /* from where it is loaded; 0: to be looked for */
};

/* Names of the maker's descriptors 0, 1 and 2, as far as they are no longer than that. */
#define BOARD_STANDARDS	   3
#define BOARD_STANDARD_MAX 128

struct board {
	uint64_t magic;
	uint64_t contract;   /* hash of the tables: two builds never misread each other */
	uint64_t size;	     /* bytes of the memfd */
	uint64_t session[2]; /* random */
	uint64_t secret[2];  /* random: who knows it belongs to the run */
	uint32_t clock;	     /* enum board_clock; settled once state is BOARD_RUNNING */
	uint32_t machine;    /* ELF's number of the processor that the programs are made for */
	/* collector */
	uint32_t state __attribute__((aligned(64))); /* enum board_state; futex */
	int32_t collector;			     /* its pid as its parent saw it */
	uint64_t heartbeat;   /* moves whenever the collector consumed something or looked and found
				 nothing */
	uint64_t rounds;      /* times that it looked into all rings */
	uint32_t sleeping;    /* odd: it sleeps on this word, and this is which sleep; futex */
	uint32_t detached;    /* futex: streams completed so far */
	uint32_t attached;    /* streams begun so far */
	uint32_t alive;	      /* processes of these that have not ended */
	uint32_t left_out;    /* processes that --follow did not choose */
	uint32_t left_unsaid; /* of these, those that stand in no stream */
	uint32_t settled;     /* 1: all who attached before told_pid was set are counted; futex */
	int32_t door;	      /* its descriptor of a socket that has a path, for other network
				 namespaces; -1: none */
	uint32_t crowded;     /* enum crowd: newcomers should wait for a moment */
	uint32_t ring_most;   /* bytes that a ring may grow to */
	uint32_t rings_budget;
	char failure[512]; /* what failed, as a sentence; set before BOARD_FAILED or while running
			    */
	uint32_t paused __attribute__((aligned(64))); /* moves at each change; odd: calls that begin
							 are not recorded; futex */
	/* maker, before the collector starts: names the first file; 0: it is made at the first
	 * attach */
	int32_t guest;	       /* a process whose network the collector listens in, too; 0: none */
	int32_t starter;       /* pid of the first process */
	char starter_name[64]; /* as arena_hello.name */
	struct libc_places libc;
	char standard[BOARD_STANDARDS][BOARD_STANDARD_MAX]; /* empty: not known */
	int32_t maker; /* its pid, to ask it for other names of them; 0: it has none */
	/* launcher: how its child ended, before anybody could forget it (as wait(2) says it) */
	int32_t told_status;
	int32_t told_pid; /* set last; 0: it has not ended */
	struct settings settings;
};

/* Whose processes are more than the collector has finished with; bits of board.crowded. */
enum crowd {
	CROWD_OF_OWNER = 1 << 0, /* of the run's owner and of root */
	CROWD_OF_OTHERS = 1 << 1,
};

enum process_flag {
	PROCESS_FORKED = 1 << 0,   /* made by a fork: no exec of its own */
	PROCESS_EXITED = 1 << 1,   /* exit() ran to its end */
	PROCESS_ATTACHED = 1 << 2, /* it ran before, without us */
	PROCESS_DETACHED = 1 << 3, /* it goes on without us */
	PROCESS_DROPPED = 1 << 4,  /* the program that it executed has no library by LD_PRELOAD */
	PROCESS_GIVEN = 1 << 5,	   /* it has */
	PROCESS_HIDDEN = 1 << 6,   /* it had, but the library is not where it runs */
};

/*
 * What a process says when it hands over memory, with the descriptor of it: to the socket, without
 * waiting for an answer; or beside a spare that it took.
 */
struct arena_hello {
	uint64_t contract;
	uint64_t secret[2];
	uint64_t key[2];	/* of the image: its start in ticks, and its pid */
	uint64_t parent[2];	/* key of the one that it was forked from; 0: none */
	uint32_t parent_stream; /* number of that one's stream, if it knew, or WIRE_NO_STREAM */
	uint32_t chunk;		/* 0: a new image; else one more for it */
	uint32_t slots;
	uint32_t ring_size; /* bytes of address for each ring */
	uint32_t spares;
	int32_t pid; /* in its own pid namespace */
	int32_t parent_pid;
	uint32_t flags; /* enum process_flag */
	uint64_t start; /* ticks */
	char name[64];	/* last part of argv[0] or of the executable, cut to fit */
};

/* A call that is under way, for threads that are killed or blocked. Written by its thread. */
struct arena_open {
	uint16_t hook;
	uint16_t half;	 /* class of what its first half gave away: it may come back */
	uint32_t serial; /* of slot.stack that shows its backtrace, if it is still the same */
	uint64_t object;
	uint64_t related;
	uint64_t enter; /* ticks */
	uint64_t frame; /* caller's stack pointer after the return */
	uint64_t call;
	uint64_t ip; /* return address in the caller */
};

/* A thread's place; its ring is apart (chunk_ring). */
struct slot {
	/* the producer's lines */
	/*
	 * Lower bound of the time of anything that this thread has not yet published; 0 when
	 * there is nothing. Stored before the clock is read. The collector's membarrier stands in
	 * for the fence between the two.
	 */
	uint64_t floor;
	/*
	 * Bytes ever reserved whose headers are written. Records are multiples of 8 bytes long; the
	 * low bits say how large the ring is (ring_bytes()). It grows only where every byte that
	 * is not yet consumed lies at the same place in both.
	 */
	uint64_t head;
	uint64_t pthread;
	int32_t thread;		   /* kernel's thread id */
	uint32_t state;		   /* enum slot_state */
	uint64_t lost[LOSS_COUNT]; /* written by the thread alone; they add up over its threads */
	uint64_t uncontended;	   /* likewise: locks that were had at once (--locks=contended) */
	/* the collector's line */
	uint64_t tail __attribute__((aligned(64))); /* bytes ever consumed; futex of a full ring */
	uint32_t waiting; /* producer: 1 while it sleeps on tail; collector wakes it */
	/* open calls, innermost last */
	uint32_t open_count
		__attribute__((aligned(64))); /* may exceed ARENA_OPEN_MAX: the rest is not shown */
	/* the thread's current backtrace, outermost first, and its serial number */
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
	SLOT_LEFT,     /* its thread is about to end, or has */
	SLOT_CLEANING, /* collector: gives back the pages of its ring; nobody takes it meanwhile */
};

struct arena_own {
	uint64_t from, to;
};

#define ARENA_OWN 20u /* ranges; most have some ten */

/* What children a process had when it ended. */
enum arena_children {
	CHILDREN_UNKNOWN,
	CHILDREN_NONE,
	CHILDREN_RUNNING, /* and none that has ended */
	CHILDREN_ENDED,	  /* one at least that was not waited for */
};

/* What a process did past all hooks, as far as the library noticed; a bit each. */
enum arena_past {
	PAST_NAMESPACE, /* its loader made another link namespace: libraries with a libc of their
			   own */
	PAST_MEMORY,	/* syscall(2): mapped memory that blocks can be made of */
	PAST_MAPPING,	/* syscall(2), as all that follow */
	PAST_FD,
	PAST_PROCESS,
	PAST_COUNT
};

/* The head of a chunk. All but used belongs to the process, and counts in its first one alone. */
struct arena {
	uint32_t used;	  /* one more than the highest slot ever taken */
	uint32_t chunks;  /* that are made; before the last of them is used */
	uint32_t flags;	  /* enum process_flag that come later; atomic or */
	uint32_t toggles; /* times that the signal asked for a pause or its end; atomic */
	uint32_t stream;  /* collector: 1 and the number of its stream */
	uint64_t ended;	  /* ticks: when it said that it ends or becomes another program; 0: not */
	uint64_t lost[LOSS_COUNT]; /* atomic adds: what belongs to no slot */
	uint32_t descriptors;	   /* that the kernel had open for it at its end; 0: not known */
	uint32_t children;	   /* enum arena_children, likewise */
	uint32_t past;		   /* a bit for each enum arena_past; atomic or */
	/*
	 * How children ended, as wait(2) gave it to this process: the newest ones, each the pid in
	 * the upper half and the status.
	 */
	uint32_t told_count;
	uint64_t told[ARENA_TOLD];
	/*
	 * At its end it may wait to be scanned: the thread that does, 0: none. The collector moves
	 * beat while the scan gets on, and sets released when the process may go; futex.
	 */
	int32_t ending;
	uint32_t scan_beat, released;
	/*
	 * Of each chunk: private memory of the library's from here to there, which remembers what
	 * stood on stacks; it keeps nothing alive.
	 */
	uint64_t own_from, own_to;
	/* Of a further chunk, written before chunks counts it: its number of slots, bytes of a
	 * ring. */
	uint32_t slots, ring_size;
	/* Other private memory of it that an attach before left, a range each; 0: none. */
	struct arena_own own[ARENA_OWN];
};

/* A process with one thread and no calls touches one page of head and slots: no more than needed.
 */
#define ARENA_HEAD_SIZE 1024u
_Static_assert(sizeof(struct arena) <= ARENA_HEAD_SIZE, "slots lie behind the head");

enum spare_state {
	SPARE_FREE,
	SPARE_FILLING, /* claimed by compare-and-swap */
	SPARE_READY,   /* process: the collector may have it */
	SPARE_KNOWN,   /* collector; it becomes free again when its process has ended */
};

/*
 * A place for a process that can make or hand over no memory: a fork's child in a jail. It lies
 * behind the first chunk of whoever was outside, with one slot and one small ring, and is the only
 * part of that memory that a fork's child keeps.
 */
struct arena_spare {
	uint32_t used;	/* in the place before the first: one more than the highest ever taken */
	uint32_t state; /* enum spare_state */
	struct arena head;
	struct arena_hello hello;
};

#define ARENA_SPARE_SIZE 1024u
_Static_assert(sizeof(struct arena_spare) <= ARENA_SPARE_SIZE, "spares are counted by it");

/*
 * All chunks of a process lie in one file, which is made so large at once and has holes. Each side
 * maps a chunk and the beginning of the next one. From there mremap() makes the mapping of the next
 * one, without a descriptor.
 */
#define ARENA_FILE_MOST (64ull << 30)
#define ARENA_LINK	ARENA_RING_LEAST

/* Where everything of a chunk lies, in bytes from its start. */
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

/* The bits of a position in a ring that say how large the ring is. */
#define RING_LEVEL 7ull

/* How large the ring is at this head, in bytes; more than ARENA_RING_MOST: no such ring. */
static inline uint64_t ring_bytes(uint64_t head)
{
	return (uint64_t)ARENA_RING_LEAST << 2 * (head & RING_LEVEL);
}

/* Producers look for a sleeping collector once in so many bytes. */
static inline uint64_t ring_step(uint64_t bytes)
{
	return bytes / 4 < ARENA_WAKE_STEP ? bytes / 4 : ARENA_WAKE_STEP;
}

/* Whether a chunk may have this form: what is said of it is not believed before. */
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

/* Whether so many bytes leave a process with this RLIMIT_AS most of its address space. */
static inline bool arena_leaves_room(uint64_t size, uint64_t limit)
{
	return size <= limit / 8;
}

/* What `holdtrace ctl` asks the collector to do with the whole run. */
enum control_command {
	CONTROL_NONE,
	CONTROL_START,	  /* record */
	CONTROL_STOP,	  /* record nothing */
	CONTROL_MARK,	  /* text goes into all streams */
	CONTROL_SNAPSHOT, /* what was recorded up to now can be read from the files */
	CONTROL_SCAN,	  /* of the process that was named: what is lost, and who keeps the rest */
	CONTROL_LEFT_OUT, /* a program that --follow did not choose says its name and goes on */
	CONTROL_PROCESS,  /* whose stream has the number in text: its number here, and its pidfd */
	CONTROL_BOARD,	  /* a program that cannot open it wants the board's descriptor */
};

/*
 * A request, sent to the socket without a descriptor. The answer: paths, each with a newline; "+N"
 * stands for N more that had no room.
 */
struct control_request {
	uint64_t contract;
	uint64_t secret[2];
	uint32_t command; /* enum control_command */
	int32_t pid;	  /* of the process that was named: its stream comes first in the answer */
	char text[1024];
};

/* One packet of a socket, whose buffer the kernel makes somewhat larger. */
#define CONTROL_ANSWER_MAX 131072u

enum record_kind {
	RECORD_PAD,	  /* nothing: skip to the start of the ring */
	RECORD_CALL,	  /* struct record_call */
	RECORD_THREAD,	  /* struct record_thread: the slot changes hands */
	RECORD_MODULE,	  /* struct record_module */
	RECORD_NOTE,	  /* struct record_note: a ~ call */
	RECORD_HEAP,	  /* struct record_heap */
	RECORD_CONTEXT,	  /* struct record_name: a context of the program's */
	RECORD_CLASS,	  /* struct record_name: a class of resource of the program's own */
	RECORD_FUNCTIONS, /* struct record_functions */
	RECORD_SHORT,	  /* struct record_short */
};

enum record_state {
	RECORD_FILLING = 1,
	RECORD_DONE,
	RECORD_ABANDONED,
};

/* Every record begins so and is a multiple of 8 bytes long. */
struct record {
	uint32_t length; /* whole record in bytes */
	uint8_t state;	 /* enum record_state */
	uint8_t kind;	 /* enum record_kind */
	uint16_t more;	 /* kind's own */
	uint64_t time;	 /* ticks: when it happened; what the order goes by */
};

/*
 * One event of a call. After the struct: `numbers` numbers of 8 bytes and `text` bytes of texts,
 * each NUL-terminated, padded to 8 together: the hook's arguments, both kinds in their order; then
 * `fresh` frames of 8 bytes. A record without arguments (both 0) belongs to a part or a half.
 * The thread's backtrace is `kept` outer frames of the record before plus the fresh ones, which
 * stand innermost first; if cut is not 0 only the innermost cut ones of them count, and the others
 * are there for records to come. One that has CALL_NO_BACKTRACE has none and changes none. A record
 * that is ASIDE (from a signal handler in the middle of another record) has its whole backtrace in
 * fresh and leaves the remembered one alone.
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
	uint8_t moment;	   /* MOMENT_ENTER, LEAVE, HALF, or SPLIT: see RECORD_MOVED_PART */
	uint8_t part;
	uint8_t flags;	  /* enum call_flag, and RECORD_ASIDE */
	uint8_t resource; /* enum resource of this part, when it succeeded */
	uint8_t numbers;  /* arguments that are no text; ARGUMENT_TIME takes two: s, ns */
	uint16_t cut;	  /* not 0: frames that make the backtrace */
	int32_t cpu;	  /* -1: unknown */
	uint32_t context;
};

#define RECORD_ASIDE 0x80u

/*
 * A call as most are: it has one part, and what is not said here is as in the record of a call
 * before it in the ring (struct record_model), or 0. If it is SHORT_RELATED, what it is related to
 * follows, as 8 bytes; if its resource has SHORT_MORE, struct short_more; then `fresh` frames. The
 * backtrace is as in record_call; kept is SHORT_NO_BACKTRACE where there is none. One whose
 * resource has SHORT_SPLIT is what a record with MOMENT_SPLIT is: it is SHORT_RELATED, succeeded,
 * and its time is that of its first event, its entry, as if it were not to leave.
 */
struct record_short {
	struct record record; /* more: hook */
	uint64_t object;
	uint32_t size;
	int32_t frame; /* less the model's */
	uint16_t kept;
	uint16_t fresh;
	uint8_t call; /* less the model's */
	uint8_t depth;
	uint8_t form;	  /* an operation, and enum short_form */
	uint8_t resource; /* and SHORT_MORE, SHORT_SPLIT */
};

enum short_form {
	SHORT_OPERATION = 15,  /* the bits of that */
	SHORT_LEAVES = 1 << 4, /* MOMENT_LEAVE; else MOMENT_ENTER */
	SHORT_MADE = 1 << 5,   /* the result is the object; else 0 */
	SHORT_RELATED = 1 << 6,
	/* No call was under way when this one began: what follows in the ring is not earlier. */
	SHORT_CLOSES = 1 << 7,
};

#define SHORT_NO_BACKTRACE UINT16_MAX
#define SHORT_MORE	   0x80u
#define SHORT_SPLIT	   0x40u
_Static_assert(RESOURCES_MAX < SHORT_SPLIT, "bits of their own");

/*
 * Of a short record of a call that has a duration or arguments, or failed; all 0 where it is not
 * there. The arguments follow as in record_call, padded to 8 bytes, at most SHORT_VALUES_MAX.
 */
struct short_more {
	uint32_t lasted; /* ticks from entry to return; the record's time is one of them */
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
 * What both sides keep of the last record of a call in a ring, RECORD_CALL or RECORD_SHORT, that is
 * not ASIDE. A thread that begins has none, nor one whose writer was jumped out of.
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
 * A record with MOMENT_SPLIT is two events: related was given back at entry, as this part of the
 * call, and object gained at return. So realloc costs one record.
 */
#define RECORD_MOVED_PART 1u

/* From here on the slot speaks for this thread; its remembered backtrace is empty. */
struct record_thread {
	struct record record;
	int32_t thread;
	int32_t creator_thread;
	uint64_t pthread;
	uint64_t creator; /* call number of the pthread_create that made it, 0 if unknown */
};

/* A module, before the first event that has a frame in it. path and build-id follow, path first. */
struct record_module {
	struct record record;
	uint64_t base;	/* executable mapping's start less its file offset */
	uint64_t start; /* executable mapping */
	uint64_t end;
	uint64_t offset;
	uint16_t path_size; /* with its NUL */
	uint16_t build_id_size;
	uint32_t pad;
};

/* A fact: name and values as texts, each NUL-terminated: name, then pairs. */
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
 * Where the functions behind the hooks begin in this process, by the hook's number: count numbers
 * of 8 bytes follow. Not in the stream: the collector tells those that were called at the end.
 */
struct record_functions {
	struct record record;
	uint32_t count;
	uint32_t pad;
};

/* A name that the program gave. It and its description follow, each NUL-terminated. */
struct record_name {
	struct record record;
	uint32_t id;	    /* a context's bit, a class's ordinal */
	uint32_t flags;	    /* RESR's */
	uint16_t name_size; /* with its NUL */
	uint16_t description_size;
	uint32_t pad;
};

/*
 * Most bytes of a record: a call with all frames and the longest path twice. Producers cut texts
 * to ARENA_TEXT_MAX each.
 */
#define ARENA_TEXT_MAX	 4096u
#define ARENA_RECORD_MAX 16384u

_Static_assert(sizeof(struct record) == 16, "records are laid out by hand");
_Static_assert(sizeof(struct record_call) % 8 == 0, "frames follow aligned");
_Static_assert(sizeof(struct record_short) == 40, "what follows it is aligned");
_Static_assert(sizeof(struct short_more) == 8, "what follows it is aligned");
_Static_assert(OPERATION_COUNT <= SHORT_OPERATION + 1, "an operation is a part of form");

#endif
