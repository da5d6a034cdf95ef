/* SPDX-License-Identifier: MIT */
/* How many frames backtrace() sees in main, in what libc calls back, and in threads. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#define FRAMES_MAX 64

static void show(const char *where)
{
	void *frames[FRAMES_MAX];

	printf("%s %d\n", where, backtrace(frames, FRAMES_MAX));
}

static int compare(const void *one, const void *two)
{
	static int calls;

	if (!calls++)
		show("callback");
	return *(const int *)one - *(const int *)two;
}

static void on_signal(int number)
{
	(void)number;
	show("handler");
}

static void *work(void *argument)
{
	show("thread");
	return argument;
}

static int work_c11(void *argument)
{
	show("C11 thread");
	return argument != NULL;
}

int main(void)
{
	int numbers[] = { 3, 1, 2 };
	pthread_t thread;
	thrd_t c11;

	show("main");
	qsort(numbers, 3, sizeof(*numbers), compare);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_join(thread, NULL);
	if (thrd_create(&c11, work_c11, NULL) == thrd_success)
		thrd_join(c11, NULL);
	return 0;
}
