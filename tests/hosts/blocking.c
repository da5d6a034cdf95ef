/* SPDX-License-Identifier: MIT */
/*
 * Waits in calls that block, each for some ms, and prints "FUNCTION ENDED WAITS NS WAKER" for each
 * function that waits: what tests/tools/futexes.py compares with a report. With the argument idle:
 * has an idle event loop beside a thread that sleeps, a loop whose other thread works, and two
 * worker processes that wait twice each. With the argument loops: an event loop, until SIGALRM ends
 * it.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 5
#define FUNCTION __attribute__((noinline, noclone))

static int ends[2], counter, pair[2];
static volatile int is_over, is_waiting;
static volatile size_t sum;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t napped_ns;

FUNCTION static void nap(void)
{
	uint64_t since = now();

	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	napped_ns += now() - since;
}

FUNCTION static void wake_reader(void)
{
	sum += (size_t)write(ends[1], "x", 1);
}

FUNCTION static void wake_poller(void)
{
	sum += (size_t)eventfd_write(counter, 1);
}

FUNCTION static void wake_receiver(void)
{
	sum += (size_t)send(pair[1], "x", 1, 0);
}

static void *wake(void *wakes)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (!is_waiting)
			;
		is_waiting = 0;
		nap();
		((void (*)(void))wakes)();
	}
	return NULL;
}

FUNCTION static void read_pipe(void)
{
	char byte;

	sum += (size_t)read(ends[0], &byte, 1);
}

FUNCTION static void poll_counter(void)
{
	struct pollfd fds[2] = { { .fd = ends[0], .events = POLLIN },
				 { .fd = counter, .events = POLLIN } };
	eventfd_t value;

	poll(fds, 2, -1);
	eventfd_read(counter, &value);
}

FUNCTION static void receive(void)
{
	char byte;

	sum += (size_t)recv(pair[0], &byte, 1, 0);
}

FUNCTION static void select_until(void)
{
	struct timeval limit = { .tv_usec = 3000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	select(ends[0] + 1, &set, NULL, NULL, &limit);
}

static void measure(const char *text, void (*waits)(void), void (*wakes)(void))
{
	uint64_t ns = 0;
	pthread_t thread;

	if (wakes)
		pthread_create(&thread, NULL, wake, (void *)wakes);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t since = now();

		is_waiting = 1;
		waits();
		ns += now() - since;
	}
	if (wakes)
		pthread_join(thread, NULL);
	printf(text, ROUNDS, ns);
}

static void *sleep_long(void *unused)
{
	while (!is_over)
		usleep(150000);
	return unused;
}

static void *work(void *unused)
{
	while (!is_over) {
		free(malloc(100 + sum % 7));
		for (int i = 0; i < 10000; i++)
			sum++;
	}
	return unused;
}

FUNCTION static void idle_loop(int milliseconds)
{
	struct pollfd polled = { .fd = ends[0], .events = POLLIN };

	for (int i = 0; i < 20; i++)
		poll(&polled, 1, milliseconds);
}

FUNCTION static void loop_beside_work(void)
{
	struct pollfd polled = { .fd = ends[0], .events = POLLIN };

	for (int i = 0; i < 20; i++)
		poll(&polled, 1, 5);
}

/* Workers of a server: a process each, with few waits. */
FUNCTION static void worker_loop(void)
{
	struct pollfd polled = { .fd = ends[0], .events = POLLIN };

	for (volatile int i = 0; i < 2; i++) /* volatile: one call site */
		poll(&polled, 1, 10);
}

static void start_workers(void)
{
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			worker_loop();
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

FUNCTION static void loop_until_killed(void)
{
	struct pollfd polled = { .fd = ends[0], .events = POLLIN };

	ualarm(100000, 0);
	for (int i = 0;; i++)
		poll(&polled, 1, i < 4 ? 5 : -1);
}

static void beside(void *(*other)(void *))
{
	pthread_t thread;

	is_over = 0;
	pthread_create(&thread, NULL, other, NULL);
	if (other == work)
		loop_beside_work();
	else
		idle_loop(10);
	is_over = 1;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	counter = eventfd(0, 0);
	if (argc > 1 && !strcmp(argv[1], "idle")) {
		beside(sleep_long);
		beside(work);
		start_workers();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "loops"))
		loop_until_killed();
	measure("read_pipe woken %d %" PRIu64 " wake_reader\n", read_pipe, wake_reader);
	measure("poll_counter woken %d %" PRIu64 " wake_poller\n", poll_counter, wake_poller);
	measure("receive woken %d %" PRIu64 " wake_receiver\n", receive, wake_receiver);
	measure("select_until idle %d %" PRIu64 " -\n", select_until, NULL);
	printf("nap returned %d %" PRIu64 " -\n", 3 * ROUNDS, napped_ns);
	return 0;
}
