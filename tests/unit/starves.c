/* SPDX-License-Identifier: MIT */
/*
 * A thread that is about to publish an older record delays the events of other threads. After a
 * while the merge stops waiting for the thread, which may have left its call by siglongjmp(). But
 * while the thread gets no processor, the merge continues to wait.
 */
#include "tests/lib/collect-producer.h"
#include "tests/lib/tap.h"

#include "collect/merge_parts.h"
#include "collect/ticks.h"
#include "collect/watch.h"

#include <pthread.h>

struct facts {
	uint64_t events;
	bool is_starving;
	uint64_t ran_ns;
};

static struct merge_user user;

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
	uint64_t now = producer_now(producer->control);

	producer_publish(
		producer_fill(producer, &(struct producer_call){ .hook = HOOK_open,
								 .operation = OPERATION_ALLOC,
								 .resource = RESOURCE_FD,
								 .moment = MOMENT_LEAVE,
								 .enter = now,
								 .leave = now,
								 .object = 7 }));
}

/* Runs rounds of the merge for about this many milliseconds. */
static void go_on(struct merge *merge, int ms)
{
	for (int i = 0; i < ms; i += 10) {
		usleep(10000);
		merge_round(merge);
	}
}

static void test_watermark(void)
{
	struct facts facts = { .is_starving = true };
	struct merge_handler handler = { .event = count, .starves = starves, .context = &facts };
	struct producer one, other;
	struct producer_memory memory;
	struct error err;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);
	struct process *process = merge_add(merge, NULL, &user);
	struct chunk *chunk;

	producer_make(&memory, control, 8, NULL, "starves");
	chunk = chunk_open(memory.fd, &memory.hello, &err);
	merge_add_chunk(process, chunk);
	producer_attach(&one, &memory);
	producer_attach(&other, &memory);
	say(&one);
	say(&other);
	go_on(merge, 50);
	ok(facts.events == 2, "published records are handed out");
	__atomic_store_n(&one.slot->watermark, producer_now(control), __ATOMIC_RELEASE);
	say(&other);
	go_on(merge, 100);
	ok(facts.events == 2, "a thread that is about to publish holds back events of others");
	go_on(merge, 500);
	ok(facts.events == 2, "a thread without a processor holds back events for longer");
	facts.ran_ns = 50000000;
	go_on(merge, 200);
	ok(facts.events == 3, "a thread that ran without publishing holds back no events");
	__atomic_store_n(&one.slot->watermark, producer_now(control), __ATOMIC_RELEASE);
	say(&other);
	facts.is_starving = false;
	go_on(merge, 400);
	ok(facts.events == 4, "a thread that sleeps holds back no events");
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
	ok(watch_starves(&watch, gettid(), &before),
	   "a thread that runs counts as waiting for its processor");
	for (volatile int i = 0; i < 50000000; i++)
		;
	watch_starves(&watch, gettid(), &after);
	ok(after > before, "the running time of a thread increases");
	ok(!watch_starves(&watch, tid_of_sleeper, &after), "a thread that sleeps does not starve");
	ok(!watch_starves(&watch, 1, &after), "a thread of another process is not found");
	watch.foreign = true;
	ok(!watch_starves(&watch, gettid(), &after),
	   "a thread in another pid namespace is not checked");
}

/* ---- the time of a round ---- */

#define EACH 100u

struct share {
	struct producer_memory memory;
	struct producer producers[2];
	struct process *process;
	uint64_t events, last;
	bool is_in_order;
};

/* Handles an event more slowly than any real handler. */
static void count_slowly(void *context, void *owner, const struct merge_event *event)
{
	struct share *share = owner;

	(void)context;
	usleep(1000);
	share->events += event->record->kind == RECORD_CALL;
	share->is_in_order &= event->time >= share->last;
	share->last = event->time;
}

static void fill_share(struct share *share, struct merge *merge, struct control_page *control,
		       struct merge_user *of)
{
	struct error err;

	share->is_in_order = true;
	share->process = merge_add(merge, share, of);
	producer_make(&share->memory, control, 8, NULL, "share");
	merge_add_chunk(share->process, chunk_open(share->memory.fd, &share->memory.hello, &err));
	for (int i = 0; i < 2; i++)
		producer_attach(&share->producers[i], &share->memory);
	for (uint32_t i = 0; i < EACH; i++)
		say(&share->producers[i % 2]);
	merge_end(share->process);
}

static void test_shares(void)
{
	struct merge_user owner = { .is_bounded = false }, other = { .is_bounded = true };
	struct merge_handler handler = { .event = count_slowly };
	static struct share shares[3];
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);
	uint64_t before = producer_now(control);

	fill_share(&shares[0], merge, control, &owner);
	fill_share(&shares[1], merge, control, &other);
	fill_share(&shares[2], merge, control, &other);
	merge_round(merge);
	ok(shares[0].events == EACH && !merge_has_more(shares[0].process),
	   "a round hands out all that the owner's process has");
	ok(shares[1].events + shares[2].events < EACH / 2,
	   "a round hands out what another user's processes have for a few ms");
	ok(merge_has_more(shares[1].process) && merge_has_more(shares[2].process),
	   "both are known to have more");
	ok(!shares[1].events && merge_limit(merge, shares[1].process) <= before,
	   "a note in the stream of a process that had no turn yet precedes its records");
	for (int i = 0; i < 1000 && !(shares[1].events && shares[2].events); i++) {
		usleep(1000);
		merge_round(merge);
	}
	ok(shares[1].events && shares[2].events, "each bounded process has its turn");
	for (int i = 0;
	     i < 5000 && (merge_has_more(shares[1].process) || merge_has_more(shares[2].process));
	     i++) {
		usleep(1000);
		merge_round(merge);
	}
	ok(shares[1].events == EACH && shares[2].events == EACH && shares[1].is_in_order &&
		   shares[2].is_in_order,
	   "in the end all is handed out, in order");
	ok(!merge_has_more(shares[1].process) && !merge_has_more(shares[2].process),
	   "and nothing more is expected");
}

/* Time that the collector spends on a user between rounds is deducted from the next rounds. */
static void test_charge(void)
{
	struct merge_user owner = { .is_bounded = false }, other = { .is_bounded = true };
	struct merge_user third = { .is_bounded = true };
	struct merge_handler handler = { .event = count_slowly };
	static struct share share;
	int fd, rounds = 0;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);

	fill_share(&share, merge, control, &other);
	merge_charge(merge, &owner, 1000000000);
	merge_charge(merge, &other, 12000000);
	ok(merge_has_time(merge, &owner) && !merge_has_time(merge, &other) &&
		   merge_has_time(merge, &third),
	   "a user for whom 12 ms were spent between rounds has no time left, other users have");
	for (; !share.events && rounds < 10; rounds++) {
		usleep(6000);
		merge_round(merge);
	}
	ok(rounds == 2, "a user for whom 12 ms were spent misses a round");
	merge_charge(merge, &third, 100000000);
	ok(!merge_has_time(merge, &other), "100 ms for one user are the time of all others, too");
	for (rounds = 0; !merge_has_time(merge, &third) && rounds < 100; rounds++) {
		usleep(6000);
		merge_round(merge);
	}
	ok(rounds >= 19 && rounds < 100, "100 ms are paid back in 20 rounds");
	merge_charge(merge, &third, 1000000000);
	for (rounds = 0; !merge_has_time(merge, &third) && rounds < 1000; rounds++)
		merge_round(merge);
	ok(rounds == 1000, "1,000 short rounds do not pay back a second");
}

static void grow_slowly(void *context, void *owner)
{
	(void)context;
	(void)owner;
	usleep(20000);
}

static bool starve_slowly(void *context, void *owner, int32_t thread, uint64_t *ran_ns)
{
	uint32_t *asked = context;

	(void)owner;
	(void)thread;
	*ran_ns = 0;
	++*asked;
	usleep(1000);
	return true;
}

#define MANY 200

/* The time in which a round examines a process's memory is charged to the user, too. */
static void test_looks(void)
{
	uint32_t asked = 0;
	struct merge_user other = { .is_bounded = true };
	struct merge_handler handler = { .event = count_slowly,
					 .starves = starve_slowly,
					 .context = &asked };
	static struct share share;
	struct producer producer;
	struct error err;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);

	share.process = merge_add(merge, &share, &other);
	producer_make(&share.memory, control, MANY, NULL, "looks");
	merge_add_chunk(share.process, chunk_open(share.memory.fd, &share.memory.hello, &err));
	for (int i = 0; i < MANY; i++) {
		producer_attach(&producer, &share.memory);
		__atomic_store_n(&producer.slot->watermark, 1, __ATOMIC_RELEASE);
	}
	go_on(merge, 50);
	ok(!asked, "a low watermark that is new is not examined");
	for (int i = 0; i < 100 && !asked; i++)
		go_on(merge, 10);
	ok(asked && asked < MANY / 4,
	   "the states of another user's threads are read for a few ms in a round");
	merge_destroy(merge);

	handler.grown = grow_slowly;
	handler.starves = NULL;
	merge = merge_create(control, &handler);
	other = (struct merge_user){ .is_bounded = true };
	share.process = merge_add(merge, &share, &other);
	producer_make(&share.memory, control, 8, NULL, "looks");
	merge_add_chunk(share.process, chunk_open(share.memory.fd, &share.memory.hello, &err));
	((struct arena *)(void *)share.memory.map)->chunks = 2;
	merge_round(merge);
	ok(!merge_has_time(merge, &other),
	   "looking for memory that another user's process declares is charged to the user");
	merge_destroy(merge);
}

/* ---- threads ---- */

static void count_one(void *context, void *owner, const struct merge_event *event);

#define ENDED 20000

static void begin_thread(struct producer *producer, int32_t thread, bool loses)
{
	struct record_thread *record = producer_reserve(producer, RECORD_THREAD, sizeof(*record));

	record->record.time = producer_now(producer->control);
	record->thread = thread;
	record->pthread = (uint64_t)thread;
	record->creator = 0;
	record->creator_thread = 0;
	producer_publish(record);
	producer->slot->lost[LOSS_FULL] += loses;
}

/* A slot can have any number of threads in turn, each with dropped events. */
static void test_ended(void)
{
	struct merge_user other = { .is_bounded = false };
	struct merge_handler handler = { .event = count_one };
	struct producer producer, holder;
	static struct share share;
	uint64_t lost = 0;
	uint32_t count, batches;
	struct error err;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);
	const struct merge_thread *threads;

	share.process = merge_add(merge, &share, &other);
	producer_make(&share.memory, control, 8, NULL, "ended");
	merge_add_chunk(share.process, chunk_open(share.memory.fd, &share.memory.hello, &err));
	producer_attach(&producer, &share.memory);
	for (int32_t i = 1; i <= ENDED; i++) {
		begin_thread(&producer, i, true);
		merge_round(merge);
	}
	threads = merge_threads(share.process, &count);
	for (uint32_t i = 0; i < count; i++)
		lost += threads[i].lost[LOSS_FULL];
	ok(count < 2 * THREADS_KEPT, "of 20,000 ended threads a thousand are remembered");
	ok(lost < ENDED && lost + merge_counts(share.process)->lost[LOSS_FULL] == ENDED,
	   "the dropped events of the others are counted, too");
	producer_attach(&holder, &share.memory);
	say(&producer);
	merge_round(merge);
	__atomic_store_n(&holder.slot->watermark, producer_now(control), __ATOMIC_RELEASE);
	say(&producer);
	batches = other.batches;
	for (int32_t i = 0; i < ENDED; i++)
		begin_thread(&producer, i, false);
	merge_round(merge);
	ok(other.batches > batches + 4,
	   "the memory of threads that wait for an earlier record counts for the user's limit");
	merge_destroy(merge);
	ok(!other.batches, "and is given back");
}

/* A process that is not found is searched for when its user has time left. */
static void test_search(void)
{
	struct shared shared = { .device = 0 };
	struct watch_start start = { .pid = INT32_MAX, .pidfd = -1, .foreign = true };
	struct watch watch;
	uint64_t now = ticks_clock_ns();

	watch_begin(&watch, &shared, &start, false);
	ok(!watch.our_pid && !watch_has_ended(&watch, &shared, now, false),
	   "a process that was not looked for is not taken for one that has ended");
	for (int i = 0; i < 1000 && watch.end != WATCH_GONE; i++)
		watch_has_ended(&watch, &shared, now += 2000000000u, true);
	ok(watch.end == WATCH_GONE, "a process that was looked for and does not exist has ended");
}

static void test_hurry(void)
{
	struct merge_user other = { .is_bounded = true };
	struct merge_handler handler = { .event = count_slowly };
	static struct share share;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);

	fill_share(&share, merge, control, &other);
	merge_hurry(merge);
	merge_round(merge);
	ok(share.events == EACH && !merge_has_more(share.process),
	   "a collector that was asked to end hands out all of another user's events in one round");
}

/* ---- memory that does not come ---- */

static void count_one(void *context, void *owner, const struct merge_event *event)
{
	struct share *share = owner;

	(void)context;
	share->events += event->record->kind == RECORD_CALL;
}

static void count_growth(void *context, void *owner)
{
	uint64_t *count = context;

	(void)owner;
	++*count;
}

static void test_missing(void)
{
	uint64_t looked = 0, before;
	struct merge_handler handler = { .event = count_one,
					 .grown = count_growth,
					 .context = &looked };
	struct merge_user other = { .is_bounded = true };
	static struct share share;
	struct error err;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);

	share.process = merge_add(merge, &share, &other);
	producer_make(&share.memory, control, 8, NULL, "missing");
	merge_add_chunk(share.process, chunk_open(share.memory.fd, &share.memory.hello, &err));
	((struct arena *)(void *)share.memory.map)->chunks = 2;
	merge_round(merge);
	ok(looked == 1, "memory that a process declares is looked for at once");
	go_on(merge, 200);
	before = looked;
	for (int i = 0; i < 1000; i++)
		merge_round(merge);
	ok(looked - before < 100, "memory that does not come is not looked for in each round");
	merge_destroy(merge);
}

/* ---- the memory of records that wait ---- */

#define CROWD	  4  /* users who do not own the run */
#define BATCHES	  16 /* maximum of batches that these users have together */
#define OF_A_TURN 400

/* The first thread never finishes its record; the second one continues. */
static void begin_waiting(struct share *share, struct merge *merge, struct control_page *control,
			  struct merge_user *of)
{
	struct error err;

	share->process = merge_add(merge, share, of);
	producer_make(&share->memory, control, 8, NULL, "waits");
	merge_add_chunk(share->process, chunk_open(share->memory.fd, &share->memory.hello, &err));
	for (int i = 0; i < 2; i++)
		producer_attach(&share->producers[i], &share->memory);
	merge_round(merge);
	__atomic_store_n(&share->producers[0].slot->watermark, producer_now(control),
			 __ATOMIC_RELEASE);
}

static void test_memory(void)
{
	struct facts facts = { .is_starving = true };
	struct merge_handler handler = { .event = count_one,
					 .starves = starves,
					 .context = &facts };
	struct merge_user owner = { .is_bounded = false }, others[CROWD] = { 0 };
	static struct share shares[CROWD + 1];
	uint32_t most = 0;
	uint64_t handed_out = 0;
	int fd;
	struct control_page *control = producer_control(&fd);
	struct merge *merge = merge_create(control, &handler);

	merge->batches_most = BATCHES;
	for (int i = 0; i < CROWD; i++) {
		others[i].is_bounded = true;
		begin_waiting(&shares[i], merge, control, &others[i]);
	}
	begin_waiting(&shares[CROWD], merge, control, &owner);
	for (int turn = 0; turn < 40; turn++) {
		uint32_t sum = 0;

		for (int i = 0; i < CROWD; i++)
			for (int k = 0; k < OF_A_TURN; k++)
				say(&shares[i].producers[1]);
		if (turn < 10)
			say(&shares[CROWD].producers[1]);
		merge_round(merge);
		/* on a busy machine, the users' time may be over before their records are taken */
		for (int i = 0; i < CROWD; i++)
			while (merge_has_more(shares[i].process)) {
				usleep(1000);
				merge_round(merge);
			}
		for (int i = 0; i < CROWD; i++)
			sum += others[i].batches;
		most = sum > most ? sum : most;
	}
	for (int i = 0; i < CROWD; i++)
		handed_out += shares[i].events;
	ok(most > BATCHES / 2 && most <= BATCHES + CROWD * 2,
	   "what waits of the records of four users takes no more memory than one user's may");
	ok(handed_out > CROWD * 20 * OF_A_TURN,
	   "beyond the limit, the merge does not wait for their threads");
	ok(merge_ended_waits(merge) >= CROWD && !merge_ended_waits(merge),
	   "how often that was so is counted");
	ok(!shares[CROWD].events && owner.batches == 1,
	   "the owner's threads are waited for meanwhile");
	merge_destroy(merge);
}

int main(void)
{
	test_shares();
	test_charge();
	test_looks();
	test_ended();
	test_search();
	test_hurry();
	test_missing();
	test_memory();
	test_watermark();
	test_threads();
	return tap_end();
}
