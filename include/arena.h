/* SPDX-License-Identifier: MIT */
#ifndef ARENA_H
#define ARENA_H

/*
 * The memory that traced programs share with the collector. A run has one *control page*, which the
 * collector writes and every program reads. Each process image has an *arena*, which it creates and
 * sends to the collector: chunks of memory in a sealed memfd, each with a head, slots, and a ring
 * for each slot. The comment of a member names the process that writes it. A member has two writers
 * only if its comment names two.
 *
 * Neither side trusts memory that the other side can write. The producer keeps its positions in
 * private memory and reads only the tail of a slot, which it checks. The collector takes the
 * numbers and sizes of slots and rings from the message that came with the memory. It copies each
 * record, and then checks the copy.
 *
 * A thread publishes a record by a store-release of the record's state, after all other bytes; the
 * collector reads the state by a load-acquire. The thread stores the slot's head with release,
 * after the header of the newest record.
 *
 * The order of records, and the low watermark
 *
 * The records of a ring are in the order of completion, not of time: a thread publishes the record
 * of a call when the call returns, but the record's time can be the time of entry. So when the
 * collector sees a record, another thread may still publish an earlier one. Therefore each slot has
 * a low watermark, a time: from now on, the thread publishes no record with an earlier time. A low
 * watermark of 0 means that the thread has nothing to publish.
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
 * Can a thread publish a record with a time t < limit after the collector has read the head of the
 * thread's slot? No: the thread stored a low watermark <= t before it read t from the clock. If
 * this store was visible at the membarrier, the collector loads either this watermark, so that
 * limit <= t, or a later value. In the latter case, the store-release of the later value makes the
 * record visible before the collector reads the head. If the store was not visible, the thread
 * reads the clock after the membarrier, so t >= now >= limit. tests/model/order.pml verifies the
 * protocol, and verifies that the protocol fails if any one step is left out.
 *
 * In a call that sleeps, the thread clears the low watermark before the sleep and sets it again
 * afterwards. If such a call releases an object before the sleep, the release gets its own record
 * (MOMENT_HALF).
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
 * digits each, the collector's pid, and the number of the collector's descriptor for the control
 * page. For the first program of the run, CONTROL_FIRST follows.
 */
#define CONTROL_FIRST '!'
/* the name of the collector's abstract socket is this prefix and the session id */
#define CONTROL_SOCKET_PREFIX "holdtrace-"
#define CONTROL_NAME	      "holdtrace"
#define ARENA_NAME	      "holdtrace-arena"

/* initial size of a ring in bytes; each time a ring grows, its size is multiplied by four */
#define ARENA_RING_LEAST (64u << 10)
/* maximum size of a ring in bytes */
#define ARENA_RING_MOST (1u << 20)
/*
 * Maximum total size of a process's rings in bytes, which the threads of the process share equally.
 * If a single thread fills its ring all the time, it waits less with a ring of 256 KiB than with 64
 * KiB, but 1 MiB is only a little better than 256 KiB. This budget gives 1 MiB each to four threads
 * that share a lock and to the thread that created them. If one of them waits for space while it
 * holds the lock, all the others wait, too. With 1 MiB, they wait a quarter as often as with 256
 * KiB, and wake the collector a third as often. With eight or more threads that fill their rings
 * all the time, smaller rings are faster, because they stay in the caches. A thread without space
 * waits, so no event is dropped.
 */
#define ARENA_RINGS_BUDGET (6u << 20)
#define ARENA_SLOTS_FIRST  2u /* slots in the first chunk; each further chunk has twice as many */
/* maximum number of slots in a chunk */
#define ARENA_SLOTS_MOST  512u
#define ARENA_CHUNKS	  64u /* maximum number of chunks of a process */
#define ARENA_SPARES	  64u /* spares (struct arena_spare) in the first chunk */
#define ARENA_SPARES_MOST 512u
#define ARENA_FRAMES_MAX  500u
/* maximum of record_call.kept plus record_call.fresh, before record_call.cut is applied */
#define ARENA_MEMORY_MAX 640u
#define ARENA_OPEN_MAX	 64u
/*
 * After each ARENA_WAKE_STEP written bytes, or after each quarter of the ring if a quarter is less,
 * the producer checks whether the collector sleeps.
 */
#define ARENA_WAKE_STEP (256u << 10)
#define ARENA_TOLD	32u

enum control_state {
	CONTROL_STARTING, /* the collector has not yet set a state */
	CONTROL_RUNNING,  /* the output was opened; events are accepted */
	CONTROL_FAILED,	  /* the collector could not start; the library records nothing */
	CONTROL_COMPLETE, /* all data was written, and no process is attached any more */
};

/* The clock that counts ticks. All processes of a run use the same clock. */
enum control_clock {
	CONTROL_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC in ns */
	/* the processor's counter: invariant TSC (x86-64) or cntvct (aarch64) */
	CONTROL_CLOCK_COUNTER,
};

#define LIBC_ID_MAX 32

/*
 * Offsets of the hooked functions in one libc, which its build-id (`id`) identifies. Processes that
 * use the same libc take the offsets from here instead of looking the functions up.
 */
struct libc_places {
	uint32_t id_size; /* size of `id` in bytes; 0: unknown */
	uint8_t id[LIBC_ID_MAX];
	uint32_t place[HOOK_COUNT]; /* offset from libc's load address; 0: unknown */
};

/* Dimensions of control_page.standard: number of descriptors, size of a name in bytes. */
#define CONTROL_STANDARDS    3
#define CONTROL_STANDARD_MAX 128

/*
 * The control page: settings and state of a run. The process that creates the page (its maker) and
 * the collector map it for writing before it is sealed; traced programs map it read-only.
 */
struct control_page {
	uint64_t magic;
	/* hash of the shared definitions; incompatible builds have different hashes */
	uint64_t contract;
	uint64_t size;	     /* size of the memfd in bytes */
	uint64_t session[2]; /* random number that identifies the run */
	uint64_t secret[2];  /* random; proves that a process belongs to the run */
	uint32_t clock;	     /* enum control_clock; final once state is CONTROL_RUNNING */
	uint32_t machine;    /* ELF machine number of the traced programs */
	/* written by the collector */
	uint32_t state __attribute__((aligned(64))); /* enum control_state; futex */
	/* the collector's pid in its parent's pid namespace */
	int32_t collector;
	/* changes when the collector has read or written something, or has nothing to read */
	uint64_t heartbeat;
	uint64_t rounds; /* number of rounds through all rings */
	/* futex; odd while the collector sleeps on it; each sleep uses a new value */
	uint32_t sleeping;
	uint32_t detached; /* number of streams (one per process) that are complete; futex */
	uint32_t attached; /* number of streams that have begun */
	/* number of attached processes that have not ended */
	uint32_t alive;
	/* duration of the shortest recorded blocking call: 1 ms in ticks; 0: not measured yet */
	uint64_t lasting;
	uint32_t left_out;    /* number of processes that --follow excluded */
	uint32_t left_unsaid; /* number of excluded processes that no stream has reported yet */
	/* futex; 1: `attached` and `alive` count all processes from before told_pid was set */
	uint32_t settled;
	/*
	 * descriptor number, in the collector, of a listening socket with a path, which processes
	 * in other network namespaces can use; -1: none
	 */
	int32_t listener;
	/* like `listener`, but a socket for the run's owner and root only; -1: none */
	int32_t owners_listener;
	/* bits of enum crowd; while a bit is set, new processes of the bit's users wait */
	uint32_t crowded;
	uint32_t ring_most; /* maximum size of a ring in bytes */
	uint32_t rings_budget;
	/* text of the collector's error; the run continues unless `state` is CONTROL_FAILED */
	char failure[512];
	/* futex; incremented at each pause and resumption; odd: new calls are not recorded */
	uint32_t paused __attribute__((aligned(64)));
	/* the maker of the page writes the following members before the collector starts */
	/* pid of a process in whose network namespace the collector also listens; 0: none */
	int32_t guest;
	/*
	 * pid of the first process. The first file is named after this pid and starter_name; if the
	 * pid is 0, after the first process that attaches.
	 */
	int32_t starter;
	char starter_name[64]; /* in the form of arena_hello.name */
	struct libc_places libc;
	struct patches patches;
	/* 1: a child of the launcher plans the patches of modules that are loaded later */
	uint32_t has_planner;
	/* file names of the maker's descriptors 0, 1 and 2; empty: unknown or too long */
	char standard[CONTROL_STANDARDS][CONTROL_STANDARD_MAX];
	/* pid of the maker; /proc/PID/fd has the names that `standard` lacks; 0: none */
	int32_t maker;
	/*
	 * exit status of the launcher's child, in the form of wait(2). The launcher writes it,
	 * because the collector is not the child's parent and cannot always get the status.
	 */
	int32_t told_status;
	/* pid of the launcher's child, written after told_status; 0: the child has not ended */
	int32_t told_pid;
	struct settings settings;
};

/*
 * Bits of control_page.crowded, one for each group of users. A bit is set while too many of their
 * processes wait to attach, have just begun, or have ended with an unfinished stream.
 */
enum crowd {
	CROWD_OF_OWNER = 1 << 0, /* the run's owner and root */
	CROWD_OF_OTHERS = 1 << 1,
};

enum process_flag {
	PROCESS_FORKED = 1 << 0,   /* created by fork; no exec since then */
	PROCESS_EXITED = 1 << 1,   /* exit() has completed */
	PROCESS_ATTACHED = 1 << 2, /* the library was loaded into a running process */
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
 * The message that a process sends to the collector's socket together with the descriptor of its
 * memory. The process does not wait for an answer. A process that uses a spare (struct arena_spare)
 * writes the message to the spare instead.
 */
struct arena_hello {
	uint64_t contract;
	uint64_t secret[2];
	uint64_t key[2];    /* identifies the process image: its start in ticks, and its pid */
	uint64_t parent[2]; /* key of the process that forked this process; 0: none */
	/* number of the parent's stream, or WIRE_NO_STREAM if it is unknown */
	uint32_t parent_stream;
	/* 0: the first chunk of a new process image; otherwise the number of a further chunk */
	uint32_t chunk;
	uint32_t slots;
	uint32_t ring_size; /* address space for each ring, in bytes */
	uint32_t spares;
	int32_t pid; /* pid in the pid namespace of the process */
	int32_t parent_pid;
	uint32_t flags; /* enum process_flag */
	uint64_t start; /* time of the image's start, in ticks */
	char name[64]; /* last component of argv[0] or of the executable's path, truncated to fit */
};

/*
 * A call that has not returned yet, written by its thread. From these entries, the collector learns
 * in which calls threads are blocked, or were blocked when they were killed.
 */
struct arena_open {
	uint16_t hook;
	/* class of an object that the call released first and may acquire again; 0: none */
	uint16_t half;
	/*
	 * number of the call's backtrace; slot.stack has the frames if slot.stack_serial is equal
	 */
	uint32_t serial;
	uint64_t object;
	uint64_t related;
	uint64_t enter; /* time of entry, in ticks */
	uint64_t frame; /* value of the caller's stack pointer after the call returns */
	uint64_t call;
	uint64_t ip; /* return address in the caller */
};

/*
 * A thread's slot: the shared state of the thread. The thread's ring is in another part of the
 * chunk (struct chunk_layout).
 */
struct slot {
	/* the thread writes all members but `tail`; the collector writes `tail` and `state` */
	/*
	 * The low watermark: a lower bound of the times of all records that this thread has not
	 * published yet; 0: no such record. The thread stores the watermark before it reads the
	 * clock. No fence is needed in between, because the collector uses membarrier(2).
	 */
	uint64_t watermark;
	/*
	 * End of the last reserved record whose header is written, as a number of bytes since the
	 * first record of the ring. Since the length of a record is a multiple of 8, the low bits
	 * are free and encode the size of the ring (ring_bytes()). The ring grows only when every
	 * unread byte would have the same offset in the larger ring.
	 */
	uint64_t head;
	uint64_t pthread;
	int32_t thread; /* the kernel's id of the thread */
	uint32_t state; /* enum slot_state */
	/* dropped events by reason, summed over all threads that have used the slot */
	uint64_t lost[LOSS_COUNT];
	/* number of locks acquired without a wait by threads of this slot (--locks=contended) */
	uint64_t uncontended;
	/* number of bytes consumed so far; a futex on which a producer with a full ring waits */
	uint64_t tail __attribute__((aligned(64)));
	/* 1 while the producer sleeps on `tail` and must be woken */
	uint32_t waiting;
	/* open calls, the innermost call last; calls beyond ARENA_OPEN_MAX are only counted */
	uint32_t open_count __attribute__((aligned(64)));
	/*
	 * stack: the last copy of the thread's backtrace, outermost first; stack_serial: its number
	 */
	uint32_t stack_serial;
	uint32_t stack_count;
	struct arena_open open[ARENA_OPEN_MAX];
	uint64_t stack[ARENA_FRAMES_MAX];
};

#define ARENA_SLOT_SIZE 8192u
_Static_assert(sizeof(struct slot) <= ARENA_SLOT_SIZE, "a slot must fit into ARENA_SLOT_SIZE");

enum slot_state {
	SLOT_UNUSED,
	SLOT_TAKEN, /* a thread uses the slot; the collector may read the ring */
	SLOT_LEFT,  /* the thread is about to end, or has ended */
	/* the collector is freeing the pages of the ring; no thread may take the slot */
	SLOT_CLEANING,
};

struct arena_own {
	uint64_t from, to;
};

#define ARENA_OWN 20u /* maximum number of ranges in arena.own; most processes use about ten */

/* The state of the children of a process when the process ended. */
enum arena_children {
	CHILDREN_UNKNOWN,
	CHILDREN_NONE,
	CHILDREN_RUNNING, /* there were children, and none had ended */
	/* at least one child had ended, and the process had not waited for it */
	CHILDREN_ENDED,
};

/*
 * Kinds of operations that the library noticed, although they bypassed its hooks. Each value is the
 * number of a bit in arena.past.
 */
enum arena_past {
	/* the loader created another link namespace (dlmopen), with its own libc */
	PAST_NAMESPACE,
	/* syscall(2) mapped memory that an allocator may use */
	PAST_MEMORY,
	/* syscall(2) changed a mapping */
	PAST_MAPPING,
	PAST_FD,      /* syscall(2) created or closed a descriptor */
	PAST_PROCESS, /* syscall(2) created or waited for a process */
	/* a module has the runtime of Go, which makes system calls without libc */
	PAST_ALL,
	PAST_COUNT
};

/*
 * The head of a chunk. `used`, `slots`, `ring_size`, `own_from` and `own_to` are used in every
 * chunk, the other members only in the first.
 */
struct arena {
	uint32_t used; /* highest index of a slot that was ever taken, plus 1 */
	/* number of chunks that exist; incremented before the newest chunk is used */
	uint32_t chunks;
	/* bits of enum process_flag; after the attach, they are set by atomic OR */
	uint32_t flags;
	uint32_t toggles; /* number of toggle signals that the process has received */
	uint32_t stream;  /* written by the collector: number of the stream, plus 1 */
	/* written by the collector: first chunk that it does not read, plus 1; 0: none */
	uint32_t refused;
	/* when the process reported its end or exec, in ticks; 0: no report */
	uint64_t ended;
	uint64_t lost[LOSS_COUNT]; /* dropped events that belong to no slot, by reason */
	/* open descriptors at the process's end, according to the kernel; 0: unknown */
	uint32_t descriptors;
	uint32_t children; /* enum arena_children, at the process's end */
	uint32_t past;	   /* a bit for each enum arena_past, set by atomic OR */
	/*
	 * A ring buffer with the last ARENA_TOLD statuses that wait(2) returned to this process.
	 * The upper half of an item is the child's pid, the lower half its status. told_count:
	 * number of statuses so far.
	 */
	uint32_t told_count;
	uint64_t told[ARENA_TOLD];
	/*
	 * A process may wait at its end until its memory has been scanned. ending: the id of the
	 * waiting thread, or 0. The collector changes scan_beat whenever the scan makes progress,
	 * and sets `released`, a futex, to let the process continue.
	 */
	int32_t ending;
	uint32_t scan_beat, released;
	/*
	 * In each chunk: the range of the library's private memory, which contains copies of words
	 * from stacks. A scan must skip this range, or pointers in the copies would make blocks
	 * look reachable.
	 */
	uint64_t own_from, own_to;
	/* In later chunks: number of slots, bytes of a ring; set before `chunks` is incremented. */
	uint32_t slots, ring_size;
	/*
	 * Ranges of private memory that the library still has from earlier attaches, or from the
	 * parent of a forked process; 0: none. A scan also skips these ranges.
	 */
	struct arena_own own[ARENA_OWN];
};

/*
 * A copy, in the library's data, of own_from and own_to of all chunks. A core file contains this
 * data but not the chunks; readers find the copy by its magic number.
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
 * Space for struct arena, in bytes. The head and the start of the first slot are on the same page,
 * so that a process with one thread and no calls touches only this page.
 */
#define ARENA_HEAD_SIZE 1024u
_Static_assert(sizeof(struct arena) <= ARENA_HEAD_SIZE, "the head must fit in front of the slots");

enum spare_state {
	SPARE_FREE,
	SPARE_FILLING, /* a process has claimed the spare by compare-and-swap */
	SPARE_READY,   /* set by the process: the collector may read the spare */
	/* the collector has read the spare; it sets SPARE_FREE when the process has ended */
	SPARE_KNOWN,
};

/*
 * A spare is memory with one slot and one small ring, for a process that can neither create memory
 * nor send it to the collector, such as a child of fork under a seccomp filter. Spares follow the
 * first chunk of the nearest ancestor that could create memory. A child of fork unmaps all other
 * parts of its parent's arena.
 */
struct arena_spare {
	/*
	 * highest index of a spare that was ever taken, plus 1. Only the first entry of the table,
	 * which is not a spare itself, has this number.
	 */
	uint32_t used;
	uint32_t state; /* enum spare_state */
	struct arena head;
	struct arena_hello hello;
};

#define ARENA_SPARE_SIZE 1024u
_Static_assert(sizeof(struct arena_spare) <= ARENA_SPARE_SIZE,
	       "a spare must fit into ARENA_SPARE_SIZE");

/*
 * All chunks of a process are in one sparse file, whose size is set once. The process and the
 * collector map each chunk together with the start of the next chunk. From the mapping of this
 * start, mremap() can map the whole next chunk without a descriptor.
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

/* The bits of slot.head that encode the size of the ring. */
#define RING_LEVEL 7ull

/* Returns the size of a ring in bytes, from slot.head. A size above ARENA_RING_MOST is invalid. */
static inline uint64_t ring_bytes(uint64_t head)
{
	return (uint64_t)ARENA_RING_LEAST << 2 * (head & RING_LEVEL);
}

/* Returns the number of written bytes after which a producer checks if the collector sleeps. */
static inline uint64_t ring_step(uint64_t bytes)
{
	return bytes / 4 < ARENA_WAKE_STEP ? bytes / 4 : ARENA_WAKE_STEP;
}

/*
 * Whether a chunk can have these numbers of slots and spares, and rings of this size. The collector
 * must check numbers from another process before it uses them.
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

/* Whether `size` bytes are at most an eighth of `limit`, the address space limit (RLIMIT_AS). */
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
	/* scan the memory of `pid` for unreachable blocks, and for what retains the others */
	CONTROL_SCAN,
	/* report the name of a program that --follow excluded; there is no answer */
	CONTROL_LEFT_OUT,
	/* return the pid and the pidfd of the process whose stream has the number in `text` */
	CONTROL_PROCESS,
	/* return a descriptor of the control page to a program that cannot open it */
	CONTROL_CONTROL,
};

/*
 * A request that is sent to the collector's socket without a descriptor. The answer to
 * CONTROL_SNAPSHOT is a list of paths, one per line; a last line "+N" means N further paths that
 * did not fit.
 */
struct control_request {
	uint64_t contract;
	uint64_t secret[2];
	uint32_t command; /* enum control_command */
	int32_t pid;	  /* a process of the run; its trace comes first in an answer */
	char text[1024];
};

/* Maximum size of an answer, which is one packet. The kernel accepts slightly more. */
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

/* The header of every record. The length of a record is a multiple of 8 bytes. */
struct record {
	uint32_t length; /* length of the whole record in bytes */
	uint8_t state;	 /* enum record_state */
	uint8_t kind;	 /* enum record_kind */
	uint16_t more;	 /* the meaning depends on `kind` */
	uint64_t time;	 /* time of the event, in ticks; records are sorted by this time */
};

/*
 * One event of a call. The struct is followed by the hook's arguments: first `numbers` numbers of 8
 * bytes, then NUL-terminated texts with a total of `text` bytes, padded to a multiple of 8. Then
 * come `fresh` frames of 8 bytes each. A call with several events (parts or halves) has a record
 * for each, but only one of these records has arguments; in the others, `numbers` and `text` are 0.
 *
 * The thread's backtrace consists of the new frames, innermost first, and the `kept` outermost
 * frames of the last record. If cut is not 0, the call's backtrace is only the innermost `cut`
 * frames; the other frames are for later records. A record with CALL_NO_BACKTRACE has no backtrace,
 * and does not change the thread's backtrace. A record with RECORD_ASIDE comes from a signal
 * handler that interrupted the writing of another record. Its new frames are its whole backtrace,
 * and it does not change the thread's backtrace either.
 */
struct record_call {
	struct record record; /* more: the hook's number */
	uint64_t enter;	      /* time of entry, in ticks */
	uint64_t leave;	      /* time of return, in ticks; 0 in a first half */
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
	/* number of 8-byte arguments; an ARGUMENT_TIME takes two: seconds and ns */
	uint8_t numbers;
	/* number of frames in the backtrace; 0: all frames */
	uint16_t cut;
	int32_t cpu; /* the processor; -1: unknown */
	uint32_t context;
};

#define RECORD_ASIDE 0x80u

/*
 * A compact record for a call that has only one part, as most calls do. A value that the record
 * omits is 0, or the same as in the previous call record of the ring (struct record_model). The
 * struct is followed by the related object in 8 bytes (if SHORT_RELATED is set), by struct
 * short_more and the arguments (if SHORT_MORE is set), and by `fresh` frames. The backtrace is
 * encoded as in record_call; without a backtrace, `kept` is SHORT_NO_BACKTRACE. SHORT_SPLIT means
 * that the moment is MOMENT_SPLIT and the call succeeded; SHORT_RELATED is then also set, and the
 * time is the time of entry, when the first of the two events happened.
 */
struct record_short {
	struct record record; /* more: the hook's number */
	uint64_t object;
	uint32_t size;
	int32_t frame; /* difference from record_model.frame */
	uint16_t kept;
	uint16_t fresh;
	uint8_t call; /* difference from record_model.call */
	uint8_t depth;
	uint8_t form;	  /* operation, and enum short_form */
	uint8_t resource; /* enum resource, with the flags SHORT_MORE and SHORT_SPLIT */
};

enum short_form {
	SHORT_OPERATION = 15,  /* the bits of the operation */
	SHORT_LEAVES = 1 << 4, /* the moment is MOMENT_LEAVE; otherwise MOMENT_ENTER */
	SHORT_MADE = 1 << 5,   /* the result is the object; otherwise it is 0 */
	SHORT_RELATED = 1 << 6,
	/* no other call of the thread was open at entry: no later record of the ring is earlier */
	SHORT_CLOSES = 1 << 7,
};

#define SHORT_NO_BACKTRACE UINT16_MAX
#define SHORT_MORE	   0x80u
#define SHORT_SPLIT	   0x40u
_Static_assert(RESOURCES_MAX < SHORT_SPLIT, "flags and resource classes would share bits");

/*
 * A part that a short record has only if the call took time, failed, or has arguments. Without this
 * part, all its values are 0. The arguments follow as in record_call, padded to 8 bytes, at most
 * SHORT_VALUES_MAX bytes.
 */
struct short_more {
	/* ticks from entry to return; record.time is the time of one of the two */
	uint32_t lasted;
	uint16_t text;
	uint8_t numbers;
	uint8_t error; /* errno or another reason of the failure; 0: the call did not fail */
};

#define SHORT_VALUES_MAX 512u

/* Size of a call's arguments in bytes, including padding. */
static inline uint32_t values_size(uint32_t numbers, uint32_t text)
{
	return (numbers * 8 + text + 7) & ~7u;
}

/* Size in bytes of a short record without struct short_more, arguments and frames. */
static inline uint32_t short_size(uint8_t form)
{
	return (uint32_t)sizeof(struct record_short) + (form & SHORT_RELATED ? 8u : 0u);
}

/*
 * The values of the last call record in a ring (RECORD_CALL without RECORD_ASIDE, or RECORD_SHORT).
 * The library and the collector each keep a copy of these values. The values are unknown for a new
 * thread, and after a jump (longjmp) out of a function that was writing a record.
 */
struct record_model {
	uint64_t call;
	uint64_t frame;
	int32_t cpu;
	uint32_t context;
	uint16_t cut;
	uint8_t flags; /* flags of the record: CALL_CUT or 0 */
	bool is_known;
};

/*
 * A record with MOMENT_SPLIT (of a realloc(), for example) describes two events of the call:
 * `related` was released at entry, and `object` was acquired at return. The release has this part
 * number.
 */
#define RECORD_MOVED_PART 1u

/* The thread that writes the following records of the ring. Its first record reuses no frames. */
struct record_thread {
	struct record record;
	int32_t thread;
	int32_t creator_thread;
	uint64_t pthread;
	/* number of the pthread_create call that created the thread; 0: unknown */
	uint64_t creator;
};

/*
 * record.more of a module that has no number. The number of any other module tells the collector
 * whether another thread has already reported that module.
 */
#define MODULE_WITHOUT_NUMBER UINT16_MAX

/*
 * A module (mapped ELF file), reported before the first event that has a frame in it. The module's
 * path and build-id follow the struct.
 */
struct record_module {
	struct record record;
	uint64_t base;	/* load base; `from` in the packet MMAP (wire.def) */
	uint64_t start; /* start of the executable mapping */
	uint64_t end;
	uint64_t offset;
	uint16_t path_size; /* bytes of the path, including the NUL */
	uint16_t build_id_size;
	uint32_t pad;
};

/* A note (notes.def). NUL-terminated texts follow: its name, then names and values in pairs. */
struct record_note {
	struct record record; /* more: the number of pairs */
	uint32_t text;	      /* bytes of the texts that follow */
	uint32_t pad;
};

/* The bounds of the heap of brk(2) at exit. */
struct record_heap {
	struct record record;
	uint64_t bottom, top;
};

/*
 * The addresses, in this process, of the real functions that the hooks replace: `count` numbers of
 * 8 bytes follow, indexed by hook. At the end of the stream, the collector writes the addresses of
 * those functions that were called.
 */
struct record_functions {
	struct record record;
	uint32_t count;
	uint32_t pad;
};

/* A context or class of the program. Its name and description follow, each NUL-terminated. */
struct record_name {
	struct record record;
	uint32_t id;	    /* a context's bit, or a class's number */
	uint32_t flags;	    /* flags of the RESR packet */
	uint16_t name_size; /* bytes of the name, including the NUL */
	uint16_t description_size;
	uint32_t pad;
};

/*
 * Maximum size of a record in bytes: a call with all frames and two paths. Producers truncate each
 * text to ARENA_TEXT_MAX bytes.
 */
#define ARENA_TEXT_MAX	 4096u
#define ARENA_RECORD_MAX 16384u

_Static_assert(sizeof(struct record) == 16, "the size of a record's header is part of the format");
_Static_assert(sizeof(struct record_call) % 8 == 0, "frames after the record would be misaligned");
_Static_assert(sizeof(struct record_short) == 40, "the record after this one would be misaligned");
_Static_assert(sizeof(struct short_more) == 8, "the record after this one would be misaligned");
_Static_assert(OPERATION_COUNT <= SHORT_OPERATION + 1,
	       "SHORT_OPERATION has too few bits for the operations");

#endif
