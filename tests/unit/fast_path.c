/* SPDX-License-Identifier: MIT */
/*
 * Compares the fast path from a ring to an .htr with the other paths: the same calls of some
 * threads must give the same bytes. The calls take the fast path, or are whole records, or
 * alternate between the two, or all wait as entries, because no record has SHORT_CLOSES. Some calls
 * have arguments, a duration or an error. Some are two events, with events of other threads between
 * them. Some have the same time, are nested, are published late, are abandoned or damaged, or are
 * earlier than events already handed out. Some slots get another thread.
 */
#include "tests/lib/collect-producer.h"
#include "tests/lib/tap.h"

#include "collect/encode.h"
#include "collect/merge.h"

static struct merge_user user;

#define ROUNDS	    30
#define CALLS	    4000 /* per round; all of them fit into the rings */
#define DEPTH_MAX   620
#define BLOCKS	    64
#define THREADS_MAX 5

/* A thread of the traced program. */
struct speaker {
	struct producer producer;
	uint32_t depth;
	uint64_t last;	       /* time of return of its last call */
	struct record *filled; /* record of an unfinished call; later records are calls within it */
	uint64_t filled_said;  /* number of its events */
	bool is_damaged;
};

/* One of the compared paths, and its results. */
struct way {
	uint32_t threads;
	bool has_fast;	     /* false: all calls are whole records */
	uint32_t refuses;    /* on_fast() refuses one in this many calls; 0: none */
	bool closes_nothing; /* no record has SHORT_CLOSES, so all calls wait as entries */
	struct producer_memory memory;
	struct speaker speakers[THREADS_MAX];
	struct chunk *chunk;
	struct merge *merge;
	struct encoder encoder;
	uint8_t buffer[4 * ENCODE_MOST];
	struct htr_block_parts *blocks[BLOCKS];
	uint32_t count;
	uint64_t said, fasts, events, latest, late, damaged, lost[LOSS_COUNT], time, random;
	int32_t successors;
};

static struct ticks ticks;

static uint64_t draw(struct way *way)
{
	way->random ^= way->random << 13;
	way->random ^= way->random >> 7;
	way->random ^= way->random << 17;
	return way->random;
}

/* ---- the host ---- */

static void move_stack(struct way *way, struct speaker *speaker, struct producer_call *call,
		       uint64_t *frames)
{
	uint64_t dice = draw(way);
	uint32_t drop = (uint32_t)(dice & 3), most = dice >> 8 & 255 ? 3 : 600;

	call->kept = speaker->depth > drop ? speaker->depth - drop : 0;
	call->fresh = (uint32_t)(dice >> 16) % (most + 1);
	if (call->kept + call->fresh > DEPTH_MAX)
		call->kept = 5;
	if (!(dice >> 40 & 1023))
		call->kept = 0;
	for (uint32_t i = 0; i < call->fresh; i++)
		frames[i] = 0x401000 + 32 * (draw(way) & 15);
	speaker->depth = call->kept + call->fresh;
	call->frames = frames;
}

/* Adds a duration and arguments to a descriptor's call: the usual, more, fewer, or a cut text. */
static void give_more(struct way *way, struct producer_call *call)
{
	static const char names[] = "/etc/hostname\0/usr/lib/x86_64-linux-gnu/libc.so.6";
	static char text[SHORT_VALUES_MAX];
	static uint64_t numbers[4];
	uint64_t dice = draw(way), lasted = dice & 3 ? dice >> 2 & 0xfff : dice >> 2 & UINT32_MAX;

	call->error = dice >> 34 & 15 ? 0 : dice >> 38 & 255;
	call->object = dice >> 46 & 15;
	if (call->moment == MOMENT_LEAVE)
		call->enter -= lasted;
	else
		call->leave += lasted;
	if (call->hook == HOOK_close)
		return;
	for (int i = 0; i < 4; i++)
		numbers[i] = draw(way) >> (draw(way) & 63);
	call->number = numbers;
	call->numbers = dice >> 50 & 15 ? 2 : dice >> 54 & 3;
	memset(text, 'x', sizeof(text));
	memcpy(text, names, sizeof(names));
	call->text = text;
	call->text_size = dice >> 56 & 7 ? 14 : (uint32_t)(dice >> 59) * 15;
}

/* Adds a duration to a call that moves a block, and the arguments of reallocarray. */
static void give_move(struct way *way, struct producer_call *call)
{
	static uint64_t numbers[2];
	uint64_t dice = draw(way);

	call->leave += dice & 1 ? 0 : dice >> 1 & 511;
	if (call->hook != HOOK_reallocarray)
		return;
	numbers[0] = dice >> 10 & 255;
	numbers[1] = dice >> 18;
	call->number = numbers;
	call->numbers = 2;
}

static struct record *say_whole(struct speaker *speaker, struct producer_call *call, uint64_t dice)
{
	struct record_call *record;

	if (call->enter == call->leave && call->moment == MOMENT_ENTER)
		call->leave += dice >> 8 & 1 ? 30 : 0;
	call->result = dice >> 9 & 1 ? call->object : dice & 7;
	call->flags = dice >> 10 & 1 ? CALL_FAILED : dice >> 11 & 1 ? CALL_CUT : 0;
	call->flags |= call->error ? CALL_FAILED : 0;
	record = producer_fill(&speaker->producer, call);
	record->context = (uint32_t)(dice >> 16 & 3);
	record->cpu = (int32_t)(dice >> 18 & 3) - 1;
	record->cut = dice >> 20 & 3 ? 0 : (uint16_t)(dice >> 24 & 31);
	record->frame = 0x7ffc00000000 + (dice >> 32 & 0xffff);
	record->related = dice >> 48 & 3 ? 0 : dice;
	return &record->record;
}

static struct record *say_short(struct way *way, struct speaker *speaker,
				struct producer_call *call, bool closes)
{
	uint64_t dice = draw(way), related = dice & 15 ? 0 : dice >> 20;
	struct record_short *record;

	if (call->moment == MOMENT_SPLIT)
		related = (dice >> 20) + 1;
	call->result = dice >> 4 & 1;
	closes &= dice >> 5 & 63 && !way->closes_nothing;
	record = producer_fill_short(&speaker->producer, call, related, closes);
	record->frame = dice >> 9 & 3 ? 0 : (int32_t)(dice >> 32);
	record->depth = dice >> 11 & 63 ? 0 : (uint8_t)(dice >> 20);
	return &record->record;
}

/* Writes a call with this time. The caller must publish the returned record. */
static struct record *call_at(struct way *way, struct speaker *speaker, uint64_t time, bool closes)
{
	static const struct {
		enum hook_number hook;
		enum operation operation;
		enum resource resource;
		enum moment moment;
	} kinds[] = {
		{ HOOK_malloc, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_LEAVE },
		{ HOOK_free, OPERATION_FREE, RESOURCE_MEMORY, MOMENT_ENTER },
		{ HOOK_realloc, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_SPLIT },
		{ HOOK_reallocarray, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_SPLIT },
		{ HOOK_calloc, OPERATION_ALLOC, RESOURCE_MEMORY, MOMENT_LEAVE },
		{ HOOK_pthread_mutex_lock, OPERATION_ACQUIRE, RESOURCE_LOCK, MOMENT_LEAVE },
		{ HOOK_pthread_mutex_unlock, OPERATION_RELEASE, RESOURCE_LOCK, MOMENT_ENTER },
		{ HOOK_sem_post, OPERATION_NOTIFY, RESOURCE_EVENT, MOMENT_ENTER },
		{ HOOK_open, OPERATION_ALLOC, RESOURCE_FD, MOMENT_LEAVE },
		{ HOOK_openat, OPERATION_ALLOC, RESOURCE_FD, MOMENT_LEAVE },
		{ HOOK_close, OPERATION_FREE, RESOURCE_FD, MOMENT_ENTER },
	};
	uint64_t frames[DEPTH_MAX], dice = draw(way);
	size_t kind =
		dice & 3 ? (dice >> 4 & 255) % 3 : (dice >> 4) % (sizeof(kinds) / sizeof(*kinds));
	struct producer_call call = { .hook = kinds[kind].hook,
				      .operation = kinds[kind].operation,
				      .resource = kinds[kind].resource,
				      .moment = kinds[kind].moment,
				      .enter = time,
				      .leave = time };

	call.object = 0x5500000000 + (dice >> 16 & 0xfffff) * (dice >> 15 & 1 ? 16 : 1);
	call.size = dice >> 36 & 7 ? dice >> 40 & 255 : dice >> 40;
	call.size &= UINT32_MAX;
	move_stack(way, speaker, &call, frames);
	if (call.resource == RESOURCE_FD)
		give_more(way, &call);
	way->said++;
	if (call.moment == MOMENT_SPLIT) {
		give_move(way, &call);
		/* for a damaged thread, the merge counts records instead of events */
		way->said += !speaker->is_damaged;
		time = call.leave;
	}
	if (time > speaker->last)
		speaker->last = time;
	if (!speaker->producer.model.is_known || !(draw(way) & 31))
		return say_whole(speaker, &call, draw(way));
	return say_short(way, speaker, &call, closes);
}

/* Abandons a record: its call was left by siglongjmp(). */
static void say_abandoned(struct way *way, struct speaker *speaker)
{
	uint32_t depth = speaker->depth;
	uint64_t said = way->said;

	call_at(way, speaker, way->time, true)->state = RECORD_ABANDONED;
	speaker->depth = depth;
	speaker->producer.model.is_known = false;
	way->said = said;
}

/* Writes an invalid record, as a wild store would. The merge then ignores this thread. */
static void say_damaged(struct way *way, struct speaker *speaker)
{
	struct record_short *record;
	struct producer_call call = { .hook = HOOK_free,
				      .operation = OPERATION_FREE,
				      .moment = MOMENT_ENTER,
				      .enter = way->time,
				      .leave = way->time };
	uint64_t dice = draw(way);

	record = producer_fill_short(&speaker->producer, &call, 0, !way->closes_nothing);
	if (dice & 1)
		record->resource = 255;
	else if (dice & 4)
		record->resource |= SHORT_SPLIT;
	else if (dice & 2)
		record->record.more = HOOK_COUNT;
	else
		record->kept = (uint16_t)(speaker->depth + 1);
	producer_publish(record);
	speaker->is_damaged = true;
	way->said++;
}

/* Gives the slot to another thread. */
static void change_hands(struct way *way, struct speaker *speaker)
{
	struct record_thread *record =
		producer_reserve(&speaker->producer, RECORD_THREAD, sizeof(*record));

	record->record.time = way->time;
	record->thread = 100000 + ++way->successors;
	record->pthread = 0x7e0000000000ull + (uint64_t)way->successors;
	record->creator = 0;
	record->creator_thread = 0;
	producer_publish(record);
	speaker->producer.model.is_known = false;
	speaker->depth = 0;
	speaker->is_damaged = false;
}

/* Makes a call within another call. The inner call is published first, and is later. */
static void say_nested(struct way *way, struct speaker *speaker)
{
	uint64_t outer = way->time;

	way->time += 1 + (draw(way) & 3);
	producer_publish(call_at(way, speaker, way->time, false));
	producer_publish(call_at(way, speaker, outer, true));
}

static void say(struct way *way)
{
	uint64_t dice = draw(way);
	struct speaker *speaker = &way->speakers[(dice >> 32) % way->threads];

	/* the time often stays the same, or nearly the same */
	way->time += dice & 3 ? dice >> 8 & 127 : dice >> 8 & 1;
	if (way->time < speaker->last)
		way->time = speaker->last;
	if (speaker->filled)
		producer_publish(call_at(way, speaker, way->time, false));
	else if (!(dice >> 16 & 63) && way->time > speaker->last)
		say_nested(way, speaker);
	else if (!(dice >> 22 & 255))
		say_abandoned(way, speaker);
	else
		producer_publish(call_at(way, speaker, way->time, true));
}

/* Begins a call that is not finished when the round runs. */
static void leave_open(struct way *way, struct speaker *speaker)
{
	uint64_t said = way->said;

	if (speaker->filled)
		return;
	if (way->time < speaker->last)
		way->time = speaker->last;
	speaker->filled = call_at(way, speaker, ++way->time, false);
	speaker->filled_said = way->said - said;
	__atomic_store_n(&speaker->producer.slot->watermark, way->time, __ATOMIC_RELEASE);
}

static void close_call(struct speaker *speaker)
{
	if (speaker->filled)
		producer_publish(speaker->filled);
	speaker->filled = NULL;
	__atomic_store_n(&speaker->producer.slot->watermark, 0, __ATOMIC_RELEASE);
}

/* Writes a call that is earlier than events that were already handed out. */
static void come_late(struct way *way, struct speaker *speaker)
{
	if (way->threads == 1 || speaker->last + 1 >= way->time)
		return;
	producer_publish(call_at(way, speaker, speaker->last + 1, true));
}

static void speak(struct way *way, int round)
{
	struct speaker *speaker = &way->speakers[draw(way) % way->threads];
	uint64_t dice = draw(way);

	for (uint32_t i = 0; i < way->threads; i++)
		close_call(&way->speakers[i]);
	if (dice & 1)
		come_late(way, speaker);
	if (dice >> 1 & 1 || speaker->is_damaged)
		change_hands(way, speaker);
	for (int i = 0; i < CALLS; i++) {
		say(way);
		if (i == CALLS / 2 && round % 4 == 3)
			say_damaged(way, &way->speakers[draw(way) % way->threads]);
		/* in the last round, no record depends on the unfinished call */
		if (i == (round == ROUNDS - 1 ? CALLS - 1 : CALLS * 7 / 8) && round % 3 == 2)
			leave_open(way, &way->speakers[draw(way) % way->threads]);
	}
}

/* ---- the collector ---- */

static void take_block(struct way *way)
{
	struct htr_block_parts *parts = htr_take(way->encoder.htr);

	if (parts && way->count < BLOCKS)
		way->blocks[way->count++] = parts;
}

static void on_event(void *context, void *owner, const struct merge_event *event)
{
	struct way *way = context;

	(void)owner;
	way->events++;
	way->latest = event->time;
	if (htr_is_full(way->encoder.htr))
		take_block(way);
	encode_event(&way->encoder, event);
}

static bool on_fast(void *context, void *owner, const struct fast_call *fast)
{
	struct way *way = context;

	(void)owner;
	if ((way->refuses && fast->turn % way->refuses == 0) || !encode_fast(&way->encoder, fast))
		return false;
	way->fasts++;
	way->latest = fast->record->record.time;
	return true;
}

static void count(struct way *way, struct process *process)
{
	const struct merge_counts *counts = merge_counts(process);
	uint32_t threads;
	const struct merge_thread *thread = merge_threads(process, &threads);

	for (uint32_t i = 0; i < threads; i++)
		for (int k = 0; k < LOSS_COUNT; k++)
			way->lost[k] += thread[i].lost[k];
	way->late = counts->late;
	way->damaged = counts->damaged;
	printf("# %u threads: %llu said, %llu in brief, %llu as events, %u blocks, %llu late, "
	       "%llu damaged, %llu lost by that, %llu abandoned\n",
	       way->threads, (unsigned long long)way->said, (unsigned long long)way->fasts,
	       (unsigned long long)way->events, way->count, (unsigned long long)way->late,
	       (unsigned long long)way->damaged, (unsigned long long)way->lost[LOSS_DAMAGED],
	       (unsigned long long)way->lost[LOSS_ABANDONED]);
}

static struct process *begin_way(struct way *way, const struct control_page *control)
{
	struct merge_handler handler = { .event = on_event,
					 .fast = way->has_fast ? on_fast : NULL,
					 .context = way };
	struct process *process;
	struct error err;

	way->random = 88172645463325252ull;
	producer_make(&way->memory, control, THREADS_MAX, NULL, "brief");
	way->chunk = chunk_open(way->memory.fd, &way->memory.hello, &err);
	encode_init(&way->encoder, way->buffer, sizeof(way->buffer), PROTOCOL_2_0, &ticks);
	way->encoder.htr = htr_create();
	way->merge = merge_create((struct control_page *)(uintptr_t)control, &handler);
	process = merge_add(way->merge, NULL, &user);
	merge_add_chunk(process, way->chunk);
	for (uint32_t i = 0; i < way->threads; i++)
		producer_attach(&way->speakers[i].producer, &way->memory);
	return process;
}

static void end_way(struct way *way, struct process *process)
{
	/* an unfinished call is counted once, not for each of its events */
	for (uint32_t i = 0; i < way->threads; i++)
		if (way->speakers[i].filled)
			way->said -= way->speakers[i].filled_said - 1;
	merge_end(process);
	merge_round(way->merge);
	take_block(way);
	count(way, process);
	merge_destroy(way->merge);
	chunk_close(way->chunk);
	htr_destroy(way->encoder.htr);
}

static void go(struct way *way, const struct control_page *control, uint64_t begin)
{
	struct process *process = begin_way(way, control);

	way->time = begin;
	for (int i = 0; i < ROUNDS; i++) {
		speak(way, i);
		merge_round(way->merge);
	}
	end_way(way, process);
}

static bool is_same(const struct way *one, const struct way *two)
{
	for (uint32_t i = 0; i < one->count && i < two->count; i++) {
		const struct htr_block *header = &one->blocks[i]->header;

		if (memcmp(header, &two->blocks[i]->header, sizeof(*header)) != 0 ||
		    memcmp(one->blocks[i]->bytes, two->blocks[i]->bytes,
			   header->definitions_size + header->events_size) != 0)
			return false;
	}
	return one->count == two->count && one->count > 2 && one->late == two->late &&
	       one->damaged == two->damaged && !memcmp(one->lost, two->lost, sizeof(one->lost));
}

static void forget(struct way *way)
{
	for (uint32_t i = 0; i < way->count; i++)
		free(way->blocks[i]);
	munmap(way->memory.map, way->memory.layout.size);
	close(way->memory.fd);
}

/* Sends the calls of this many threads along all paths, and compares the results. */
static void compare(const struct control_page *control, uint32_t threads)
{
	static struct way whole, entries, fast, mixed;
	uint64_t begin = producer_now(control) - 1000000000;
	uint64_t lost;

	whole = (struct way){ .threads = threads };
	entries = (struct way){ .threads = threads, .closes_nothing = true };
	fast = (struct way){ .threads = threads, .has_fast = true };
	mixed = (struct way){ .threads = threads, .has_fast = true, .refuses = 3 };
	go(&whole, control, begin);
	go(&entries, control, begin);
	go(&fast, control, begin);
	go(&mixed, control, begin);
	lost = whole.lost[LOSS_DAMAGED] + whole.lost[LOSS_ABANDONED];
	ok(whole.events + lost == whole.said && whole.damaged && whole.lost[LOSS_ABANDONED] &&
		   (whole.late != 0) == (threads > 1),
	   "what is said comes as an event, or is counted as lost");
	ok(is_same(&whole, &entries), "what waits first comes to the same");
	ok(fast.fasts > fast.events, "most go the short way");
	ok(is_same(&whole, &fast), "what comes of it is the same");
	ok(mixed.fasts > mixed.events / 3 && mixed.events > mixed.fasts / 3,
	   "calls go both ways in turn");
	ok(is_same(&whole, &mixed), "which makes no difference either");
	forget(&whole);
	forget(&entries);
	forget(&fast);
	forget(&mixed);
}

/* Moves a block, in a call that returns later than now. */
static void move_for_long(struct way *way, struct speaker *speaker)
{
	struct producer_call call = { .hook = HOOK_realloc,
				      .operation = OPERATION_ALLOC,
				      .resource = RESOURCE_MEMORY,
				      .moment = MOMENT_SPLIT,
				      .enter = way->time,
				      .leave = way->time + UINT32_MAX,
				      .object = 1 };

	producer_publish(producer_fill_short(&speaker->producer, &call, 2, true));
	way->said += 2;
}

/* The last event of a thread is in the future: an hour from now, or the end of a long move. */
static void come_early(const struct control_page *control, bool has_fast, bool moves)
{
	static struct way way;
	uint64_t now = producer_now(control), hour = now + (3600ull << 30);
	struct process *process;

	way = (struct way){ .threads = 2, .has_fast = has_fast, .time = now };
	process = begin_way(&way, control);
	for (int i = 0; i < 100; i++)
		say(&way);
	if (!moves)
		producer_publish(call_at(&way, &way.speakers[0], hour, true));
	for (int i = 0; i < 100; i++)
		producer_publish(call_at(&way, &way.speakers[1], way.time, true));
	way.time = now + (1u << 20);
	if (moves)
		move_for_long(&way, &way.speakers[0]);
	end_way(&way, process);
	ok(way.events + way.fasts == way.said && way.late == 1 && way.latest < hour,
	   has_fast ? "what is later than now is clamped in brief"
		    : "what is later than now is clamped");
	forget(&way);
}

int main(void)
{
	int fd;
	struct control_page *control = producer_control(&fd);

	ticks_measure(&ticks, control->clock);
	ticks_begin(&ticks);
	compare(control, 1);
	compare(control, 2);
	compare(control, THREADS_MAX);
	for (int i = 0; i < 4; i++)
		come_early(control, i & 1, i & 2);
	return tap_end();
}
