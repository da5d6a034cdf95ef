/* SPDX-License-Identifier: MIT */
#include "scan/dead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* glibc 2.26 to 2.41, 64 bits: struct malloc_state, and heap_info before an arena's first. */
#define HEAP_SIZE   0x4000000ull
#define ARENA_BINS  112u /* the first bin, less what a bin stands before itself */
#define ARENA_COUNT 127u /* of bins */
#define ARENA_NEXT  2160u
#define ARENA_SIZE  2200u

#define DESCRIPTOR_SELF 16 /* x86-64: a thread's descriptor has its address here, and at 0 */

void dead_free(struct dead *dead)
{
	ranges_free(&dead->ranges);
	ranges_free(&dead->heaps);
	ranges_free(&dead->given);
	free(dead->stacks.items);
	*dead = (struct dead){ 0 };
}

static bool is_nameless(const struct process_mapping *mapping)
{
	return !*mapping->path && mapping->flags & MAPPING_WRITE &&
	       !(mapping->flags & MAPPING_SHARED);
}

/* ---- libc's allocator ---- */

/* An arena of its own begins so in its first heap, and each of its heaps says where it is. */
static bool is_heap(const struct words *words, uint64_t heap)
{
	uint64_t arena = words_at(words, heap), offset = arena & (HEAP_SIZE - 1);

	return arena && offset >= 16 && offset <= 256 && offset % 16 == 0 &&
	       words_at(words, arena - offset) == arena;
}

static int find_heaps(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.items[i];
		uint64_t heap = (mapping->from + HEAP_SIZE - 1) & ~(HEAP_SIZE - 1);

		if (!strcmp(mapping->path, "[heap]") &&
		    ranges_add(&dead->heaps, mapping->from, mapping->to))
			return -ENOMEM;
		for (; is_nameless(mapping) && heap < mapping->to; heap += HEAP_SIZE) {
			uint64_t end =
				heap + HEAP_SIZE < mapping->to ? heap + HEAP_SIZE : mapping->to;

			if (is_heap(&process->words, heap) && ranges_add(&dead->heaps, heap, end))
				return -ENOMEM;
		}
	}
	ranges_settle(&dead->heaps);
	return 0;
}

static int find_given(struct dead *dead, const struct live *live)
{
	for (size_t i = 0; i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];

		if (ranges_have(&dead->heaps, mapping->from) &&
		    ranges_add(&dead->given, mapping->from, mapping->to))
			return -ENOMEM;
	}
	ranges_settle(&dead->given);
	return 0;
}

/* A bin that is empty points to itself, as a piece of memory would whose header is before it. */
static uint64_t arena_of_bin(const struct words *words, uint64_t at)
{
	for (unsigned i = 0; i < ARENA_COUNT; i++) {
		uint64_t arena = at - ARENA_BINS - 16ull * i;
		uint64_t next = words_at(words, arena + ARENA_NEXT);

		if (next == arena || (next && is_heap(words, next & ~(HEAP_SIZE - 1))))
			return arena;
	}
	return 0;
}

/* The arena of the first thread stands in libc's data: its bins lead to free memory. */
static int find_main_arena(struct dead *dead, const struct process *process,
			   const struct process_mapping *data)
{
	struct words_walk walk = words_begin(&process->words, data->from, data->to);
	uint64_t at, word;

	while (words_next(&walk, &at, &word)) {
		uint64_t arena;

		if (word != at - 16 || words_at(&process->words, at + 8) != word)
			continue;
		arena = arena_of_bin(&process->words, at);
		if (arena)
			return ranges_add(&dead->ranges, arena, arena + ARENA_SIZE);
	}
	return 0;
}

static int find_main_arenas(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.items[i];

		if (mapping->flags & MAPPING_WRITE &&
		    (mapping_is_of(mapping, "libc.so.6") || mapping_is_of(mapping, "libc-2.")) &&
		    find_main_arena(dead, process, mapping))
			return -ENOMEM;
	}
	return 0;
}

/*
 * A large block has a mapping of its own, with a header before it, and what is left of its last
 * page behind it.
 */
static int find_mapped_blocks(struct dead *dead, const struct graph *graph)
{
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct graph_block *block = &graph->blocks[i];
		uint64_t end = block->address + block->size;

		if (block->address % 4096 != 16 || end < block->address ||
		    ranges_have(&dead->heaps, block->address))
			continue;
		if (ranges_add(&dead->ranges, block->address - 16, block->address) ||
		    ranges_add(&dead->ranges, end, (end + 4095) & ~4095ull))
			return -ENOMEM;
	}
	return 0;
}

/* ---- another allocator ---- */

/* Whose code made a mapping; NULL: it is not known. */
static const char *maker_of(const struct process *process, const struct live_mapping *mapping)
{
	const struct process_mapping *code = process_mapping_at(process, mapping->caller);

	return code && *code->path == '/' ? code->path : NULL;
}

const char *dead_allocator(const struct process *process)
{
	const struct process_mapping *code = process_mapping_at(process, process->malloc_at);

	if (!code || mapping_is_of(code, "libc.so") || mapping_is_of(code, "libc-2.") ||
	    mapping_is_of(code, "libholdtrace.so") || !strstr(code->path, ".so"))
		return NULL;
	return code->path;
}

static bool is_same(const char *one, const char *other)
{
	return one && other && !strcmp(one, other);
}

/* What it mapped, and its data: they know every block, also those that are free. */
static int find_allocator(struct dead *dead, const struct process *process, const struct live *live)
{
	const char *path = dead_allocator(process);

	for (size_t i = 0; path && i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];

		if (is_same(path, maker_of(process, mapping)) &&
		    ranges_add(&dead->ranges, mapping->from, mapping->to))
			return -ENOMEM;
	}
	for (size_t i = 0; path && i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.items[i];

		if (!is_same(path, mapping->path))
			continue;
		if (ranges_add(&dead->ranges, mapping->from, mapping->to))
			return -ENOMEM;
		if (i + 1 < process->mappings.count && mapping[1].from == mapping->to &&
		    is_nameless(&mapping[1]) &&
		    ranges_add(&dead->ranges, mapping[1].from, mapping[1].to))
			return -ENOMEM;
	}
	return 0;
}

/* What our library remembers of stacks, and what was there before. */
static int find_own(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->own.count; i++)
		if (ranges_add(&dead->ranges, process->own.items[i].from, process->own.items[i].to))
			return -ENOMEM;
	return 0;
}

/* ---- stacks ---- */

static uint32_t thread_of(const struct process *process, uint64_t descriptor)
{
	for (size_t i = 0; i < process->threads.count; i++)
		if (process->threads.items[i].tid && process->threads.items[i].tls == descriptor)
			return (uint32_t)i;
	return DEAD_NOBODY;
}

static int add_stack(struct dead *dead, const struct process *process, uint64_t from, uint64_t to)
{
	struct dead_stack *stack = ARRAY_ADD(&dead->stacks);

	if (!stack)
		return -ENOMEM;
	*stack = (struct dead_stack){ from, to, thread_of(process, to) };
	return 0;
}

/*
 * libc has a thread's descriptor at the top of its stack, also of one that has ended and whose
 * stack it keeps for the next.
 */
static int find_stack_in(struct dead *dead, const struct process *process,
			 const struct process_mapping *mapping)
{
	struct words_walk walk = words_begin(&process->words, mapping->from, mapping->to);
	uint64_t at, word;

	while (words_next(&walk, &at, &word)) {
		if (word != at || at % 64 || words_at(&process->words, at + DESCRIPTOR_SELF) != at)
			continue;
		/* the first thread's descriptor has no stack below it */
		if (thread_of(process, at) != DEAD_NOBODY &&
		    process->threads.items[thread_of(process, at)].tid == process->pid)
			continue;
		return add_stack(dead, process, mapping->from, at);
	}
	return 0;
}

/*
 * The memory that libc makes for a stack has a guard below. What a program gives a thread for its
 * stack need not, and is the program's own: all of it counts.
 */
static bool is_guarded(const struct process *process, size_t i)
{
	const struct process_mapping *mapping = &process->mappings.items[i];

	return i && mapping[-1].to == mapping->from && !*mapping[-1].path &&
	       !(mapping[-1].flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE));
}

static int find_stacks(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.items[i];

		if (is_nameless(mapping) && is_guarded(process, i) &&
		    !ranges_have(&dead->heaps, mapping->from) &&
		    find_stack_in(dead, process, mapping))
			return -ENOMEM;
	}
	return 0;
}

/* Of a stack that its thread runs on, what lies below; of one whose thread has ended, all. */
static int bury_stack(struct dead *dead, const struct process *process,
		      const struct dead_stack *stack)
{
	const struct process_thread *thread;
	uint64_t sp;

	if (stack->thread == DEAD_NOBODY)
		return ranges_add(&dead->ranges, stack->from, stack->to);
	thread = &process->threads.items[stack->thread];
	sp = thread->live_sp;
	if (sp < stack->from || sp >= stack->to)
		return 0; /* it runs on another one: what is here may be gone back to */
	return ranges_add(&dead->ranges, stack->from, sp);
}

static int bury_first_stack(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->threads.count; i++) {
		const struct process_thread *thread = &process->threads.items[i];
		const struct process_mapping *mapping = process_mapping_at(process, thread->sp);

		if (!thread->tid || !mapping || strcmp(mapping->path, "[stack]") != 0)
			continue;
		if (ranges_add(&dead->ranges, mapping->from, thread->live_sp))
			return -ENOMEM;
	}
	return 0;
}

static int bury_stacks(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < dead->stacks.count; i++)
		if (bury_stack(dead, process, &dead->stacks.items[i]))
			return -ENOMEM;
	return bury_first_stack(dead, process);
}

int dead_find(struct dead *dead, const struct process *process, const struct live *live,
	      const struct graph *graph)
{
	*dead = (struct dead){ 0 };
	if (find_heaps(dead, process) || find_given(dead, live) ||
	    find_main_arenas(dead, process) || find_mapped_blocks(dead, graph) ||
	    find_allocator(dead, process, live) || find_own(dead, process) ||
	    find_stacks(dead, process) || bury_stacks(dead, process))
		return -ENOMEM;
	ranges_settle(&dead->ranges);
	return 0;
}
