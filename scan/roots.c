/* SPDX-License-Identifier: MIT */
#include "scan/roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "scan/dead.h"
#include "scan/named.h"

const char *const root_words[ROOT_KINDS] = {
	[ROOT_GLOBAL] = "global",     [ROOT_TLS] = "tls",	[ROOT_STACK] = "stack",
	[ROOT_REGISTER] = "register", [ROOT_KERNEL] = "kernel", [ROOT_MAPPING] = "mapping",
	[ROOT_OWN] = "holdtrace",     [ROOT_HEAP] = "heap",
};

struct finding {
	struct graph *graph;
	struct process *process;
	const struct live *live;
	struct dead dead;
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
	if (ranges_have(&finding->dead.heaps, at) && !ranges_have(&finding->dead.given, at)) {
		/*
		 * Memory of a freed block is not a root. Heap memory that was never a block may
		 * have been allocated by a function that is not recorded, or by brk.
		 */
		if (!finding->live->doubt && live_was_block(finding->live, at))
			return;
		hit.kind = ROOT_HEAP;
		hit.strength = STRENGTH_WEAK;
	}
	if (ranges_have(&finding->dead.doubtful, at))
		hit.strength = STRENGTH_WEAK;
	if (hit.kind == ROOT_STACK && is_own_data(&finding->process->threads.items[hit.owner], at))
		hit.kind = ROOT_TLS;
	graph_hit(graph, word, &hit);
}

static void take_mapping(struct finding *finding, const struct mapping *mapping)
{
	const struct ranges *dead = &finding->dead.ranges;
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

void roots_find(struct graph *graph, struct process *process, const struct live *live)
{
	struct finding finding = { .graph = graph, .process = process, .live = live };

	dead_find(&finding.dead, process, live, graph);
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
	dead_free(&finding.dead);
}

/* ---- hits as roots: a variable, a frame of a stack, a thread, a mapping ---- */

#define CLUSTER 64u /* hits in unnamed data at most this many bytes apart belong to one root */

static int by_place(const void *one, const void *two)
{
	const struct graph_hit *a = one, *b = two;

	if (a->kind != b->kind)
		return a->kind > b->kind ? 1 : -1;
	if (a->kind != ROOT_GLOBAL && a->owner != b->owner)
		return a->owner > b->owner ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Returns the frame of a thread's stack that contains this address; NULL: no frame is known. */
static const struct process_frame *frame_at(const struct process_thread *thread, uint64_t at)
{
	const struct process_frame *found = NULL;

	for (unsigned i = 0; i < thread->frame_count && thread->frames[i].sp <= at; i++)
		found = &thread->frames[i];
	/* the red zone below the innermost frame belongs to that frame */
	if (!found && thread->frame_count)
		found = &thread->frames[0];
	return found;
}

struct naming_roots {
	struct names *names;
	const struct process *process;
	uint64_t until;	  /* hits before this address belong to the current root */
	bool is_nameless; /* the root has no name: hits near the previous hit belong to it, too */
};

static void describe_global(struct naming_roots *naming, struct root *root, uint64_t at)
{
	const struct mapping *mapping = maps_at(&naming->process->subject.maps, at);
	struct name name;

	naming->until = 0;
	naming->is_nameless = true;
	if (mapping && *mapping->path == '/') {
		root->module = mapping->path;
		root->offset = at - mapping->from + mapping->offset;
	}
	if (!naming->names || !names_find(naming->names, at, &name))
		return;
	root->name = name.name;
	root->module = name.module;
	root->offset = name.offset;
	root->from = name.from;
	naming->is_nameless = !name.name;
	naming->until = name.to;
}

static void describe_root(struct naming_roots *naming, struct root *root,
			  const struct graph_hit *hit)
{
	const struct process *process = naming->process;
	const struct process_thread *thread;
	const struct process_frame *frame;

	*root = (struct root){ .kind = (enum root_kind)hit->kind, .from = hit->at };
	naming->until = UINT64_MAX;
	switch ((enum root_kind)hit->kind) {
	case ROOT_GLOBAL:
		describe_global(naming, root, hit->at);
		break;
	case ROOT_STACK:
		thread = &process->threads.items[hit->owner];
		root->thread = thread->tracee.tid;
		frame = frame_at(thread, hit->at);
		if (!frame)
			break;
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

/* Whether a hit belongs to the same root as the previous one. */
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

	*roots = (struct roots){ 0 };
	if (graph->hits.count)
		qsort(graph->hits.items, graph->hits.count, sizeof(*graph->hits.items), by_place);
	for (size_t i = 0; i < graph->hits.count; i++) {
		struct graph_hit *hit = &graph->hits.items[i];

		if (!i || !continues_root(&naming, hit))
			describe_root(&naming, ARRAY_ADD(&roots->list), hit);
		hit->root = (uint32_t)(roots->list.count - 1);
	}
}
