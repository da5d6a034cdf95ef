/* SPDX-License-Identifier: MIT */
#include "scan/dead.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Values of 64-bit glibc 2.26 to 2.41. Offsets are in struct malloc_state, after a heap_info. */
#define HEAP_SIZE   0x4000000ull
#define ARENA_BINS  112u /* offset of the bins, each of which is a pair of links */
#define ARENA_COUNT 127u /* number of bins */
#define ARENA_NEXT  2160u
#define ARENA_SIZE  2200u

#define DESCRIPTOR_SELF 16    /* x86-64: offset of its own address in a thread descriptor */
#define DESCRIPTOR_SIZE 2304u /* upper limit of the descriptor's size in bytes */
#define LIST_MOST	100000u

void dead_free(struct dead *dead)
{
	ranges_free(&dead->ranges);
	ranges_free(&dead->doubtful);
	ranges_free(&dead->heaps);
	ranges_free(&dead->given);
	free(dead->stacks.items);
	*dead = (struct dead){ 0 };
}

static bool is_nameless(const struct mapping *mapping)
{
	return !*mapping->path && mapping->flags & MAPPING_WRITE &&
	       !(mapping->flags & MAPPING_SHARED);
}

/* ---- libc's allocator ---- */

/*
 * Whether the list that begins with `element` leads to data of libc. `next`: offset of the link in
 * each element.
 */
static bool leads_to_libc(const struct process *process, uint64_t element, uint64_t next)
{
	for (unsigned i = 0; element && i < LIST_MOST; i++) {
		const struct mapping *mapping = maps_at(&process->subject.maps, element);

		if (mapping &&
		    (mapping_is_libc(mapping, true) || mapping_is_of(mapping, "libpthread")))
			return true;
		element = words_at(&process->words, element + next);
	}
	return false;
}

/*
 * Whether the memory at `heap` is a heap of an arena. The arena is at the start of its first heap,
 * and each of its heaps points to the arena. Memory of the program may begin with such a pointer,
 * too, but is not in libc's list of arenas.
 */
static bool is_heap(const struct process *process, uint64_t heap)
{
	const struct words *words = &process->words;
	uint64_t arena = words_at(words, heap), offset = arena & (HEAP_SIZE - 1);

	return arena && offset >= 16 && offset <= 256 && offset % 16 == 0 &&
	       words_at(words, arena - offset) == arena &&
	       leads_to_libc(process, arena, ARENA_NEXT);
}

static void find_heaps(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->subject.maps.count; i++) {
		const struct mapping *mapping = &process->subject.maps.items[i];
		uint64_t heap = (mapping->from + HEAP_SIZE - 1) & ~(HEAP_SIZE - 1);

		if (!strcmp(mapping->path, "[heap]"))
			ranges_add(&dead->heaps, mapping->from, mapping->to);
		for (; is_nameless(mapping) && heap < mapping->to; heap += HEAP_SIZE) {
			uint64_t end =
				heap + HEAP_SIZE < mapping->to ? heap + HEAP_SIZE : mapping->to;

			if (!is_heap(process, heap))
				continue;
			ranges_add(&dead->heaps, heap, end);
			ranges_add(&dead->ranges, heap, heap + 256 + ARENA_SIZE);
		}
	}
	ranges_settle(&dead->heaps);
}

/*
 * Finds the main arena, which is in libc's data, and excludes it: its bins lead to free memory.
 * Both links of an empty bin point to 16 bytes before the bin, as if a free chunk began there.
 */
static void find_main_arena(struct dead *dead, const struct process *process,
			    const struct mapping *data)
{
	const struct words *words = &process->words;
	struct words_walk walk = words_begin(words, data->from, data->to);
	uint64_t at, word;

	while (words_next(&walk, &at, &word)) {
		if (word != at - 16 || words_at(words, at + 8) != word)
			continue;
		for (unsigned i = 0; i < ARENA_COUNT; i++) {
			uint64_t arena = at - ARENA_BINS - 16ull * i;
			uint64_t next = words_at(words, arena + ARENA_NEXT);

			if (next != arena && !(next && is_heap(process, next & ~(HEAP_SIZE - 1))))
				continue;
			ranges_add(&dead->ranges, arena, arena + ARENA_SIZE);
			return;
		}
	}
}

/*
 * Excludes unused parts of the mappings of large blocks: each such block has its own mapping, of
 * which the header and the bytes after the block are not in use.
 */
static void find_mapped_blocks(struct dead *dead, const struct process *process,
			       const struct graph *graph)
{
	const struct mapping *code = maps_at(&process->subject.maps, process->malloc_at);

	if (!code || !mapping_is_libc(code, false))
		return;
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct graph_block *block = &graph->blocks[i];
		uint64_t end = block->address + block->size;

		if (block->address % 4096 != 16 || end < block->address ||
		    ranges_have(&dead->heaps, block->address))
			continue;
		ranges_add(&dead->ranges, block->address - 16, block->address);
		ranges_add(&dead->ranges, end, (end + 4095) & ~4095ull);
	}
}

/* ---- another allocator ---- */

/* Returns the path of the library whose code made the mapping; NULL: unknown. */
static const char *maker_of(const struct process *process, const struct live_mapping *mapping)
{
	const struct mapping *code = maps_at(&process->subject.maps, mapping->caller);

	return code && *code->path == '/' ? code->path : NULL;
}

/* Returns the library that defines malloc, if that is not libc; else NULL. */
static const struct mapping *library_of_malloc(const struct process *process)
{
	const struct mapping *code = maps_at(&process->subject.maps, process->malloc_at);

	return code && !mapping_is_libc(code, true) && !mapping_is_of(code, "libholdtrace.so") &&
			       strstr(code->path, ".so")
		       ? code
		       : NULL;
}

const char *dead_allocator(const struct process *process)
{
	static const char *const names[] = { "libjemalloc",  "libtcmalloc", "libmimalloc",
					     "libtbbmalloc", "librpmalloc", "libsnmalloc",
					     "libhoard",     "libscudo" };
	const struct mapping *code = library_of_malloc(process);

	for (size_t i = 0; code && i < sizeof(names) / sizeof(*names); i++)
		if (mapping_is_of(code, names[i]))
			return code->path;
	return NULL;
}

static bool is_same(const char *one, const char *other)
{
	return one && other && !strcmp(one, other);
}

/* Whether the library has blocks in memory that it mapped. If not, it gets blocks from libc. */
static bool has_blocks(const struct process *process, const struct live *live,
		       const struct graph *graph, const char *path)
{
	for (size_t i = 0; i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];
		size_t first =
			ARRAY_SEARCH(graph->count, at, graph->blocks[at].address < mapping->from);

		if (is_same(path, maker_of(process, mapping)) && first < graph->count &&
		    graph->blocks[first].address < mapping->to)
			return true;
	}
	return false;
}

/*
 * The allocator's mappings and data lead to all blocks, including free ones, so these ranges are
 * excluded. If the library may be more than an allocator, words in its memory count as weak
 * pointers (GRAPH_WEAK) instead.
 */
static void find_allocator(struct dead *dead, const struct process *process,
			   const struct live *live, const struct graph *graph)
{
	const struct mapping *code = library_of_malloc(process);
	const char *path = code ? code->path : NULL;
	struct ranges *ranges = dead_allocator(process) ? &dead->ranges : &dead->doubtful;

	if (!path || (ranges == &dead->doubtful && !has_blocks(process, live, graph, path)))
		return;
	for (size_t i = 0; i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];

		if (is_same(path, maker_of(process, mapping)))
			ranges_add(ranges, mapping->from, mapping->to);
	}
	for (size_t i = 0; i < process->subject.maps.count; i++) {
		const struct mapping *mapping = &process->subject.maps.items[i];

		if (!is_same(path, mapping->path))
			continue;
		ranges_add(ranges, mapping->from, mapping->to);
		if (i + 1 < process->subject.maps.count && mapping[1].from == mapping->to &&
		    is_nameless(&mapping[1]))
			ranges_add(ranges, mapping[1].from, mapping[1].to);
	}
}

/* ---- stacks ---- */

static uint32_t thread_of(const struct process *process, uint64_t descriptor)
{
	for (size_t i = 0; i < process->threads.count; i++)
		if (process->threads.items[i].tracee.tid &&
		    process->threads.items[i].tracee.tls == descriptor)
			return (uint32_t)i;
	return DEAD_NOBODY;
}

/*
 * Whether libc lists this descriptor: libc links the descriptors of all stacks in doubly linked
 * lists that begin in its data.
 */
static bool is_listed(const struct process *process, uint64_t descriptor)
{
	for (uint64_t at = descriptor; at < descriptor + DESCRIPTOR_SIZE; at += 8) {
		uint64_t next = words_at(&process->words, at);

		if (next && next != at && words_at(&process->words, next + 8) == at &&
		    leads_to_libc(process, next, 0))
			return true;
	}
	return false;
}

/*
 * Finds the stack in a mapping. libc places a thread's descriptor at the top of the thread's stack,
 * and when the thread ends, keeps both for a later thread.
 */
static void find_stack_in(struct dead *dead, const struct process *process,
			  const struct mapping *mapping)
{
	struct words_walk walk = words_begin(&process->words, mapping->from, mapping->to);
	uint64_t at, word;

	while (words_next(&walk, &at, &word)) {
		if (word != at || at % 64 || words_at(&process->words, at + DESCRIPTOR_SELF) != at)
			continue;
		/* skip the first thread, whose descriptor is not above its stack */
		if (thread_of(process, at) != DEAD_NOBODY &&
		    process->threads.items[thread_of(process, at)].tracee.tid == process->pid)
			continue;
		if (thread_of(process, at) == DEAD_NOBODY && !is_listed(process, at))
			continue;
		*ARRAY_ADD(&dead->stacks) =
			(struct dead_stack){ mapping->from, at, thread_of(process, at) };
		return;
	}
}

/* Marks the unused part of each stack. */
static void find_unused_stacks(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < dead->stacks.count; i++) {
		const struct dead_stack *stack = &dead->stacks.items[i];
		const struct process_thread *thread;

		if (stack->thread == DEAD_NOBODY) {
			ranges_add(&dead->ranges, stack->from, stack->to);
			continue;
		}
		thread = &process->threads.items[stack->thread];
		/* a thread that now runs on another stack may return to this one */
		if (thread->live_sp >= stack->from && thread->live_sp < stack->to)
			ranges_add(thread->is_whole ? &dead->ranges : &dead->doubtful, stack->from,
				   thread->live_sp);
	}
	for (size_t i = 0; i < process->threads.count; i++) {
		const struct process_thread *thread = &process->threads.items[i];
		const struct mapping *mapping = maps_at(&process->subject.maps, thread->tracee.sp);

		if (thread->tracee.tid && mapping && !strcmp(mapping->path, "[stack]"))
			ranges_add(thread->is_whole ? &dead->ranges : &dead->doubtful,
				   mapping->from, thread->live_sp);
	}
}

void dead_find(struct dead *dead, const struct process *process, const struct live *live,
	       const struct graph *graph)
{
	const struct maps *maps = &process->subject.maps;

	*dead = (struct dead){ 0 };
	find_heaps(dead, process);
	for (size_t i = 0; i < live->mappings.count; i++) {
		const struct live_mapping *mapping = &live->mappings.items[i];

		if (ranges_have(&dead->heaps, mapping->from))
			ranges_add(&dead->given, mapping->from, mapping->to);
	}
	ranges_settle(&dead->given);
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].flags & MAPPING_WRITE && mapping_is_libc(&maps->items[i], false))
			find_main_arena(dead, process, &maps->items[i]);
	find_mapped_blocks(dead, process, graph);
	find_allocator(dead, process, live, graph);
	/* our library's memory contains copies of stacks and former addresses of blocks */
	for (size_t i = 0; i < process->own.count; i++)
		ranges_add(&dead->ranges, process->own.items[i].from, process->own.items[i].to);
	for (size_t i = 1; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i], *guard = mapping - 1;

		/*
		 * A stack that libc allocates has a guard below it. A stack that the program
		 * supplied may have none; all of it belongs to the program and is searched.
		 */
		if (is_nameless(mapping) && guard->to == mapping->from && !*guard->path &&
		    !(guard->flags & MAPPING_ACCESS) && !ranges_have(&dead->heaps, mapping->from))
			find_stack_in(dead, process, mapping);
	}
	find_unused_stacks(dead, process);
	ranges_settle(&dead->ranges);
	ranges_settle(&dead->doubtful);
}
