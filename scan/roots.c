/* SPDX-License-Identifier: MIT */
#include "scan/roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

#define HEAP_SIZE 0x4000000ull
/* maximum distance in bytes of an arena from the start of its first heap */
#define ARENA_TOP 256u
#define BIN_COUNT 127u

/* Layout of an arena of libc's allocator (struct malloc_state). All values are bytes. */
struct arena_layout {
	unsigned bins; /* offset of the bins, each of which is a pair of links */
	unsigned next; /* offset of the link to the next arena */
	unsigned size;
};

static const struct arena_layout arena_layouts[] = {
	{ 112, 2160, 2200 }, /* 64-bit glibc 2.26 to 2.42 */
	{ 24, 2072, 2112 },  /* since 2.43, which has no fast bins */
};

#define DESCRIPTOR_SELF 16    /* x86-64: offset of its own address in a thread descriptor */
#define DESCRIPTOR_SIZE 2304u /* upper bound on the descriptor's size in bytes */
#define LIST_MOST	100000u

static bool is_nameless(const struct mapping *mapping)
{
	return !*mapping->path && mapping->flags & MAPPING_WRITE &&
	       !(mapping->flags & MAPPING_SHARED);
}

/* ---- libc's allocator ---- */

static bool is_in_libc(const struct process *process, uint64_t address)
{
	const struct mapping *mapping = maps_at(&process->subject.maps, address);

	return mapping && (mapping_is_libc(mapping, true) || mapping_is_of(mapping, "libpthread"));
}

/*
 * If the memory at `heap` is a heap of an arena, returns the layout of the arena, else NULL. The
 * arena is at the start of its first heap, and each of its heaps points to the arena. Memory of the
 * program may begin with such a pointer, too, but is not in the list of arenas, which leads to
 * libc's data.
 */
static const struct arena_layout *layout_of(const struct process *process, uint64_t heap)
{
	const struct words *words = &process->words;
	uint64_t arena = words_at(words, heap), offset = arena % HEAP_SIZE;

	if (offset < 16 || offset > ARENA_TOP || offset % 16 ||
	    words_at(words, arena - offset) != arena)
		return NULL;
	for (size_t i = 0; i < sizeof(arena_layouts) / sizeof(*arena_layouts); i++) {
		uint64_t at = arena;

		for (unsigned k = 0; k < LIST_MOST && at && at % HEAP_SIZE <= ARENA_TOP; k++) {
			at = words_at(words, at + arena_layouts[i].next);
			if (is_in_libc(process, at))
				return &arena_layouts[i];
		}
	}
	return NULL;
}

static void find_heaps(struct dead *dead, const struct process *process)
{
	for (size_t i = 0; i < process->subject.maps.count; i++) {
		const struct mapping *mapping = &process->subject.maps.items[i];
		uint64_t heap = (mapping->from + HEAP_SIZE - 1) & ~(HEAP_SIZE - 1);

		if (!strcmp(mapping->path, "[heap]"))
			ranges_add(&dead->heaps, mapping->from, mapping->to);
		for (; is_nameless(mapping) && heap < mapping->to; heap += HEAP_SIZE) {
			const struct arena_layout *layout = layout_of(process, heap);
			uint64_t end =
				heap + HEAP_SIZE < mapping->to ? heap + HEAP_SIZE : mapping->to;

			if (!layout)
				continue;
			ranges_add(&dead->heaps, heap, end);
			ranges_add(&dead->ranges, heap, heap + ARENA_TOP + layout->size);
		}
	}
	ranges_settle(&dead->heaps);
}

/* Whether the main arena may be here: it is linked to itself or to an arena in a heap. */
static bool is_main_arena(const struct process *process, uint64_t arena,
			  const struct arena_layout *layout)
{
	uint64_t next = words_at(&process->words, arena + layout->next);

	return next == arena || (next && layout_of(process, next & ~(HEAP_SIZE - 1)) == layout);
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
		for (unsigned i = 0; i < BIN_COUNT * 2; i++) {
			const struct arena_layout *layout = &arena_layouts[i % 2];
			uint64_t arena = at - layout->bins - 16ull * (i / 2);

			if (!is_main_arena(process, arena, layout))
				continue;
			ranges_add(&dead->ranges, arena, arena + layout->size);
			return;
		}
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

/* Whether the list that begins with `element` leads to data of libc. */
static bool leads_to_libc(const struct process *process, uint64_t element)
{
	for (unsigned i = 0; element && i < LIST_MOST; i++) {
		if (is_in_libc(process, element))
			return true;
		element = words_at(&process->words, element);
	}
	return false;
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
		    leads_to_libc(process, next))
			return true;
	}
	return false;
}

/*
 * Finds the stack of a thread in a range above a guard (inaccessible pages). libc places the
 * thread's descriptor at the top of the stack, and reuses both after the end of the thread.
 */
static void find_stack(struct dead *dead, const struct process *process, uint64_t from, uint64_t to)
{
	struct words_walk walk = words_begin(&process->words, from, to);
	uint64_t at, word;

	while (words_next(&walk, &at, &word)) {
		const struct process_thread *thread;

		if (word != at || at % 64 || words_at(&process->words, at + DESCRIPTOR_SELF) != at)
			continue;
		thread = process_thread_of(process, at);
		/* skip the first thread, whose descriptor is not above its stack */
		if (thread ? thread->tracee.tid == process->pid : !is_listed(process, at))
			continue;
		*ARRAY_ADD(&dead->stacks) = (struct dead_stack){ from, at, thread };
		return;
	}
}

static void dead_find(struct dead *dead, const struct process *process, const struct live *live,
		      const struct graph *graph)
{
	const struct maps *maps = &process->subject.maps;

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

	/*
	 * Exclude unused parts of the mappings of large blocks: each large block has its own
	 * mapping, in which the header and the bytes after the block are unused.
	 */
	const struct mapping *code = maps_at(&process->subject.maps, process->malloc_at);
	bool is_libc = code && mapping_is_libc(code, false);

	for (uint32_t i = 0; is_libc && i < graph->count; i++) {
		const struct graph_block *block = &graph->blocks[i];
		uint64_t end = block->address + block->size;

		if (block->address % 4096 != 16 || end < block->address ||
		    ranges_have(&dead->heaps, block->address))
			continue;
		ranges_add(&dead->ranges, block->address - 16, block->address);
		ranges_add(&dead->ranges, end, (end + 4095) & ~4095ull);
	}
	find_allocator(dead, process, live, graph);
	/* exclude our library's memory, which has copies of stacks and addresses of freed blocks */
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
			find_stack(dead, process, mapping->from, mapping->to);
	}
	for (size_t i = 0; i < dead->stacks.count; i++) {
		const struct dead_stack *stack = &dead->stacks.items[i];
		const struct process_thread *thread = stack->thread;

		if (!thread) {
			ranges_add(&dead->ranges, stack->from, stack->to);
			continue;
		}
		/* a thread that runs on another stack may return to this one: exclude no part */
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
	ranges_settle(&dead->ranges);
	ranges_settle(&dead->doubtful);
}

/* ---- kinds of roots ---- */

const char *const root_words[ROOT_KINDS] = {
	[ROOT_GLOBAL] = "global",     [ROOT_TLS] = "tls",	[ROOT_STACK] = "stack",
	[ROOT_REGISTER] = "register", [ROOT_KERNEL] = "kernel", [ROOT_MAPPING] = "mapping",
	[ROOT_OWN] = "holdtrace",     [ROOT_HEAP] = "heap",
};

struct finding {
	struct graph *graph;
	const struct process *process;
	const struct live *live;
	struct dead *dead;
};

/* ---- kinds of memory ---- */

static bool is_file(const struct mapping *mapping)
{
	return *mapping->path == '/' && !(mapping->flags & MAPPING_SHARED);
}

/*
 * Returns the mapping of a file whose data includes `mapping`; NULL: none. Memory without a name
 * directly after a file's writable data is the file's .bss.
 */
static const struct mapping *file_of(const struct process *process, const struct mapping *mapping)
{
	if (is_file(mapping))
		return mapping;
	if (*mapping->path || mapping == process->subject.maps.items ||
	    mapping[-1].to != mapping->from || !is_file(&mapping[-1]) ||
	    !(mapping[-1].flags & MAPPING_WRITE))
		return NULL;
	return &mapping[-1];
}

/*
 * Finds the thread whose stack or descriptor is in a mapping without a name. Returns ROOT_STACK or
 * ROOT_TLS; ROOT_MAPPING: there is no such thread.
 */
static enum root_kind kind_of_nameless(const struct finding *finding, const struct mapping *mapping,
				       uint32_t *thread)
{
	const struct process *process = finding->process;

	for (size_t i = 0; i < process->threads.count; i++) {
		const struct process_thread *at = &process->threads.items[i];

		*thread = (uint32_t)i;
		if (at->tracee.tid && at->tracee.sp >= mapping->from && at->tracee.sp < mapping->to)
			return ROOT_STACK;
		if (at->tracee.tid && at->tracee.tls >= mapping->from &&
		    at->tracee.tls < mapping->to)
			return ROOT_TLS;
	}
	*thread = 0;
	return ROOT_MAPPING;
}

/*
 * Returns the kind of the roots in a mapping. *owner: if roots of this kind belong to a thread, the
 * index of the thread; otherwise the index of the mapping.
 */
static enum root_kind kind_of(const struct finding *finding, const struct mapping *mapping,
			      uint32_t *owner)
{
	const struct process *process = finding->process;
	const struct mapping *file = file_of(process, mapping);

	*owner = (uint32_t)(mapping - process->subject.maps.items);
	if (file)
		return mapping_is_of(file, "libholdtrace.so") ? ROOT_OWN : ROOT_GLOBAL;
	if (!strcmp(mapping->path, "[stack]"))
		return kind_of_nameless(finding, mapping, owner) == ROOT_MAPPING ? ROOT_MAPPING
										 : ROOT_STACK;
	if (!*mapping->path && !(mapping->flags & MAPPING_SHARED)) {
		uint32_t thread;
		enum root_kind kind = kind_of_nameless(finding, mapping, &thread);

		if (kind != ROOT_MAPPING)
			*owner = thread;
		return kind;
	}
	return ROOT_MAPPING;
}

/* ---- memory ---- */

/*
 * Whether an address is in the thread's TLS data or descriptor. Both are above its stack; which of
 * them is lower depends on the processor.
 */
static bool is_own_data(const struct process_thread *thread, uint64_t at)
{
	if (!thread->tracee.tls || thread->tracee.sp >= thread->tracee.tls)
		return false;
	if (at >= thread->tracee.tls)
		return at - thread->tracee.tls < 65536;
	return thread->is_whole && at >= thread->frames[thread->frame_count - 1].sp;
}

static void take_word(struct finding *finding, uint64_t at, uint64_t word,
		      const struct graph_hit *like)
{
	struct graph *graph = finding->graph;
	struct graph_hit hit = *like;
	enum strength strength;
	uint32_t block = graph_find(graph, at, &strength);

	hit.at = at;
	/* a word inside a block belongs to the block and is not a root */
	if (block != GRAPH_NONE && at < graph_end(graph, block))
		return;
	if (ranges_have(&finding->dead->heaps, at) && !ranges_have(&finding->dead->given, at)) {
		/*
		 * Memory of a freed block is not a root. Heap memory that was never a block may
		 * have been allocated by a function that is not recorded, or by brk.
		 */
		if (!finding->live->doubt && live_was_block(finding->live, at))
			return;
		hit.kind = ROOT_HEAP;
		hit.strength = STRENGTH_WEAK;
	}
	if (ranges_have(&finding->dead->doubtful, at))
		hit.strength = STRENGTH_WEAK;
	if (hit.kind == ROOT_STACK && is_own_data(&finding->process->threads.items[hit.owner], at))
		hit.kind = ROOT_TLS;
	graph_hit(graph, word, &hit);
}

static void take_mapping(struct finding *finding, const struct mapping *mapping)
{
	const struct ranges *dead = &finding->dead->ranges;
	uint64_t from = mapping->from, at, word;
	struct graph_hit like = { 0 };
	enum strength strength;
	struct words_walk walk;

	like.kind = (uint8_t)kind_of(finding, mapping, &like.owner);
	for (size_t i = ranges_after(dead, from); from < mapping->to; i++) {
		bool has_next = i < dead->count && dead->items[i].from < mapping->to;
		uint64_t to = has_next ? dead->items[i].from : mapping->to;

		walk = words_begin(&finding->process->words, from, to);
		while (words_next(&walk, &at, &word))
			/* check this first, because most words lead to no block */
			if (graph_find(finding->graph, word, &strength) != GRAPH_NONE)
				take_word(finding, at, word, &like);
		from = has_next ? dead->items[i].to : mapping->to;
	}
}

/* ---- registers and the kernel ---- */

static void take_values(struct finding *finding, const uint64_t *values, unsigned count,
			const struct graph_hit *like)
{
	struct graph_hit hit = *like;

	for (unsigned i = 0; i < count; i++) {
		hit.at = i;
		graph_hit(finding->graph, values[i], &hit);
	}
}

void roots_find(struct roots *roots, struct graph *graph, const struct process *process,
		const struct live *live)
{
	struct finding finding = { graph, process, live, &roots->dead };

	dead_find(&roots->dead, process, live, graph);
	for (size_t i = 0; i < process->subject.maps.count; i++)
		take_mapping(&finding, &process->subject.maps.items[i]);
	for (size_t i = 0; i < process->threads.count; i++) {
		const struct process_thread *thread = &process->threads.items[i];
		struct graph_hit like = { .kind = ROOT_REGISTER, .owner = (uint32_t)i };

		if (!thread->tracee.tid)
			continue;
		take_values(&finding, thread->registers, thread->register_count, &like);
		take_values(&finding, thread->vectors, thread->vector_count, &like);
	}
	for (size_t i = 0; i < process->kernel.count; i++) {
		struct graph_hit hit = { .kind = ROOT_KERNEL, .owner = (uint32_t)i, .at = i };

		graph_hit(graph, process->kernel.items[i].value, &hit);
	}
}

/* ---- hits as roots: a variable, a frame of a stack, a thread, a mapping ---- */

#define CLUSTER 64u /* hits in unnamed data at most this many bytes apart belong to one root */

ORDER_FUNCTION(by_place, struct graph_hit,
	       ORDER(a->kind, b->kind)
		       ?: (a->kind == ROOT_GLOBAL ? 0 : ORDER(a->owner, b->owner))
		       ?: ORDER(a->at, b->at))

struct naming_roots {
	struct names *names;
	const struct process *process;
	uint64_t until;	  /* hits before this address belong to the current root */
	bool is_nameless; /* the root has no name: hits near the previous hit belong to it, too */
};

static void describe_root(struct naming_roots *naming, struct root *root,
			  const struct graph_hit *hit)
{
	const struct process *process = naming->process;
	const struct process_thread *thread;
	const struct process_frame *frame;
	const struct mapping *mapping;
	struct name name;

	*root = (struct root){ .kind = (enum root_kind)hit->kind, .from = hit->at };
	naming->until = UINT64_MAX;
	switch ((enum root_kind)hit->kind) {
	case ROOT_GLOBAL:
		naming->until = 0;
		naming->is_nameless = true;
		mapping = maps_at(&process->subject.maps, hit->at);
		if (mapping && *mapping->path == '/') {
			root->module = mapping->path;
			root->offset = hit->at - mapping->from + mapping->offset;
		}
		if (!naming->names || !names_find(naming->names, hit->at, &name))
			break;
		root->name = name.name;
		root->module = name.module;
		root->offset = name.offset;
		root->from = name.from;
		naming->is_nameless = !name.name;
		naming->until = name.to;
		break;
	case ROOT_STACK:
		thread = &process->threads.items[hit->owner];
		root->thread = thread->tracee.tid;
		if (!thread->frame_count)
			break;
		/* the red zone below the innermost frame belongs to that frame */
		frame = thread->frames;
		for (unsigned i = 1; i < thread->frame_count && thread->frames[i].sp <= hit->at;
		     i++)
			frame = &thread->frames[i];
		root->pc = frame->pc;
		root->function = frame->function;
		if (frame + 1 < thread->frames + thread->frame_count)
			naming->until = frame[1].sp;
		break;
	case ROOT_TLS:
	case ROOT_REGISTER:
		root->thread = process->threads.items[hit->owner].tracee.tid;
		break;
	case ROOT_KERNEL:
		root->name = process->kernel.items[hit->owner].about;
		break;
	case ROOT_MAPPING:
		root->from = process->subject.maps.items[hit->owner].from;
		root->name = process->subject.maps.items[hit->owner].path;
		break;
	case ROOT_OWN:
	case ROOT_HEAP:
	case ROOT_KINDS:
		break;
	}
}

static bool continues_root(const struct naming_roots *naming, const struct graph_hit *hit)
{
	const struct graph_hit *before = hit - 1;

	if (hit->kind != before->kind)
		return false;
	if (hit->kind == ROOT_OWN || hit->kind == ROOT_HEAP)
		return true;
	if (hit->kind != ROOT_GLOBAL)
		return hit->owner == before->owner && hit->at < naming->until;
	return naming->is_nameless ? hit->at - before->at <= CLUSTER : hit->at < naming->until;
}

void roots_name(struct roots *roots, struct graph *graph, const struct process *process,
		struct names *names)
{
	struct naming_roots naming = { .names = names, .process = process };

	ARRAY_SORT(&graph->hits, by_place);
	for (size_t i = 0; i < graph->hits.count; i++) {
		struct graph_hit *hit = &graph->hits.items[i];

		if (!i || !continues_root(&naming, hit))
			describe_root(&naming, ARRAY_ADD(&roots->list), hit);
		hit->root = (uint32_t)(roots->list.count - 1);
	}
}
