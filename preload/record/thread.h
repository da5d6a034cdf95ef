/* SPDX-License-Identifier: MIT */
#ifndef THREAD_H
#define THREAD_H

/*
 * The library's data about a thread: a private block, which points to the thread's slot and ring in
 * shared memory. The library relies only on the block; the slot has copies of some members for the
 * collector. Few variables are thread-local: thread_self, the thread's contexts (names.c), the
 * return address of vfork (hand_process.c) and the state of sampling (sampling.c).
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
	uintptr_t frame; /* stack pointer of the hook's caller; 0: no event is written */
	uintptr_t ip;	 /* return address of the hook's stub */
	bool is_written; /* the event's record is complete */
};

#define THREAD_TAKEN_MAX 16

/* Size of thread.own_pieces: the logarithm of the number of sets, and the entries in each set. */
#define THREAD_PIECES_BITS 6
#define THREAD_PIECES_WAYS 4

struct thread {
	struct slot *slot; /* the part that the collector reads */
	char *ring;
	uint64_t watermark;  /* copy of slot->watermark */
	uint32_t open_count; /* copy of slot->open_count */
	uint32_t unheaded;   /* ring: number of reserved records whose header is not written yet */
	/* ring: number of bytes reserved so far, with or without headers; encoded like slot.head */
	uint64_t reserved;
	uint64_t head;	    /* ring: copy of slot->head */
	uint64_t tail_seen; /* ring: slot->tail when this thread last read it */
	/* ring: 1 + slot->tail when the thread last gave up waiting for space; 0: never */
	uint64_t given_up;
	uint32_t unseen;    /* ring: number of records that follow a record without a header */
	uint32_t ring_most; /* ring: maximum size in bytes */
	struct owner *owner;
	uint64_t pthread;
	uint32_t stack_serial; /* copy of slot->stack_serial */
	uint32_t told;	       /* number of outermost frames that the collector has received */
	uint32_t shown;	       /* number of outermost frames of slot.stack that are still current */
	uint32_t shown_all;    /* total number of frames in slot.stack */
	/* version of the remembered backtrace; changes whenever one of its addresses changes */
	uint32_t serial;
	struct record_model model; /* the values that short records omit */
	uint64_t last;		   /* latest time that the thread has read or recorded, in ticks */
	uint64_t calls;		   /* number of calls so far */
	int *error;		   /* this thread's errno */
	/* *life.fork_mark when the thread got its slot; a fork or a new attach changes the mark */
	uint32_t mark;
	struct busy busy;
	uint32_t modules;     /* number of modules reported so far */
	uint32_t taken_count; /* number of recorded locks that the thread holds (effects.h) */
	uint64_t taken[THREAD_TAKEN_MAX];
	struct thread_inner {
		/* number of the innermost open call to a function in hand_allocators.c */
		uint64_t call;
		/* address range of the module that contains the called function */
		const struct thread_range {
			uintptr_t from, size;
		} * module;
	} inner;
	bool has_python; /* the remembered backtrace includes Python frames and is in `python` */
	/* libunwind is walking this thread's stack; calls that libunwind makes are not recorded */
	bool in_libunwind;
	struct stack_bounds stack;
	uintptr_t asked; /* the foreign stack piece that call_is_of_thread() checked last */
	uint32_t turn;	 /* number of threads that have used this block */
	/* return address of the parent's vfork; 0: no child uses our memory */
	uintptr_t vfork_return;
	uint32_t vfork_open; /* open_count at the vfork, restored when the parent continues */
	struct capture_memory memory;
	/* backtrace of a signal handler that has interrupted the writing of an event */
	uintptr_t aside[CAPTURE_DEPTH_MAX];
	/* foreign stack pieces (of coroutines, for example) that call_is_of_thread() has checked */
	uint64_t own_pieces[1 << THREAD_PIECES_BITS][THREAD_PIECES_WAYS];
	struct python_memory python;
};

_Static_assert(CAPTURE_DEPTH_MAX <= ARENA_FRAMES_MAX, "a slot must hold a whole backtrace");
_Static_assert(CAPTURE_MEMORY_MAX <= ARENA_MEMORY_MAX,
	       "the collector must remember as many frames as the thread");

extern __thread struct thread *thread_self;

/* Number of modules that this process has reported. New threads do not report them again. */
extern uint32_t thread_modules_told;

/* The data that pthread_create passes to the new thread. */
struct birth {
	/* number of references (the creator has one, and the new thread another); 0: unused */
	uint32_t users;
	int32_t creator;
	uint64_t call;	 /* number of the call that creates the thread */
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
 * of the thread's stack; NULL: unknown. birth: NULL if no hook created the thread. Returns NULL if
 * no slot is left.
 */
struct thread *thread_attach(const struct stack_bounds *bounds, const struct birth *birth);

/* Returns an unused struct birth with two references, or NULL if all are in use. */
struct birth *birth_take(void);

/* Releases one of the two references of birth_take(). */
void birth_leave(struct birth *birth);

/*
 * Called before writing records that belong to no hooked call: sets the low watermark, unless an
 * open call has set it, so that the collector waits for the records. Their time is thread->last,
 * which `is_now` sets to the current time. Returns the value to pass to thread_end_alone().
 */
bool thread_begin_alone(struct thread *thread, bool is_now);
void thread_end_alone(struct thread *thread, bool owns_watermark);

/* The start routine of all threads that the hooks create; the argument is a struct birth. */
void *thread_start(void *argument);
int thread_start_c11(void *argument);

/* The kernel's id of the calling thread (gettid). */
int32_t thread_id(void);

struct stack_bounds thread_main_stack(void);

/* Called in a child of fork: the child's thread gives up the slot that it had in the parent. */
void thread_forget(void);

/* Called at a later attach: resets data about threads, because the new collector has none. */
void thread_renew(void);

/*
 * Sets the low watermark of the thread: every record that the thread has not yet published has this
 * time or a later time. 0 means that all records are published. The store has release order, so
 * that the collector sees all published records before it sees a higher watermark.
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

/* Marks the thread as writing an event, until thread_busy_end(). Returns the previous state. */
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
 * Whether the thread, apart from its current call, is writing an event or is in another call.
 * is_calling: there is a current call. owns_watermark: that call has set the low watermark.
 */
static inline bool thread_is_busy(const struct thread *thread, bool is_calling, bool owns_watermark)
{
	return thread->busy.frame || thread->unheaded || thread->open_count > is_calling ||
	       (thread->watermark && !owns_watermark);
}

#endif
