/* SPDX-License-Identifier: MIT */
/* An allocator with a lock, and operator new by other code than malloc: part of busy-own, or a
 * library. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define OF_CLASS(size) (64 - __builtin_clzl((size) | 15))

extern int pool_is_slow, pool_frees_slowly;
void *_Znwm(size_t size);
void _ZdlPv(void *address);
void pool_rest(void);
void pool_trim(void);
void pool_return(void);

int pool_is_slow, pool_frees_slowly;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;

struct block {
	size_t class;
	struct block *next; /* while it is free */
};

static struct block *unused[64];

static struct block *take(size_t class)
{
	struct block *block = unused[class];

	if (block) {
		unused[class] = block->next;
		return block;
	}
	if (used + 16 + (1ul << class) > sizeof(heap))
		return NULL;
	block = (struct block *)(void *)(heap + used);
	block->class = class;
	used += 16 + (1ul << class);
	return block;
}

void *malloc(size_t size)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take((size_t)OF_CLASS(size));
	for (volatile int i = 0; i < 2000; i++)
		;
	pthread_mutex_unlock(&lock);
	if (pool_is_slow)
		usleep(30000);
	return block ? (char *)block + 16 : NULL;
}

/* Also where the compiler knows what malloc returns. */
static struct block *block_of(void *address)
{
	uintptr_t at = (uintptr_t)address - 16;

	__asm__("" : "+r"(at));
	return (struct block *)at;
}

void free(void *address)
{
	struct block *block = block_of(address);

	if (!address)
		return;
	if (pool_frees_slowly)
		usleep(100000);
	pthread_mutex_lock(&lock);
	block->next = unused[block->class];
	unused[block->class] = block;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	const struct block *block = block_of(old);
	size_t room = old ? 1ul << block->class : 0;
	void *new = malloc(size);

	if (old && new)
		memcpy(new, old, room < size ? room : size);
	free(old);
	return new;
}

/* As allocators do that give memory back: it sleeps with the lock. */
void *_Znwm(size_t size)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	usleep(300);
	block = take((size_t)OF_CLASS(size));
	pthread_mutex_unlock(&lock);
	return block ? (char *)block + 16 : NULL;
}

/* Nobody knows that this is part of an allocator. */
void pool_rest(void)
{
	pthread_mutex_lock(&lock);
	usleep(2000);
	pthread_mutex_unlock(&lock);
}

/* Gives what is at the heap's end back, with the lock, and takes it again. */
void pool_trim(void)
{
	char *end = heap + sizeof(heap) - (8 << 20);

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 20; i++) {
		madvise(end - ((uintptr_t)end & 4095), 4 << 20, MADV_POPULATE_WRITE);
		madvise(end - ((uintptr_t)end & 4095), 4 << 20, MADV_DONTNEED);
	}
	pthread_mutex_unlock(&lock);
}

#if defined(__x86_64__)
extern const char pool_spin[];

static void leave_spin(int number, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)number, (void)info;
	if (*pc == (greg_t)(uintptr_t)pool_spin)
		*pc += 2;
}

/*
 * Holds the lock at the instruction after a system call until a timer's signal. If a thread is
 * stopped there, the kernel does not say which call it was.
 */
void pool_return(void)
{
	static const struct itimerval soon = { { 0, 2000 }, { 0, 2000 } }, never;
	struct sigaction action = { .sa_sigaction = leave_spin, .sa_flags = SA_SIGINFO };
	long number = SYS_getpid;

	sigaction(SIGALRM, &action, NULL);
	pthread_mutex_lock(&lock);
	setitimer(ITIMER_REAL, &soon, NULL);
	__asm__ volatile("syscall\n"
			 ".globl pool_spin\n"
			 "pool_spin:\n"
			 "1: jmp 1b"
			 : "+a"(number)
			 :
			 : "rcx", "r11", "memory");
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_mutex_unlock(&lock);
}
#else
void pool_return(void)
{
	pool_trim();
}
#endif

void _ZdlPv(void *address)
{
	free(address);
}
