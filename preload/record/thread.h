/* SPDX-License-Identifier: MIT */
#ifndef THREAD_H
#define THREAD_H

/*
 * The library's data about a thread: a private block, which refers to the thread's slot and ring.
 * The library relies only on this block; the slot has copies of some members for the collector. Few
 * variables are thread-local: thread_self, the thread's contexts (names.c) and the return address
 * of vfork (hand_process.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "memory.h"
#include "preload/walk/capture.h"
#include "python.h"

/*
 * The event that a thread is writing. `frame` is set last and cleared first, because a signal may
 * arrive between the stores.
 */
struct busy {
	uintptr_t frame; /* the frame of the hook's caller; 0: no event is being written */
	uintptr_t ip;	 /* return address of the hook's stub */
	bool is_written; /* the event's record is complete */
};

#define THREAD_TAKEN_MAX 16

/* Size of the cache of pieces of other stacks (coroutines) on which this thread is known to run. */
#define THREAD_PIECES_BITS 6
#define THREAD_PIECES_WAYS 4

struct thread {
	struct slot *slot; /* the part that the collector reads */
	char *ring;
	uint64_t watermark;  /* copy of slot->watermark */
	uint32_t open_count; /* copy of slot->open_count */
	uint32_t unheaded;   /* ring: number of reservations without a complete header */
	/* ring: bytes ever reserved, with or without headers; encoded like slot.head */
	uint64_t reserved;
	uint64_t head;	    /* ring: copy of slot->head */
	uint64_t tail_seen; /* ring: the collector's tail when last read */
	/* ring: 1 + the tail when the thread last gave up a wait; 0: it never gave up */
	uint64_t given_up;
	uint32_t unseen;    /* ring: number of records after a record whose header is missing */
	uint32_t ring_most; /* ring: maximum size in bytes */
	struct owner *owner;
	uint64_t pthread;
	uint32_t stack_serial; /* copy of slot->stack_serial */
	uint32_t told;	       /* number of outermost frames that the collector has received */
	uint32_t shown;	       /* number of outermost frames that slot.stack shows */
	uint32_t shown_all;    /* number of all frames in slot.stack */
	/* number of the remembered backtrace; changes whenever its addresses change */
	uint32_t serial;
	struct record_model model; /* the values that short records omit */
	uint64_t last;		   /* the newest time of the thread */
	uint64_t calls;		   /* number of calls so far */
	int *error;		   /* this thread's errno */
	/* life.fork_mark when the thread got its slot; a fork or a new attach changes the mark */
	uint32_t mark;
	struct busy busy;
	uint32_t modules;     /* number of modules reported so far */
	uint32_t taken_count; /* number of recorded locks that the thread holds (effects.h) */
	uint64_t taken[THREAD_TAKEN_MAX];
	struct thread_inner {
		/* number of the innermost open call to a function in hand_allocators.c */
		uint64_t call;
		/* addresses of the module of that function */
		const struct thread_range {
			uintptr_t from, size;
		} * module;
	} inner;
	bool has_python; /* the remembered backtrace includes Python frames and is in `python` */
	/* libunwind is walking this thread's stack; calls that libunwind makes are not recorded */
	bool in_libunwind;
	struct stack_bounds stack;
	uintptr_t asked; /* the piece of another stack that call_is_of_thread() checked last */
	uint32_t turn;	 /* number of threads that have used this block */
	uintptr_t
		vfork_return; /* where the parent of vfork continues; 0: no child uses our memory */
	uint32_t vfork_open;  /* saved number of open calls, restored when the parent continues */
	struct capture_memory memory;
	/* backtrace of a signal handler that has interrupted the writing of an event */
	uintptr_t aside[CAPTURE_DEPTH_MAX];
	/* pieces of other stacks that call_is_of_thread() has checked */
	uint64_t own_pieces[1 << THREAD_PIECES_BITS][THREAD_PIECES_WAYS];
	struct python_memory python;
};

_Static_assert(CAPTURE_DEPTH_MAX <= ARENA_FRAMES_MAX, "a slot must hold a whole backtrace");
_Static_assert(CAPTURE_MEMORY_MAX <= ARENA_MEMORY_MAX,
	       "the collector must remember as many frames as the thread");

extern __thread struct thread *thread_self;

/* Modules that threads of this process have reported: new threads do not report them again. */
extern uint32_t thread_modules_told;

/* The data that pthread_create passes to the new thread. */
struct birth {
	/* references: the creator's and the new thread's; 0: this struct is unused */
	uint32_t users;
	int32_t creator;
	uint64_t call;	 /* number of the creating call */
	uint64_t breath; /* when the new thread started, in ticks; 0: not started */
	size_t stack_size;
	union {
		void *(*start)(void *);
		int (*start_c11)(void *);
	};
	void *argument;
};

/*
 * Gives the calling thread a slot, and writes a record about the thread to the slot's ring. bounds:
 * the bounds of the thread's stack, or NULL if unknown. Returns NULL if no slot is left.
 */
struct thread *thread_attach(const struct stack_bounds *bounds, const struct birth *birth);

/* Returns an unused struct birth with two references, or NULL if all are in use. */
struct birth *birth_take(void);

/* Releases one of the two references of birth_take(). */
void birth_leave(struct birth *birth);

/*
 * Begins records outside of calls: sets the low watermark, unless a call has set it, so that the
 * collector waits for the records. Their time is thread->last, which is the current time if
 * `is_now`. Returns the value to pass to thread_end_alone().
 */
bool thread_begin_alone(struct thread *thread, bool is_now);
void thread_end_alone(struct thread *thread, bool owns_watermark);

/* The start routine of all threads that the hooks create; the argument is a struct birth. */
void *thread_start(void *argument);
int thread_start_c11(void *argument);

/* The kernel's id of the calling thread (gettid). */
int32_t thread_id(void);

/* Bounds of the first thread's stack. */
struct stack_bounds thread_main_stack(void);

/* Called in a child of fork: forgets which thread of the parent this was. */
void thread_forget(void);

/* At another attach: the new collector knows nothing of the process's threads. */
void thread_renew(void);

/*
 * Sets the low watermark: every record that the thread has not yet published has this time or a
 * later time; 0: all records are published. The store has release order, so that the collector sees
 * all published records before it sees a higher watermark.
 */
static inline void thread_set_watermark(struct thread *thread, uint64_t watermark)
{
	thread->watermark = watermark;
	__atomic_store_n(&thread->slot->watermark, watermark, __ATOMIC_RELEASE);
}

static inline void thread_set_open(struct thread *thread, uint32_t count)
{
	thread->open_count = count;
	thread->slot->open_count = count;
}

/* Until thread_busy_end(), the thread writes an event of this hook. Returns the old state. */
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

/*
 * Restores the state that thread_busy_begin() returned. That state may belong to another event, if
 * this code runs in a signal handler that has interrupted the writer of that event.
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
 * Whether the thread is in the middle of more than one call. is_calling: it is in one call, which
 * may have set the low watermark (owns_watermark).
 */
static inline bool thread_is_busy(const struct thread *thread, bool is_calling, bool owns_watermark)
{
	return thread->busy.frame || thread->unheaded || thread->open_count > is_calling ||
	       (thread->watermark && !owns_watermark);
}

#endif
