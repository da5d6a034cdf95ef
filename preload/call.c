/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "maps.h"
#include "ring.h"
#include "sys.h"

/* Most bytes of texts in one record. */
#define TEXTS_MAX (2 * ARENA_TEXT_MAX)

struct thread *call_attach(void)
{
	struct thread *thread = thread_self;
	struct stack_bounds bounds = thread_main_stack();
	bool is_known = sys_gettid() == life.pid;

	if (call_is_forked()) {
		/* The child goes on where its parent's thread stood, whichever that was. */
		is_known = thread != NULL;
		if (thread)
			bounds = thread->stack;
		life_forked();
		thread = NULL;
	}
	if (!life.arena)
		return NULL;
	if (!thread)
		thread = thread_attach(is_known ? &bounds : NULL, NULL);
	if (!thread)
		life_lose(LOSS_NO_SLOT);
	return thread;
}

static bool on_known_stack(const struct thread *thread, uintptr_t address)
{
	return address >= thread->stack.low && address < thread->stack.high;
}

/*
 * A call whose frame the stack has left did not return: longjmp, an exception, cancellation. Its
 * record has its caller for a backtrace.
 */
static void close_unwound(struct thread *thread, const struct arena_open *open, uint32_t depth)
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
	record->object = open->object;
	record->related = open->related;
	record->frame = open->frame;
	record->depth = (uint16_t)depth;
	record->fresh = 1;
	record->operation = OPERATION_NONE;
	record->moment = MOMENT_LEAVE;
	record->flags = CALL_UNWOUND | CALL_FAILED | CALL_CUT | RECORD_ASIDE;
	record->cpu = -1;
	*(uint64_t *)(record + 1) = open->ip;
	ring_publish(&record->record);
}

/* The writer of the event that was under way was jumped out of. */
static void drop_busy(struct thread *thread)
{
	if (thread->unheaded) {
		thread->reserved = thread->slot.head;
		thread->unheaded = 0;
	}
	if (thread->busy_record) {
		ring_abandon(thread->busy_record);
		ring_lose(thread, LOSS_ABANDONED);
	}
	thread->busy_record = NULL;
	thread->busy_frame = 0;
	thread->told = 0;
}

/* Closes the open calls that the stack has left. */
static void close_left(struct thread *thread, uintptr_t frame)
{
	struct slot *slot = &thread->slot;

	while (slot->open_count) {
		uint32_t depth = slot->open_count - 1;
		const struct arena_open *open = &slot->open[depth];

		if (depth < ARENA_OPEN_MAX) {
			if (open->frame > frame || !on_known_stack(thread, open->frame))
				break;
			close_unwound(thread, open, depth);
		}
		slot->open_count = depth;
	}
}

/*
 * Whether the stack has left the innermost open call that has a place in the table; those beyond
 * have been left with it.
 */
static bool has_left(const struct thread *thread, uintptr_t frame)
{
	uint32_t last = thread->slot.open_count - 1; /* none: far beyond the table */
	const struct arena_open *open;

	if (!thread->slot.open_count)
		return false;
	open = &thread->slot.open[last < ARENA_OPEN_MAX ? last : ARENA_OPEN_MAX - 1];
	return open->frame <= frame && on_known_stack(thread, open->frame);
}

/*
 * Looks whether what this thread has open is still below it on the stack. Frames are compared
 * only within the thread's own stack: a coroutine or a signal stack may lie anywhere.
 */
void call_settle(struct thread *thread, const struct origin *origin)
{
	struct slot *slot = &thread->slot;
	uint64_t floor = slot->floor;

	if (!on_known_stack(thread, origin->cfa))
		return;
	if (thread->busy_frame && on_known_stack(thread, thread->busy_frame) &&
	    thread->busy_frame <= origin->cfa)
		drop_busy(thread);
	if (thread->busy_frame || !has_left(thread, origin->cfa))
		return;
	if (!floor)
		__atomic_store_n(&slot->floor, thread->last, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->last = clock_now();
	close_left(thread, origin->cfa);
	/* Who owned the floor is among those that did not return. */
	__atomic_store_n(&slot->floor, slot->open_count ? floor : 0, __ATOMIC_RELEASE);
}

/* How many of the outermost frames are those of the remembered backtrace. */
static uint32_t same_frames(const struct slot *slot, const uintptr_t *frames, uint32_t count)
{
	uint32_t most = count < slot->stack_count ? count : slot->stack_count;
	uint32_t same = 0;

	while (same < most && slot->stack[same] == frames[count - 1 - same])
		same++;
	return same;
}

/* Makes frames (innermost first) the thread's backtrace. */
static void remember(struct thread *thread, const uintptr_t *frames, uint32_t count)
{
	struct slot *slot = &thread->slot;
	uint32_t same = same_frames(slot, frames, count);

	if (same < thread->told)
		thread->told = same;
	if (same == count && slot->stack_count == count)
		return;
	for (uint32_t i = same; i < count; i++)
		slot->stack[i] = frames[count - 1 - i];
	slot->stack_count = count;
	slot->stack_serial++;
}

/* Whether this event gets a backtrace, by the user's choice. */
static bool wants_backtrace(const struct call_event *event)
{
	if (life.backtrace == BACKTRACE_ALLOC)
		return event->operation == OPERATION_ALLOC;
	return life.backtrace == BACKTRACE_ALL;
}

/* Modules that the walk has met go before the event that has frames in them. */
static void tell_modules(struct thread *thread, uint64_t time)
{
	for (uint32_t count = maps_count(); thread->modules < count; thread->modules++) {
		const struct module *module = maps_get(thread->modules);
		uint32_t path = (uint32_t)plain_length(module->path) + 1;
		uint32_t size =
			(uint32_t)sizeof(struct record_module) + path + module->build_id_size;
		struct record_module *record = (struct record_module *)ring_reserve(
			thread, RECORD_MODULE, (size + 7) & ~7u);
		char *at;

		if (!record)
			return;
		record->record.more = (uint16_t)thread->modules;
		record->record.time = time;
		record->base = module->base;
		record->start = module->start;
		record->end = module->end;
		record->offset = module->offset;
		record->path_size = (uint16_t)path;
		record->build_id_size = module->build_id_size;
		record->pad = 0;
		at = (char *)(record + 1);
		at += plain_copy(at, module->path, path);
		for (uint32_t i = 0; i < module->build_id_size; i++)
			*at++ = (char)module->build_id[i];
		ring_publish(&record->record);
	}
}

/* Room that the arguments take in a record, and how many of each kind there are. */
struct arguments_size {
	uint32_t numbers, text;
};

static const char *text_of(const struct call *call, const struct call_argument *argument)
{
	/* The kernel could not read it, so we do not try. */
	return argument->text && call->error != EFAULT ? argument->text : "";
}

static struct arguments_size measure(const struct call *call, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT) {
			size_t length = plain_length(text_of(call, argument)) + 1;

			size.text += length < ARENA_TEXT_MAX ? (uint32_t)length : ARENA_TEXT_MAX;
		} else {
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
		}
	}
	return size;
}

/* Writes the numbers, then the texts. Texts may have changed since they were measured. */
static void write_arguments(const struct call *call, const struct call_argument *argument,
			    uint64_t *number, struct arguments_size size)
{
	char *text = (char *)(number + size.numbers), *end = text + size.text;

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT) {
			size_t room = (size_t)(end - text);

			if (room)
				text += plain_copy(text, text_of(call, argument),
						   room < ARENA_TEXT_MAX ? room : ARENA_TEXT_MAX);
		} else if (argument->kind == ARGUMENT_TIME) {
			bool known = argument->time && call->error != EFAULT;

			*number++ = known ? (uint64_t)argument->time->tv_sec : 0;
			*number++ = known ? (uint64_t)argument->time->tv_nsec : 0;
		} else {
			*number++ = (uint64_t)argument->number;
		}
	}
	while (text < end)
		*text++ = 0;
}

/* glibc's restartable-sequence area of the thread holds its processor's number (rseq(2)). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static int32_t current_cpu(void)
{
	const char *area;

	if (!&__rseq_offset)
		return -1;
	area = (const char *)__builtin_thread_pointer() + __rseq_offset;
	return *(const volatile int32_t *)(area + 4);
}

static void fill(struct record_call *record, const struct call *call,
		 const struct call_event *event)
{
	record->record.more = (uint16_t)call->hook;
	record->enter = call->enter;
	record->leave = event->moment == MOMENT_HALF ? 0 : call->leave;
	record->record.time = event->time		      ? event->time
			      : event->moment == MOMENT_LEAVE ? call->leave
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
	if (unlikely(call->thread->vfork_return) && event->resource == RESOURCE_FD)
		record->flags |= CALL_OF_CHILD;
	record->resource = (uint8_t)event->resource;
	record->cpu = current_cpu();
	record->context = 0;
}

/* The frames that a record says anew. */
struct change {
	uint32_t kept, fresh;
	const uint64_t *last; /* fresh frames end here and are read backwards: outermost first */
	uint8_t flags;
};

/* Reserves, fills and publishes the record. Returns whether there was room for it. */
static bool write_record(const struct call *call, const struct call_event *event,
			 const struct change *change)
{
	struct thread *thread = call->thread;
	bool aside = change->flags & RECORD_ASIDE;
	struct arguments_size size = measure(call, event->arguments);
	uint32_t arguments = (size.numbers * 8 + size.text + 7) & ~7u;
	struct record_call *record = (struct record_call *)ring_reserve(
		thread, RECORD_CALL, (uint32_t)sizeof(*record) + arguments + change->fresh * 8);
	uint64_t *at;

	if (!record)
		return false;
	if (!aside)
		thread->busy_record = &record->record;
	fill(record, call, event);
	record->flags |= change->flags;
	record->kept = (uint16_t)change->kept;
	record->fresh = (uint16_t)change->fresh;
	record->numbers = (uint8_t)size.numbers;
	record->text = (uint16_t)size.text;
	at = (uint64_t *)(record + 1);
	write_arguments(call, event->arguments, at, size);
	at += arguments / 8;
	for (uint32_t i = 0; i < change->fresh; i++)
		at[i] = *(change->last - 1 - i);
	if (!aside)
		thread->busy_record = NULL;
	ring_publish(&record->record);
	return true;
}

static uint32_t walk(const struct call *call, uintptr_t *frames, uint8_t *flags)
{
	enum capture_end end;
	uint32_t count = capture_walk(call->origin, &call->thread->stack, frames, life.depth, &end);

	*flags = end == CAPTURE_COMPLETE ? 0 : CALL_CUT;
	return count;
}

/* Makes the thread's remembered backtrace that of the call, if it is not already. */
static void walk_and_remember(struct call *call)
{
	struct thread *thread = call->thread;

	if (call->walked && call->serial == thread->slot.stack_serial)
		return;
	remember(thread, thread->walk, walk(call, thread->walk, &call->walk_flags));
	call->walked = true;
	call->serial = thread->slot.stack_serial;
}

/* An event of a signal handler that came in the middle of another event's record. */
static void event_aside(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct change change = { .flags = CALL_NO_BACKTRACE };

	if (life.depth && wants_backtrace(event)) {
		/* Turned round: a change is read from its outer end. */
		change.fresh = walk(call, thread->aside, &change.flags);
		for (uint32_t i = 0; i < change.fresh / 2; i++) {
			uintptr_t frame = thread->aside[i];

			thread->aside[i] = thread->aside[change.fresh - 1 - i];
			thread->aside[change.fresh - 1 - i] = frame;
		}
		change.last = (const uint64_t *)thread->aside + change.fresh;
	}
	change.flags |= RECORD_ASIDE;
	tell_modules(thread, call->enter - 1);
	write_record(call, event, &change);
}

static void event_with_backtrace(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct slot *slot = &thread->slot;
	struct change change;

	walk_and_remember(call);
	if (unlikely(thread->modules != maps_count()))
		tell_modules(thread, call->enter - 1);
	change.kept = thread->told;
	change.fresh = slot->stack_count - thread->told;
	change.last = slot->stack + slot->stack_count;
	change.flags = call->walk_flags;
	/* Only a published record tells the collector. */
	if (write_record(call, event, &change))
		thread->told = slot->stack_count;
}

void call_event(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;

	if (unlikely(thread != thread_self))
		return;
	if (unlikely(thread->busy_frame)) {
		event_aside(call, event);
		return;
	}
	thread->busy_frame = call->origin->cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(life.depth && wants_backtrace(event))) {
		event_with_backtrace(call, event);
	} else {
		static const struct change none = { .flags = CALL_NO_BACKTRACE };

		write_record(call, event, &none);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy_frame = 0;
}

/* Shows the backtrace of a call that may never return, for whoever looks at a blocked program. */
void call_show_waiting(struct call *call)
{
	struct thread *thread = call->thread;

	if (thread->busy_frame || !life.depth || life.backtrace != BACKTRACE_ALL ||
	    call->depth >= ARENA_OPEN_MAX)
		return;
	thread->busy_frame = call->origin->cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	walk_and_remember(call);
	thread->slot.open[call->depth].serial = thread->slot.stack_serial;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy_frame = 0;
}
