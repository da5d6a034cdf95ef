/* SPDX-License-Identifier: MIT */
#include "scan/handles.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "scan/dead.h"

#define DESCRIPTOR_SIZE 4096u /* upper limit in bytes of libc's descriptor of a thread */

struct judging {
	struct live *live;
	const struct graph *graph;
	const struct process *process;
	const struct roots *roots;
	struct dead dead;
	uint32_t *of_block; /* indexed by block: index of its handle + 1; 0: not a handle's block */
};

/* ---- streams and directories, by their blocks ---- */

/*
 * Finds the block of each handle. A handle that does not point to the start of a block counts as
 * reachable.
 */
static void find_blocks(struct judging *judging)
{
	for (size_t i = 0; i < judging->live->handles.count; i++) {
		struct live_handle *handle = &judging->live->handles.items[i];
		enum strength strength;
		uint32_t block = graph_find(judging->graph, handle->object, &strength);

		handle->is_lost = false;
		if (handle->class == RESOURCE_THREAD || block == GRAPH_NONE ||
		    strength != STRENGTH_START)
			continue;
		handle->is_lost = true;
		judging->of_block[block] = (uint32_t)i + 1;
	}
}

static bool is_stream(const struct judging *judging, uint32_t block)
{
	uint32_t index = judging->of_block[block];

	return index && judging->live->handles.items[index - 1].class == RESOURCE_FILE;
}

static void keep_handle(struct judging *judging, uint32_t block)
{
	if (judging->of_block[block])
		judging->live->handles.items[judging->of_block[block] - 1].is_lost = false;
}

/*
 * Whether the root is in libc's list of all streams, which begins at _IO_list_all and contains the
 * three standard streams.
 */
static bool is_list_of_streams(const struct root *root)
{
	static const char *const names[] = { "_IO_list_all", "_IO_2_1_stdin_", "_IO_2_1_stdout_",
					     "_IO_2_1_stderr_" };

	for (size_t i = 0; root->name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(root->name, names[i]))
			return true;
	return false;
}

static void look_at_roots(struct judging *judging)
{
	const struct graph *graph = judging->graph;

	for (size_t i = 0; i < graph->hits.count; i++) {
		const struct graph_hit *hit = &graph->hits.items[i];
		const struct root *root = &judging->roots->list.items[hit->root];

		if (hit->kind != ROOT_OWN &&
		    !(is_stream(judging, hit->block) && is_list_of_streams(root)))
			keep_handle(judging, hit->block);
	}
}

static void look_at_blocks(struct judging *judging)
{
	const struct graph *graph = judging->graph;

	for (uint32_t i = 0; i < graph->count; i++) {
		if (graph->classes[i] >= GRAPH_LOST)
			continue;
		for (uint64_t k = graph->starts[i]; k < graph->starts[i + 1]; k++) {
			uint32_t target = EDGE_TARGET(graph->edges.items[k]);

			if (!(is_stream(judging, target) && is_stream(judging, i)))
				keep_handle(judging, target);
		}
	}
}

/* ---- threads, by the ids of pthread_create ---- */

static struct live_handle *thread_of(const struct judging *judging, uint64_t word)
{
	struct live *live = judging->live;
	size_t low = 0, high = live->handles.count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct live_handle *at = &live->handles.items[middle];

		if (at->class < RESOURCE_THREAD ||
		    (at->class == RESOURCE_THREAD && at->object < word))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == live->handles.count || live->handles.items[low].class != RESOURCE_THREAD ||
	    live->handles.items[low].object != word)
		return NULL;
	return &live->handles.items[low];
}

/* Whether the address is in the thread's own descriptor or in the used part of its stack. */
static bool is_own(const struct judging *judging, uint64_t thread, uint64_t at)
{
	const struct process *process = judging->process;

	if (at >= thread)
		return at - thread < DESCRIPTOR_SIZE;
	for (size_t i = 0; i < process->threads.count; i++)
		if (process->threads.items[i].tracee.tid &&
		    process->threads.items[i].tracee.tls == thread)
			return at >= process->threads.items[i].live_sp;
	return false;
}

/* Whether the word at this address is in memory that the program can reach. */
static bool is_had(const struct judging *judging, uint64_t at)
{
	const struct graph *graph = judging->graph;
	enum strength strength;
	uint32_t block = graph_find(graph, at, &strength);

	if (block != GRAPH_NONE && at < graph_end(graph, block))
		return graph->classes[block] < GRAPH_LOST;
	return !ranges_have(&judging->dead.ranges, at) &&
	       (!ranges_have(&judging->dead.heaps, at) || ranges_have(&judging->dead.given, at) ||
		judging->live->doubt);
}

static void look_at_mapping(struct judging *judging, const struct mapping *mapping)
{
	struct words_walk walk = words_begin(&judging->process->words, mapping->from, mapping->to);
	uint64_t at, word;

	if (mapping_is_of(mapping, "libholdtrace.so"))
		return;
	while (words_next(&walk, &at, &word)) {
		struct live_handle *handle = thread_of(judging, word);

		if (handle && handle->is_lost && !is_own(judging, word, at) && is_had(judging, at))
			handle->is_lost = false;
	}
}

static void look_at_registers(struct judging *judging)
{
	for (size_t i = 0; i < judging->process->threads.count; i++) {
		const struct process_thread *thread = &judging->process->threads.items[i];

		for (unsigned k = 0; thread->tracee.tid && k < thread->register_count; k++) {
			struct live_handle *handle = thread_of(judging, thread->registers[k]);

			if (handle && handle->object != thread->tracee.tls)
				handle->is_lost = false;
		}
	}
}

static void judge_threads(struct judging *judging)
{
	struct live *live = judging->live;
	size_t count = 0;

	for (size_t i = 0; i < live->handles.count; i++)
		if (live->handles.items[i].class == RESOURCE_THREAD) {
			live->handles.items[i].is_lost = true;
			count++;
		}
	if (!count)
		return;
	dead_find(&judging->dead, judging->process, live, judging->graph);
	for (size_t i = 0; i < judging->process->subject.maps.count; i++)
		look_at_mapping(judging, &judging->process->subject.maps.items[i]);
	look_at_registers(judging);
}

static int by_class(const void *one, const void *two)
{
	const struct live_handle *a = one, *b = two;

	return ORDER(a->class, b->class) ?: ORDER(a->object, b->object);
}

void handles_judge(struct live *live, const struct graph *graph, const struct process *process,
		   const struct roots *roots)
{
	cleanup_free uint32_t *of_block = memory_zalloc(graph->count + 1ull, sizeof(*of_block));
	struct judging judging = { .live = live,
				   .graph = graph,
				   .process = process,
				   .roots = roots,
				   .of_block = of_block };

	if (!live->handles.count)
		return;
	qsort(live->handles.items, live->handles.count, sizeof(*live->handles.items), by_class);
	find_blocks(&judging);
	look_at_roots(&judging);
	look_at_blocks(&judging);
	judge_threads(&judging);
	dead_free(&judging.dead);
}
