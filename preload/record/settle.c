/* SPDX-License-Identifier: MIT */
/*
 * Checks, at the entry of a hooked call, which thread makes the call. Finds and closes those of the
 * thread's open calls that will never return, because longjmp, an exception or cancellation has
 * unwound their frames.
 */
#include "call.h"

#include "facts.h"
#include "preload/ground/loader.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "ring.h"

#include <pthread.h>

static const uint8_t class_of_hook[HOOK_COUNT] = {
#define HOOK(name, type, params, class, ...) [HOOK_##name] = RESOURCE_##class,
#include "hooks.def"
};

static const uint8_t operation_of_hook[HOOK_COUNT] = {
#define HOOK(name, type, params, class, op, ...) [HOOK_##name] = OPERATION_##op,
#include "hooks.def"
};

/* Maximum number of frames in which is_left() searches for a call. */
#define FRAMES_MAX 64

struct thread *call_attach(void)
{
	struct thread *thread = thread_self;
	struct stack_bounds bounds;
	bool is_known = thread != NULL, is_forked = call_is_forked();

	/* the thread is still on the same stack, even in a child of fork */
	if (is_known)
		bounds = thread->stack;
	if (is_forked)
		life_forked();
	if (!life.control || life.is_off)
		return NULL;
	thread = thread_attach(is_known ? &bounds : NULL, NULL);
	if (!thread)
		life_drop(LOSS_NO_SLOT);
	else if (is_forked)
		facts_tell_functions();
	return thread;
}

/* foreign stacks are checked in pieces of 1 << ASKED_SHIFT bytes, each piece once */
#define ASKED_SHIFT 14
/* bits of a piece's number, for addresses of 57 bits; thread->turn is stored above them */
#define PIECE_BITS 43

/*
 * Two tasks that write to one ring would corrupt it, and could crash the program. Only the kernel
 * can distinguish the tasks, by gettid; under a seccomp filter, the library must not ask the
 * kernel. A child of vfork counts as the thread that called vfork, since the parent sleeps until
 * the child ends.
 */
bool call_is_of_thread(struct thread *thread, uintptr_t cfa)
{
	uint64_t piece = cfa >> ASKED_SHIFT;
	/* `turn` distinguishes this thread's entries from those of the block's earlier threads */
	uint64_t wanted = piece | (uint64_t)thread->turn << PIECE_BITS;
	/* the set of the cache in which this piece would be */
	uint64_t *places =
		thread->own_pieces[(piece * 0x9e3779b97f4a7c15u) >> (64 - THREAD_PIECES_BITS)];
	unsigned int i = 0;

	if (piece == thread->asked || thread->vfork_return || ring_is_quiet())
		return true;
	while (i < THREAD_PIECES_WAYS && places[i] != wanted)
		i++;
	if (i == THREAD_PIECES_WAYS) {
		if (sys_gettid() != thread->owner->thread) {
			life_drop(LOSS_SEALED);
			return false;
		}
		while (--i > 0)
			places[i] = places[i - 1];
		places[0] = wanted;
	}
	thread->asked = piece;
	return true;
}

static bool on_known_stack(const struct thread *thread, uintptr_t address)
{
	return address >= thread->stack.low && address < thread->stack.high;
}

/*
 * Records one part of a call whose frame is no longer on the stack: longjmp, an exception or
 * cancellation ended the call without a return. The record's backtrace contains only the caller.
 */
static void tell_unwound(struct thread *thread, const struct arena_open *open, uint32_t depth,
			 const struct call_event *event)
{
	struct record_call *record = (struct record_call *)ring_reserve(
		thread, RECORD_CALL, sizeof(*record) + sizeof(open->ip));

	if (!record)
		return;
	__builtin_memset(&record->enter, 0, sizeof(*record) - sizeof(record->record));
	record->record.more = open->hook;
	record->record.time = thread->last;
	record->enter = open->enter;
	record->leave = thread->last;
	record->call = open->call;
	record->object = event->object;
	record->related = event->related;
	record->size = event->size;
	record->frame = open->frame;
	record->depth = (uint16_t)depth;
	record->fresh = 1;
	record->operation = (uint8_t)event->operation;
	record->resource = (uint8_t)event->resource;
	record->part = event->part;
	record->moment = MOMENT_LEAVE;
	record->flags = CALL_CUT | RECORD_ASIDE;
	if (event->failed)
		record->flags |= CALL_UNWOUND | CALL_FAILED;
	record->cpu = -1;
	*(uint64_t *)(record + 1) = open->ip;
	ring_publish(&record->record);
}

bool call_owns_mutex(const struct thread *thread, uint64_t mutex)
{
	const pthread_mutex_t *asked = (const pthread_mutex_t *)(uintptr_t)mutex;

	/* on every processor, the mutex's owner is in the second eight bytes of the mutex */
	return sys_are_readable(asked, 16) && asked->__data.__owner == thread->owner->thread;
}

/*
 * Closes a call that did not return. If the first half of the call recorded a release that did not
 * take effect, records that the object is acquired again. A thread whose join was cancelled still
 * exists. A thread that is cancelled while it waits for a condition holds the mutex again before
 * its first cleanup handler runs. (A thread that jumped out of the wait does not hold the mutex.)
 */
static void close_unwound(struct thread *thread, const struct arena_open *open, uint32_t depth)
{
	if (open->half == RESOURCE_THREAD)
		tell_unwound(thread, open, depth,
			     &(struct call_event){ .resource = RESOURCE_THREAD,
						   .operation = OPERATION_ALLOC,
						   .part = 2,
						   .object = open->object,
						   .size = 1 });
	else if (open->half == RESOURCE_LOCK && call_owns_mutex(thread, open->related))
		tell_unwound(thread, open, depth,
			     &(struct call_event){ .resource = RESOURCE_LOCK,
						   .operation = OPERATION_ACQUIRE,
						   .part = 2,
						   .object = open->related,
						   .related = open->object,
						   .size = 1 });
	tell_unwound(thread, open, depth,
		     &(struct call_event){ .operation = operation_of_hook[open->hook],
					   .failed = true,
					   .object = open->object,
					   .related = open->related });
}

/* Called when a jump, for example longjmp, has left the code that was recording an event. */
static void drop_left_writer(struct thread *thread)
{
	/* the writer may not have reserved its record yet */
	if (!ring_settle(thread) && !thread->busy.is_written)
		ring_drop(thread, LOSS_ABANDONED);
	thread->busy.frame = 0;
	thread->in_libunwind = false;
	/* the writer may have been in the middle of a walk or of a record */
	thread->memory.count = 0;
	thread->told = thread->shown = 0;
	thread->model.is_known = false;
}

/*
 * Whether the call is no longer on the stack. Frames below the frame of the call may belong to
 * functions that the call has called, or to a signal handler. If the call was unwound, they may
 * belong to functions that the caller has called since, such as the destructor of a lock. If the
 * first half of the call was recorded, the stack is walked to find out whether the call was
 * unwound, because the object of an unwound call is held again.
 */
static bool is_left(const struct thread *thread, const struct arena_open *open,
		    const struct origin *origin)
{
	/* read once: other processes may change it, and memory at this address is read below */
	uintptr_t frame = __atomic_load_n(&open->frame, __ATOMIC_RELAXED);
	uintptr_t frames[FRAMES_MAX];
	enum capture_end end;
	unsigned int count;

	if (!on_known_stack(thread, frame))
		return false;
	if (frame <= origin->cfa || !arch_returns_to(frame, open->ip))
		return true;
	if (!open->half)
		return false;
	count = capture_walk(origin, &thread->stack, frames, FRAMES_MAX, &end);
	for (unsigned int i = 0; i < count; i++)
		if (frames[i] == open->ip)
			return false;
	return end == CAPTURE_COMPLETE;
}

/* Closes the open calls that are no longer on the stack; all of them if `origin` is NULL. */
static void close_left(struct thread *thread, const struct origin *origin)
{
	while (thread->open_count) {
		uint32_t depth = thread->open_count - 1;
		const struct arena_open *open = &thread->slot->open[depth];

		if (depth < ARENA_OPEN_MAX) {
			if (origin && !is_left(thread, open, origin))
				break;
			close_unwound(thread, open, depth);
		}
		thread_set_open(thread, depth);
	}
}

/* Whether the innermost call of slot->open is no longer on the stack, nor any call inside it. */
static bool has_left(const struct thread *thread, const struct origin *origin)
{
	/* if there is no open call, `last` wraps around and is not used */
	uint32_t last = thread->open_count - 1;
	const struct arena_open *open;

	if (!thread->open_count)
		return false;
	open = &thread->slot->open[last < ARENA_OPEN_MAX ? last : ARENA_OPEN_MAX - 1];
	return is_left(thread, open, origin);
}

/*
 * Checks whether the open calls of this thread are still on its stack. Compares frames only within
 * the thread's own stack, since coroutine stacks and signal stacks may be anywhere. Returns false
 * if another task makes this call.
 */
static bool settle_thread(struct thread *thread, const struct origin *origin)
{
	uint64_t watermark = thread->watermark, writer = thread->busy.frame;
	struct busy before;
	/* whether a jump has left the function that was recording an event */
	bool is_writer_left;

	if (!on_known_stack(thread, origin->cfa))
		return true;
	is_writer_left = writer && on_known_stack(thread, writer) &&
			 (writer <= origin->cfa || !arch_returns_to(writer, thread->busy.ip));
	if (!is_writer_left && (writer || !has_left(thread, origin)))
		return true;
	/*
	 * A call seems to be no longer on the stack. If another task runs on this thread's stack
	 * instead (see call_is_of_thread()), recording stops for good, because the two tasks can be
	 * distinguished only at such a moment.
	 */
	if (!thread->vfork_return && !ring_is_quiet() && sys_gettid() != thread->owner->thread) {
		life_seal(true);
		life_drop(LOSS_SEALED);
		return false;
	}
	if (is_writer_left)
		drop_left_writer(thread);
	if (!has_left(thread, origin))
		return true;
	if (!watermark)
		thread_set_watermark(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->last = clock_now();
	before = thread_busy_begin(thread, origin);
	thread->busy.is_written = true;
	close_left(thread, origin);
	thread_busy_end(thread, before);
	/* if all calls are closed, clear the low watermark, which one of them had set */
	thread_set_watermark(thread, thread->open_count ? watermark : 0);
	return true;
}

/* Whether the address is in this library. */
static bool is_ours(uintptr_t address)
{
	static uintptr_t from, size;
	struct loaded ours;

	/* several threads may do this at the same time, with the same result */
	if (unlikely(!__atomic_load_n(&size, __ATOMIC_ACQUIRE))) {
		if (loader_find((const void *)(uintptr_t)is_ours, &ours))
			return false;
		from = (uintptr_t)ours.map_start;
		__atomic_store_n(&size, (uintptr_t)ours.map_end - from, __ATOMIC_RELEASE);
	}
	return address - from < size;
}

/*
 * Whether this call is a part of the innermost open call. Then the real function of the open call
 * makes this call, from its own module or by a jump from the stub itself. Both calls have the same
 * object of the same class. For example, glibc's reallocarray calls realloc through the procedure
 * linkage table, and so through our stub. For memory, any object counts, because an allocator's
 * realloc may call its malloc. Calls by signal handlers and callbacks are not parts: they come from
 * another module or are for another object.
 */
static bool is_part(const struct thread *thread, const struct origin *origin, enum hook_number hook,
		    uint64_t object)
{
	uint32_t count = thread->open_count;
	const struct arena_open *open = &thread->slot->open[count - 1];
	enum hook_number outer;

	if (!count || count > ARENA_OPEN_MAX || thread->busy.frame)
		return false;
	outer = (enum hook_number)__atomic_load_n(&open->hook, __ATOMIC_RELAXED);
	if (outer >= HOOK_COUNT || class_of_hook[outer] != class_of_hook[hook] ||
	    (open->object != object && class_of_hook[hook] != RESOURCE_MEMORY) ||
	    open->frame <= origin->cfa)
		return false;
	/* if the real function jumped to this function, the stub is the caller */
	if (is_ours(origin->ip))
		return true;
	return thread->inner.call == open->call
		       ? origin->ip - thread->inner.module->from < thread->inner.module->size
		       : maps_are_one(origin->ip, (uintptr_t)real_of(outer));
}

/*
 * Checks the thread's open calls. Returns false if this call is not recorded: another task makes
 * it, libunwind makes it, or it is part of another call.
 */
bool call_settle(struct thread *thread, const struct origin *origin, enum hook_number hook,
		 uint64_t object)
{
	return settle_thread(thread, origin) && !thread->in_libunwind &&
	       !is_part(thread, origin, hook, object);
}

void call_give_up(struct thread *thread)
{
	if (thread->busy.frame)
		drop_left_writer(thread);
	if (thread->open_count && !thread->watermark)
		thread_set_watermark(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (thread->open_count)
		thread->last = clock_now();
	close_left(thread, NULL);
	thread_set_watermark(thread, 0);
}
