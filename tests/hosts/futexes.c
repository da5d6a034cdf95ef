/* SPDX-License-Identifier: MIT */
/*
 * futexes: waits for futexes by syscall(2). Prints what its trace must have, a line for each call
 * site: "FUNCTION ENDED WAITS NS WAKER", where NS is how long the calls took by the program's own
 * clock. futexes stuck: ends while two threads wait for a futex that another thread once woke.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
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

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
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

static void say(const char *function, const char *ended, const struct truth *truth,
		const char *waker)
{
	printf("%s %s %lu %lu %s\n", function, ended, truth->waits, truth->ns, waker);
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

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "stuck"))
		stuck();
	else
		run();
	return 0;
}
