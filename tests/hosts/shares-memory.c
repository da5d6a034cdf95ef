/* SPDX-License-Identifier: MIT */
/*
 * Children that share their parent's memory and its thread-local data, and run beside it, as
 * threads were made before there were threads. The parent waits for each. `bare`: by the bare
 * system call, which is no function, and the parent uses locks and files meanwhile. `bare inside`:
 * on stacks that lie in the parent's own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN   20
#define BLOCKS	   5000
#define STACK_SIZE (256u << 10)

static volatile int count;

static int allocate(void *status)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *volatile block = malloc(100 + (size_t)i % 50);

		free(block);
		count++;
		if (i % 100 == 0)
			close(open("/dev/null", O_RDONLY));
	}
	return *(int *)status;
}

#ifdef __x86_64__
/* The child calls start(argument) and ends with what that returns. */
static pid_t bare_clone(int (*start)(void *), void *stack, int flags, void *argument)
{
	void **top = (void **)stack;
	long result = 56; /* SYS_clone */

	*--top = argument;
	*--top = (void *)start;
	__asm__ volatile("xor %%r10d, %%r10d; xor %%r8d, %%r8d; syscall; test %%rax, %%rax; jnz 1f;"
			 "xor %%ebp, %%ebp; pop %%rax; pop %%rdi; call *%%rax;"
			 "mov %%eax, %%edi; mov $60, %%eax; syscall; 1:"
			 : "+a"(result)
			 : "D"((long)flags), "S"(top), "d"(0)
			 : "rcx", "r8", "r10", "r11", "memory");
	return (pid_t)result;
}
#else
#define bare_clone clone
#endif

/* Nothing that libc keeps in the TLS that both have. */
static void work_meanwhile(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < BLOCKS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if (i % 50 == 0)
			close(open("/dev/null", O_RDONLY));
	}
}

int main(int argc, char **argv)
{
	bool is_bare = argc > 1 && !strcmp(argv[1], "bare");
	bool is_inside = argc > 2 && !strcmp(argv[2], "inside");
	char inside[STACK_SIZE] __attribute__((aligned(16)));
	int wanted = 7, got, good = 0;

	for (int i = 0; i < CHILDREN; i++) {
		char *stack = is_inside ? inside : malloc(STACK_SIZE);
		pid_t child =
			is_bare ? bare_clone(allocate, stack + STACK_SIZE, CLONE_VM | SIGCHLD,
					     &wanted)
				: clone(allocate, stack + STACK_SIZE, CLONE_VM | SIGCHLD, &wanted);

		if (is_bare)
			work_meanwhile();
		got = 0;
		waitpid(child, &got, 0);
		good += WIFEXITED(got) && WEXITSTATUS(got) == wanted;
		if (!is_inside)
			free(stack);
	}
	printf("%d children, %d blocks\n", good, count);
	return 0;
}
