/* SPDX-License-Identifier: MIT */
/*
 * Unreachable blocks. Blocks that lead to each other are one component. In a component to which no
 * other one leads, the block that was allocated first is reported as the leak; blocks that it leads
 * to are indirect (Tarjan's algorithm, without recursion).
 */
#include "scan/graph.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"

struct parting {
	struct graph *graph;
	uint32_t *number, *low; /* by block; number 0: not visited */
	uint32_t *component;	/* by block, from 1; 0: unknown */
	uint32_t *open, opened; /* blocks that have no component yet */
	uint32_t *path, steps;	/* from the block where the search began to the current one */
	uint64_t *next;		/* by block: the next edge to visit */
	uint32_t numbers, components;
	uint32_t *leads;  /* by component: the block that was allocated first */
	bool *is_pointed; /* by component: another one leads to it */
};

static bool is_lost(const struct graph *graph, uint32_t block)
{
	return graph->classes[block] == GRAPH_LOST;
}

static void visit(struct parting *parting, uint32_t block)
{
	parting->number[block] = parting->low[block] = ++parting->numbers;
	parting->next[block] = parting->graph->starts[block];
	parting->open[parting->opened++] = block;
	parting->path[parting->steps++] = block;
}

/* Completes a component with the blocks above this one on the stack. */
static void close_component(struct parting *parting, uint32_t block)
{
	const struct graph_block *blocks = parting->graph->blocks;
	uint32_t component = ++parting->components, lead = block, member;

	do {
		member = parting->open[--parting->opened];
		parting->component[member] = component;
		if (blocks[member].order < blocks[lead].order)
			lead = member;
	} while (member != block);
	parting->leads[component] = lead;
}

/* Follows an edge of the current block. */
static void follow(struct parting *parting, uint32_t block, uint32_t edge)
{
	uint32_t target = EDGE_TARGET(edge);

	if (EDGE_STRENGTH(edge) == STRENGTH_WEAK || !is_lost(parting->graph, target))
		return;
	if (!parting->number[target])
		visit(parting, target);
	else if (!parting->component[target] && parting->number[target] < parting->low[block])
		parting->low[block] = parting->number[target];
}

static void search(struct parting *parting, uint32_t from)
{
	const struct graph *graph = parting->graph;

	visit(parting, from);
	while (parting->steps) {
		uint32_t block = parting->path[parting->steps - 1], before;

		if (parting->next[block] < graph->starts[block + 1]) {
			follow(parting, block, graph->edges.items[parting->next[block]++]);
			continue;
		}
		if (parting->low[block] == parting->number[block])
			close_component(parting, block);
		if (!--parting->steps)
			break;
		before = parting->path[parting->steps - 1];
		if (parting->low[block] < parting->low[before])
			parting->low[before] = parting->low[block];
	}
}

static void find_pointed(struct parting *parting)
{
	const struct graph *graph = parting->graph;

	for (uint32_t i = 0; i < graph->count; i++)
		for (uint64_t k = graph->starts[i]; is_lost(graph, i) && k < graph->starts[i + 1];
		     k++) {
			uint32_t edge = graph->edges.items[k], target = EDGE_TARGET(edge);

			if (EDGE_STRENGTH(edge) != STRENGTH_WEAK && is_lost(graph, target) &&
			    parting->component[target] != parting->component[i])
				parting->is_pointed[parting->component[target]] = true;
		}
}

/*
 * Sets the parents, starting from the first blocks, so that each other block has a path to one of
 * them.
 */
static void name_parents(struct parting *parting)
{
	struct graph *graph = parting->graph;
	uint32_t *queue = parting->open, queued = 0;

	for (uint32_t i = 1; i <= parting->components; i++)
		if (!parting->is_pointed[i])
			queue[queued++] = parting->leads[i];
	for (uint32_t i = 0; i < graph->count; i++)
		if (is_lost(graph, i))
			graph->classes[i] = GRAPH_INDIRECT;
	for (uint32_t i = 0; i < queued; i++)
		graph->classes[queue[i]] = GRAPH_LOST;
	for (uint32_t done = 0; done < queued; done++)
		for (uint64_t k = graph->starts[queue[done]]; k < graph->starts[queue[done] + 1];
		     k++) {
			uint32_t edge = graph->edges.items[k], target = EDGE_TARGET(edge);

			if (EDGE_STRENGTH(edge) == STRENGTH_WEAK ||
			    graph->classes[target] != GRAPH_INDIRECT ||
			    graph->parents[target] != GRAPH_NONE)
				continue;
			graph->parents[target] = queue[done];
			queue[queued++] = target;
		}
}

void graph_part_lost(struct graph *graph)
{
	size_t count = graph->count + 1ull;
	cleanup_free uint32_t *numbers = memory_zalloc(count * 6, sizeof(*numbers));
	cleanup_free uint64_t *next = memory_alloc(count * sizeof(*next));
	cleanup_free bool *is_pointed = memory_zalloc(count, sizeof(*is_pointed));
	struct parting parting = { .graph = graph, .next = next, .is_pointed = is_pointed };

	parting.number = numbers;
	parting.low = numbers + count;
	parting.component = numbers + count * 2;
	parting.open = numbers + count * 3;
	parting.path = numbers + count * 4;
	parting.leads = numbers + count * 5;
	for (uint32_t i = 0; i < graph->count; i++)
		if (is_lost(graph, i) && !parting.number[i])
			search(&parting, i);
	find_pointed(&parting);
	name_parents(&parting);
}
