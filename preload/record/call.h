/* SPDX-License-Identifier: MIT */
#ifndef CALL_H
#define CALL_H

/*
 * One invocation of a hooked function, from entry to return. A stub does
 *
 * 	if (!stub_begin(&call, HOOK_x, at, blocks, &origin, object, related)) real.x() alone;
 * 	result = real.x(…);
 * 	call_returned(&call);
 * 	call_event(&call, …) for each object acquired or released, part 0 last
 * 	call_end(&call);
 *
 * and changes nothing else: not errno, not the order, not the result.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "life.h"
#include "preload/ground/clock.h"
#include "preload/ground/plain.h"
#include "preload/walk/capture.h"
#include "thread.h"

struct call {
	struct thread *thread;
	const struct origin *origin;
	uint64_t enter, leave;
	uint64_t number;
	uint32_t mark; /* thread->mark when the call began */
	enum hook_number hook;
	enum hook_when at;
	uint32_t depth;
	int error; /* errno when the real function returned */
	bool owns_watermark;
	bool closes;	   /* no other call was open when this one began */
	bool has_one_time; /* the call reads the clock once, when its operation happens */
	/* until the call returns, `enter` is the time of the thread's last event */
	bool is_undated;
	bool walked;	    /* the thread's remembered backtrace is that of this call */
	uint8_t walk_flags; /* CALL_CUT or 0, if `walked` */
	uint32_t serial;    /* `walked` is valid only while thread->serial equals this member */
};

/* A recorded argument of a call; a list of them ends with kind ARGUMENT_NONE. */
struct call_argument {
	enum argument_kind kind;
	int64_t number;
	/* read only if the kernel or libc has read the text, or proof_of() says it is readable */
	const char *text;
	const struct timespec *time;
};

/* An event: the effect of one part of a call on one object. */
struct call_event {
	enum resource resource;
	enum operation operation;
	enum moment moment;
	uint8_t part;
	bool failed;
	uint64_t object, size, related;
	uint64_t result;
	uint64_t time;			       /* ticks; 0: the time that `moment` selects */
	const struct call_argument *arguments; /* NULL: no arguments */
};

/*
 * Hooks whose calls take some tens of nanoseconds and never wait. A read of the clock is a quarter
 * of their cost, so each call reads the clock only once, unless the options ask for durations.
 */
static const bool call_is_short[HOOK_COUNT] = {
#define HOOK(name, type, params, class, op, ...)                                                  \
	[HOOK_##name] = RESOURCE_##class == RESOURCE_MEMORY || OPERATION_##op == OPERATION_TRY || \
			OPERATION_##op == OPERATION_RELEASE || OPERATION_##op == OPERATION_NOTIFY,
#include "hooks.def"
};

/*
 * Hooks whose objects are private to the process. While the process has one thread, no other thread
 * can acquire or release the objects, and the calls of one thread are in order anyway. So reading
 * the clock needs no fence then.
 */
static const bool call_is_private[HOOK_COUNT] = {
#define HOOK(name, type, params, class, op, ...) \
	[HOOK_##name] = RESOURCE_##class == RESOURCE_MEMORY,
#include "hooks.def"
};

/* The rarely needed parts of call_begin(). */
struct thread *call_attach(void);
bool call_settle(struct thread *thread, const struct origin *origin, enum hook_number hook,
		 uint64_t object);
void call_show_waiting(struct call *call);

/* A BLOCKS_IF_BUSY call could not succeed at once, so it will wait: its duration is recorded. */
void call_must_wait(struct call *call);

/* Closes all open calls of the thread, which is about to end or will never return from them. */
void call_give_up(struct thread *thread);

/* Whether the thread holds the mutex, according to the mutex itself; false if it is unreadable. */
bool call_owns_mutex(const struct thread *thread, uint64_t mutex);

/*
 * Whether a call at `cfa`, which is not on the thread's own stack, is a call of the thread, in a
 * coroutine or a signal handler. Otherwise another task made the call, which the program created by
 * a bare clone(2) and which shares this thread's memory and TLS. Such a call is counted as dropped.
 */
bool call_is_of_thread(struct thread *thread, uintptr_t cfa);

static inline bool call_is_forked(void)
{
	return !*life.fork_mark;
}

/* Whether the process was forked, or the library detached, since the thread got its slot. */
static inline bool call_is_of_another_life(const struct thread *thread)
{
	return thread->mark != *life.fork_mark;
}

/* Returns the calling thread. If no slot is left, counts a dropped event and returns NULL. */
static inline struct thread *call_thread(void)
{
	struct thread *thread = thread_self;

	if (likely(thread && !call_is_of_another_life(thread)))
		return thread;
	return call_attach();
}

static inline void call_fill_open(struct call *call, struct arena_open *open, uint64_t object,
				  uint64_t related)
{
	/*
	 * store `frame` first: before the call is counted, a signal handler may use this entry and
	 * clear `frame`, which call_open() detects
	 */
	open->frame = call->origin->cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	open->hook = (uint16_t)call->hook;
	open->half = 0;
	open->object = object;
	open->related = related;
	open->enter = call->enter;
	open->ip = call->origin->ip;
	open->call = call->number;
	open->serial = call->thread->stack_serial - 1;
}

/*
 * Adds the call to the slot's open calls. A signal handler that runs before the count is stored
 * uses the same entry; its call_end() clears the entry's frame, so that no later handler mistakes
 * the entry for a call that is no longer on the stack. If the frame was cleared, the entry is
 * filled again.
 */
static inline void call_open(struct call *call, uint64_t object, uint64_t related)
{
	struct thread *thread = call->thread;
	struct arena_open *open;

	call->depth = thread->open_count;
	if (unlikely(call->depth >= ARENA_OPEN_MAX)) {
		thread_set_open(thread, call->depth + 1);
		return;
	}
	open = &thread->slot->open[call->depth];
	call_fill_open(call, open, object, related);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_set_open(thread, call->depth + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(open->frame != call->origin->cfa))
		call_fill_open(call, open, object, related);
}

/* The later of `now` and the thread's last time, which clock_after() may set ahead of the clock. */
static inline uint64_t call_not_before_last(const struct call *call, uint64_t now)
{
	return likely(now > call->thread->last) ? now : call->thread->last;
}

/* Whether the object is private to the process and the process has one thread. */
static inline bool call_is_alone(const struct call *call)
{
	return call_is_private[call->hook] && clock_is_alone();
}

/* The time of an event whose order matters; never before the thread's last time. */
static inline uint64_t call_time(const struct call *call)
{
	return call_not_before_last(call, call_is_alone(call) ? clock_now() : clock_now_ordered());
}

/*
 * Stores the time of entry. A call with has_one_time whose operation happens at its return does not
 * read the clock here: until the call returns, its time is that of the thread's last event. While
 * the process has one thread, this also holds for operations at entry and return.
 */
static inline void call_note_entry(struct call *call, enum hook_blocks blocks)
{
	struct thread *thread = call->thread;

	call->has_one_time =
		life.one_time && (call_is_short[call->hook] || blocks == BLOCKS_IF_BUSY);
	call->is_undated = call->has_one_time && (call->at == WHEN_RETURN ||
						  (call->at == WHEN_BOTH && call_is_alone(call)));
	call->enter = call->is_undated		? thread->last
		      : call->at != WHEN_RETURN ? call_time(call)
						: call_not_before_last(call, clock_now());
	thread->last = call->enter;
}

/*
 * Whether a call that did not read the clock at entry may use the time of its return as both times.
 * This would be wrong if the call released an object that was acquired again before the call
 * returned, by another thread (if one exists by now) or by a signal handler.
 */
static inline bool call_happens_at_once(const struct call *call)
{
	return call->is_undated && (call->at == WHEN_RETURN ||
				    (call_is_alone(call) && call->thread->calls == call->number));
}

/*
 * Called at the entry of a call if its hook records (stub_begin() checks this). at, blocks: from
 * the hook's row in hooks.def. object, related: visible to the collector while the call is open.
 * Returns false if the call is not recorded.
 */
static inline bool call_begin(struct call *call, enum hook_number hook, enum hook_when at,
			      enum hook_blocks blocks, const struct origin *origin, uint64_t object,
			      uint64_t related)
{
	struct thread *thread;

	if (unlikely(__atomic_load_n(&life.control->paused, __ATOMIC_RELAXED) & 1))
		return false;
	thread = call_thread();
	if (unlikely(!thread))
		return false;
	if (unlikely(origin->cfa - thread->stack.low >= thread->stack.high - thread->stack.low))
		if (!call_is_of_thread(thread, origin->cfa))
			return false;
	if (unlikely(thread->open_count | (uint32_t)(thread->busy.frame != 0)))
		if (!call_settle(thread, origin, hook, object))
			return false;
	call->thread = thread;
	call->origin = origin;
	call->hook = hook;
	call->at = at;
	call->mark = thread->mark;
	call->number = ++thread->calls;
	call->walked = false;
	/* The low watermark is stored before the clock is read: see struct slot. */
	call->owns_watermark = !thread->watermark;
	if (call->owns_watermark)
		thread_set_watermark(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	call_note_entry(call, blocks);
	call_open(call, object, related);
	call->closes = call->owns_watermark && !call->depth;
	if (call->owns_watermark)
		thread_set_watermark(thread, call->enter);
	if (blocks == BLOCKS_IF_BUSY ? !call->has_one_time : blocks != BLOCKS_NO)
		call_show_waiting(call);
	return true;
}

/*
 * Called just before the real function of a row that blocks. The call may now sleep for any length
 * of time, so the collector must not wait for its record.
 */
static inline void call_sleeps(struct call *call)
{
	if (call->owns_watermark)
		thread_set_watermark(call->thread, 0);
}

static inline void call_note_return(struct call *call)
{
	struct thread *thread = call->thread;

	call->error = *thread->error;
	if (call->owns_watermark)
		thread_set_watermark(thread, call->enter);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Called when the real function has returned: saves errno and the time. */
static inline void call_returned(struct call *call)
{
	call_note_return(call);
	call->leave = call_time(call);
	if (!call->has_one_time)
		call->leave = clock_after(call->enter, call->leave);
	else if (call_happens_at_once(call))
		call->enter = call->leave;
	call->thread->last = call->leave;
}

/* Like call_returned(), if all events happened at entry: their order does not depend on the end. */
static inline void call_returned_early(struct call *call)
{
	call_note_return(call);
	call->leave = call->has_one_time ? call->enter : clock_after(call->enter, clock_now());
	call->thread->last = call->leave;
}

/* Whether a call that may block took long enough to be recorded. */
static inline bool call_lasted(const struct call *call)
{
	return !life.one_time || call->leave - call->enter >= life.control->lasting;
}

/*
 * Once the object of the open call is known to be readable, stores it in the slot, where other
 * processes can read it while the call blocks.
 */
static inline void call_show_object(struct call *call, uint64_t object, uint64_t related)
{
	if (call->depth >= ARENA_OPEN_MAX)
		return;
	call->thread->slot->open[call->depth].object = object;
	call->thread->slot->open[call->depth].related = related;
}

/*
 * Whether the library may read memory of the program that neither the kernel nor libc has read. The
 * memory must be on the thread's own stack, or readable according to the kernel, which is asked
 * once for each page. Under a seccomp filter the kernel is not asked, and memory outside of the
 * stack counts as unreadable.
 */
bool proof_of(const struct call *call, const void *address, size_t size);

/* Returns the text, or "" if it is not readable. Checks the first ARENA_TEXT_MAX bytes only. */
const char *proof_text(const struct call *call, const char *text);

/* Records one part of the call. A signal handler may interrupt it and record events, too. */
void call_event(struct call *call, const struct call_event *event);

/* Like call_event(), for an event with these members. */
#define CALL_EVENT(call, ...) call_event(call, &(struct call_event){ __VA_ARGS__ })

/* Removes the call from the open calls, and clears the low watermark if the call has set it. */
static inline void call_end(struct call *call)
{
	struct thread *thread = call->thread;

	if (unlikely(thread != thread_self))
		return;
	thread_set_open(thread, call->depth);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(call->depth < ARENA_OPEN_MAX))
		thread->slot->open[call->depth].frame = 0;
	if (call->owns_watermark)
		thread_set_watermark(thread, 0);
}

#endif
