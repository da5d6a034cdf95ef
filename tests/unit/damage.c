/* SPDX-License-Identifier: MIT */
/*
 * What the collector makes of a ring that the host has spoilt: the thread whose ring it is is not
 * believed any more, what it says is counted as lost, and all others go on. Built with the
 * sanitizers, so that whatever is read or written out of bounds ends the test.
 */
#include "tests/collect-producer.h"
#include "tests/unit/tap.h"

#include <inttypes.h>

#include "collect/encode.h"
#include "collect/merge.h"

#define SECONDS 60 /* nothing here takes a second */

struct seen {
	uint64_t events, late;
	uint64_t calls[64]; /* numbers of the calls, as they came */
	uint64_t objects[64];
	char *spoil; /* a ring that is overwritten while its events are handed out */
	uint64_t sum;
	struct encoder *encoder;
};

struct scene {
	int fd;
	struct arena *arena;
	struct merge *merge;
	struct seen seen;
	struct producer bad, good;
};

static const uint64_t stack[] = { 0x401100, 0x401200, 0x401300, 0x401400 };

static void see(void *context, uint32_t process, const struct merge_event *event)
{
	struct seen *seen = context;
	const struct record_call *call = (const struct record_call *)event->record;

	(void)process;
	if (seen->spoil)
		memset(seen->spoil, 0xff, ARENA_RING_SIZE);
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

static void scene_begin(struct scene *scene)
{
	static uint8_t buffer[4 * ENCODE_MOST];
	static struct encoder encoder;
	static struct ticks ticks;
	struct merge_handler handler = { .event = see, .context = &scene->seen };

	memset(scene, 0, sizeof(*scene));
	scene->arena = producer_arena(&scene->fd, 8);
	ticks_measure(&ticks, scene->arena->clock);
	ticks_begin(&ticks);
	encode_init(&encoder, buffer, sizeof(buffer), PROTOCOL_2_0, &ticks);
	scene->seen.encoder = &encoder;
	scene->merge = merge_create(scene->arena, &handler);
	producer_enter(scene->arena, WIRE_NO_STREAM, "damage");
	producer_enter(scene->arena, WIRE_NO_STREAM, "other");
	producer_attach(&scene->bad, scene->arena, 0);
	producer_attach(&scene->good, scene->arena, 0);
}

static void scene_end(struct scene *scene)
{
	merge_destroy(scene->merge);
	munmap(scene->arena, scene->arena->size);
	close(scene->fd);
}

/* A call that is yet to be published; it keeps two frames of four but for the first. */
static struct record_call *begin(struct producer *producer)
{
	static const uint64_t number = 42;
	uint64_t now = producer_now(producer->arena);

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
	const struct merge_thread *threads = merge_threads(scene->merge, 0, &count);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (threads[i].pthread == producer->slot->pthread)
			sum += threads[i].lost[reason];
	return sum;
}

/* ---- damage to a record, and to what says where records are ---- */

#define CALLS(X)                                                                                 \
	X(no_length, record->record.length = 0)                                                  \
	X(short_length, record->record.length = 24)                                              \
	X(odd_length, record->record.length += 4)                                                \
	X(length_of_4_gib, record->record.length = 0xfffffff8u)                                  \
	X(length_beyond_head, record->record.length += 64)                                       \
	X(unknown_state, record->record.state = 77)                                              \
	X(unknown_kind, record->record.kind = 200)                                               \
	X(a_heap_that_is_short, record->record.kind = RECORD_HEAP; record->record.length = 16)   \
	X(a_module_with_a_long_path, record->record.kind = RECORD_MODULE;                        \
	  ((struct record_module *)record)->path_size = 0xffff)                                  \
	X(a_module_with_a_long_id, record->record.kind = RECORD_MODULE;                          \
	  ((struct record_module *)record)->path_size = 1;                                       \
	  ((struct record_module *)record)->build_id_size = 65)                                  \
	X(a_note_with_a_long_text, record->record.kind = RECORD_NOTE;                            \
	  ((struct record_note *)record)->text = 0xffffffe0u)                                    \
	X(a_note_without_text, record->record.kind = RECORD_NOTE;                                \
	  ((struct record_note *)record)->text = 0)                                              \
	X(a_context_with_a_long_name, record->record.kind = RECORD_CONTEXT;                      \
	  ((struct record_name *)record)->name_size = 0xffff)                                    \
	X(a_class_with_a_long_description, record->record.kind = RECORD_CLASS;                   \
	  ((struct record_name *)record)->name_size = 1;                                         \
	  ((struct record_name *)record)->description_size = 0xffff)                             \
	X(a_thread_of_another_process, record->record.kind = RECORD_THREAD;                      \
	  ((struct record_thread *)record)->process = 1)                                         \
	X(a_thread_of_no_process, record->record.kind = RECORD_THREAD;                           \
	  ((struct record_thread *)record)->process = 0xffffff00u)                               \
	X(an_unknown_hook, record->record.more = 0xffff)                                         \
	X(an_unknown_operation, record->operation = OPERATION_COUNT)                             \
	X(an_unknown_moment, record->moment = MOMENT_HALF + 1)                                   \
	X(an_unknown_class, record->resource = RESOURCES_MAX + 1)                                \
	X(more_numbers, record->numbers = 255)                                                   \
	X(more_text, record->text = 0xffff)                                                      \
	X(more_frames, record->fresh = 0xffff)                                                   \
	X(fewer_frames, record->fresh = 0)                                                       \
	X(more_kept_than_there_are, record->kept = 5)                                            \
	X(most_kept, record->kept = 0xffff)                                                      \
	X(a_cut_beyond_all_frames, record->cut = 0xffff)                                         \
	X(head_far_away, producer->slot->head += 1ull << 40)                                     \
	X(head_of_ones, producer->slot->head = UINT64_MAX)                                       \
	X(head_that_is_odd, producer->slot->head += 3)                                           \
	X(head_before_the_tail, producer->slot->head = 0)

struct damage {
	const char *name;
	void (*spoil)(struct producer *producer, struct record_call *record);
};

#define DEFINE(name, ...)                                                        \
	static void name(struct producer *producer, struct record_call *record)  \
	{                                                                        \
		(void)producer;                                                  \
		(void)record;                                                    \
		__VA_ARGS__;                                                     \
	}
#define ROW(name, ...) { #name, name },

CALLS(DEFINE)
static const struct damage damages[] = { CALLS(ROW) };

/*
 * Three good calls, a spoilt one, two more: three are handed out, and the others, of which two can
 * be counted, are lost. The other thread's calls all come.
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
	merge_end(scene.merge, 0);
	merge_round(scene.merge);
	lost = lost_of(&scene, &scene.bad, LOSS_DAMAGED);
	snprintf(sentence, sizeof(sentence), "%s: one thread is not believed, the other is", damage->name);
	for (char *at = sentence; *at != ':'; at++)
		*at = *at == '_' ? ' ' : *at;
	if (!ok(scene.seen.events == 9 && lost >= 3 && lost <= 4 &&
			merge_counts(scene.merge, 0)->damaged == 1 &&
			lost_of(&scene, &scene.good, LOSS_DAMAGED) == 0,
		sentence))
		printf("# %" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " damaged\n",
		       scene.seen.events, lost, merge_counts(scene.merge, 0)->damaged);
	scene_end(&scene);
}

/* ---- what is no damage, or must not spread ---- */

/* Nothing is read from the ring again once it was taken. */
static void test_copied(void)
{
	struct scene scene;

	scene_begin(&scene);
	for (int i = 0; i < 8; i++)
		say(&scene.bad);
	scene.seen.spoil = scene.bad.ring;
	merge_end(scene.merge, 0);
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
	merge_end(scene.merge, 0);
	merge_round(scene.merge);
	ok(scene.seen.events == 2, "the next thread that has the slot is believed");
	scene_end(&scene);
}

static void test_next_process(void)
{
	struct scene scene;
	struct producer next;

	scene_begin(&scene);
	say(&scene.bad);
	scene.bad.slot->head = 0x123456789abcull;
	merge_round(scene.merge);
	merge_end(scene.merge, 0);
	merge_round(scene.merge);
	merge_free_slots(scene.merge, 0);
	merge_forget(scene.merge, 0);
	producer_attach(&next, scene.arena, 1);
	for (int i = 0; i < 4; i++)
		say(&next);
	merge_end(scene.merge, 1);
	merge_round(scene.merge);
	ok(scene.seen.events == 4, "a wild head does not outlive its process");
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
	ok(scene.seen.events == 2 && scene.seen.late == 1 && !merge_is_holding(scene.merge),
	   "what happened later than now has its time clamped");
	scene_end(&scene);
}

/* A floor that moves with each look would hold all back for ever. */
static void test_moving_floor(void)
{
	struct scene scene;
	uint64_t calls = 0;

	scene_begin(&scene);
	for (uint64_t i = 1; i < 3000 && !scene.seen.events; i++) {
		for (int j = 0; j < 800; j++, calls++)
			say(&scene.good);
		scene.bad.slot->floor = i;
		merge_round(scene.merge);
	}
	ok(scene.seen.events > 0, "a floor that moves for ever is overruled where memory ends");
	merge_end(scene.merge, 0);
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
	scene.bad.slot->head = ~7ull;
	scene.arena->slots_used = UINT32_MAX;
	for (int i = 0; i < 10; i++)
		taken += merge_round(scene.merge);
	ok(!taken && !merge_is_behind(scene.merge),
	   "a wild head is nothing to be taken, and nothing to stay awake for");
	scene.arena->owners[5].ready = 1;
	scene.arena->owners[5].process = 0xfffffff0u;
	merge_round(scene.merge);
	ok(!merge_is_behind(scene.merge), "a slot of no process neither");
	scene_end(&scene);
}

/* Geometry is what it was at the start. */
static void test_geometry(void)
{
	struct scene scene;
	uint64_t size;

	scene_begin(&scene);
	size = scene.arena->size;
	scene.arena->slots = UINT32_MAX;
	scene.arena->slot_size = 0x10000000;
	scene.arena->ring_size = 3;
	scene.arena->slots_offset = scene.arena->rings_offset = ~0ull << 20;
	scene.arena->clock = 99;
	scene.bad.arena = &(struct arena){ .ring_size = ARENA_RING_SIZE };
	say(&scene.bad);
	merge_end(scene.merge, 0);
	merge_round(scene.merge);
	merge_free_slots(scene.merge, 0);
	ok(scene.seen.events == 1, "a geometry that changes later is not looked at");
	scene.arena->size = size;
	scene_end(&scene);
}

/* ---- order ---- */

static void say_at(struct producer *producer, uint64_t time, bool gains, uint64_t object)
{
	producer_say(producer, &(struct producer_call){
				       .hook = gains ? HOOK_malloc : HOOK_free,
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
	merge_end(scene->merge, 0);
	merge_round(scene->merge);
}

static void test_ties(void)
{
	struct scene scene;
	uint64_t time;

	scene_begin(&scene);
	time = producer_now(scene.arena);
	say_at(&scene.bad, time, true, 1);
	say_at(&scene.bad, time, false, 1);
	say_at(&scene.bad, time, true, 1);
	finish(&scene);
	ok(scene.seen.calls[0] == 1 && scene.seen.calls[1] == 2 && scene.seen.calls[2] == 3,
	   "what one thread did at one time stays in the order in which it did it");
	scene_end(&scene);

	scene_begin(&scene);
	time = producer_now(scene.arena);
	/* the slot that comes first gains what the other has, and loses, at the very same time */
	say_at(&scene.bad, time, true, 2);
	say_at(&scene.good, time, true, 1);
	say_at(&scene.good, time, false, 2);
	finish(&scene);
	ok(scene.seen.objects[0] == 1 && scene.seen.objects[1] == 2 && scene.seen.calls[2] == 1,
	   "who gains, and loses at the same time, goes before who gains what is lost");
	scene_end(&scene);
}

/* A note waits while an earlier call comes: its own length is all that may be read of it. */
static void test_short_waits(void)
{
	struct scene scene;
	uint64_t time;

	scene_begin(&scene);
	time = producer_now(scene.arena);
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
	test_copied();
	test_next_thread();
	test_next_process();
	test_future();
	test_moving_floor();
	test_spin();
	test_geometry();
	test_ties();
	test_short_waits();
	return tap_end();
}
