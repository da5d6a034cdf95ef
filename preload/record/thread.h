/* SPDX-License-Identifier: MIT */
#ifndef THREAD_H
#define THREAD_H

/*
 * A thread as the library knows it: a private block, which says where its slot and ring are. What
 * the library goes by stands here; the slot has copies of it for the collector. Few things are
 * thread-local: thread_self, the contexts that a thread is in (names.c) and where its vfork returns
 * to (hand_process.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "memory.h"
#include "preload/walk/capture.h"

/* The event that a thread is writing. frame is set last and cleared first: signals come between. */
struct busy {
	uintptr_t frame; /* its caller's; 0: there is none */
	uintptr_t ip;	 /* where its hook returns to */
	bool is_written; /* its record is whole */
};

#define THREAD_TAKEN_MAX 16

/* Pieces of other stacks than a thread's own, coroutines', that are remembered as being its. */
#define THREAD_PIECES_BITS 6
#define THREAD_PIECES_WAYS 4

struct thread {
	struct slot *slot; /* what the collector sees */
	char *ring;
	uint64_t floor;	     /* as in the slot */
	uint32_t open_count; /* as in the slot */
	uint32_t unheaded;   /* ring: reservations whose header is not yet written */
	uint64_t reserved;   /* ring: bytes ever reserved, headers written or not; as slot.head */
	uint64_t head;	     /* ring: as in the slot */
	uint64_t tail_seen;  /* ring: the collector's tail when last looked at */
	uint32_t unseen;     /* ring: records behind an unheaded one, whole or not */
	uint32_t ring_most;  /* ring: bytes that it may have */
	struct owner *owner;
	uint64_t pthread;
	uint32_t stack_serial;	   /* as in the slot */
	uint32_t told;		   /* outer frames of memory that the collector knows */
	uint32_t shown;		   /* outer frames of memory that slot.stack has */
	uint32_t shown_all;	   /* all that it has */
	uint32_t serial;	   /* of memory; moves with its addresses */
	struct record_model model; /* what the collector knows for short records */
	uint64_t last;		   /* newest time taken from the clock */
	uint64_t calls;		   /* calls so far */
	int *error;		   /* this thread's errno */
	uint32_t mark; /* life.fork_mark when it attached: another one is of another life */
	struct busy busy;
	uint32_t modules;     /* modules told so far */
	uint32_t taken_count; /* locks that it has and that are recorded: contended.h */
	uint64_t taken[THREAD_TAKEN_MAX];
	bool in_libunwind; /* it walks for this thread: its calls are no events */
	struct stack_bounds stack;
	uintptr_t asked; /* the piece of another stack that it was last on: call_is_of_thread() */
	uint32_t turn;	 /* how many threads have had this block */
	uintptr_t vfork_return; /* where vfork's parent goes on; 0: it has no child in our memory */
	uint32_t vfork_open;	/* open calls to come back to then */
	struct capture_memory memory;
	uintptr_t aside[CAPTURE_DEPTH_MAX]; /* for signal handlers in the middle of a walk */
	uint64_t own_pieces[1 << THREAD_PIECES_BITS][THREAD_PIECES_WAYS]; /* of other stacks */
};

_Static_assert(CAPTURE_DEPTH_MAX <= ARENA_FRAMES_MAX, "a whole backtrace fits a slot");
_Static_assert(CAPTURE_MEMORY_MAX <= ARENA_MEMORY_MAX, "the collector keeps what we keep");

extern __thread struct thread *thread_self;

/* Modules that threads of this process have told: one that begins need not tell them again. */
extern uint32_t thread_modules_told;

/* What pthread_create hands to its child; see thread_birth(). */
struct birth {
	uint32_t users; /* creator and child: the last one gives it back */
	int32_t creator;
	uint64_t call;	 /* number of the creating call */
	uint64_t breath; /* ticks: the child's first; 0: not yet */
	size_t stack_size;
	union {
		void *(*start)(void *);
		int (*start_c11)(void *);
	};
	void *argument;
};

/*
 * Gives the calling thread a slot and says so in its ring. bounds: of its stack, or NULL if they
 * are unknown. Returns NULL where there is no slot left.
 */
struct thread *thread_attach(const struct stack_bounds *bounds, const struct birth *birth);

/* A parcel for a new thread, used by two; NULL when all are in use. */
struct birth *birth_take(void);

/* One of the two has done with it. */
void birth_leave(struct birth *birth);

/* The start routines of all threads that were made through the hooks; argument is their birth. */
void *thread_start(void *argument);
int thread_start_c11(void *argument);

/* The kernel's number of the calling thread. */
int32_t thread_id(void);

/* Bounds of the first thread's stack. */
struct stack_bounds thread_main_stack(void);

/* The function that fork's child calls before anything: forgets the parent's thread. */
void thread_forget(void);

/* The process is attached to once more: no thread has told anything to this collector. */
void thread_renew(void);

/*
 * Nothing that the thread has not yet published is older; 0: it has nothing. The floor must be
 * seen before what it no longer covers is.
 */
static inline void thread_set_floor(struct thread *thread, uint64_t floor)
{
	thread->floor = floor;
	__atomic_store_n(&thread->slot->floor, floor, __ATOMIC_RELEASE);
}

static inline void thread_set_open(struct thread *thread, uint32_t count)
{
	thread->open_count = count;
	thread->slot->open_count = count;
}

/*
 * From here to thread_busy_end() this thread writes for the hook at origin. Returns what was there
 * before.
 */
static inline struct busy thread_busy_begin(struct thread *thread, const struct origin *origin)
{
	struct busy *busy = &thread->busy;
	struct busy before = *busy;

	busy->is_written = false;
	busy->ip = origin->ip;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	busy->frame = origin->cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return before;
}

/* A signal may have come in the middle of another's thread_busy_begin(), and leaves it as it was.
 */
static inline void thread_busy_end(struct thread *thread, struct busy before)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy.frame = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy.ip = before.ip;
	thread->busy.is_written = before.is_written;
}

/*
 * Whether it is in the middle of anything but a call of its own (is_calling), which owns the floor
 * or does not.
 */
static inline bool thread_is_busy(const struct thread *thread, bool is_calling, bool owns_floor)
{
	return thread->busy.frame || thread->unheaded || thread->open_count > is_calling ||
	       (thread->floor && !owns_floor);
}

#endif
