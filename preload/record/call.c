/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "facts.h"
#include "names.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "preload/walk/accessors.h"
#include "ring.h"

#include <fcntl.h>
#include <signal.h>

/* ---- arguments ---- */

#define PAGE 4096u

__attribute__((noinline)) bool proof_of(const struct call *call, const void *address, size_t size)
{
	uintptr_t from = (uintptr_t)address, to = from + size;

	if (to < from)
		return false;
	if (from >= call->origin->cfa && to <= call->thread->stack.high)
		return true;
	/*
	 * The kernel reads eight bytes, which are aligned and so within one page. NULL's page
	 * counts as unreadable.
	 */
	for (; from < to; from = (from | (PAGE - 1)) + 1)
		if (from < PAGE || ring_is_quiet() ||
		    !sys_is_readable((const void *)(from & ~(uintptr_t)7)))
			return false;
	return true;
}

__attribute__((noinline)) const char *proof_text(const struct call *call, const char *text)
{
	uintptr_t at = (uintptr_t)text, end = at + ARENA_TEXT_MAX;

	if (!text || end < at)
		return "";
	while (at < end) {
		uintptr_t next = (at | (PAGE - 1)) + 1;

		if (!proof_of(call, (const void *)at, (next < end ? next : end) - at))
			return "";
		for (; at < next && at < end; at++)
			if (!*(const char *)at)
				return text;
	}
	return text;
}

/*
 * The functions below measure and write the recorded arguments of a call: first the numbers, then
 * the texts. They are inlined, because most calls on descriptors and mappings have such arguments.
 */

/* The count of numbers, and the bytes of the texts with their NULs. */
struct arguments_size {
	uint32_t numbers, text;
};

/*
 * Whether the kernel or libc has read the event's texts, so that the library can read them, too.
 * This is certain if the call succeeded, or if it has only one text and its error is about a file
 * name. Otherwise the kernel may have returned EINVAL before it read a text, or an error about the
 * first of two names before it read the second.
 */
static inline bool arguments_are_read(const struct call *call, const struct call_event *event)
{
	unsigned int texts = 0;

	if (event->moment == MOMENT_HALF)
		return false;
	if (!event->failed)
		return true;
	for (const struct call_argument *at = event->arguments; at && at->kind; at++)
		texts += at->kind == ARGUMENT_TEXT;
	return texts == 1 && (call->error == ENOENT || call->error == EEXIST ||
			      call->error == ENOTDIR || call->error == EACCES);
}

static inline const char *arguments_text(const struct call *call, bool is_proven,
					 const struct call_argument *argument)
{
	if (!is_proven)
		return proof_text(call, argument->text);
	return argument->text ? argument->text : "";
}

/* is_proven: the result of arguments_are_read(); if false, each text is checked first. */
static inline __attribute__((always_inline)) struct arguments_size
arguments_measure(const struct call *call, bool is_proven, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT)
			/* read at most as many bytes as fit into a record */
			size.text += (uint32_t)plain_length_most(
					     arguments_text(call, is_proven, argument),
					     ARENA_TEXT_MAX - 1) +
				     1;
		else
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
	}
	return size;
}

/* Writes as many bytes as arguments_measure() counted, even if the texts have changed. */
static inline __attribute__((always_inline)) void
arguments_write(const struct call *call, bool is_proven, const struct call_argument *argument,
		uint64_t *number, struct arguments_size size)
{
	char *text = (char *)(number + size.numbers), *end = text + size.text;

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT) {
			size_t room = (size_t)(end - text);

			if (room)
				text += plain_copy_words(
					text, arguments_text(call, is_proven, argument),
					room < ARENA_TEXT_MAX ? room : ARENA_TEXT_MAX);
		} else if (argument->kind == ARGUMENT_TIME) {
			/* if the call did not have to wait, libc has not read the time limit */
			bool known = argument->time &&
				     proof_of(call, argument->time, sizeof(*argument->time));

			*number++ = known ? (uint64_t)argument->time->tv_sec : 0;
			*number++ = known ? (uint64_t)argument->time->tv_nsec : 0;
		} else {
			*number++ = (uint64_t)argument->number;
		}
	}
	while (text < end)
		*text++ = 0;
}

/* Separate, because wants_backtrace() would not be inlined with this loop. */
static bool is_monitored(uint64_t size)
{
	const int64_t *sizes = life.monitored;

	for (int64_t i = 1; i <= sizes[0] && i <= SETTINGS_SIZES_MAX; i++)
		if ((uint64_t)sizes[i] == size)
			return true;
	return !sizes[0];
}

/* Whether the options request a backtrace for this event. */
static bool wants_backtrace(const struct call_event *event)
{
	if (life.backtrace == BACKTRACE_ALLOC)
		return event->operation == OPERATION_ALLOC && is_monitored(event->size);
	return life.backtrace == BACKTRACE_ALL;
}

static void fill_record(struct record_call *record, const struct call *call,
			const struct call_event *event)
{
	record->record.more = (uint16_t)call->hook;
	record->enter = call->enter;
	record->leave = event->moment == MOMENT_HALF ? 0 : call->leave;
	record->record.time = event->time ? event->time
			      : event->moment == MOMENT_LEAVE || event->moment == MOMENT_SPLIT
				      ? call->leave
				      : call->enter;
	record->call = call->number;
	record->object = event->object;
	record->related = event->related;
	record->size = event->size;
	record->result = event->result;
	record->frame = call->origin->cfa;
	record->error = event->failed ? call->error : 0;
	record->depth = (uint16_t)call->depth;
	record->operation = (uint8_t)event->operation;
	record->moment = (uint8_t)event->moment;
	record->part = event->part;
	record->flags = event->failed ? CALL_FAILED : 0;
	/* a child of vfork has its own descriptors and directory, and exits alone */
	if (unlikely(call->thread->vfork_return) &&
	    (event->resource == RESOURCE_FD || event->resource == RESOURCE_EVENT))
		record->flags |= CALL_OF_CHILD;
	record->resource = (uint8_t)event->resource;
}

/* The part of the backtrace that differs from the backtrace of the previous record. */
struct change {
	uint32_t kept, fresh;
	/* the new frames, innermost first; NULL: they are in thread->memory or thread->python */
	const uintptr_t *aside;
	uint16_t cut;
	uint8_t flags;
};

static inline void write_frames(const struct thread *thread, const struct change *change,
				uint64_t *at)
{
	const struct capture_frame *frame = &thread->memory.frames[change->kept + change->fresh];

	if (unlikely(change->aside))
		for (uint32_t i = 0; i < change->fresh; i++)
			at[i] = change->aside[i];
	else if (unlikely(thread->has_python))
		for (uint32_t i = 0; i < change->fresh; i++)
			at[i] = thread->python.merged[change->kept + change->fresh - 1 - i];
	else
		for (uint32_t i = 0; i < change->fresh; i++)
			at[i] = (--frame)->ip;
}

/*
 * Whether a short record can represent the event, perhaps with struct short_more. All conditions
 * are combined into one word that is nearly always 0. It is not 0 if a value is too large for its
 * field, or has no field in a short record, or if a value that short records omit has changed since
 * the thread's last record.
 */
static inline bool is_fast(const struct call *call, const struct call_event *event,
			   const struct change *change, int32_t cpu, uint32_t context)
{
	const struct record_model *model = &call->thread->model;
	uint64_t step = call->number - model->call;
	uint64_t frame = call->origin->cfa - model->frame + (1u << 31);
	uint64_t wide = event->size >> 32 | step >> 8 | call->depth >> 8 | frame >> 32;
	uint64_t special = (uint64_t)event->part | event->time | (event->moment == MOMENT_HALF) |
			   (change->flags & RECORD_ASIDE) | call->thread->vfork_return;
	uint64_t other = (uint64_t)!model->is_known | (uint32_t)(model->cpu ^ cpu) |
			 (model->context ^ context) | (uint64_t)(model->cut ^ change->cut) |
			 ((model->flags ^ change->flags) & CALL_CUT);

	return !(wide | special | other) && (!event->result || event->result == event->object);
}

/* Fills `more`: duration, failure and arguments of a call. Returns false if they do not fit. */
static bool note_more(struct short_more *more, const struct call *call,
		      const struct call_event *event)
{
	uint64_t lasted = call->leave - call->enter;
	uint32_t error = event->failed ? (uint32_t)call->error : 0;
	struct arguments_size size = { 0, 0 };

	if (lasted >> 32 || error > UINT8_MAX || (event->failed && !error))
		return false;
	if (event->arguments) {
		/* write_whole() checks texts page by page; do not check them twice */
		if (!arguments_are_read(call, event))
			return false;
		size = arguments_measure(call, true, event->arguments);
		if (values_size(size.numbers, size.text) > SHORT_VALUES_MAX)
			return false;
	}
	*more = (struct short_more){ .lasted = (uint32_t)lasted,
				     .text = (uint16_t)size.text,
				     .numbers = (uint8_t)size.numbers,
				     .error = (uint8_t)error };
	return true;
}

/* ring_reserve() has counted one dropped event; counts another for a split. Returns false. */
static __attribute__((noinline)) bool drop_full(struct thread *thread,
						const struct call_event *event)
{
	if (event->moment == MOMENT_SPLIT) /* the record would have held two events */
		ring_drop(thread, LOSS_FULL);
	return false;
}

/* Writes a short record. more: NULL, or filled by note_more(). */
static inline __attribute__((always_inline)) bool write_short(const struct call *call,
							      const struct call_event *event,
							      const struct change *change,
							      const struct short_more *more)
{
	struct thread *thread = call->thread;
	struct record_model *model = &thread->model;
	uint32_t form = (uint32_t)event->operation |
			(event->moment == MOMENT_LEAVE ? SHORT_LEAVES : 0u) |
			(event->result ? SHORT_MADE : 0u) | (event->related ? SHORT_RELATED : 0u) |
			(call->closes ? SHORT_CLOSES : 0u);
	uint32_t size = short_size((uint8_t)form);
	uint32_t values = more ? values_size(more->numbers, more->text) : 0;
	uint32_t rest = more ? (uint32_t)sizeof(*more) + values : 0;
	struct record_short *record = (struct record_short *)ring_reserve(
		thread, RECORD_SHORT, size + rest + change->fresh * 8);
	char *at;

	if (!record)
		return drop_full(thread, event);
	record->record.more = (uint16_t)call->hook;
	record->record.time = call->leave;
	record->object = event->object;
	record->size = (uint32_t)event->size;
	record->frame = (int32_t)(call->origin->cfa - model->frame);
	record->kept =
		change->flags & CALL_NO_BACKTRACE ? SHORT_NO_BACKTRACE : (uint16_t)change->kept;
	record->fresh = (uint16_t)change->fresh;
	record->call = (uint8_t)(call->number - model->call);
	record->depth = (uint8_t)call->depth;
	record->form = (uint8_t)form;
	record->resource = (uint8_t)event->resource |
			   (event->moment == MOMENT_SPLIT ? (uint8_t)SHORT_SPLIT : 0);
	if (event->related)
		*(uint64_t *)(record + 1) = event->related;
	at = (char *)record + size;
	if (more) {
		record->record.time = event->moment == MOMENT_LEAVE ? call->leave : call->enter;
		record->resource |= SHORT_MORE;
		*(struct short_more *)(void *)at = *more;
		at += sizeof(*more);
		if (event->arguments)
			arguments_write(call, true, event->arguments, (uint64_t *)(void *)at,
					(struct arguments_size){ more->numbers, more->text });
		at += values;
	}
	write_frames(thread, change, (uint64_t *)(void *)at);
	ring_publish(&record->record);
	model->call = call->number;
	model->frame = call->origin->cfa;
	return true;
}

static __attribute__((noinline)) bool write_whole(const struct call *call,
						  const struct call_event *event,
						  const struct change *change, int32_t cpu,
						  uint32_t context)
{
	struct thread *thread = call->thread;
	bool is_proven = !event->arguments || arguments_are_read(call, event);
	struct arguments_size size = arguments_measure(call, is_proven, event->arguments);
	uint32_t arguments = (size.numbers * 8 + size.text + 7) & ~7u;
	struct record_call *record = (struct record_call *)ring_reserve(
		thread, RECORD_CALL, (uint32_t)sizeof(*record) + arguments + change->fresh * 8);
	uint64_t *at;

	if (!record)
		return drop_full(thread, event);
	fill_record(record, call, event);
	record->cpu = cpu;
	record->context = context;
	record->flags |= change->flags;
	record->kept = (uint16_t)change->kept;
	record->fresh = (uint16_t)change->fresh;
	record->cut = change->cut;
	record->numbers = (uint8_t)size.numbers;
	record->text = (uint16_t)size.text;
	at = (uint64_t *)(record + 1);
	arguments_write(call, is_proven, event->arguments, at, size);
	at += arguments / 8;
	write_frames(thread, change, at);
	ring_publish(&record->record);
	/* keep the values that the following short records leave out */
	if (!(change->flags & RECORD_ASIDE))
		thread->model = (struct record_model){ .call = call->number,
						       .frame = call->origin->cfa,
						       .cpu = cpu,
						       .context = context,
						       .cut = change->cut,
						       .flags = change->flags & CALL_CUT,
						       .is_known = true };
	return true;
}

/* Writes a short record with struct short_more if the event fits, else a whole record. */
static __attribute__((noinline)) bool write_long(const struct call *call,
						 const struct call_event *event,
						 const struct change *change, int32_t cpu,
						 uint32_t context)
{
	struct short_more more;

	return note_more(&more, call, event) ? write_short(call, event, change, &more)
					     : write_whole(call, event, change, cpu, context);
}

/* Reserves, fills and publishes the record. Returns whether there was space for it. */
static inline __attribute__((always_inline)) bool
write_record(const struct call *call, const struct call_event *event, const struct change *change)
{
	uint32_t context = names_contexts();
	bool is_written;
	int32_t cpu = -1;

	if (likely(loader.rseq_offset && ARCH_HAS_THREAD_POINTER)) {
		/* glibc's area for restartable sequences (rseq(2)) has the processor's number */
		const char *area =
			(const char *)(arch_thread_pointer() + (uintptr_t)*loader.rseq_offset);

		cpu = *(const volatile int32_t *)(area + 4);
	}
	if (unlikely(!is_fast(call, event, change, cpu, context)))
		is_written = write_whole(call, event, change, cpu, context);
	else if ((call->enter ^ call->leave) | (uint64_t)event->failed |
		 (uintptr_t)event->arguments)
		is_written = write_long(call, event, change, cpu, context);
	else
		is_written = write_short(call, event, change, NULL);

	if (is_written && !(change->flags & RECORD_ASIDE))
		call->thread->busy.is_written = true;
	return is_written;
}

/* write_record(), not inlined, for rare records. */
static __attribute__((noinline)) bool
write_rarely(const struct call *call, const struct call_event *event, const struct change *change)
{
	return write_record(call, event, change);
}

/* Walks with libunwind. Signals are blocked, so that no handler records an event. */
static __attribute__((noinline)) uint32_t
walk_by_libunwind(const struct call *call, uintptr_t *frames, enum capture_end *end)
{
	struct thread *thread = call->thread;
	uint64_t all = ~0ull, old = 0;
	int error = *thread->error;
	uint32_t count;

	sys_rt_sigprocmask(SIG_BLOCK, &all, &old);
	thread->in_libunwind = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	count = remote_walk(call->origin, &thread->stack, frames, life.depth, end);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->in_libunwind = false;
	sys_rt_sigprocmask(SIG_SETMASK, &old, NULL);
	*thread->error = error;
	return count;
}

/* Returns the number of frames of the thread's remembered backtrace. */
static inline uint32_t count_frames(const struct thread *thread)
{
	return unlikely(thread->has_python) ? thread->python.merged_count : thread->memory.count;
}

/* Replaces the thread's remembered backtrace by that of this call, unless both are equal. */
static inline __attribute__((always_inline)) void walk_and_remember(struct call *call)
{
	struct thread *thread = call->thread;
	struct capture_memory *memory = &thread->memory;
	uint32_t before = memory->count, same;
	enum capture_end end;

	if (call->walked && call->serial == thread->serial)
		return;
	if (unlikely(life.is_remote)) {
		/* use the buffer for steps, which only our own walk needs */
		uintptr_t *frames = (uintptr_t *)(void *)memory->steps;
		uint32_t count = walk_by_libunwind(call, frames, &end);

		same = capture_take(memory, frames, count, end);
	} else {
		same = capture_again(memory, call->origin, &thread->stack, life.depth, &end);
	}
	/* if has_python, the process had an interpreter, which may have been unloaded */
	if (unlikely(python_is_found || thread->has_python)) {
		/* the backtrace with Python frames replaces that of C frames alone */
		uint32_t merged = thread->has_python ? thread->python.merged_count : 0;

		same = python_merge(call, thread->has_python ? before : 0, same);
		before = before ? merged : 0;
		thread->has_python = true;
	}
	if (same != count_frames(thread) || same != before) {
		thread->serial++;
		if (same < thread->told)
			thread->told = same;
		if (same < thread->shown)
			thread->shown = same;
	}
	call->walk_flags = end == CAPTURE_COMPLETE ? 0 : CALL_CUT;
	call->walked = true;
	call->serial = thread->serial;
}

/* Records an event of a signal handler that interrupted the writing of another event. */
static __attribute__((noinline)) void event_aside(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct change change = { .flags = CALL_NO_BACKTRACE };

	if (life.depth && wants_backtrace(event)) {
		enum capture_end end;

		change.fresh = life.is_remote ? walk_by_libunwind(call, thread->aside, &end)
					      : capture_walk(call->origin, &thread->stack,
							     thread->aside, life.depth, &end);
		change.flags = end == CAPTURE_COMPLETE ? 0 : CALL_CUT;
		change.aside = thread->aside;
	}
	change.flags |= RECORD_ASIDE;
	facts_tell_modules(thread, call->enter - 1);
	write_rarely(call, event, &change);
}

static void event_with_backtrace(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct change change;
	uint32_t count;

	walk_and_remember(call);
	count = count_frames(thread);
	if (unlikely(thread->modules != maps_count()))
		facts_tell_modules(thread, call->enter - 1);
	change.kept = thread->told;
	change.fresh = count - thread->told;
	change.aside = NULL;
	change.cut = count > life.depth ? (uint16_t)life.depth : 0;
	change.flags = call->walk_flags;
	/* only a published record changes the frames that the collector knows */
	if (write_record(call, event, &change))
		thread->told = count;
}

/* Does what LIFE_LOADS and LIFE_FOLLOWS require of a hook before its event is recorded. */
static __attribute__((noinline)) void prepare_event(const struct call *call,
						    const struct call_event *event)
{
	const struct call_argument *arguments = event->arguments;

	if (life_armed[call->hook] & LIFE_LOADS)
		life_look_at_loads(call->origin);
	if (!(life_armed[call->hook] & LIFE_FOLLOWS) || event->failed || call->thread->busy.frame ||
	    ring_is_quiet())
		return;
	/* record the kernel's name of the file that the call opened or that a new link leads to */
	if (event->resource == RESOURCE_FD && event->operation == OPERATION_ALLOC)
		facts_tell_file((int)event->object);
	else if (call->hook == HOOK_symlink)
		facts_tell_link(AT_FDCWD, arguments[1].text);
	else if (call->hook == HOOK_symlinkat)
		facts_tell_link((int)arguments[1].number, arguments[2].text);
}

void call_event(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct busy before;

	/* since the call began: a fork (this is the child), or a detach and another attach */
	if (unlikely(thread != thread_self || call->mark != *life.fork_mark))
		return;
	/* for close_unwound(): this object is held again if the call never returns */
	if (unlikely(event->part) && call->depth < ARENA_OPEN_MAX)
		thread->slot->open[call->depth].half =
			event->moment == MOMENT_HALF ? (uint16_t)event->resource : RESOURCE_NONE;
	if (unlikely(life_armed[call->hook] & (LIFE_FOLLOWS | LIFE_LOADS)))
		prepare_event(call, event);
	if (unlikely(thread->busy.frame)) {
		event_aside(call, event);
		return;
	}
	before = thread_busy_begin(thread, call->origin);
	if (likely(life.depth && wants_backtrace(event))) {
		event_with_backtrace(call, event);
	} else {
		static const struct change none = { .flags = CALL_NO_BACKTRACE };

		write_rarely(call, event, &none);
	}
	thread_busy_end(thread, before);
}

/* Copies the remembered backtrace into the slot. */
static void show_backtrace(struct thread *thread)
{
	struct slot *slot = thread->slot;
	uint32_t all = count_frames(thread);
	uint32_t cut = all > life.depth ? all - life.depth : 0;
	uint32_t count = all - cut;

	if (!cut && thread->shown == count && thread->shown_all == count)
		return;
	slot->stack_serial = ++thread->stack_serial;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = cut ? 0 : thread->shown; i < count; i++)
		slot->stack[i] = thread->has_python ? thread->python.merged[cut + i]
						    : thread->memory.frames[cut + i].ip;
	slot->stack_count = count;
	thread->shown_all = count;
	thread->shown = cut ? 0 : count;
}

/* Copies the backtrace of a call that may block forever into the slot, for the collector. */
void call_show_waiting(struct call *call)
{
	struct thread *thread = call->thread;
	struct busy before;

	if (thread->busy.frame || !life.depth || life.backtrace != BACKTRACE_ALL ||
	    call->depth >= ARENA_OPEN_MAX)
		return;
	before = thread_busy_begin(thread, call->origin);
	thread->busy.is_written =
		true; /* nothing to count as dropped: no record is being written */
	walk_and_remember(call);
	/* this may be the first backtrace in a child of fork, or the first that has a new module */
	if (unlikely(thread->modules != maps_count()))
		facts_tell_modules(thread, call->enter - 1);
	show_backtrace(thread);
	thread->slot->open[call->depth].serial = thread->stack_serial;
	thread_busy_end(thread, before);
}

void call_must_wait(struct call *call)
{
	struct thread *thread = call->thread;

	if (!call->has_one_time)
		return;
	call->has_one_time = false;
	call->enter = thread->last = clock_now();
	if (call->depth < ARENA_OPEN_MAX)
		thread->slot->open[call->depth].enter = call->enter;
	call_show_waiting(call);
}
