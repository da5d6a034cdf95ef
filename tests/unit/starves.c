/* SPDX-License-Identifier: MIT */
/*
 * A thread that is about to publish something older holds the others' events back. After a while it
 * is passed over, since it may have jumped out of its call; but not while it gets no processor, for
 * then it has had no chance.
 */
#include "tests/collect-producer.h"
#include "tests/unit/tap.h"

#include "collect/merge.h"
#include "collect/watch.h"

#include <pthread.h>

struct facts {
	uint64_t events;
	bool is_starving;
	uint64_t ran_ns;
};

static uint32_t batches;

static void count(void *context, void *owner, const struct merge_event *event)
{
	struct facts *facts = context;

	(void)owner;
	facts->events += event->record->kind == RECORD_CALL;
}

static bool starves(void *context, void *owner, int32_t thread, uint64_t *ran_ns)
{
	struct facts *facts = context;

	(void)owner;
	(void)thread;
	*ran_ns = facts->ran_ns;
	return facts->is_starving;
}

static void say(struct producer *producer)
{
	uint64_t now = producer_now(producer->board);

	producer_publish(
		producer_fill(producer, &(struct producer_call){ .hook = HOOK_open,
								 .operation = OPERATION_ALLOC,
								 .resource = RESOURCE_FD,
								 .moment = MOMENT_LEAVE,
								 .enter = now,
								 .leave = now,
								 .object = 7 }));
}

/* Rounds for about so many ms of the merge's time. */
static void go_on(struct merge *merge, int ms)
{
	for (int i = 0; i < ms; i += 10) {
		usleep(10000);
		merge_round(merge);
	}
}

static void test_floor(void)
{
	struct facts facts = { .is_starving = true };
	struct merge_handler handler = { .event = count, .starves = starves, .context = &facts };
	struct producer one, other;
	struct producer_memory memory;
	struct error err;
	int fd;
	struct board *board = producer_board(&fd);
	struct merge *merge = merge_create(board, &handler);
	struct process *process = merge_add(merge, NULL, &batches);
	struct chunk *chunk;

	producer_make(&memory, board, 8, NULL, "starves");
	chunk = chunk_open(memory.fd, &memory.hello, &err);
	merge_add_chunk(process, chunk);
	producer_attach(&one, &memory);
	producer_attach(&other, &memory);
	say(&one);
	say(&other);
	go_on(merge, 50);
	ok(facts.events == 2, "what is published is handed out");
	__atomic_store_n(&one.slot->floor, producer_now(board), __ATOMIC_RELEASE);
	say(&other);
	go_on(merge, 100);
	ok(facts.events == 2, "a thread that is about to publish holds the others back");
	go_on(merge, 500);
	ok(facts.events == 2, "for longer, if it gets no processor");
	facts.ran_ns = 50000000;
	go_on(merge, 200);
	ok(facts.events == 3, "but not if it has run meanwhile, and published nothing");
	__atomic_store_n(&one.slot->floor, producer_now(board), __ATOMIC_RELEASE);
	say(&other);
	facts.is_starving = false;
	go_on(merge, 400);
	ok(facts.events == 4, "nor if it sleeps");
	merge_destroy(merge);
	chunk_close(chunk);
}

static int tid_of_sleeper;

static void *sleep_on(void *context)
{
	tid_of_sleeper = gettid();
	pause();
	return context;
}

static void test_threads(void)
{
	struct watch watch = { .our_pid = getpid(), .pidfd = -1 };
	uint64_t before = 0, after = 0;
	pthread_t thread;

	if (access("/proc/self/schedstat", R_OK) != 0) {
		ok(true, "threads # SKIP this kernel does not say how long they ran");
		return;
	}
	pthread_create(&thread, NULL, sleep_on, NULL);
	while (!__atomic_load_n(&tid_of_sleeper, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(50000);
	ok(watch_starves(&watch, gettid(), &before), "a thread that runs would run on");
	for (volatile int i = 0; i < 50000000; i++)
		;
	watch_starves(&watch, gettid(), &after);
	ok(after > before, "and is seen to have run");
	ok(!watch_starves(&watch, tid_of_sleeper, &after), "one that sleeps does not");
	ok(!watch_starves(&watch, 1, &after), "one of another process is not looked for");
	watch.foreign = true;
	ok(!watch_starves(&watch, gettid(), &after), "nor any in another pid namespace");
}

int main(void)
{
	test_floor();
	test_threads();
	return tap_end();
}
