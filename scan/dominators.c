/* SPDX-License-Identifier: MIT */
/*
 * Finds the blocks that each block retains. Computes immediate dominators from semidominators and
 * nearest common ancestors (Georgiadis and Tarjan, "Finding dominators revisited", 2004), in nearly
 * linear time for any graph. An artificial start node leads to all roots, and to the first block of
 * each unreachable component.
 */
#include "scan/graph.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/memory.h"

/* A node of the graph. Its index in search.places is its number in a depth-first search, from 1. */
struct place {
	uint32_t node;
	uint32_t parent, semi, label, dominator; /* indices in search.places */
	uint32_t first; /* index in search.leads of the first edge to the node */
};

struct lead {
	uint32_t from, next; /* edge from the place `from`; next: the next edge to the same node */
};

struct search {
	struct graph *graph;
	uint32_t *place; /* indexed by node; 0: the node was not reached */
	struct place *places;
	uint32_t count, start; /* start: the artificial start node */
	ARRAY_OF(struct lead) leads;
	size_t *next;	 /* indexed by place: the number of the successor to visit next */
	uint64_t *hits;	 /* indexed by root: the index of the root's first hit */
	uint32_t *begun; /* first blocks of the unreachable components */
	uint32_t begun_count;
	uint32_t *stack;
};

/* Returns the next successor of a node at each call; GRAPH_NONE: there are no more successors. */
static uint32_t successor(const struct search *search, uint32_t node, size_t *next)
{
	const struct graph *graph = search->graph;

	if (node == search->start) {
		size_t i = (*next)++;

		if (i < graph->root_count)
			return graph->count + (uint32_t)i;
		i -= graph->root_count;
		return i < search->begun_count ? search->begun[i] : GRAPH_NONE;
	}
	if (node >= graph->count) {
		uint64_t first = search->hits[node - graph->count];

		while (first + *next < search->hits[node - graph->count + 1]) {
			const struct graph_hit *hit = &graph->hits.items[first + (*next)++];

			if (hit->kind <= graph->kinds[hit->block] &&
			    (hit->strength != STRENGTH_WEAK ||
			     graph->classes[hit->block] == GRAPH_WEAK))
				return hit->block;
		}
		return GRAPH_NONE;
	}
	while (graph->starts[node] + *next < graph->starts[node + 1]) {
		uint32_t edge = graph->edges.items[graph->starts[node] + (*next)++];
		uint32_t target = EDGE_TARGET(edge);
		bool is_kept = graph->classes[node] < GRAPH_LOST;

		if (is_kept == (graph->classes[target] < GRAPH_LOST) &&
		    graph->kinds[node] <= graph->kinds[target] &&
		    (EDGE_STRENGTH(edge) != STRENGTH_WEAK || graph->classes[target] == GRAPH_WEAK))
			return target;
	}
	return GRAPH_NONE;
}

static uint32_t number_node(struct search *search, uint32_t node, uint32_t parent)
{
	uint32_t place = ++search->count;

	search->place[node] = place;
	search->places[place] = (struct place){ node, parent, place, place, 0, GRAPH_NONE };
	search->next[place] = 0;
	return place;
}

/*
 * Walks up from `place` through the places that are already processed (those from `last` on).
 * Returns the place with the smallest semidominator on this path, and compresses the path.
 */
static uint32_t evaluate(struct search *search, uint32_t place, uint32_t last)
{
	struct place *places = search->places;
	uint32_t depth = 0, above = place;

	if (places[place].parent < last)
		return places[place].label;
	while (places[above].parent >= last) {
		search->stack[depth++] = above;
		above = places[above].parent;
	}
	while (depth) {
		struct place *at = &places[search->stack[--depth]];

		at->parent = places[above].parent;
		if (places[places[above].label].semi < places[at->label].semi)
			at->label = places[above].label;
		above = search->stack[depth];
	}
	return places[place].label;
}

static void find_dominators(struct search *search)
{
	struct place *places = search->places;

	for (uint32_t i = 1; i <= search->count; i++)
		places[i].dominator = places[i].parent;
	for (uint32_t i = search->count; i > 1; i--) {
		graph_beat(search->graph, i);
		places[i].semi = places[i].parent;
		for (uint32_t k = places[i].first; k != GRAPH_NONE;
		     k = search->leads.items[k].next) {
			uint32_t best = evaluate(search, search->leads.items[k].from, i + 1);

			if (places[best].semi < places[i].semi)
				places[i].semi = places[best].semi;
		}
	}
	for (uint32_t i = 2; i <= search->count; i++)
		while (places[i].dominator > places[i].semi)
			places[i].dominator = places[places[i].dominator].dominator;
}

void graph_dominate(struct graph *graph)
{
	size_t nodes = (size_t)graph->count + graph->root_count + 2;
	cleanup_free uint32_t *place = memory_zalloc(nodes, sizeof(*place));
	cleanup_free struct place *places = memory_alloc(nodes * sizeof(*places));
	cleanup_free size_t *next = memory_alloc(nodes * sizeof(*next));
	cleanup_free uint64_t *hits = memory_alloc((graph->root_count + 2ull) * sizeof(*hits));
	cleanup_free uint32_t *begun = memory_alloc(nodes * sizeof(*begun));
	cleanup_free uint32_t *stack = memory_alloc(nodes * sizeof(*stack));
	struct search search = { .graph = graph,
				 .place = place,
				 .places = places,
				 .next = next,
				 .hits = hits,
				 .begun = begun,
				 .stack = stack,
				 .start = graph->count + graph->root_count };
	uint64_t hit = 0;

	graph->dominators = memory_alloc(nodes * sizeof(*graph->dominators));
	graph->retained = memory_zalloc(nodes, sizeof(*graph->retained));
	graph->retained_count = memory_zalloc(nodes, sizeof(*graph->retained_count));
	for (size_t i = 0; i < nodes; i++)
		graph->dominators[i] = GRAPH_NONE;
	/* hits are sorted by kind and root; a root's hits have one kind, so they are adjacent */
	for (uint32_t root = 0; root <= graph->root_count; root++) {
		hits[root] = hit;
		while (hit < graph->hits.count && graph->hits.items[hit].root == root)
			hit++;
	}
	for (uint32_t i = 0; i < graph->count; i++)
		if (graph->classes[i] == GRAPH_LOST)
			begun[search.begun_count++] = i;

	uint32_t at = number_node(&search, search.start, 0);

	while (at) {
		uint32_t to = successor(&search, places[at].node, &next[at]), from = at;
		struct place *target;
		struct lead *lead;

		if (to == GRAPH_NONE) {
			at = places[at].parent;
			continue;
		}
		graph_beat(graph, search.leads.count);
		if (!place[to])
			at = number_node(&search, to, from);
		lead = search.leads.count < GRAPH_NONE ? ARRAY_ADD(&search.leads) : memory_none();
		target = &places[place[to]];
		*lead = (struct lead){ from, target->first };
		target->first = (uint32_t)search.leads.count - 1;
	}
	find_dominators(&search);
	for (uint32_t i = 0; i < graph->count; i++) {
		bool is_own = !(graph->blocks[i].order & GRAPH_OF_PARENT);

		graph->retained[i] = is_own ? graph->blocks[i].size : 0;
		graph->retained_count[i] = is_own;
	}
	for (uint32_t i = search.count; i > 1; i--) {
		uint32_t node = search.places[i].node;
		uint32_t above = search.places[search.places[i].dominator].node;

		graph->dominators[node] = above == search.start ? GRAPH_NONE : above;
		if (above == search.start)
			continue;
		graph->retained[above] += graph->retained[node];
		graph->retained_count[above] += graph->retained_count[node];
	}
	free(search.leads.items);
}
