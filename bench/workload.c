/* SPDX-License-Identifier: MIT */
/*
 * Workloads that measure their own time, so that the start and end of a tool do not count:
 *
 *   workload loop DEPTH PAIRS      malloc and free at one depth, with the same stack
 *   workload tree DEPTH PAIRS      as loop, but each stack differs from the last one
 *   workload threads N PAIRS       N threads, which free each other's blocks
 *   workload grow 1 CALLS          a block that grows by realloc
 *   workload mutex 1 PAIRS         lock and unlock a mutex without contention
 *   workload contended N PAIRS     N threads lock and unlock the same mutex
 *   workload condition 1 TURNS     two threads on one processor wake each other
 *   workload semaphore 1 PAIRS     sem_post(), and a sem_wait() that does not block
 *   workload files PATH TURNS      open, read, close
 *   workload coroutines 1 PAIRS    coroutines that switch inside a recursion
 *   workload processes N PAIRS     N processes, eight at a time, with PAIRS in total
 *   workload stacks N BLOCKS       blocks that are not freed, from N different stacks
 *   workload resident N PAIRS      as threads; prints "VmRSS RssShmem" in KiB, not the time
 *
 * Prints "EVENTS NANOSECONDS": the calls in the timed part, and its duration.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline))
#define THREADS_MAX 256
#define SLOTS	    1024
#define KEPT	    16
#define TREE_LEVELS 6
#define AT_A_TIME   8
#define FORKS	    20 /* levels with a choice of two functions: at most 2^20 call sites */
#define COROUTINES  4

struct task {
	const char *word; /* the second argument */
	long number;	  /* the second argument as a number */
	long times;
};

static long pairs_left;
static void *kept[KEPT];

/* Keeps 16 blocks, so that free() does not get the block that malloc() returned last. */
static NOINLINE void pair(void)
{
	static unsigned int at;
	void **slot = &kept[at++ % KEPT];

	free(*slot);
	*slot = malloc(16 + (size_t)(at & 63) * 8);
	pairs_left--;
}

static void step(int depth, int is_tree);

/* left() and right() have frames of different sizes. */
static NOINLINE void left(int depth, int is_tree)
{
	volatile char room[24] = { 0 };

	step(depth - 1, is_tree);
	room[1] = room[0];
}

static NOINLINE void right(int depth, int is_tree)
{
	volatile char room[120] = { 0 };

	step(depth - 1, is_tree);
	room[1] = room[0];
}

/* Calls pair() at each node of the innermost levels, so that successive stacks differ. */
static __attribute__((always_inline)) inline void node(int depth, int is_tree)
{
	pair();
	if (depth > 0 && pairs_left > 0) {
		left(depth, is_tree);
		if (pairs_left > 0)
			right(depth, is_tree);
	}
}

static __attribute__((always_inline)) inline void step(int depth, int is_tree)
{
	if (is_tree && depth <= TREE_LEVELS)
		node(depth, is_tree);
	else if (depth > 0)
		(depth & 1 ? left : right)(depth, is_tree);
	else
		while (pairs_left > 0)
			pair();
}

static uint64_t run_loop(const struct task *task)
{
	pairs_left = task->times;
	step((int)task->number, 0);
	return (uint64_t)task->times * 2;
}

static uint64_t run_tree(const struct task *task)
{
	pairs_left = task->times;
	while (pairs_left > 0)
		step((int)task->number, 1);
	return (uint64_t)task->times * 2;
}

static void *slots[SLOTS];

/* Passes each block through a slot that all threads share: another thread may free it. */
static void exchange(long pairs, unsigned int seed)
{
	for (long i = 0; i < pairs; i++) {
		void *block = malloc(16 + (seed >> 8 & 511));

		seed = seed * 1664525u + 1013904223u;
		free(__atomic_exchange_n(&slots[(seed >> 18) % SLOTS], block, __ATOMIC_ACQ_REL));
	}
}

static NOINLINE void descend(int depth, long pairs, unsigned int seed)
{
	if (depth > 0)
		descend(depth - 1, pairs, seed);
	else
		exchange(pairs, seed);
	__asm__ volatile("");
}

struct crowd {
	pthread_t threads[THREADS_MAX];
	int count;
	long share;
	pthread_mutex_t mutex;
	pthread_barrier_t done, seen;
};

static void *exchanging(void *argument)
{
	const struct crowd *crowd = argument;

	descend(7, crowd->share, (unsigned int)(uintptr_t)&crowd >> 12);
	return NULL;
}

static void *locking(void *argument)
{
	struct crowd *crowd = argument;

	for (long i = 0; i < crowd->share; i++) {
		pthread_mutex_lock(&crowd->mutex);
		pthread_mutex_unlock(&crowd->mutex);
	}
	return NULL;
}

static void *staying(void *argument)
{
	struct crowd *crowd = argument;

	exchanging(crowd);
	pthread_barrier_wait(&crowd->done);
	pthread_barrier_wait(&crowd->seen);
	return NULL;
}

static void begin_crowd(struct crowd *crowd, const struct task *task, void *(*work)(void *crowd))
{
	crowd->count = task->number < 1 ? 1 : (int)task->number;
	if (crowd->count > THREADS_MAX)
		crowd->count = THREADS_MAX;
	crowd->share = task->times / crowd->count;
	for (int i = 0; i < crowd->count; i++)
		if (pthread_create(&crowd->threads[i], NULL, work, crowd) != 0)
			exit(1);
}

static uint64_t end_crowd(struct crowd *crowd)
{
	for (int i = 0; i < crowd->count; i++)
		pthread_join(crowd->threads[i], NULL);
	return (uint64_t)crowd->share * (unsigned int)crowd->count * 2;
}

static uint64_t run_threads(const struct task *task)
{
	struct crowd crowd;

	begin_crowd(&crowd, task, exchanging);
	return end_crowd(&crowd);
}

static uint64_t run_contended(const struct task *task)
{
	struct crowd crowd = { .mutex = PTHREAD_MUTEX_INITIALIZER };

	begin_crowd(&crowd, task, locking);
	return end_crowd(&crowd);
}

/* Each child allocates its share of the blocks, and ends with exit(), as a program does. */
static uint64_t run_processes(const struct task *task)
{
	long count = task->number < 1 ? 1 : task->number, share = task->times / count;

	for (long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			descend(7, share, (unsigned int)i);
			exit(0);
		}
		if (child < 0)
			exit(1);
		if (i >= AT_A_TIME)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	return (uint64_t)share * (unsigned long)count * 2;
}

static void *volatile last_kept;

static NOINLINE void fork_left(unsigned long place, int level);

static NOINLINE void fork_right(unsigned long place, int level)
{
	if (level == 0)
		last_kept = malloc(16);
	else
		(place & 1 ? fork_left : fork_right)(place >> 1, level - 1);
	__asm__ volatile("");
}

static NOINLINE void fork_left(unsigned long place, int level)
{
	if (level == 0)
		last_kept = malloc(16);
	else
		(place & 1 ? fork_left : fork_right)(place >> 1, level - 1);
	__asm__ volatile("");
}

/* Visits the call sites in an order in which successive stacks differ in most frames. */
static uint64_t run_stacks(const struct task *task)
{
	unsigned long count = task->number < 1 ? 1 : (unsigned long)task->number;

	for (unsigned long i = 0; i < (unsigned long)task->times; i++)
		fork_left(i * 7919 % count, FORKS);
	return (uint64_t)task->times;
}

static void print_residence(void)
{
	char line[256];
	long resident = 0, shared = 0;
	FILE *status = fopen("/proc/self/status", "re");

	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			resident = atol(line + 6);
		else if (strncmp(line, "RssShmem:", 9) == 0)
			shared = atol(line + 9);
	}
	if (status != NULL)
		fclose(status);
	printf("%ld %ld\n", resident, shared);
	fflush(stdout);
}

/* Prints the memory use. Returns 0, so that main() does not print the time. */
static uint64_t run_resident(const struct task *task)
{
	unsigned int parties = (unsigned int)(task->number < 1 ? 1 : task->number) + 1;
	struct crowd crowd;

	if (parties > THREADS_MAX + 1)
		exit(1);
	pthread_barrier_init(&crowd.done, NULL, parties);
	pthread_barrier_init(&crowd.seen, NULL, parties);
	begin_crowd(&crowd, task, staying);
	pthread_barrier_wait(&crowd.done);
	print_residence();
	pthread_barrier_wait(&crowd.seen);
	end_crowd(&crowd);
	return 0;
}

static uint64_t run_grow(const struct task *task)
{
	char *block = NULL;

	for (long i = 0; i < task->times; i++) {
		size_t size = 64 + (size_t)(i & 255) * 64;

		block = realloc(block, size);
		if (block == NULL)
			exit(1);
		block[size - 1] = 1;
	}
	free(block);
	return (uint64_t)task->times + 1;
}

static uint64_t run_mutex(const struct task *task)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (long i = 0; i < task->times; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return (uint64_t)task->times * 2;
}

static uint64_t run_semaphore(const struct task *task)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	for (long i = 0; i < task->times; i++) {
		sem_post(&semaphore);
		sem_wait(&semaphore);
	}
	sem_destroy(&semaphore);
	return (uint64_t)task->times * 2;
}

struct table_tennis {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int turn;
	long times;
	uint64_t events;
};

static void play(struct table_tennis *game, int me)
{
	uint64_t waits = 0;

	for (long i = 0; i < game->times; i++) {
		pthread_mutex_lock(&game->mutex);
		for (; game->turn != me; waits++)
			pthread_cond_wait(&game->changed, &game->mutex);
		game->turn = !me;
		pthread_cond_signal(&game->changed);
		pthread_mutex_unlock(&game->mutex);
	}
	__atomic_add_fetch(&game->events, (uint64_t)game->times * 3 + waits, __ATOMIC_RELAXED);
}

static void *playing(void *argument)
{
	play(argument, 1);
	return NULL;
}

/* Stays on one processor, because the time until another processor wakes up varies. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static uint64_t run_condition(const struct task *task)
{
	struct table_tennis game = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				     .changed = PTHREAD_COND_INITIALIZER,
				     .times = task->times };
	pthread_t other;

	stay_here();
	if (pthread_create(&other, NULL, playing, &game) != 0)
		exit(1);
	play(&game, 0);
	pthread_join(other, NULL);
	return game.events;
}

static uint64_t run_files(const struct task *task)
{
	char bytes[64];

	for (long i = 0; i < task->times; i++) {
		int fd = open(task->word, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, bytes, sizeof(bytes)) < 0)
			exit(1);
		close(fd);
	}
	return (uint64_t)task->times * 3;
}

static ucontext_t coroutines[COROUTINES], back;
static unsigned int active;
static char stacks[COROUTINES][64 << 10] __attribute__((aligned(16)));

static void switch_to_next(void)
{
	ucontext_t *from = &coroutines[active];

	active = (active + 1) % COROUTINES;
	swapcontext(from, pairs_left > 0 ? &coroutines[active] : &back);
}

/* Each coroutine switches to the next one at a different depth. */
static NOINLINE void recurse(unsigned int depth)
{
	pair();
	if (depth > 0)
		recurse(depth - 1);
	else
		switch_to_next();
	pair();
}

static void coroutine(unsigned int number)
{
	for (unsigned int depth = number;; depth++)
		recurse(depth * 5 % 13);
}

static uint64_t run_coroutines(const struct task *task)
{
	pairs_left = task->times;
	for (unsigned int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&back, &coroutines[0]);
	return (uint64_t)(task->times - pairs_left) * 2;
}

static const struct {
	const char *name;
	uint64_t (*run)(const struct task *task);
} workloads[] = {
	{ "loop", run_loop },
	{ "tree", run_tree },
	{ "threads", run_threads },
	{ "grow", run_grow },
	{ "mutex", run_mutex },
	{ "contended", run_contended },
	{ "condition", run_condition },
	{ "files", run_files },
	{ "semaphore", run_semaphore },
	{ "processes", run_processes },
	{ "stacks", run_stacks },
	{ "resident", run_resident },
	{ "coroutines", run_coroutines },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct task task = { .word = argc > 2 ? argv[2] : "1",
				   .number = argc > 2 ? atol(argv[2]) : 1,
				   .times = argc > 3 ? atol(argv[3]) : 300000 };
	const char *name = argc > 1 ? argv[1] : "loop";

	free(malloc(1)); /* has the tool initialised before the timed part */
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
		uint64_t start = now(), events;

		if (strcmp(workloads[i].name, name) != 0)
			continue;
		events = workloads[i].run(&task);
		if (events > 0)
			printf("%" PRIu64 " %" PRIu64 "\n", events, now() - start);
		return 0;
	}
	fprintf(stderr, "workload: no %s\n", name);
	return 2;
}
