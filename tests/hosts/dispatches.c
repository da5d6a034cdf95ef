/* SPDX-License-Identifier: MIT */
/*
 * dispatches: has the kernel turn system calls into SIGSYS, as Wine does, while it allocates, and
 * prints how many came. It makes none itself meanwhile.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "made.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define ALLOW 0
#define BLOCK 1

static volatile char selector = ALLOW;
static volatile sig_atomic_t caught;

static void note(int number)
{
	(void)number;
	selector = ALLOW;
	caught = caught + 1;
}

int main(void)
{
	const int blocks = 300000;

	signal(SIGSYS, note);
	free(malloc(1));
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0)
		for (int i = 0; i < blocks; i++) {
			selector = BLOCK;
			make_silently(1, 1179);
			selector = ALLOW;
		}
	else
		make_silently(blocks, 1179);
	printf("%d system calls\n", (int)caught);
	say_made(blocks, 1179);
	return 0;
}
