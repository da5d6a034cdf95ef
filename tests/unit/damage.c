/* SPDX-License-Identifier: MIT */
/*
 * What the collector does with a ring that the traced program has damaged: it ignores all further
 * records of that thread and counts them as lost. Other threads are not affected. The sanitizers,
 * with which this test is built, report any access out of bounds.
 */
#include "tests/lib/collect-producer.h"
#include "tests/lib/tap.h"

#include <inttypes.h>

#include "collect/encode.h"
#include "collect/merge.h"

static struct merge_user user;

#define SECONDS 60 /* limit for all tests together; each takes less than a second */

struct seen {
	uint64_t events, late;
	uint64_t calls[64]; /* numbers of the calls, in the order of their events */
	uint64_t objects[64];
	char *spoil; /* a ring that is overwritten at each event; NULL: none */
	uint64_t sum;
	struct encoder *encoder;
};

struct scene {
	int fd;
	struct control_page *control;
	struct producer_memory memory;
	struct chunk *chunk;
	struct process *process;
	struct merge *merge;
	struct seen seen;
	struct producer bad, good;
};

static const uint64_t stack[] = { 0x401100, 0x401200, 0x401300, 0x401400 };

static void see(void *context, void *owner, const struct merge_event *event)
{
	struct seen *seen = context;
	const struct record_call *call = (const struct record_call *)event->record;

	(void)owner;
	if (seen->spoil)
		memset(seen->spoil, 0xff, ARENA_RING_MOST);
	for (uint32_t i = 0; i < event->frame_count; i++)
		seen->sum += event->frames[i];
	seen->encoder->used = 0;
	encode_event(seen->encoder, event);
	if (event->record->kind != RECORD_CALL)
		return;
	if (seen->events < 64) {
		seen->calls[seen->events] = call->call;
		seen->objects[seen->events] = call->object;
	}
	seen->events++;
	seen->late += event->late;
}

/* Called when a process has created more memory; these processes have no more. */
static void wait_for_more(void *context, void *owner)
{
	(void)context;
	(void)owner;
}

static void scene_begin(struct scene *scene)
{
	static uint8_t buffer[4 * ENCODE_MOST];
	static struct encoder encoder;
	static struct ticks ticks;
	struct merge_handler handler = { .event = see,
					 .grown = wait_for_more,
					 .context = &scene->seen };
	struct error err;

	memset(scene, 0, sizeof(*scene));
	scene->control = producer_control(&scene->fd);
	producer_make(&scene->memory, scene->control, 8, NULL, "damage");
	scene->chunk = chunk_open(scene->memory.fd, &scene->memory.hello, &err);
	ticks_measure(&ticks, scene->control->clock);
	ticks_begin(&ticks);
	encode_init(&encoder, buffer, sizeof(buffer), PROTOCOL_2_0, &ticks);
	scene->seen.encoder = &encoder;
	scene->merge = merge_create(scene->control, &handler);
	scene->process = merge_add(scene->merge, NULL, &user);
	merge_add_chunk(scene->process, scene->chunk);
	producer_attach(&scene->bad, &scene->memory);
	producer_attach(&scene->good, &scene->memory);
}

static void scene_end(struct scene *scene)
{
	merge_destroy(scene->merge);
	chunk_close(scene->chunk);
	munmap(scene->memory.map, scene->memory.layout.size);
	munmap(scene->control, sizeof(*scene->control));
	close(scene->memory.fd);
	close(scene->fd);
}

/*
 * Writes a call, which the caller must publish. Except in the first call, the backtrace keeps two
 * outer frames and has two new ones.
 */
static struct record_call *begin(struct producer *producer)
{
	static const uint64_t number = 42;
	uint64_t now = producer_now(producer->control);

	return producer_fill(producer, &(struct producer_call){ .hook = HOOK_open,
								.operation = OPERATION_ALLOC,
								.resource = RESOURCE_FD,
								.moment = MOMENT_LEAVE,
								.enter = now,
								.leave = now,
								.object = 7,
								.numbers = 1,
								.number = &number,
								.text = "/a",
								.text_size = 3,
								.kept = producer->calls ? 2 : 0,
								.fresh = producer->calls ? 2 : 4,
								.frames = stack });
}

static void say(struct producer *producer)
{
	producer_publish(begin(producer));
}

static uint64_t lost_of(struct scene *scene, const struct producer *producer, enum loss reason)
{
	uint32_t count;
	const struct merge_thread *threads = merge_threads(scene->process, &count);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (threads[i].pthread == producer->slot->pthread)
			sum += threads[i].lost[reason];
	return sum;
}

/* ---- damage to a record, and to what says where records are ---- */

#define CALLS(X)                                                                               \
	X(no_length, record->record.length = 0)                                                \
	X(short_length, record->record.length = 24)                                            \
	X(odd_length, record->record.length += 4)                                              \
	X(length_of_4_gib, record->record.length = 0xfffffff8u)                                \
	X(length_beyond_head, record->record.length += 64)                                     \
	X(unknown_state, record->record.state = 77)                                            \
	X(unknown_kind, record->record.kind = 200)                                             \
	X(a_heap_that_is_short, record->record.kind = RECORD_HEAP; record->record.length = 16) \
	X(a_module_with_a_long_path, record->record.kind = RECORD_MODULE;                      \
	  ((struct record_module *)record)->path_size = 0xffff)                                \
	X(a_module_with_a_long_id, record->record.kind = RECORD_MODULE;                        \
	  ((struct record_module *)record)->path_size = 1;                                     \
	  ((struct record_module *)record)->build_id_size = 65)                                \
	X(a_note_with_a_long_text, record->record.kind = RECORD_NOTE;                          \
	  ((struct record_note *)record)->text = 0xffffffe0u)                                  \
	X(a_note_without_text, record->record.kind = RECORD_NOTE;                              \
	  ((struct record_note *)record)->text = 0)                                            \
	X(a_context_with_a_long_name, record->record.kind = RECORD_CONTEXT;                    \
	  ((struct record_name *)record)->name_size = 0xffff)                                  \
	X(a_class_with_a_long_description, record->record.kind = RECORD_CLASS;                 \
	  ((struct record_name *)record)->name_size = 1;                                       \
	  ((struct record_name *)record)->description_size = 0xffff)                           \
	X(an_unknown_hook, record->record.more = 0xffff)                                       \
	X(an_unknown_operation, record->operation = OPERATION_COUNT)                           \
	X(an_unknown_moment, record->moment = MOMENT_HALF + 1)                                 \
	X(an_unknown_class, record->resource = RESOURCES_MAX + 1)                              \
	X(more_numbers, record->numbers = 255)                                                 \
	X(more_text, record->text = 0xffff)                                                    \
	X(more_frames, record->fresh = 0xffff)                                                 \
	X(fewer_frames, record->fresh = 0)                                                     \
	X(more_kept_than_there_are, record->kept = 5)                                          \
	X(most_kept, record->kept = 0xffff)                                                    \
	X(a_cut_beyond_all_frames, record->cut = 0xffff)                                       \
	X(head_far_away, producer->slot->head += 1ull << 40)                                   \
	X(head_of_ones, producer->slot->head = UINT64_MAX)                                     \
	X(head_that_is_odd, producer->slot->head += 3)                                         \
	X(head_before_the_tail, producer->slot->head = PRODUCER_LEVEL)                         \
	X(a_ring_that_shrinks, producer->slot->head &= ~RING_LEVEL)                            \
	X(a_ring_that_is_larger_than_its_place, producer->slot->head |= RING_LEVEL)

struct damage {
	const char *name;
	void (*spoil)(struct producer *producer, struct record_call *record);
};

#define DEFINE(name, ...)                                                       \
	static void name(struct producer *producer, struct record_call *record) \
	{                                                                       \
		(void)producer;                                                 \
		(void)record;                                                   \
		__VA_ARGS__;                                                    \
	}
#define ROW(name, ...) { #name, name },

CALLS(DEFINE)
static const struct damage damages[] = { CALLS(ROW) };

/*
 * A thread makes three valid calls, a damaged one and two more. The merge hands out the first three
 * calls of this thread, and counts the rest as lost. All calls of the other thread are handed out.
 */
static void test_damage(const struct damage *damage)
{
	struct scene scene;
	struct record_call *record;
	char sentence[128];
	uint64_t lost;

	scene_begin(&scene);
	for (int i = 0; i < 3; i++) {
		say(&scene.bad);
		say(&scene.good);
	}
	merge_round(scene.merge);
	record = begin(&scene.bad);
	producer_publish(record);
	damage->spoil(&scene.bad, record);
	merge_round(scene.merge);
	for (int i = 0; i < 3; i++) {
		if (i)
			say(&scene.bad);
		say(&scene.good);
		merge_round(scene.merge);
	}
	merge_end(scene.process);
	merge_round(scene.merge);
	lost = lost_of(&scene, &scene.bad, LOSS_DAMAGED);
	snprintf(sentence, sizeof(sentence), "%s: one thread is not believed, the other is",
		 damage->name);
	for (char *at = sentence; *at != ':'; at++)
		*at = *at == '_' ? ' ' : *at;
	if (!ok(scene.seen.events == 9 && lost >= 3 && lost <= 4 &&
			merge_counts(scene.process)->damaged == 1 &&
			lost_of(&scene, &scene.good, LOSS_DAMAGED) == 0,
		sentence))
		printf("# %" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " damaged\n",
		       scene.seen.events, lost, merge_counts(scene.process)->damaged);
	scene_end(&scene);
}

/* ---- damage to a short record ---- */

#define SHORTS(X)                                                                                 \
	X(no_length_in_short, record->record.length = 0)                                          \
	X(less_than_a_short_record, record->record.length = 32)                                   \
	X(unknown_hook_in_short, record->record.more = 0xffff)                                    \
	X(unknown_operation_in_short, record->form |= SHORT_OPERATION)                            \
	X(unknown_class_in_short, record->resource = RESOURCES_MAX + 1)                           \
	X(related_to_what_is_not_there, record->form |= SHORT_RELATED)                            \
	X(more_frames_in_short, record->fresh = 0xffff)                                           \
	X(fewer_frames_in_short, record->fresh = 0)                                               \
	X(more_kept_in_short, record->kept = 5)                                                   \
	X(frames_beyond_all, record->kept = 640; record->fresh = 1)                               \
	X(more_that_is_not_there, record->resource |= SHORT_MORE;                                 \
	  record->record.length = sizeof(*record))                                                \
	X(more_than_there_is, record->resource |= SHORT_MORE; memset(record + 1, 0xff, 8))        \
	X(frames_that_are_no_more, record->resource |= SHORT_MORE; memset(record + 1, 0, 8))      \
	X(two_events_of_nothing, record->form = OPERATION_ALLOC; record->resource |= SHORT_SPLIT) \
	X(a_whole_one_in_name, record->record.kind = RECORD_CALL)                                 \
	X(short_of_what_is_not_known, record->record.kind = RECORD_THREAD)

struct short_damage {
	const char *name;
	void (*spoil)(struct record_short *record);
};

#define DEFINE_SHORT(name, ...)                       \
	static void name(struct record_short *record) \
	{                                             \
		__VA_ARGS__;                          \
	}

SHORTS(DEFINE_SHORT)
static const struct short_damage short_damages[] = { SHORTS(ROW) };

static struct record_short *begin_short(struct producer *producer)
{
	uint64_t now = producer_now(producer->control);

	return producer_fill_short(producer,
				   &(struct producer_call){ .hook = HOOK_malloc,
							    .operation = OPERATION_ALLOC,
							    .resource = RESOURCE_MEMORY,
							    .moment = MOMENT_LEAVE,
							    .enter = now,
							    .leave = now,
							    .object = 7,
							    .size = 1,
							    .result = 7,
							    .kept = 2,
							    .fresh = 2,
							    .frames = stack },
				   0, true);
}

/* A thread makes one whole and two short calls, a damaged one and another: three are handed out. */
static void test_short_damage(const struct short_damage *damage)
{
	struct scene scene;
	struct record_short *record;
	char sentence[128];

	scene_begin(&scene);
	say(&scene.bad);
	producer_publish(begin_short(&scene.bad));
	producer_publish(begin_short(&scene.bad));
	record = begin_short(&scene.bad);
	damage->spoil(record);
	producer_publish(record);
	say(&scene.good);
	merge_round(scene.merge);
	producer_publish(begin_short(&scene.bad));
	say(&scene.good);
	merge_end(scene.process);
	merge_round(scene.merge);
	snprintf(sentence, sizeof(sentence), "%s: its thread is not believed", damage->name);
	for (char *at = sentence; *at != ':'; at++)
		*at = *at == '_' ? ' ' : *at;
	ok(scene.seen.events == 5 && merge_counts(scene.process)->damaged == 1 &&
		   lost_of(&scene, &scene.good, LOSS_DAMAGED) == 0,
	   sentence);
	scene_end(&scene);
}

/* A thread's first record must be whole: a short record omits values of the previous one. */
static void test_first_short(void)
{
	struct scene scene;

	scene_begin(&scene);
	producer_publish(begin_short(&scene.bad));
	say(&scene.good);
	merge_round(scene.merge);
	ok(scene.seen.events == 1 && merge_counts(scene.process)->damaged == 1,
	   "a thread that begins with a short record is not believed");
	scene_end(&scene);
}

/* Records that must wait stay in their ring as long as a quarter of the ring is free. */
static void test_stays(void)
{
	struct scene scene;
	uint64_t calls = 1, tail;

	scene_begin(&scene);
	say(&scene.good);
	merge_round(scene.merge);
	scene.bad.slot->watermark = producer_now(scene.control);
	tail = scene.good.slot->tail;
	for (; calls < 1000; calls++)
		producer_publish(begin_short(&scene.good));
	merge_round(scene.merge);
	ok(scene.seen.events == 1 && scene.good.slot->tail == tail,
	   "what waits for another thread's call waits in its ring");
	while (scene.good.reserved - tail < ARENA_RING_MOST - 4096) {
		producer_publish(begin_short(&scene.good));
		calls++;
	}
	merge_round(scene.merge);
	ok(scene.seen.events == 1 && scene.good.slot->tail - tail > ARENA_RING_MOST / 5,
	   "... but for the end of it: nobody may have to wait for room");
	scene.bad.slot->watermark = 0;
	merge_round(scene.merge);
	ok(scene.seen.events == calls && !scene.seen.late, "... and comes when that call is over");
	scene_end(&scene);
}

/* ---- what is no damage, or must not spread ---- */

/* Once a record was taken, the merge does not read the ring's copy again. */
static void test_copied(void)
{
	struct scene scene;

	scene_begin(&scene);
	for (int i = 0; i < 8; i++)
		say(&scene.bad);
	scene.seen.spoil = scene.bad.ring;
	merge_end(scene.process);
	merge_round(scene.merge);
	ok(scene.seen.events == 8 && scene.seen.calls[7] == 8 &&
		   scene.seen.sum == 8 * (stack[0] + stack[1] + stack[2] + stack[3]) -
					     7 * (stack[2] + stack[3]) + 7 * (stack[2] + stack[3]),
	   "a ring that is overwritten while its events are handed out changes none of them");
	scene_end(&scene);
}

static void test_next_thread(void)
{
	struct scene scene;
	struct record_call *record;
	struct record_thread *next;

	scene_begin(&scene);
	say(&scene.bad);
	record = begin(&scene.bad);
	record->operation = 200;
	producer_publish(record);
	next = producer_reserve(&scene.bad, RECORD_THREAD, sizeof(*next));
	memset(&next->record.time, 0, sizeof(*next) - 8);
	next->thread = 4711;
	producer_publish(next);
	scene.bad.calls = 0;
	say(&scene.bad);
	merge_end(scene.process);
	merge_round(scene.merge);
	ok(scene.seen.events == 2, "the next thread that has the slot is believed");
	scene_end(&scene);
}

static void test_future(void)
{
	struct scene scene;
	struct record_call *record;

	scene_begin(&scene);
	record = begin(&scene.bad);
	record->record.time = UINT64_MAX;
	record->leave = UINT64_MAX;
	producer_publish(record);
	say(&scene.good);
	for (int i = 0; i < 3; i++) {
		merge_round(scene.merge);
		usleep(5000);
	}
	ok(scene.seen.events == 2 && scene.seen.late == 1,
	   "what happened later than now has its time clamped");
	scene_end(&scene);
}

/* A low watermark that changes in each round must not hold back the events of others for ever. */
static void test_moving_watermark(void)
{
	struct scene scene;
	uint64_t calls = 0;

	scene_begin(&scene);
	for (uint64_t i = 1; i < 3000 && !scene.seen.events; i++) {
		for (int j = 0; j < 800; j++, calls++)
			say(&scene.good);
		scene.bad.slot->watermark = i;
		merge_round(scene.merge);
	}
	ok(scene.seen.events > 0, "a floor that moves for ever is overruled where memory ends");
	merge_end(scene.process);
	merge_round(scene.merge);
	ok(scene.seen.events == calls, "... and nothing is missing");
	scene_end(&scene);
}

static void test_spin(void)
{
	struct scene scene;
	uint64_t taken = 0;

	scene_begin(&scene);
	merge_round(scene.merge);
	scene.bad.slot->head = ~7ull | PRODUCER_LEVEL;
	scene.chunk->head->used = UINT32_MAX;
	for (int i = 0; i < 10; i++)
		taken += merge_round(scene.merge);
	ok(!taken && !merge_is_behind(scene.merge),
	   "a wild head is nothing to be taken, and nothing to stay awake for");
	scene_end(&scene);
}

/* The merge ignores what the program writes to the arena's header. The memory cannot shrink. */
static void test_geometry(void)
{
	struct scene scene;

	scene_begin(&scene);
	scene.chunk->head->used = UINT32_MAX;
	scene.chunk->head->chunks = UINT32_MAX;
	chunk_slot_at(scene.chunk, 5)->state = 77;
	chunk_slot_at(scene.chunk, 5)->head = 0x123456789abcull;
	say(&scene.bad);
	for (int i = 0; i < 3; i++)
		merge_round(scene.merge);
	merge_end(scene.process);
	merge_round(scene.merge);
	ok(scene.seen.events == 1, "a wild head of the memory costs nobody anything");
	ok(ftruncate(scene.memory.fd, 0) < 0, "memory that was handed over keeps its size");
	scene_end(&scene);
}

/* If the system has no memory for a page of an arena, the collector gets SIGBUS. */
static void test_lost_memory(void)
{
	struct scene scene;
	struct producer_memory memory;
	struct producer producer;
	struct process *process;
	struct chunk *chunk;
	struct error err;
	int empty = memfd_create("empty", MFD_CLOEXEC);

	scene_begin(&scene);
	producer_make(&memory, scene.control, 8, NULL, "other");
	chunk = chunk_open(memory.fd, &memory.hello, &err);
	process = merge_add(scene.merge, NULL, &user);
	merge_add_chunk(process, chunk);
	producer_attach(&producer, &memory);
	chunk_survive_losses();
	say(&scene.bad);
	say(&producer);
	merge_round(scene.merge);
	say(&scene.bad);
	say(&producer);
	/* replace the memory by an empty file: each access raises SIGBUS */
	if (mmap(scene.chunk->map, scene.chunk->size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, empty, 0) == MAP_FAILED)
		scene.seen.events = 100;
	for (int i = 0; i < 3; i++)
		merge_round(scene.merge);
	merge_end(scene.process);
	merge_end(process);
	merge_round(scene.merge);
	ok(scene.seen.events == 3,
	   "memory that the system cannot bring costs its own process alone");
	ok(merge_counts(scene.process)->damaged > 0, "and is damage of that one");
	scene_end(&scene);
	chunk_close(chunk);
	munmap(memory.map, memory.layout.size);
	close(memory.fd);
	close(empty);
}

static void test_hello(void)
{
	static const struct {
		uint32_t slots, ring_size, spares;
	} wrong[] = {
		{ 0, ARENA_RING_MOST, 0 },
		{ UINT32_MAX, ARENA_RING_MOST, 0 },
		{ 2, 0, 0 },
		{ 2, 3 << 16, 0 },
		{ 2, 1u << 31, 0 },
		{ 2, ARENA_RING_MOST, UINT32_MAX },
	};
	struct scene scene;
	struct error err;
	unsigned refused = 0;

	scene_begin(&scene);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct arena_hello hello = scene.memory.hello;
		struct chunk *chunk;

		hello.slots = wrong[i].slots;
		hello.ring_size = wrong[i].ring_size;
		hello.spares = wrong[i].spares;
		chunk = chunk_open(scene.memory.fd, &hello, &err);
		refused += !chunk;
		chunk_close(chunk);
	}
	ok(refused == sizeof(wrong) / sizeof(wrong[0]),
	   "memory that is not as it is said to be is refused");
	ok(!chunk_open(scene.fd, &scene.memory.hello, &err), "so is another size");
	ok(!chunk_open(0, &scene.memory.hello, &err), "so is what cannot be sealed");
	scene_end(&scene);
}

/* ---- order ---- */

static void say_at(struct producer *producer, uint64_t time, bool gains, uint64_t object)
{
	producer_say(producer,
		     &(struct producer_call){ .hook = gains ? HOOK_malloc : HOOK_free,
					      .operation = gains ? OPERATION_ALLOC : OPERATION_FREE,
					      .resource = RESOURCE_MEMORY,
					      .moment = gains ? MOMENT_LEAVE : MOMENT_ENTER,
					      .enter = time,
					      .leave = time,
					      .object = object,
					      .flags = CALL_NO_BACKTRACE });
}

static void finish(struct scene *scene)
{
	merge_end(scene->process);
	merge_round(scene->merge);
}

static void test_ties(void)
{
	struct scene scene;
	uint64_t time;

	scene_begin(&scene);
	time = producer_now(scene.control);
	say_at(&scene.bad, time, true, 1);
	say_at(&scene.bad, time, false, 1);
	say_at(&scene.bad, time, true, 1);
	finish(&scene);
	ok(scene.seen.calls[0] == 1 && scene.seen.calls[1] == 2 && scene.seen.calls[2] == 3,
	   "what one thread did at one time stays in the order in which it did it");
	scene_end(&scene);

	scene_begin(&scene);
	time = producer_now(scene.control);
	/* at the same time, the first slot gains block 2, and the second gains 1 and loses 2 */
	say_at(&scene.bad, time, true, 2);
	say_at(&scene.good, time, true, 1);
	say_at(&scene.good, time, false, 2);
	finish(&scene);
	ok(scene.seen.objects[0] == 1 && scene.seen.objects[1] == 2 && scene.seen.calls[2] == 1,
	   "who gains, and loses at the same time, goes before who gains what is lost");
	scene_end(&scene);
}

/* A note waits, as an earlier call may come. The merge must not read beyond the short note. */
static void test_short_waits(void)
{
	struct scene scene;
	uint64_t time;

	scene_begin(&scene);
	time = producer_now(scene.control);
	say_at(&scene.bad, time + 20, true, 1);
	producer_note(&scene.bad, "~x", 3, 0);
	say_at(&scene.bad, time, false, 2);
	finish(&scene);
	ok(scene.seen.events == 2 && scene.seen.objects[0] == 2,
	   "an earlier call goes before notes that wait");
	scene_end(&scene);
}

int main(void)
{
	alarm(SECONDS);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		test_damage(&damages[i]);
	for (size_t i = 0; i < sizeof(short_damages) / sizeof(short_damages[0]); i++)
		test_short_damage(&short_damages[i]);
	test_first_short();
	test_stays();
	test_copied();
	test_next_thread();
	test_future();
	test_moving_watermark();
	test_spin();
	test_geometry();
	test_lost_memory();
	test_hello();
	test_ties();
	test_short_waits();
	return tap_end();
}
