/* SPDX-License-Identifier: MIT */
/* Calls that never return: a handler jumps out of a wait, and out of calls inside each other. */
#include "expect.h"

#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

static sigjmp_buf place;

static void jump(int number)
{
	siglongjmp(place, number);
}

int main(void)
{
	void *block;
	sem_t sem;

	sem_init(&sem, 0, 0);
	signal(SIGALRM, jump);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(place, 1)) {
			/* an emulator on a busy machine needs long to reach the wait */
			ualarm(50000, 0);
			sem_wait(&sem);
		}
		block = malloc(600 + (size_t)i);
		expect("sem_wait<event>(%p)\nmalloc<memory>(%d) = %p", (void *)&sem, 600 + i,
		       block);
		free(block);
	}
	expect_print();
	printf("= 3 sem_wait<event>(%p)\n", (void *)&sem);
	return 0;
}
