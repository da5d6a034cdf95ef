/* SPDX-License-Identifier: MIT */
/* A handler leaves by siglongjmp whatever it interrupted, a thousand times; then all is as ever. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "made.h"

static sigjmp_buf out;
static volatile unsigned jumps;

static void handler(int number)
{
	(void)number;
	jumps++;
	siglongjmp(out, 1);
}

int main(void)
{
	struct itimerval often = { { 0, 70 }, { 0, 70 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	sigsetjmp(out, 1);
	while (jumps < 1000)
		dup2(0, 100);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	printf("left often enough\n");
	fflush(stdout);
	make(1000, 1029);
	return 0;
}
