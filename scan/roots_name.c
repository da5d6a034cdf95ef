/* SPDX-License-Identifier: MIT */
/* Groups hits into roots: a variable, a frame of a stack, a thread, a mapping. */
#include "scan/roots.h"

#include <stdlib.h>

#include "base/array.h"
#include "scan/named.h"

#define CLUSTER 64u /* words of unnamed data at most this many bytes apart belong to one root */

static int by_place(const void *one, const void *two)
{
	const struct graph_hit *a = one, *b = two;

	if (a->kind != b->kind)
		return a->kind > b->kind ? 1 : -1;
	if (a->kind != ROOT_GLOBAL && a->owner != b->owner)
		return a->owner > b->owner ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

/* The frame of a thread's stack that contains this address. */
static const struct process_frame *frame_at(const struct process_thread *thread, uint64_t at)
{
	const struct process_frame *found = NULL;

	for (unsigned i = 0; i < thread->frame_count && thread->frames[i].sp <= at; i++)
		found = &thread->frames[i];
	/* the red zone below the first frame belongs to it */
	if (!found && thread->frame_count)
		found = &thread->frames[0];
	return found;
}

struct naming_roots {
	struct names *names;
	const struct process *process;
	uint64_t until;	  /* hits before this address belong to the last root */
	bool is_nameless; /* also hits near the previous hit belong to it */
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

static void describe(struct naming_roots *naming, struct root *root, const struct graph_hit *hit)
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
static bool continues(const struct naming_roots *naming, const struct graph_hit *hit)
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

		if (!i || !continues(&naming, hit))
			describe(&naming, ARRAY_ADD(&roots->list), hit);
		hit->root = (uint32_t)(roots->list.count - 1);
	}
}
