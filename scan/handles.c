/* SPDX-License-Identifier: MIT */
#include "scan/roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"

#define DESCRIPTOR_SIZE 4096u /* upper bound in bytes on the size of libc's thread descriptor */

struct judging {
	struct live *live;
	const struct graph *graph;
	const struct process *process;
	const struct roots *roots;
	uint32_t *of_block; /* indexed by block: index of its handle + 1; 0: not a handle's block */
};

/* ---- streams and directories, by their blocks ---- */

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

/* ---- threads, by the ids of pthread_create ---- */

static struct live_handle *thread_of(const struct judging *judging, uint64_t word)
{
	struct live_handle *handles = judging->live->handles.items;
	size_t count = judging->live->handles.count;
	size_t found = ARRAY_SEARCH(
		count, at,
		handles[at].class < RESOURCE_THREAD ||
			(handles[at].class == RESOURCE_THREAD && handles[at].object < word));

	return found < count && handles[found].class == RESOURCE_THREAD &&
			       handles[found].object == word
		       ? &handles[found]
		       : NULL;
}

/* Whether the address is in the thread's own descriptor or in the used part of its stack. */
static bool is_own(const struct process *process, uint64_t descriptor, uint64_t at)
{
	const struct process_thread *thread;

	if (at >= descriptor)
		return at - descriptor < DESCRIPTOR_SIZE;
	thread = process_thread_of(process, descriptor);
	return thread && at >= thread->live_sp;
}

/* Whether the word at this address is in memory that the program can reach. */
static bool is_had(const struct judging *judging, uint64_t at)
{
	const struct graph *graph = judging->graph;
	const struct dead *dead = &judging->roots->dead;
	enum strength strength;
	uint32_t block = graph_find(graph, at, &strength);

	if (block != GRAPH_NONE && at < graph_end(graph, block))
		return graph->classes[block] < GRAPH_LOST;
	return !ranges_have(&dead->ranges, at) &&
	       (!ranges_have(&dead->heaps, at) || ranges_have(&dead->given, at) ||
		judging->live->doubt);
}

static void judge_threads(struct judging *judging)
{
	const struct maps *maps = &judging->process->subject.maps;
	struct live *live = judging->live;
	size_t count = 0;

	for (size_t i = 0; i < live->handles.count; i++)
		if (live->handles.items[i].class == RESOURCE_THREAD) {
			live->handles.items[i].is_lost = true;
			count++;
		}
	if (!count)
		return;
	for (size_t i = 0; i < maps->count; i++) {
		struct words_walk walk = words_begin(&judging->process->words, maps->items[i].from,
						     maps->items[i].to);
		uint64_t at, word;

		if (mapping_is_of(&maps->items[i], "libholdtrace.so"))
			continue;
		while (words_next(&walk, &at, &word)) {
			struct live_handle *handle = thread_of(judging, word);

			if (handle && handle->is_lost && !is_own(judging->process, word, at) &&
			    is_had(judging, at))
				handle->is_lost = false;
		}
	}
	for (size_t i = 0; i < judging->process->threads.count; i++) {
		const struct process_thread *thread = &judging->process->threads.items[i];

		for (unsigned k = 0; thread->tracee.tid && k < thread->register_count; k++) {
			struct live_handle *handle = thread_of(judging, thread->registers[k]);

			if (handle && handle->object != thread->tracee.tls)
				handle->is_lost = false;
		}
	}
}

ORDER_FUNCTION(by_class, struct live_handle,
	       ORDER(a->class, b->class) ?: ORDER(a->object, b->object))

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
	ARRAY_SORT(&live->handles, by_class);
	for (size_t i = 0; i < live->handles.count; i++) {
		struct live_handle *handle = &live->handles.items[i];
		enum strength strength;
		uint32_t block = graph_find(graph, handle->object, &strength);

		/* a handle that does not point to the start of a block counts as reachable */
		handle->is_lost = handle->class != RESOURCE_THREAD && block != GRAPH_NONE &&
				  strength == STRENGTH_START;
		if (handle->is_lost)
			of_block[block] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < graph->hits.count; i++) {
		const struct graph_hit *hit = &graph->hits.items[i];
		const struct root *root = &roots->list.items[hit->root];

		if (hit->kind != ROOT_OWN &&
		    !(is_stream(&judging, hit->block) && is_list_of_streams(root)))
			keep_handle(&judging, hit->block);
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		if (graph->classes[i] >= GRAPH_LOST)
			continue;
		for (uint64_t k = graph->starts[i]; k < graph->starts[i + 1]; k++) {
			uint32_t target = EDGE_TARGET(graph->edges.items[k]);

			if (!(is_stream(&judging, target) && is_stream(&judging, i)))
				keep_handle(&judging, target);
		}
	}
	judge_threads(&judging);
}
