/* SPDX-License-Identifier: MIT */
/*
 * An allocator with a prefix of its own (PREFIX), for tests/hosts/pool-user: part of the program,
 * or a library. Some of its functions call others of it.
 */
#include "pool.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define CLASSES 40u
#define REGION	(256ul << 20)
#define HEAD	32ul /* before each block: its class and the block's begin */

#ifndef MAP
#define MAP(size) \
	mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
#endif

struct head {
	struct head *next; /* while it is free */
	uint64_t class;
	void *begin;
	uint64_t pad;
};

static char *region;
static size_t used;
static struct head *unused[CLASSES];
static int lock;

static unsigned class_of(size_t size)
{
	return 64u - (unsigned)__builtin_clzl((size + HEAD) | 31);
}

static void enter(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void leave(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) void *POOL(malloc)(size_t size)
{
	unsigned class = class_of(size);
	struct head *head = NULL;

	enter();
	if (!region)
		region = (char *)MAP(REGION);
	if (class < CLASSES && unused[class]) {
		head = unused[class];
		unused[class] = head->next;
	} else if (class < CLASSES && used + (1ul << class) <= REGION) {
		head = (struct head *)(void *)(region + used);
		used += 1ul << class;
	}
	leave();
	if (!head)
		return NULL;
	head->class = class;
	return head + 1;
}

__attribute__((noinline)) void POOL(free)(void *block)
{
	struct head *head = (struct head *)block - 1;

	if (!block)
		return;
	enter();
	head->next = unused[head->class];
	unused[head->class] = head;
	leave();
}

void *POOL(calloc)(size_t count, size_t size)
{
	void *block = POOL(malloc)(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *POOL(realloc)(void *old, size_t size)
{
	void *block = POOL(malloc)(size);
	size_t room = old ? (1ul << ((struct head *)old)[-1].class) - HEAD : 0;

	if (block && old)
		memcpy(block, old, room < size ? room : size);
	if (block)
		POOL(free)(old);
	return block;
}

/* Blocks are aligned to 32 bytes, which is enough for the test. */
void *POOL(aligned_alloc)(size_t alignment, size_t size)
{
	return alignment <= HEAD ? POOL(malloc)(size) : NULL;
}

int POOL(posix_memalign)(void **block, size_t alignment, size_t size)
{
	*block = POOL(aligned_alloc)(alignment, size);
	return *block ? 0 : ENOMEM;
}

/* A call in place of a function. */
void POOL(free_sized)(void *block, size_t size)
{
	(void)size;
	POOL(free)(block);
}

#if defined(REFUSED) && defined(__x86_64__)
/* Its loop leads to its second instruction, into the bytes that a jump would replace. */
__asm__(".globl je_valloc; .type je_valloc, @function\n"
	"je_valloc: push %rbx\n"
	"1: mov %rdi, %rbx\n"
	"dec %rbx\n"
	"js 1b\n"
	"pop %rbx\n"
	"jmp je_malloc\n"
	".size je_valloc, . - je_valloc\n");
#endif
