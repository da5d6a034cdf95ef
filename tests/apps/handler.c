/* SPDX-License-Identifier: MIT */
/* A handler that calls hooked functions, thousands of times in the middle of others. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t posts;

/* close is safe in a handler (signal-safety(7)); this one fails and is recorded all the same. */
static void handle(int number)
{
	close(7000 + number);
	posts++;
}

int main(void)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	unsigned pairs = 0;

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; pairs < 200000; pairs++)
		free(malloc(31));
	setitimer(ITIMER_REAL, &never, NULL);
	printf("= %d close<event>(0x%x)\n", (int)posts, 7000 + SIGALRM);
	printf("= %u malloc<memory>(31) = *\n", pairs);
	return 0;
}
