/* SPDX-License-Identifier: MIT */
/*
 * Proves the order of merged events. Threads pass blocks to each other and reuse their addresses at
 * once. They write to real rings, as include/arena.h specifies. A call that moves a block loses one
 * block and gains another in one record. In the merged sequence, each block must be alternately
 * gained and lost, times must never decrease, no event may be missing, and each backtrace must be
 * that of its thread.
 *
 *   merge [PAIRS [no-floor|plain-enter|plain-leave|all-close]]
 *
 * PAIRS: default 1000000. The words make the test fail, to show that it can. no-floor: no thread
 * sets its low watermark. plain-enter: the time of a loss is read without a fence, before the
 * atomic operation by which the thread got the block, so some losses precede the gain of the same
 * block. plain-leave: the same for times of return. all-close: records of nested calls claim that
 * no later record is earlier.
 */
#include "tests/lib/collect-producer.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>

#include "collect/merge.h"

static struct merge_user user;

#define THREADS	  4
#define BLOCKS	  24
#define BOXES	  8
#define DEPTH_MAX 60

static int tests, failures;

static void ok(bool good, const char *sentence)
{
	tests++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", tests, sentence);
}

/* ---- the host ---- */

struct host {
	struct control_page *control;
	struct producer_memory memory;
	struct chunk *chunk;
	struct process *process;
	uint64_t pairs; /* per thread */
	bool no_watermark, plain_enter, plain_leave, all_close;
	uint64_t pool; /* stack of free blocks: number of changes << 32 | first block, or 0 */
	uint32_t next[BLOCKS];
	uint32_t boxes[BOXES]; /* block in the box; 0: empty */
	int running;
};

struct worker {
	struct host *host;
	struct producer producer;
	pthread_t thread;
	uint64_t random, last, moves;
	uint32_t depth;
	uint64_t stack[DEPTH_MAX]; /* outermost frame first */
	uint64_t fresh[DEPTH_MAX];
};

static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Takes a free block. Returns its number, from 1, or 0 if none is free. */
static uint32_t take_block(struct host *host)
{
	uint64_t pool = __atomic_load_n(&host->pool, __ATOMIC_ACQUIRE), next;
	uint32_t first;

	do {
		first = (uint32_t)pool;
		if (!first)
			return 0;
		next = ((pool >> 32) + 1) << 32 |
		       __atomic_load_n(&host->next[first - 1], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&host->pool, &pool, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return first;
}

static void give_block(struct host *host, uint32_t block)
{
	uint64_t pool = __atomic_load_n(&host->pool, __ATOMIC_ACQUIRE), next;

	do {
		__atomic_store_n(&host->next[block - 1], (uint32_t)pool, __ATOMIC_RELAXED);
		next = ((pool >> 32) + 1) << 32 | block;
	} while (!__atomic_compare_exchange_n(&host->pool, &pool, next, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
}

static uint64_t hash_frames(uint64_t hash, uint64_t frame)
{
	return (hash ^ frame) * 0x9e3779b97f4a7c15ull;
}

/* Changes the inner frames. *kept: number of unchanged frames. Returns a hash of the backtrace. */
static uint64_t move_stack(struct worker *worker, uint32_t *kept, uint32_t *fresh)
{
	uint64_t dice = draw(&worker->random), hash = 0;
	uint32_t least = worker->depth > 3 ? worker->depth - 3 : 0;

	*kept = least + (uint32_t)(dice % (worker->depth - least + 1));
	*fresh = (uint32_t)(dice >> 8 & 3);
	if (*kept + *fresh > DEPTH_MAX)
		*kept = DEPTH_MAX / 2;
	worker->depth = *kept + *fresh;
	for (uint32_t i = 0; i < *fresh; i++) {
		worker->stack[*kept + i] = dice >> 16 | i;
		worker->fresh[*fresh - 1 - i] = worker->stack[*kept + i];
	}
	for (uint32_t i = worker->depth; i-- > 0;)
		hash = hash_frames(hash, worker->stack[i]);
	return hash;
}

static uint64_t read_clock(const struct worker *worker, bool plain)
{
	if (worker->host->control->clock != CONTROL_CLOCK_COUNTER)
		return producer_now(worker->host->control);
	return plain ? counter_read() : counter_read_ordered();
}

static void set_watermark(struct worker *worker, uint64_t watermark)
{
	if (!worker->host->no_watermark)
		__atomic_store_n(&worker->producer.slot->watermark, watermark, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* plain: reads the clock without a fence, because no event has the time of entry. */
static uint64_t enter_call(struct worker *worker, bool plain)
{
	uint64_t enter;

	set_watermark(worker, worker->last);
	enter = worker->last = read_clock(worker, plain);
	set_watermark(worker, enter);
	return enter;
}

/* Half of the calls become short records, which contain only half of the hash. */
static bool is_short(struct worker *worker)
{
	return worker->producer.model.is_known && draw(&worker->random) & 1;
}

static void say_one(struct worker *worker, struct producer_call *call, bool closes)
{
	uint64_t hash = move_stack(worker, &call->kept, &call->fresh);

	call->frames = worker->fresh;
	call->resource = RESOURCE_MEMORY;
	if (is_short(worker)) {
		call->size = (uint32_t)hash;
		call->result = 0;
		producer_publish(producer_fill_short(
			&worker->producer, call, call->related ? call->related : hash & 1, closes));
		return;
	}
	call->size = 0;
	call->result = hash;
	producer_say(&worker->producer, call);
}

static void say(struct worker *worker, struct producer_call *call)
{
	say_one(worker, call, true);
	set_watermark(worker, 0);
}

static uint32_t acquisition(struct worker *worker)
{
	uint64_t enter = enter_call(worker, true);
	uint32_t block;

	while (!(block = take_block(worker->host)))
		sched_yield();
	set_watermark(worker, enter);
	worker->last = read_clock(worker, worker->host->plain_leave);
	say(worker, &(struct producer_call){ .hook = HOOK_malloc,
					     .operation = OPERATION_ALLOC,
					     .moment = MOMENT_LEAVE,
					     .enter = block & 1 ? enter : worker->last,
					     .leave = worker->last,
					     .object = block });
	return block;
}

/* Gives the block away, which other threads may then take, and takes another one. */
static uint32_t move(struct worker *worker, uint32_t block)
{
	uint64_t enter = enter_call(worker, worker->host->plain_enter);
	uint32_t moved;

	give_block(worker->host, block);
	while (!(moved = take_block(worker->host)))
		sched_yield();
	worker->last = read_clock(worker, worker->host->plain_leave);
	say(worker, &(struct producer_call){ .hook = HOOK_realloc,
					     .operation = OPERATION_ALLOC,
					     .moment = MOMENT_SPLIT,
					     .enter = enter,
					     .leave = worker->last,
					     .object = moved,
					     .related = block });
	worker->moves++;
	return moved;
}

static void lose(struct worker *worker, uint32_t block)
{
	uint64_t enter = enter_call(worker, worker->host->plain_enter);

	give_block(worker->host, block);
	worker->last = read_clock(worker, worker->host->plain_leave);
	say(worker, &(struct producer_call){ .hook = HOOK_free,
					     .operation = OPERATION_FREE,
					     .moment = MOMENT_ENTER,
					     .enter = enter,
					     .leave = block & 1 ? worker->last : enter,
					     .object = block });
}

/* Loses a block in a call within another call. The inner call is published first, and is later. */
static void lose_within(struct worker *worker, uint32_t block)
{
	uint64_t outer = enter_call(worker, worker->host->plain_enter);
	uint64_t inner = worker->last = read_clock(worker, worker->host->plain_enter);
	struct producer_call call = { .hook = HOOK_fclose,
				      .operation = OPERATION_FREE,
				      .moment = MOMENT_ENTER,
				      .enter = outer };

	give_block(worker->host, block);
	call.hook = HOOK_free;
	call.enter = call.leave = inner;
	call.object = block;
	say_one(worker, &call, worker->host->all_close);
	call.hook = HOOK_fclose;
	call.enter = call.leave = outer;
	call.object = 0;
	say(worker, &call);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct host *host = worker->host;

	producer_attach(&worker->producer, &host->memory);
	worker->last = read_clock(worker, worker->host->plain_leave);
	for (uint64_t i = 0; i < host->pairs; i++) {
		uint32_t block = acquisition(worker);
		uint64_t dice = draw(&worker->random);

		if (!(dice >> 48 & 3))
			block = move(worker, block);
		block = __atomic_exchange_n(&host->boxes[dice % BOXES], block, __ATOMIC_ACQ_REL);
		if (block && dice >> 32 & 63)
			lose(worker, block);
		else if (block)
			lose_within(worker, block);
	}
	__atomic_sub_fetch(&host->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* ---- the collector's side ---- */

struct checker {
	uint64_t events, moves, violations, backwards, late, wrong_frames, numbers, fasts;
	uint64_t last;
	bool held[BLOCKS + 1];
	uint64_t times[BLOCKS + 1]; /* time of the last event of each block */
};

/* Prints the first violations. */
static void show_violation(const struct checker *checker, const struct merge_event *event,
			   uint64_t block, bool is_gained)
{
	const struct record_call *call = (const struct record_call *)event->record;

	if (checker->violations > 5)
		return;
	printf("# block %" PRIu64 " %s twice: %" PRIu64 " ticks after the first, it took %" PRIu64
	       "\n",
	       block, is_gained ? "gained" : "lost", event->time - checker->times[block],
	       call->leave - call->enter);
}

static void check_block(struct checker *checker, const struct merge_event *event, uint64_t block,
			bool is_gained)
{
	if (!block || block > BLOCKS)
		return;
	if (checker->held[block] == is_gained) {
		checker->violations++;
		show_violation(checker, event, block, is_gained);
	}
	checker->times[block] = event->time;
	checker->held[block] = is_gained;
}

/*
 * Checks the loss of a move, which shares its record and backtrace with a gain. The merge passes
 * the loss either with that record or with a record of its own.
 */
static bool check_moved_part(struct checker *checker, const struct merge_event *event)
{
	const struct record_call *call = (const struct record_call *)event->record;

	if (!event->is_moved_part && call->part != RECORD_MOVED_PART)
		return false;
	checker->moves++;
	check_block(checker, event, event->is_moved_part ? call->related : call->object, false);
	return true;
}

static bool is_move(const struct record_call *call)
{
	return call->record.more == HOOK_realloc;
}

static void check_event(void *context, void *owner, const struct merge_event *event)
{
	struct checker *checker = context;
	const struct record_call *call = (const struct record_call *)event->record;
	uint64_t hash = 0;

	(void)owner;
	checker->backwards += event->time < checker->last;
	checker->last = event->time;
	checker->late += event->late;
	if (check_moved_part(checker, event))
		return;
	checker->events++;
	checker->numbers += call->call;
	for (uint32_t i = 0; i < event->frame_count; i++)
		hash = hash_frames(hash, event->frames[i]);
	if (!call->result)
		checker->wrong_frames += (uint32_t)hash != call->size ||
					 (!is_move(call) && (hash & 1) != call->related);
	else
		checker->wrong_frames += hash != call->result;
	check_block(checker, event, call->object, call->operation == OPERATION_ALLOC);
}

/*
 * Handler of the fast path. Converts a short record to the equivalent whole record. Refuses one
 * call in eight, which the merge then passes to check_event().
 */
static bool check_fast(void *context, void *owner, const struct fast_call *fast)
{
	const struct record_short *record = fast->record;
	bool leaves = record->form & SHORT_LEAVES;
	uint32_t lasted = fast->more ? fast->more->lasted : 0;
	struct record_call call = { .record = record->record,
				    .enter = record->record.time - (leaves ? lasted : 0),
				    .leave = record->record.time + (leaves ? 0 : lasted),
				    .call = fast->model->call,
				    .object = record->object,
				    .related = fast->related,
				    .size = record->size,
				    .part = fast->part,
				    .operation = fast_operation(fast) };
	struct merge_event event = { .record = &call.record,
				     .time = record->record.time,
				     .frames = fast->frames,
				     .frame_count = fast->frame_count };
	struct checker *checker = context;

	if (!(fast->turn & 7))
		return false;
	checker->fasts++;
	check_event(context, owner, &event);
	return true;
}

static void collect(struct merge *merge, struct host *host)
{
	while (__atomic_load_n(&host->running, __ATOMIC_ACQUIRE))
		if (merge_round(merge) < 16384)
			usleep(100);
	merge_end(host->process);
	merge_round(merge);
}

static void host_init(struct host *host, uint64_t pairs)
{
	struct error err;
	int fd;

	host->control = producer_control(&fd);
	producer_make(&host->memory, host->control, 16, NULL, "merge");
	host->chunk = chunk_open(host->memory.fd, &host->memory.hello, &err);
	host->pairs = pairs / THREADS;
	host->running = THREADS;
	for (uint32_t i = 1; i <= BLOCKS; i++)
		give_block(host, i);
}

static void run(struct host *host, struct checker *checker)
{
	static struct worker workers[THREADS];
	struct merge_handler handler = { .event = check_event,
					 .fast = check_fast,
					 .context = checker };
	struct merge *merge = merge_create(host->control, &handler);
	uint64_t begin = 0, numbers = 0, said = 0, moves = 0;
	struct timespec now;

	host->process = merge_add(merge, NULL, &user);
	merge_add_chunk(host->process, host->chunk);
	clock_gettime(CLOCK_MONOTONIC, &now);
	begin = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .host = host,
					      .random = 88172645463325252ull + (uint64_t)i };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	collect(merge, host);
	for (int i = 0; i < THREADS; i++) {
		uint64_t calls = workers[i].producer.calls;

		pthread_join(workers[i].thread, NULL);
		said += calls;
		moves += workers[i].moves;
		numbers += calls * (calls + 1) / 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("# %" PRIu64 " events (%" PRIu64 " in brief), %" PRIu64 " violations, %" PRIu64
	       " late, %.0f ns an event\n",
	       checker->events, checker->fasts, checker->violations, checker->late,
	       (double)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - begin) /
		       (double)checker->events);
	ok(checker->events == said && checker->numbers == numbers && checker->moves == moves,
	   "every event comes once");
	merge_destroy(merge);
}

int main(int argc, char **argv)
{
	static struct host host;
	static struct checker checker;
	uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

	host.no_watermark = argc > 2 && !strcmp(argv[2], "no-floor");
	host.plain_enter = argc > 2 && !strcmp(argv[2], "plain-enter");
	host.plain_leave = argc > 2 && !strcmp(argv[2], "plain-leave");
	host.all_close = argc > 2 && !strcmp(argv[2], "all-close");
	host_init(&host, pairs);
	run(&host, &checker);
	ok(!checker.violations, "a block is lost before it is gained again, in whatever thread");
	ok(!checker.backwards, "times never run backwards");
	ok(!checker.late, "nothing comes too late");
	ok(!checker.wrong_frames, "every event has its thread's backtrace");
	printf("1..%d\n", tests);
	return failures != 0;
}
