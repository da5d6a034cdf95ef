/* SPDX-License-Identifier: MIT */
#ifndef ARENA_H
#define ARENA_H

/*
 * The shared memory between the programs that are traced and the collector: one memfd, mapped
 * once by each. Header, table of processes, table of slots; then each slot's own pages and its
 * ring. Who writes what stands beside every field; nothing has two writers but what says so.
 *
 * Order of memory: a record is published by storing its state with release after its bytes; the
 * collector loads state with acquire. head is stored with release after the header of the
 * newest record. floor: see struct slot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "settings.h"
#include "terms.h"

#define ARENA_MAGIC	  0x61656e6172617468ull /* "htarane" + a */
#define ARENA_ENVIRONMENT "HOLDTRACE_ARENA"
/* "ID:PID:FD": session id as 32 hex digits, the collector's pid, its descriptor of the memfd. */
#define ARENA_SOCKET_PREFIX "holdtrace-" /* abstract socket: this and the id */
#define ARENA_PROCESSES	    4096u
#define ARENA_SLOTS	    1024u
#define ARENA_RING_SIZE	    (1u << 20)
#define ARENA_FRAMES_MAX    500u
#define ARENA_MEMORY_MAX    640u /* kept and fresh frames of a record together, cut included */
#define ARENA_OPEN_MAX	    64u
#define ARENA_WAKE_STEP	    (64u << 10) /* a producer looks for a sleeper once in so many bytes */

/* Numbers of slots to try: where RLIMIT_AS is small there are fewer rather than none. */
#define ARENA_SLOT_COUNTS ARENA_SLOTS, 256, 32, ARENA_SLOTS_LEAST
#define ARENA_SLOTS_LEAST 4u

enum arena_state {
	ARENA_STARTING, /* the collector has not said anything yet */
	ARENA_RUNNING,	/* the output exists; events are taken */
	ARENA_FAILED,	/* the collector could not start; the library stays silent */
	ARENA_COMPLETE, /* everything has been written; nobody is attached any more */
};

/* How ticks are counted; one for all processes of a run. */
enum arena_clock {
	ARENA_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC in ns */
	ARENA_CLOCK_COUNTER,   /* the processor's counter: invariant TSC, cntvct */
};

enum process_state {
	PROCESS_NONE,
	PROCESS_ATTACHING, /* being filled in */
	PROCESS_ALIVE,
	PROCESS_GONE, /* collector: its stream is complete */
};

/* One process image that attached: a program's start, a fork's child, what exec made. */
struct arena_process {
	uint32_t state; /* enum process_state; claimed by compare-and-swap */
	int32_t pid;	/* in its own pid namespace */
	int32_t parent_pid;
	uint32_t parent;	   /* index of the process it was forked from, or WIRE_NO_STREAM */
	uint32_t stream;	   /* number of its stream, from 0: next_stream at the time */
	uint32_t flags;		   /* enum process_flag */
	uint64_t start;		   /* ticks */
	uint64_t lost[LOSS_COUNT]; /* atomic adds: what belongs to no slot */
	char name[64];		   /* last part of argv[0] or of the executable, cut to fit */
	int32_t told_status;	   /* PROCESS_TOLD: as wait(2) gave it to the parent */
	uint32_t reserved;
	uint64_t ended; /* ticks: when it said that it ends or becomes another program; 0: it has not */
};

enum process_flag {
	PROCESS_FORKED = 1 << 0, /* made by a fork: no exec of its own */
	PROCESS_EXITED = 1 << 1, /* exit() ran to its end */
	PROCESS_FAILED = 1 << 2, /* the library fell silent: failure says why */
	PROCESS_TOLD = 1 << 3,	 /* its parent has waited for it: set after told_status */
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

enum slot_state {
	SLOT_FREE,
	SLOT_TAKING, /* being prepared by its new thread */
	SLOT_TAKEN,
	SLOT_LEFT, /* hint of its own thread: about to end; taken over once the thread is dead */
};

/*
 * Whose a slot is; this table lies in the header, since a slot's own pages are opened only by the
 * process that takes it. A free one is taken by compare-and-swap on state; one of a dead thread of
 * the same process by compare-and-swap on thread: the dead one's records stay in the ring before
 * the new one's, and RECORD_THREAD says where it changes hands. Given back by the collector when
 * the process is gone.
 */
struct arena_owner {
	uint32_t state;	  /* enum slot_state */
	uint32_t process; /* index of its process; set before state is SLOT_TAKEN */
	int32_t thread;	  /* kernel's thread id */
	uint32_t ready;	  /* 1 once the slot may be read by the collector */
};

/* A thread's place: its own pages, its ring is apart (arena_ring). */
struct slot {
	/* the producer's line */
	/*
	 * Lower bound of the time of anything that this thread has not yet published; 0 when
	 * there is nothing. Stored before the clock is read. The collector's membarrier stands in
	 * for the fence between the two.
	 */
	uint64_t floor;
	uint64_t head; /* bytes ever reserved whose headers are written */
	uint64_t pthread;
	uint64_t lost[LOSS_COUNT]; /* written by the thread alone; they add up over its threads */
	/* the collector's line */
	uint64_t tail __attribute__((aligned(64))); /* bytes ever consumed; futex of a full ring */
	uint32_t waiting; /* producer: 1 while it sleeps on tail; collector wakes it */
	/* open calls, innermost last */
	uint32_t open_count
		__attribute__((aligned(64))); /* may exceed ARENA_OPEN_MAX: the rest is not shown */
	struct arena_open open[ARENA_OPEN_MAX];
	/* the thread's current backtrace, outermost first, and its serial number */
	uint32_t stack_serial;
	uint32_t stack_count;
	uint64_t stack[ARENA_FRAMES_MAX];
	/* what follows up to ARENA_SLOT_SIZE is the library's own */
};

#define ARENA_SLOT_SIZE (80u << 10)

/* What `holdtrace ctl` asks the collector to do with the whole run. */
enum control_command {
	CONTROL_NONE,
	CONTROL_START,	  /* record */
	CONTROL_STOP,	  /* record nothing */
	CONTROL_MARK,	  /* text goes into all streams */
	CONTROL_SNAPSHOT, /* what was recorded up to now can be read from the files */
};

/*
 * One request at a time. Who asks takes it by compare-and-swap on holder, fills it, moves asked on
 * and waits until answered is the same. The collector looks between two rounds.
 */
struct arena_control {
	uint32_t holder; /* pid of who asks, 0: nobody */
	uint32_t asked;
	uint32_t command;  /* enum control_command */
	int32_t pid;	   /* of the process that was named: its stream comes first in the answer */
	uint32_t answered; /* futex; written by the collector, after the answer */
	char text[1024];
	char answer[8192]; /* paths of the streams, each with a newline */
};

struct arena {
	uint64_t magic;
	uint64_t contract;   /* hash of the tables: two builds never misread each other */
	uint64_t size;	     /* bytes of the whole memfd */
	uint64_t session[2]; /* random */
	uint32_t slots;	     /* number of slots that exist: ARENA_SLOTS or less */
	uint32_t slot_size;  /* distance between slots' own pages */
	uint64_t slots_offset;
	uint64_t rings_offset;
	uint32_t ring_size;
	uint32_t clock;	  /* enum arena_clock; settled once state is ARENA_RUNNING */
	uint32_t machine; /* ELF's number of the processor that the programs are made for */
	/* collector */
	uint32_t state __attribute__((aligned(64))); /* enum arena_state; futex */
	int32_t collector;			     /* its pid as its parent saw it */
	uint64_t heartbeat; /* moves whenever the collector consumed something or looked and found
			       nothing */
	uint32_t sleeping;  /* 1: wake it by the futex on this word */
	uint32_t detached;  /* futex: streams completed so far */
	char failure[512];  /* what failed, as a sentence; set before ARENA_FAILED or while running
			     */
	/* anybody, atomically */
	uint32_t next_stream __attribute__((aligned(64)));
	uint32_t slots_used; /* one more than the highest slot ever taken */
	uint32_t processes_used;
	uint32_t paused; /* moves at each change; odd: calls that begin are not recorded */
	/* maker, before the collector starts: names the first file; 0: it is made at the first
	 * attach */
	int32_t starter;       /* pid of the first process */
	char starter_name[64]; /* as arena_process.name */
	/* launcher: how its child ended, before anybody could forget it (as wait(2) says it) */
	int32_t told_status;
	int32_t told_pid; /* set last; 0: it has not ended */
	struct settings settings;
	struct arena_owner owners[ARENA_SLOTS];
	struct arena_process processes[ARENA_PROCESSES];
	struct arena_control control;
};

enum record_kind {
	RECORD_PAD,	/* nothing: skip to the start of the ring */
	RECORD_CALL,	/* struct record_call */
	RECORD_THREAD,	/* struct record_thread: the slot changes hands, or a process begins */
	RECORD_MODULE,	/* struct record_module */
	RECORD_NOTE,	/* struct record_note: a ~ call */
	RECORD_HEAP,	/* struct record_heap */
	RECORD_CONTEXT, /* struct record_name: a context of the program's */
	RECORD_CLASS,	/* struct record_name: a class of resource of the program's own */
	RECORD_FUNCTIONS, /* struct record_functions */
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
 * A record with MOMENT_SPLIT is two events: related was given back at entry, as this part of the
 * call, and object gained at return. So realloc costs one record.
 */
#define RECORD_MOVED_PART 1u

/* From here on the slot speaks for this thread; its remembered backtrace is empty. */
struct record_thread {
	struct record record;
	uint32_t process;
	int32_t thread;
	uint64_t pthread;
	uint64_t creator; /* call number of the pthread_create that made it, 0 if unknown */
	int32_t creator_thread;
	uint32_t pad;
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

/* mallinfo2 at exit. */
struct record_heap {
	struct record record;
	uint64_t bottom, top;
	uint64_t number[10]; /* in the order of HINF */
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

/* Whether so many bytes leave a process with this RLIMIT_AS most of its address space. */
static inline bool arena_leaves_room(uint64_t size, uint64_t limit)
{
	return size <= limit / 4;
}

/* The geometry of an arena with so many slots. */
static inline void arena_lay_out(struct arena *arena, uint32_t slots)
{
	arena->slots = slots;
	arena->slot_size = ARENA_SLOT_SIZE;
	arena->ring_size = ARENA_RING_SIZE;
	arena->slots_offset = (sizeof(*arena) + 0xffff) & ~0xffffull;
	arena->rings_offset =
		(arena->slots_offset + (uint64_t)slots * ARENA_SLOT_SIZE + 0xffff) & ~0xffffull;
	arena->size = arena->rings_offset + (uint64_t)slots * ARENA_RING_SIZE;
}

static inline struct slot *arena_slot(struct arena *arena, uint32_t i)
{
	return (struct slot *)((char *)arena + arena->slots_offset +
			       (uint64_t)i * arena->slot_size);
}

static inline char *arena_ring(struct arena *arena, uint32_t i)
{
	return (char *)arena + arena->rings_offset + (uint64_t)i * arena->ring_size;
}

#endif
