/* SPDX-License-Identifier: MIT */
/*
 * How much of its caller's stack a hook uses: a stack is painted, and after calls on it one looks
 * how far the paint is gone. Argument: the most that is allowed, in bytes. The kinds of calls that
 * a signal handler may make on a small stack, in a thread that has called hooks before.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "made.h"

#define SIZE (256u << 10)

static ucontext_t back, painted;
static char *stack;
static uintptr_t start;

static void run(void)
{
	sem_t semaphore;

	start = (uintptr_t)__builtin_frame_address(0);
	make_silently(10, 1059);
	close(open("/dev/null", O_RDONLY));
	sem_init(&semaphore, 0, 1);
	sem_wait(&semaphore);
	dup2(0, 0);
	execl("/nonexistent/program", "program", (char *)NULL);
}

static size_t used(void)
{
	size_t untouched = 0;

	memset(stack, 0x5a, SIZE);
	getcontext(&painted);
	painted.uc_stack.ss_sp = stack;
	painted.uc_stack.ss_size = SIZE;
	painted.uc_link = &back;
	makecontext(&painted, run, 0);
	swapcontext(&back, &painted);
	while (untouched < SIZE && stack[untouched] == 0x5a)
		untouched++;
	return start - (uintptr_t)(stack + untouched);
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? (size_t)atol(argv[1]) : 4096, first, then;

	stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make(1, 1061);
	first = used();
	then = used();
	printf("first calls %s, later ones %s\n", first <= most ? "fit" : "do not fit",
	       then <= most ? "fit" : "do not fit");
	fflush(stdout);
	fprintf(stderr, "%zu and %zu bytes\n", first, then);
	say_made(20, 1059);
	return 0;
}
