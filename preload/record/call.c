/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "facts.h"
#include "names.h"
#include "preload/ground/real.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "preload/walk/remote.h"
#include "proof.h"
#include "ring.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

/* Most bytes of texts in one record. */
#define TEXTS_MAX (2 * ARENA_TEXT_MAX)

/* The class of each hook. */
static const uint8_t classes[HOOK_COUNT] = {
#define HOOK(name, type, params, class, ...) [HOOK_##name] = RESOURCE_##class,
#include "hooks.def"
};

/* Frames that are looked through for a call that may have been left. */
#define LED_HERE_MAX 64

struct thread *call_attach(void)
{
	struct thread *thread = thread_self;
	struct stack_bounds bounds;
	bool is_known = thread != NULL, is_forked = call_is_forked();

	/* It goes on where it stood, also as the only thread of a child. */
	if (is_known)
		bounds = thread->stack;
	if (is_forked)
		life_forked();
	if (!life.board || life.is_off)
		return NULL;
	thread = thread_attach(is_known ? &bounds : NULL, NULL);
	if (!thread)
		life_lose(LOSS_NO_SLOT);
	else if (is_forked)
		facts_tell_functions();
	return thread;
}

#define ASKED_SHIFT 14 /* a coroutine that stays within so much is asked for once */
#define PIECE_BITS  43 /* of an address of 57 bits; above them: the turn */

/* The places where a piece of another stack may stand that was found to be this thread's. */
static uint64_t *places_of(struct thread *thread, uint64_t piece)
{
	return thread->own_pieces[(piece * 0x9e3779b97f4a7c15u) >> (64 - THREAD_PIECES_BITS)];
}

/* One that the block's last thread found has another turn. */
static bool is_own_piece(struct thread *thread, uint64_t piece)
{
	const uint64_t *places = places_of(thread, piece);
	const uint64_t wanted = piece | (uint64_t)thread->turn << PIECE_BITS;

	for (unsigned int i = 0; i < THREAD_PIECES_WAYS; i++)
		if (places[i] == wanted)
			return true;
	return false;
}

static void note_own_piece(struct thread *thread, uint64_t piece)
{
	uint64_t *places = places_of(thread, piece);

	for (unsigned int i = THREAD_PIECES_WAYS - 1; i > 0; i--)
		places[i] = places[i - 1];
	places[0] = piece | (uint64_t)thread->turn << PIECE_BITS;
}

/*
 * Two tasks that write one ring spoil it, and the host with it. The kernel tells them apart; under
 * a filter for system calls it is not asked. vfork's child is one that its parent sleeps for.
 */
bool call_is_of_thread(struct thread *thread, uintptr_t cfa)
{
	uintptr_t piece = cfa >> ASKED_SHIFT;

	if (piece == thread->asked || thread->vfork_return || ring_is_quiet())
		return true;
	if (!is_own_piece(thread, piece)) {
		if (sys_gettid() != thread->owner->thread) {
			life_lose(LOSS_SEALED);
			return false;
		}
		note_own_piece(thread, piece);
	}
	thread->asked = piece;
	return true;
}

static bool on_known_stack(const struct thread *thread, uintptr_t address)
{
	return address >= thread->stack.low && address < thread->stack.high;
}

/*
 * One part of a call whose frame the stack has left: it did not return, for longjmp, an exception
 * or cancellation. Its record has its caller for a backtrace.
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

	/* An owner lies in the second half of the first 16 bytes, on every processor. */
	return sys_is_readable(asked) && sys_is_readable((const char *)asked + 8) &&
	       asked->__data.__owner == thread->owner->thread;
}

/*
 * Closes a call that did not return. What its first half gave away comes back: the thread whose
 * join was cancelled is still there, and whoever is cancelled in the wait for a condition holds
 * the mutex again before its first cleanup handler runs; not so whoever jumped out of it.
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
		     &(struct call_event){
			     .failed = true, .object = open->object, .related = open->related });
}

/* From here to busy_end() this thread writes for the hook at origin. Returns what was there before.
 */
static inline struct busy busy_begin(struct thread *thread, const struct origin *origin)
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

/* A signal may have come in the middle of another's busy_begin(), and leaves it as it was. */
static inline void busy_end(struct thread *thread, struct busy before)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy.frame = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy.ip = before.ip;
	thread->busy.is_written = before.is_written;
}

/* The writer of the event that was under way was jumped out of. */
static void drop_busy(struct thread *thread)
{
	/* It may not even have come to its record. */
	if (!ring_settle(thread) && !thread->busy.is_written)
		ring_lose(thread, LOSS_ABANDONED);
	thread->busy.frame = 0;
	thread->in_libunwind = false;
	/* It may have been in the middle of that. */
	thread->memory.count = 0;
	thread->told = thread->shown = 0;
	thread->model.is_known = false;
}

/* Whether the call is among those that led here. Also true if that is not to be known. */
static bool led_here(const struct thread *thread, const struct arena_open *open,
		     const struct origin *origin)
{
	uintptr_t frames[LED_HERE_MAX];
	enum capture_end end;
	unsigned int count = capture_walk(origin, &thread->stack, frames, LED_HERE_MAX, &end);

	for (unsigned int i = 0; i < count; i++)
		if (frames[i] == open->ip)
			return true;
	return end != CAPTURE_COMPLETE;
}

/*
 * Whether the stack has left the call. Lower frames than its own belong to what it calls, or to a
 * signal handler; or to what its caller called when it had been unwound, as the destructor of a
 * lock does. Where it makes a difference to what is held the whole stack is asked.
 */
static bool is_left(const struct thread *thread, const struct arena_open *open,
		    const struct origin *origin)
{
	if (!on_known_stack(thread, open->frame))
		return false;
	if (open->frame <= origin->cfa || !arch_returns_to(open->frame, open->ip))
		return true;
	return open->half && !led_here(thread, open, origin);
}

/* Closes the open calls that the stack has left. */
static void close_left(struct thread *thread, const struct origin *origin)
{
	while (thread->open_count) {
		uint32_t depth = thread->open_count - 1;
		const struct arena_open *open = &thread->slot->open[depth];

		if (depth < ARENA_OPEN_MAX) {
			if (!is_left(thread, open, origin))
				break;
			close_unwound(thread, open, depth);
		}
		thread_set_open(thread, depth);
	}
}

/*
 * Whether the stack has left the innermost open call that has a place in the table; those beyond
 * have been left with it.
 */
static bool has_left(const struct thread *thread, const struct origin *origin)
{
	uint32_t last = thread->open_count - 1; /* none: far beyond the table */
	const struct arena_open *open;

	if (!thread->open_count)
		return false;
	open = &thread->slot->open[last < ARENA_OPEN_MAX ? last : ARENA_OPEN_MAX - 1];
	return is_left(thread, open, origin);
}

/*
 * Where the stack seems to have left a call there may be another task, as in call_is_of_thread(),
 * whose stack lies in this thread's own. The two show themselves only when they meet so, so nothing
 * is recorded from there on.
 */
static bool is_other_task(const struct thread *thread)
{
	if (thread->vfork_return || ring_is_quiet() || sys_gettid() == thread->owner->thread)
		return false;
	life_seal(true);
	life_lose(LOSS_SEALED);
	return true;
}

/* Whether the stack has left the writer of the event that is under way. */
static bool has_left_busy(const struct thread *thread, const struct origin *origin)
{
	const struct busy *busy = &thread->busy;

	return busy->frame && on_known_stack(thread, busy->frame) &&
	       (busy->frame <= origin->cfa || !arch_returns_to(busy->frame, busy->ip));
}

/*
 * Looks whether what this thread has open is still below it on the stack. Frames are compared
 * only within the thread's own stack: a coroutine or a signal stack may lie anywhere. Returns false
 * if this is not the thread.
 */
static bool settle(struct thread *thread, const struct origin *origin)
{
	uint64_t floor = thread->floor;
	struct busy before;
	bool is_busy_left;

	if (!on_known_stack(thread, origin->cfa))
		return true;
	is_busy_left = has_left_busy(thread, origin);
	if (!is_busy_left && (thread->busy.frame || !has_left(thread, origin)))
		return true;
	if (is_other_task(thread))
		return false;
	if (is_busy_left)
		drop_busy(thread);
	if (!has_left(thread, origin))
		return true;
	if (!floor)
		thread_set_floor(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->last = clock_now();
	before = busy_begin(thread, origin);
	thread->busy.is_written = true;
	close_left(thread, origin);
	busy_end(thread, before);
	/* Who owned the floor is among those that did not return. */
	thread_set_floor(thread, thread->open_count ? floor : 0);
	return true;
}

/*
 * Whether the real function behind the hook called this from its module, or by a jump from the
 * stub itself.
 */
static bool is_of_real(enum hook_number hook, uintptr_t ip)
{
	return maps_are_one(ip, (uintptr_t)real_of(hook)) ||
	       maps_are_one(ip, (uintptr_t)call_settle);
}

/*
 * Whether the call is a part of the one that is under way: made by that one's real function, for
 * the same object of the same class. glibc's reallocarray, for one, calls realloc through the
 * procedure linkage table, and so comes by here a second time. What a signal handler or a callback
 * does is not: it is called from elsewhere, or for something else.
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
	return outer < HOOK_COUNT && classes[outer] == classes[hook] && open->object == object &&
	       open->frame > origin->cfa && is_of_real(outer, origin->ip);
}

/* Returns false for what is not recorded: a part of another call, what libunwind calls. */
bool call_settle(struct thread *thread, const struct origin *origin, enum hook_number hook,
		 uint64_t object)
{
	return settle(thread, origin) && !thread->in_libunwind &&
	       !is_part(thread, origin, hook, object);
}

void call_give_up(struct thread *thread)
{
	if (thread->busy.frame)
		drop_busy(thread);
	if (thread->open_count && !thread->floor)
		thread_set_floor(thread, thread->last);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (thread->open_count)
		thread->last = clock_now();
	while (thread->open_count) {
		uint32_t depth = thread->open_count - 1;

		if (depth < ARENA_OPEN_MAX)
			close_unwound(thread, &thread->slot->open[depth], depth);
		thread_set_open(thread, depth);
	}
	thread_set_floor(thread, 0);
}

static bool is_monitored(uint64_t size)
{
	const int64_t *sizes = life.monitored;

	for (int64_t i = 1; i <= sizes[0] && i <= SETTINGS_SIZES_MAX; i++)
		if ((uint64_t)sizes[i] == size)
			return true;
	return !sizes[0];
}

/* Whether this event gets a backtrace, by the user's choice. */
static bool wants_backtrace(const struct call_event *event)
{
	if (life.backtrace == BACKTRACE_ALLOC)
		return event->operation == OPERATION_ALLOC && is_monitored(event->size);
	return life.backtrace == BACKTRACE_ALL;
}

/* Threads that begin from now on need not tell these again. */
static void note_told(uint32_t count)
{
	uint32_t told = __atomic_load_n(&thread_modules_told, __ATOMIC_RELAXED);

	while (told < count &&
	       !__atomic_compare_exchange_n(&thread_modules_told, &told, count, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void call_tell_modules(struct thread *thread, uint64_t time)
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
			break;
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
	note_told(thread->modules);
}

/* Room that the arguments take in a record, and how many of each kind there are. */
struct arguments_size {
	uint32_t numbers, text;
};

/*
 * Whether the texts of an event have been read already, by the kernel or libc: those of a call that
 * succeeded; and of one that looked for the one name it was given. Otherwise nobody knows: EINVAL
 * comes before any of them, and where there are two the first may have been enough.
 */
static bool has_read_texts(const struct call *call, const struct call_event *event)
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

static const char *text_of(const struct call *call, bool is_proven,
			   const struct call_argument *argument)
{
	if (!is_proven)
		return proof_text(call, argument->text);
	return argument->text ? argument->text : "";
}

/* No more than fits a record is looked at. */
static uint32_t text_size(const char *text)
{
	return (uint32_t)plain_length_most(text, ARENA_TEXT_MAX - 1) + 1;
}

static inline __attribute__((always_inline)) struct arguments_size
measure(const struct call *call, bool is_proven, const struct call_argument *argument)
{
	struct arguments_size size = { 0, 0 };

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT)
			size.text += text_size(text_of(call, is_proven, argument));
		else
			size.numbers += argument->kind == ARGUMENT_TIME ? 2 : 1;
	}
	return size;
}

/* Writes the numbers, then the texts. Texts may have changed since they were measured. */
static inline __attribute__((always_inline)) void
write_arguments(const struct call *call, bool is_proven, const struct call_argument *argument,
		uint64_t *number, struct arguments_size size)
{
	char *text = (char *)(number + size.numbers), *end = text + size.text;

	for (; argument && argument->kind != ARGUMENT_NONE; argument++) {
		if (argument->kind == ARGUMENT_TEXT) {
			size_t room = (size_t)(end - text);

			if (room)
				text += plain_copy_words(text, text_of(call, is_proven, argument),
							 room < ARENA_TEXT_MAX ? room
									       : ARENA_TEXT_MAX);
		} else if (argument->kind == ARGUMENT_TIME) {
			/* Who need not wait does not look at it. */
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

/* glibc's restartable-sequence area of the thread holds its processor's number (rseq(2)). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static int32_t current_cpu(void)
{
	const char *area;

	if (!&__rseq_offset || !ARCH_HAS_THREAD_POINTER)
		return -1;
	area = (const char *)(arch_thread_pointer() + (uintptr_t)__rseq_offset);
	return *(const volatile int32_t *)(area + 4);
}

static void fill(struct record_call *record, const struct call *call,
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
	/* Its memory is its parent's; its descriptors, its directory and its end are its own. */
	if (unlikely(call->thread->vfork_return) &&
	    (event->resource == RESOURCE_FD || event->resource == RESOURCE_EVENT))
		record->flags |= CALL_OF_CHILD;
	record->resource = (uint8_t)event->resource;
}

/* The frames that a record says anew. */
struct change {
	uint32_t kept, fresh;
	const uintptr_t *aside; /* the fresh ones, innermost first; NULL: of the thread's memory */
	uint16_t cut;
	uint8_t flags;
};

static inline void write_frames(const struct capture_memory *memory, const struct change *change,
				uint64_t *at)
{
	const struct capture_frame *frame = &memory->frames[change->kept + change->fresh];

	if (unlikely(change->aside))
		for (uint32_t i = 0; i < change->fresh; i++)
			at[i] = change->aside[i];
	else
		for (uint32_t i = 0; i < change->fresh; i++)
			at[i] = (--frame)->ip;
}

/* What a record of a call leaves out for the short ones behind it. */
static inline void note_model(struct record_model *model, const struct call *call,
			      const struct change *change, int32_t cpu, uint32_t context)
{
	model->call = call->number;
	model->frame = call->origin->cfa;
	model->cpu = cpu;
	model->context = context;
	model->cut = change->cut;
	model->flags = change->flags & CALL_CUT;
	model->is_known = true;
}

/*
 * Whether a short record says it all, perhaps with more (struct short_more). One word of all that
 * must be 0, since nearly always it is: what would not fit its field, what has no field, what is
 * not as in the record before.
 */
static inline bool is_brief(const struct call *call, const struct call_event *event,
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

/* Whether it is no call of one time that succeeded and has no arguments. */
static inline bool has_more(const struct call *call, const struct call_event *event)
{
	return (call->enter ^ call->leave) | (uint64_t)event->failed | (uintptr_t)event->arguments;
}

/* What a short record says of such a one. False: it cannot. */
static bool note_more(struct short_more *more, const struct call *call,
		      const struct call_event *event)
{
	uint64_t lasted = call->leave - call->enter;
	uint32_t error = event->failed ? (uint32_t)call->error : 0;
	struct arguments_size size = { 0, 0 };

	if (lasted >> 32 || error > UINT8_MAX || (event->failed && !error))
		return false;
	if (event->arguments) {
		/* What nobody has read yet is looked at with care, and not twice. */
		if (!has_read_texts(call, event))
			return false;
		size = measure(call, true, event->arguments);
		if (values_size(size.numbers, size.text) > SHORT_VALUES_MAX)
			return false;
	}
	*more = (struct short_more){ .lasted = (uint32_t)lasted,
				     .text = (uint16_t)size.text,
				     .numbers = (uint8_t)size.numbers,
				     .error = (uint8_t)error };
	return true;
}

/* The ring had no room, and has counted one event. Returns false. */
static __attribute__((noinline)) bool lose_full(struct thread *thread,
						const struct call_event *event)
{
	if (event->moment == MOMENT_SPLIT) /* two */
		ring_lose(thread, LOSS_FULL);
	return false;
}

/* more: NULL, or what note_more() said. */
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
		return lose_full(thread, event);
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
			write_arguments(call, true, event->arguments, (uint64_t *)(void *)at,
					(struct arguments_size){ more->numbers, more->text });
		at += values;
	}
	write_frames(&thread->memory, change, (uint64_t *)(void *)at);
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
	bool is_proven = !event->arguments || has_read_texts(call, event);
	struct arguments_size size = measure(call, is_proven, event->arguments);
	uint32_t arguments = (size.numbers * 8 + size.text + 7) & ~7u;
	struct record_call *record = (struct record_call *)ring_reserve(
		thread, RECORD_CALL, (uint32_t)sizeof(*record) + arguments + change->fresh * 8);
	uint64_t *at;

	if (!record)
		return lose_full(thread, event);
	fill(record, call, event);
	record->cpu = cpu;
	record->context = context;
	record->flags |= change->flags;
	record->kept = (uint16_t)change->kept;
	record->fresh = (uint16_t)change->fresh;
	record->cut = change->cut;
	record->numbers = (uint8_t)size.numbers;
	record->text = (uint16_t)size.text;
	at = (uint64_t *)(record + 1);
	write_arguments(call, is_proven, event->arguments, at, size);
	at += arguments / 8;
	write_frames(&thread->memory, change, at);
	ring_publish(&record->record);
	if (!(change->flags & RECORD_ASIDE))
		note_model(&thread->model, call, change, cpu, context);
	return true;
}

/* A short record with more, if it can say it all. */
static __attribute__((noinline)) bool write_long(const struct call *call,
						 const struct call_event *event,
						 const struct change *change, int32_t cpu,
						 uint32_t context)
{
	struct short_more more;

	return note_more(&more, call, event) ? write_short(call, event, change, &more)
					     : write_whole(call, event, change, cpu, context);
}

/* Reserves, fills and publishes the record. Returns whether there was room for it. */
static inline __attribute__((always_inline)) bool
write_record(const struct call *call, const struct call_event *event, const struct change *change)
{
	int32_t cpu = current_cpu();
	uint32_t context = names_contexts();
	bool is_written;

	if (unlikely(!is_brief(call, event, change, cpu, context)))
		is_written = write_whole(call, event, change, cpu, context);
	else if (has_more(call, event))
		is_written = write_long(call, event, change, cpu, context);
	else
		is_written = write_short(call, event, change, NULL);

	if (is_written && !(change->flags & RECORD_ASIDE))
		call->thread->busy.is_written = true;
	return is_written;
}

/* A call of its own, where the record is not one of most. */
static __attribute__((noinline)) bool
write_rarely(const struct call *call, const struct call_event *event, const struct change *change)
{
	return write_record(call, event, change);
}

/* Signals wait: a handler's event would come in the middle of libunwind's walk. */
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

/* Makes the thread's remembered backtrace that of the call, if it is not already. */
static inline __attribute__((always_inline)) void walk_and_remember(struct call *call)
{
	struct thread *thread = call->thread;
	struct capture_memory *memory = &thread->memory;
	uint32_t before = memory->count, same;
	enum capture_end end;

	if (call->walked && call->serial == thread->serial)
		return;
	if (unlikely(life.is_remote)) {
		/* No other walk needs the room of its steps meanwhile. */
		uintptr_t *frames = (uintptr_t *)(void *)memory->steps;
		uint32_t count = walk_by_libunwind(call, frames, &end);

		same = capture_take(memory, frames, count, end);
	} else {
		same = capture_again(memory, call->origin, &thread->stack, life.depth, &end);
	}
	if (same != memory->count || same != before) {
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

/* An event of a signal handler that came in the middle of another event's record. */
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
	call_tell_modules(thread, call->enter - 1);
	write_rarely(call, event, &change);
}

static void event_with_backtrace(struct call *call, const struct call_event *event)
{
	struct thread *thread = call->thread;
	struct change change;

	walk_and_remember(call);
	if (unlikely(thread->modules != maps_count()))
		call_tell_modules(thread, call->enter - 1);
	change.kept = thread->told;
	change.fresh = thread->memory.count - thread->told;
	change.aside = NULL;
	change.cut = thread->memory.count > life.depth ? (uint16_t)life.depth : 0;
	change.flags = call->walk_flags;
	/* Only a published record tells the collector. */
	if (write_record(call, event, &change))
		thread->told = thread->memory.count;
}

/* Keeps in mind what is to come back if the call never returns (close_unwound). */
static void note_part(struct call *call, const struct call_event *event)
{
	if (call->depth < ARENA_OPEN_MAX)
		call->thread->slot->open[call->depth].half =
			event->moment == MOMENT_HALF ? (uint16_t)event->resource : RESOURCE_NONE;
}

/* What the kernel calls the file that the call made a descriptor or a link of. */
static void follow(const struct call *call, const struct call_event *event)
{
	const struct call_argument *arguments = event->arguments;

	if (event->failed || call->thread->busy.frame || ring_is_quiet())
		return;
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

	/* in a child, or when the library was detached and attached again meanwhile */
	if (unlikely(thread != thread_self || call->mark != *life.fork_mark))
		return;
	if (unlikely(event->part))
		note_part(call, event);
	if (unlikely(life_armed[call->hook] & LIFE_FOLLOWS))
		follow(call, event);
	if (unlikely(thread->busy.frame)) {
		event_aside(call, event);
		return;
	}
	before = busy_begin(thread, call->origin);
	if (likely(life.depth && wants_backtrace(event))) {
		event_with_backtrace(call, event);
	} else {
		static const struct change none = { .flags = CALL_NO_BACKTRACE };

		write_rarely(call, event, &none);
	}
	busy_end(thread, before);
}

/* Makes the slot's backtrace the remembered one. */
static void show(struct thread *thread)
{
	const struct capture_memory *memory = &thread->memory;
	struct slot *slot = thread->slot;
	uint32_t cut = memory->count > life.depth ? memory->count - life.depth : 0;
	uint32_t count = memory->count - cut;

	if (!cut && thread->shown == count && thread->shown_all == count)
		return;
	slot->stack_serial = ++thread->stack_serial;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = cut ? 0 : thread->shown; i < count; i++)
		slot->stack[i] = memory->frames[cut + i].ip;
	slot->stack_count = count;
	thread->shown_all = count;
	thread->shown = cut ? 0 : count;
}

/* Shows the backtrace of a call that may never return, for whoever looks at a blocked program. */
void call_show_waiting(struct call *call)
{
	struct thread *thread = call->thread;
	struct busy before;

	if (thread->busy.frame || !life.depth || life.backtrace != BACKTRACE_ALL ||
	    call->depth >= ARENA_OPEN_MAX)
		return;
	before = busy_begin(thread, call->origin);
	thread->busy.is_written = true; /* nothing would be lost */
	walk_and_remember(call);
	show(thread);
	thread->slot->open[call->depth].serial = thread->stack_serial;
	busy_end(thread, before);
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
