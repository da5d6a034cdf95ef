/* SPDX-License-Identifier: MIT */
/*
 * futexes: waits for futexes by syscall(2). Prints what its trace must have, a line for each call
 * site: "FUNCTION ENDED WAITS NS WAKER", where NS is how long the calls took by the program's own
 * clock. futexes stuck: ends while two threads wait for a futex that another thread once woke.
 * futexes cycle, futexes held: until its input ends, two threads wait for each other's lock, or
 * wait for the lock of a thread that sleeps. futexes released: ends while two threads wait for each
 * other's lock, one of which the other thread has released before.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 30
#define SLEEPERS 3

struct truth {
	atomic_ulong waits, ns;
};

static struct truth left, right, timed, slept;
static atomic_int left_word, right_word, sleepers_word, nothing;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* Counts a wait that slept. */
#define WAIT(truth, ...)                                                               \
	do {                                                                           \
		uint64_t since = now();                                                \
                                                                                       \
		if (!syscall(SYS_futex, __VA_ARGS__, NULL, 0) || errno == ETIMEDOUT) { \
			(truth)->waits++;                                              \
			(truth)->ns += now() - since;                                  \
		}                                                                      \
	} while (0)

__attribute__((noinline)) static void wait_for_left(void)
{
	while (!atomic_load(&left_word))
		WAIT(&left, &left_word, FUTEX_WAIT_PRIVATE, 0, NULL);
	atomic_store(&left_word, 0);
}

__attribute__((noinline)) static void wait_for_right(void)
{
	while (!atomic_load(&right_word))
		WAIT(&right, &right_word, FUTEX_WAIT_PRIVATE, 0, NULL);
	atomic_store(&right_word, 0);
}

__attribute__((noinline)) static void wake_left(void)
{
	atomic_store(&left_word, 1);
	syscall(SYS_futex, &left_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) static void wake_right(void)
{
	atomic_store(&right_word, 1);
	syscall(SYS_futex, &right_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wait_in_vain(void)
{
	const struct timespec limit = { .tv_nsec = 5000000 };

	WAIT(&timed, &nothing, FUTEX_WAIT_PRIVATE, 0, &limit);
}

__attribute__((noinline)) static void wait_asleep(void)
{
	while (!atomic_load(&sleepers_word))
		WAIT(&slept, &sleepers_word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

__attribute__((noinline)) static void wake_all(void)
{
	atomic_store(&sleepers_word, 1);
	syscall(SYS_futex, &sleepers_word, FUTEX_WAKE_PRIVATE, 99, NULL, NULL, 0);
	__asm__ volatile("");
}

/* Each thread waits for the other, which works for a millisecond. */
static void *play(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		wait_for_left();
		pause_ms(1);
		wake_right();
	}
	return unused;
}

static void *sleep_once(void *unused)
{
	wait_asleep();
	return unused;
}

/* ---- two futexes, lists, priorities ---- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake	  454
#define SYS_futex_wait	  455
#define SYS_futex_requeue 456
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#define PRIVATE_32 (2 | 128) /* FUTEX2_SIZE_U32 | FUTEX2_PRIVATE */

struct item { /* struct futex_waitv */
	uint64_t value, address;
	uint32_t flags, reserved;
};

static struct truth moved, both, compared, second, listed, plain, owned, signalled, limited;
static atomic_int from_word, to_word, both_words[2], compare_word, second_words[2], list_words[2],
	plain_words[2], pi_word, signal_word, limit_word;
static atomic_int is_done, is_compared, arrived;
static bool has_limits; /* FUTEX_LOCK_PI2 */

/* Pauses until so many threads are about to wait, or have waited, and for a while. */
static void await_arrivals(int count)
{
	while (atomic_load(&arrived) < count)
		pause_ms(1);
	pause_ms(20);
	atomic_store(&arrived, 0);
}

#define WAIT_BY(truth, call)                          \
	do {                                          \
		uint64_t since = now();               \
                                                      \
		if ((call) >= 0) {                    \
			(truth)->waits++;             \
			(truth)->ns += now() - since; \
		}                                     \
	} while (0)

__attribute__((noinline)) static void wait_moved(void)
{
	while (!atomic_load(&is_done))
		WAIT_BY(&moved,
			syscall(SYS_futex, &from_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}

__attribute__((noinline)) static void wait_both(atomic_int *word)
{
	while (!atomic_load(word))
		WAIT_BY(&both, syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}

__attribute__((noinline)) static void wait_compared(void)
{
	while (!atomic_load(&is_compared))
		WAIT_BY(&compared,
			syscall(SYS_futex, &compare_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}

__attribute__((noinline)) static void wait_second(void)
{
	while (!atomic_load(&second_words[1]))
		WAIT_BY(&second,
			syscall(SYS_futex, &second_words[1], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}

__attribute__((noinline)) static void wait_listed(void)
{
	struct item items[2] = { { 0, (uintptr_t)&list_words[0], PRIVATE_32, 0 },
				 { 0, (uintptr_t)&list_words[1], PRIVATE_32, 0 } };

	while (!atomic_load(&list_words[1]))
		WAIT_BY(&listed, syscall(SYS_futex_waitv, items, 2, 0, NULL, 0));
}

__attribute__((noinline)) static void wait_plain(void)
{
	while (!atomic_load(&is_done))
		WAIT_BY(&plain,
			syscall(SYS_futex_wait, &plain_words[0], 0L, ~0u, PRIVATE_32, NULL, 0));
}

__attribute__((noinline)) static void wait_owned(void)
{
	WAIT_BY(&owned, syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0));
	syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

__attribute__((noinline)) static void wait_signalled(void)
{
	WAIT_BY(&signalled, syscall(SYS_futex, &signal_word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL,
				    &pi_word, 0));
	syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

__attribute__((noinline)) static void wait_limited(void)
{
	const uint64_t limit_ns = now() + 9000000000;
	const struct timespec limit = { (time_t)(limit_ns / 1000000000),
					(long)(limit_ns % 1000000000) };

	WAIT_BY(&limited, syscall(SYS_futex, &limit_word, FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, 0,
				  &limit, NULL, 0));
	syscall(SYS_futex, &limit_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

static void *wait_in_all(void *number)
{
	long at = (long)number;

	wait_moved();
	arrived++;
	wait_both(&both_words[at % 2]);
	arrived++;
	wait_compared();
	arrived++;
	wait_second();
	return NULL;
}

static void *wait_in_new(void *unused)
{
	arrived++;
	wait_listed();
	wait_plain();
	return unused;
}

static void *wait_with_priority(void *unused)
{
	arrived++;
	wait_owned();
	wait_signalled();
	arrived++;
	if (has_limits)
		wait_limited();
	return unused;
}

__attribute__((noinline)) static void wake_moved(void)
{
	long count = 0;

	while (count < 2)
		count += syscall(SYS_futex, &from_word, FUTEX_REQUEUE_PRIVATE, 0, 99L, &to_word, 0);
	pause_ms(1);
	atomic_store(&is_done, 1);
	syscall(SYS_futex, &to_word, FUTEX_WAKE_PRIVATE, 99, NULL, NULL, 0);
	__asm__ volatile("");
}

/* Wakes a thread of each futex. */
__attribute__((noinline)) static void wake_both(void)
{
	atomic_store(&both_words[0], 1);
	atomic_store(&both_words[1], 0);
	syscall(SYS_futex, &both_words[0], FUTEX_WAKE_OP_PRIVATE, 1, 1L, &both_words[1],
		FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0));
	__asm__ volatile("");
}

/* Wakes one thread and moves the other, after a call that fails because of the value. */
__attribute__((noinline)) static void wake_compared(void)
{
	long count = 0;

	if (syscall(SYS_futex, &compare_word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1L, &to_word, 7) != -1)
		exit(99);
	while (count < 2)
		count += syscall(SYS_futex, &compare_word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1L,
				 &to_word, 0);
	pause_ms(1);
	atomic_store(&is_compared, 1);
	syscall(SYS_futex, &compare_word, FUTEX_WAKE_PRIVATE, 99, NULL, NULL, 0);
	syscall(SYS_futex, &to_word, FUTEX_WAKE_PRIVATE, 99, NULL, NULL, 0);
	__asm__ volatile("");
}

/* Wakes threads of the second futex, as QSemaphore::release() does. */
__attribute__((noinline)) static void wake_second(void)
{
	syscall(SYS_futex, &second_words[0], FUTEX_WAKE_OP_PRIVATE, 9, 9L, &second_words[1],
		FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0));
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_listed(void)
{
	atomic_store(&list_words[1], 1);
	syscall(SYS_futex, &list_words[1], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_plain(void)
{
	struct item items[2] = { { 0, (uintptr_t)&plain_words[0], PRIVATE_32, 0 },
				 { 0, (uintptr_t)&plain_words[1], PRIVATE_32, 0 } };

	while (syscall(SYS_futex_requeue, items, 0, 0, 1) != 1)
		;
	pause_ms(1);
	atomic_store(&is_done, 1);
	syscall(SYS_futex_wake, &plain_words[1], ~0u, 1, PRIVATE_32);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_owned(void)
{
	syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_signalled(void)
{
	while (syscall(SYS_futex, &signal_word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0L, &pi_word, 0) !=
	       1)
		;
	__asm__ volatile("");
}

__attribute__((noinline)) static void wake_limited(void)
{
	syscall(SYS_futex, &limit_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	__asm__ volatile("");
}

static void say(const char *function, const char *ended, const struct truth *truth,
		const char *waker)
{
	printf("%s %s %lu %lu %s\n", function, ended, truth->waits, truth->ns, waker);
}

static void run_pairs(void)
{
	pthread_t threads[2];

	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, wait_in_all, (void *)i);
	wake_moved();
	await_arrivals(2);
	wake_both();
	await_arrivals(2);
	wake_compared();
	await_arrivals(2);
	wake_second();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	say("wait_moved", "woken", &moved, "wake_moved");
	say("wait_both", "woken", &both, "wake_both");
	say("wait_compared", "woken", &compared, "wake_compared");
	say("wait_second", "woken", &second, "wake_second");
}

static void run_new(void)
{
	pthread_t thread;

	is_done = 0;
	if (syscall(SYS_futex_wake, &nothing, ~0u, 1, PRIVATE_32))
		return;
	pthread_create(&thread, NULL, wait_in_new, NULL);
	await_arrivals(1);
	wake_listed();
	wake_plain();
	pthread_join(thread, NULL);
	say("wait_listed", "woken", &listed, "wake_listed");
	say("wait_plain", "woken", &plain, "wake_plain");
}

static void run_priorities(void)
{
	pthread_t thread;

	if (syscall(SYS_futex, &pi_word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0))
		return;
	syscall(SYS_futex, &limit_word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	/* a known call refuses the address first */
	has_limits = syscall(SYS_futex, (char *)&limit_word + 1,
			     FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0) &&
		     errno != ENOSYS;
	pthread_create(&thread, NULL, wait_with_priority, NULL);
	await_arrivals(1);
	wake_owned();
	wake_signalled();
	await_arrivals(1);
	if (has_limits)
		wake_limited();
	pthread_join(thread, NULL);
	say("wait_owned", "woken", &owned, "wake_owned");
	say("wait_signalled", "woken", &signalled, "wake_signalled");
	if (has_limits)
		say("wait_limited", "woken", &limited, "wake_limited");
}

static void run(void)
{
	pthread_t thread, sleepers[SLEEPERS];

	pthread_create(&thread, NULL, play, NULL);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&sleepers[i], NULL, sleep_once, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pause_ms(1);
		wake_left();
		wait_for_right();
	}
	wake_all();
	for (int i = 0; i < 3; i++)
		wait_in_vain();
	/* neither waits nor wakes: these are no events */
	for (int i = 0; i < 100; i++) {
		syscall(SYS_futex, &nothing, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
		syscall(SYS_futex, &nothing, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(sleepers[i], NULL);
	say("wait_for_left", "woken", &left, "wake_left");
	say("wait_for_right", "woken", &right, "wake_right");
	say("wait_asleep", "woken", &slept, "wake_all");
	say("wait_in_vain", "timed-out", &timed, "-");
	run_pairs();
	run_new();
	run_priorities();
}

__attribute__((noinline)) static void wait_for_ever(void)
{
	for (;;)
		syscall(SYS_futex, &nothing, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void *stick(void *unused)
{
	wait_for_ever();
	return unused;
}

static void stuck(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, stick, NULL);
	while (!syscall(SYS_futex, &nothing, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0))
		pause_ms(1);
	pause_ms(20);
}

/* ---- locks ---- */

static atomic_int *one, *other; /* on the heap: a holder has a pointer */

__attribute__((noinline)) static void lock(atomic_int *word)
{
	int expected = 0;

	if (atomic_compare_exchange_strong(word, &expected, 1))
		return;
	while (atomic_exchange(word, 2))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

__attribute__((noinline)) static void unlock(atomic_int *word)
{
	if (atomic_exchange(word, 0) == 2)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

struct order {
	const char *name;
	atomic_int *first, *second; /* second NULL: sleeps */
};

static void *lock_in_order(void *argument)
{
	/* volatile, as the address of the lock is only found in memory, not in a register */
	volatile struct order order = *(struct order *)argument;

	pthread_setname_np(pthread_self(), order.name);
	lock(order.first);
	pause_ms(50);
	if (order.second)
		lock(order.second);
	else
		pause();
	unlock(order.first);
	return NULL;
}

static void hold(bool is_cycle)
{
	struct order left_order, right_order;
	pthread_t thread;
	char byte;

	one = calloc(1, sizeof(*one));
	other = calloc(1, sizeof(*other));
	left_order = (struct order){ "left", one, is_cycle ? other : NULL };
	right_order = (struct order){ "right", other, one };
	pthread_create(&thread, NULL, lock_in_order, &left_order);
	pthread_create(&thread, NULL, lock_in_order, &right_order);
	pause_ms(200);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}

static void *release_and_lock(void *unused)
{
	lock(one);
	pause_ms(40);
	unlock(one);
	pause_ms(20);
	lock(one);
	lock(other);
	return unused;
}

static void release(void)
{
	atomic_int words[2] = { 0, 0 };
	pthread_t thread;

	one = &words[0];
	other = &words[1];
	pthread_create(&thread, NULL, release_and_lock, NULL);
	lock(other);
	pause_ms(20);
	lock(one);
	unlock(one);
	pause_ms(80);
	ualarm(200000, 0);
	lock(one);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "stuck"))
		stuck();
	else if (argc > 1 && !strcmp(argv[1], "released"))
		release();
	else if (argc > 1)
		hold(!strcmp(argv[1], "cycle"));
	else
		run();
	return 0;
}
