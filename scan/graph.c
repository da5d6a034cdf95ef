/* SPDX-License-Identifier: MIT */
#include "scan/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"

#define PAGE_SHIFT 12
#define SLACK_MOST 64u /* maximum number of usable bytes after a block's requested size */
#define PAGES_GAP  16u /* a gap of this many pages between blocks starts a new range of pages */

/* ---- blocks ---- */

ORDER_FUNCTION(by_address, struct graph_block,
	       ORDER(a->address, b->address) ?: ORDER(a->order, b->order))

/*
 * Whether a block that was allocated before the fork overlaps a block from after the fork. This
 * happens if another thread of the parent was in malloc or free during the fork.
 */
static bool is_overlapped(const struct graph_block *parents, const struct graph_block *own)
{
	return parents->order & GRAPH_OF_PARENT && !(own->order & GRAPH_OF_PARENT) &&
	       parents->address < own->address + own->size &&
	       own->address < parents->address + parents->size;
}

int graph_begin(struct graph *graph, struct graph_block *blocks, size_t count)
{
	struct graph_page *range = NULL;
	uint32_t kept = 0;

	*graph = (struct graph){ .blocks = blocks };
	if (count >= GRAPH_BLOCKS_MAX)
		return -E2BIG;
	if (count)
		qsort(blocks, count, sizeof(*blocks), by_address);
	for (size_t i = 0; i < count; i++) {
		if (kept && is_overlapped(&blocks[i], &blocks[kept - 1]))
			continue;
		while (kept && (blocks[kept - 1].address == blocks[i].address ||
				is_overlapped(&blocks[kept - 1], &blocks[i])))
			kept--;
		blocks[kept++] = blocks[i];
	}
	graph->count = kept;
	for (uint32_t i = 0; i < graph->count; i++) {
		uint64_t page = blocks[i].address >> PAGE_SHIFT;

		if (!range || page >= range->to + PAGES_GAP) {
			range = ARRAY_ADD(&graph->pages);
			*range = (struct graph_page){ page, page, graph->page_first.count };
		}
		/* for each page, record the first block that begins in it or after it */
		for (; range->to <= page; range->to++)
			*ARRAY_ADD(&graph->page_first) = i;
	}
	return 0;
}

void graph_free(struct graph *graph)
{
	free(graph->blocks);
	free(graph->hits.items);
	free(graph->classes);
	free(graph->kinds);
	free(graph->parents);
	free(graph->from);
	free(graph->dominators);
	free(graph->retained);
	free(graph->retained_count);
	free(graph->pages.items);
	free(graph->page_first.items);
	free(graph->starts);
	free(graph->edges.items);
	*graph = (struct graph){ 0 };
}

/* ---- finding ---- */

uint64_t graph_end(const struct graph *graph, uint32_t block)
{
	const struct graph_block *at = &graph->blocks[block];
	uint64_t end = at->size > UINT64_MAX - at->address ? UINT64_MAX : at->address + at->size;

	if (block + 1 < graph->count && end > at[1].address)
		return at[1].address;
	return end;
}

/* Returns the first block that begins in the page with this index in page_first, or after it. */
static uint32_t first_from(const struct graph *graph, size_t index)
{
	return index < graph->page_first.count ? graph->page_first.items[index] : graph->count;
}

uint32_t graph_find(const struct graph *graph, uint64_t word, enum strength *strength)
{
	uint64_t address = untagged(word), page, end, size;
	const struct graph_page *range;
	uint32_t low, block;
	size_t index;

	if (!graph->count || address < graph->blocks[0].address)
		return GRAPH_NONE;
	/* find the last block that begins at or before the address */
	page = address >> PAGE_SHIFT;
	range = &graph->pages.items[ARRAY_SEARCH(graph->pages.count, at,
						 graph->pages.items[at].from <= page) -
				    1];
	/* after the end of a range, the next page with blocks begins the next range */
	index = range->first + ((page < range->to ? page : range->to) - range->from);
	low = first_from(graph, index);
	block = low - 1 +
		(uint32_t)ARRAY_SEARCH(first_from(graph, index + 1) - low, at,
				       graph->blocks[low + at].address <= address);
	if (graph->blocks[block].address == address) {
		*strength = word == address ? STRENGTH_START : STRENGTH_WEAK;
		return block;
	}
	/*
	 * The address just after a block counts as inside, since iterators may point there.
	 * Exception: a block of a page or more that ends at the end of a page, since another
	 * mapping may begin there.
	 */
	end = graph_end(graph, block);
	size = graph->blocks[block].size;
	if (address > end || (address == end && (!size || (!(end & 0xfff) && size >= 0x1000))))
		return GRAPH_NONE;
	*strength = word == address ? STRENGTH_INSIDE : STRENGTH_WEAK;
	return block;
}

/* ---- edges ---- */

void graph_connect(struct graph *graph, const struct words *words, uint64_t (*slack)(uint64_t size))
{
	graph->starts = memory_alloc((graph->count + 1ull) * sizeof(*graph->starts));
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct graph_block *block = &graph->blocks[i];
		uint64_t end = graph_end(graph, i), behind = end, address, word;
		uint64_t usable = slack ? slack(block->size) : block->size;
		struct words_walk walk;

		graph_beat(graph, i);
		graph->starts[i] = graph->edges.count;
		if (usable > block->size && end - block->address == block->size)
			behind = end + (usable - block->size);
		if (i + 1 < graph->count && behind > block[1].address)
			behind = end;
		walk = words_begin(words, block->address, behind);
		while (words_next(&walk, &address, &word)) {
			enum strength strength;
			uint32_t target = graph_find(graph, word, &strength), edge;

			if (target == GRAPH_NONE || target == i)
				continue;
			if (address + 8 > end)
				strength = STRENGTH_WEAK;
			edge = target | (uint32_t)strength << 30;
			/* store equal consecutive edges once (a table of pointers to one block) */
			if (graph->edges.count == graph->starts[i] ||
			    graph->edges.items[graph->edges.count - 1] != edge)
				*ARRAY_ADD(&graph->edges) = edge;
		}
	}
	graph->starts[graph->count] = graph->edges.count;
}

void graph_locate(struct graph *graph, const struct words *words)
{
	for (uint32_t i = 0; i < graph->count; i++) {
		uint64_t end = graph_end(graph, i) + SLACK_MOST, address, word;
		struct words_walk walk = words_begin(words, graph->blocks[i].address, end);

		graph_beat(graph, i);
		/* skip blocks without edges; most blocks have none */
		if (graph->starts[i] == graph->starts[i + 1])
			continue;
		while (words_next(&walk, &address, &word)) {
			enum strength strength;
			uint32_t block = graph_find(graph, word, &strength);

			/*
			 * store the address of the first pointer by which graph_mark() can have
			 * reached the other block
			 */
			if (block != GRAPH_NONE && graph->parents[block] == i &&
			    !graph->from[block] &&
			    (graph->classes[block] >= GRAPH_LOST ||
			     (unsigned)strength <= graph->classes[block]))
				graph->from[block] = address;
		}
	}
}

void graph_hit(struct graph *graph, uint64_t word, const struct graph_hit *like)
{
	enum strength strength;
	uint32_t block = graph_find(graph, word, &strength);
	struct graph_hit *hit;

	if (block == GRAPH_NONE)
		return;
	hit = ARRAY_ADD(&graph->hits);
	*hit = *like;
	hit->block = block;
	hit->strength = (uint8_t)(strength > like->strength ? strength : like->strength);
}

/* ---- marking ---- */

#define UNREACHED 0xff

struct marking {
	struct graph *graph;
	uint32_t *queue; /* reached blocks, in the order in which they were reached */
	uint32_t queued, done;
	enum strength strength; /* weaker words are ignored in this round */
};

static void reach_block(struct marking *marking, uint32_t block, uint32_t parent, uint64_t from,
			uint8_t kind)
{
	struct graph *graph = marking->graph;

	if (graph->classes[block] != UNREACHED)
		return;
	graph->kinds[block] = kind;
	graph->classes[block] = (uint8_t)marking->strength;
	graph->parents[block] = parent;
	graph->from[block] = from;
	marking->queue[marking->queued++] = block;
}

static void flood(struct marking *marking)
{
	const struct graph *graph = marking->graph;

	for (; marking->done < marking->queued; marking->done++) {
		uint32_t block = marking->queue[marking->done];

		graph_beat(graph, marking->done);
		for (uint64_t i = graph->starts[block]; i < graph->starts[block + 1]; i++)
			if (EDGE_STRENGTH(graph->edges.items[i]) <= marking->strength)
				reach_block(marking, EDGE_TARGET(graph->edges.items[i]), block, 0,
					    graph->kinds[block]);
	}
}

ORDER_FUNCTION(by_kind, struct graph_hit,
	       ORDER(a->kind, b->kind) ?: ORDER(a->root, b->root) ?: ORDER(a->at, b->at))

/*
 * ---- unreachable blocks ----
 *
 * Blocks that lead to each other are one component; Tarjan's algorithm finds them, without
 * recursion. If no other component leads to a component, its oldest block is reported as the leak,
 * and all blocks that this block leads to are indirect.
 */

struct parting {
	struct graph *graph;
	uint32_t *number, *low; /* indexed by block; number 0: not visited */
	uint32_t *component;	/* indexed by block, numbered from 1; 0: unknown */
	uint32_t *open, opened; /* blocks that have no component yet */
	uint32_t *path, steps;	/* path of the search to the current block */
	uint64_t *next;		/* indexed by block: the next edge to visit */
	uint32_t numbers, components;
	uint32_t *leads;  /* indexed by component: the block that was allocated first */
	bool *is_pointed; /* indexed by component; true if another component leads to it */
};

static bool is_lost(const struct graph *graph, uint32_t block)
{
	return graph->classes[block] == GRAPH_LOST;
}

static void visit_block(struct parting *parting, uint32_t block)
{
	parting->number[block] = parting->low[block] = ++parting->numbers;
	parting->next[block] = parting->graph->starts[block];
	parting->open[parting->opened++] = block;
	parting->path[parting->steps++] = block;
}

/* Completes a component: the blocks from the top of `open` down to `block`. */
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

static void search_component(struct parting *parting, uint32_t from)
{
	const struct graph *graph = parting->graph;

	visit_block(parting, from);
	while (parting->steps) {
		uint32_t block = parting->path[parting->steps - 1], before;

		if (parting->next[block] < graph->starts[block + 1]) {
			uint32_t edge = graph->edges.items[parting->next[block]++];
			uint32_t target = EDGE_TARGET(edge);

			if (EDGE_STRENGTH(edge) == STRENGTH_WEAK || !is_lost(graph, target))
				continue;
			if (!parting->number[target])
				visit_block(parting, target);
			else if (!parting->component[target] &&
				 parting->number[target] < parting->low[block])
				parting->low[block] = parting->number[target];
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

/* Divides the unreachable blocks into components, and finds the first block of each component. */
static void part_lost(struct graph *graph)
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
	for (uint32_t i = 0; i < graph->count; i++) {
		graph_beat(graph, i);
		if (is_lost(graph, i) && !parting.number[i])
			search_component(&parting, i);
	}
	for (uint32_t i = 0; i < graph->count; i++)
		for (uint64_t k = graph->starts[i]; is_lost(graph, i) && k < graph->starts[i + 1];
		     k++) {
			uint32_t edge = graph->edges.items[k], target = EDGE_TARGET(edge);

			if (EDGE_STRENGTH(edge) != STRENGTH_WEAK && is_lost(graph, target) &&
			    parting.component[target] != parting.component[i])
				parting.is_pointed[parting.component[target]] = true;
		}

	/*
	 * set the parents of indirect blocks: each block gets a path from a component's
	 * first block
	 */
	uint32_t *queue = parting.open, queued = 0;

	for (uint32_t i = 1; i <= parting.components; i++)
		if (!parting.is_pointed[i])
			queue[queued++] = parting.leads[i];
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

void graph_mark(struct graph *graph, uint32_t root_count)
{
	cleanup_free uint32_t *queue = memory_alloc((graph->count + 1ull) * sizeof(*queue));
	struct marking marking = { .graph = graph, .queue = queue };

	graph->root_count = root_count;
	graph->classes = memory_alloc(graph->count + 1ull);
	graph->kinds = memory_zalloc(graph->count + 1ull, 1);
	graph->parents = memory_alloc((graph->count + 1ull) * sizeof(*graph->parents));
	graph->from = memory_zalloc(graph->count + 1ull, sizeof(*graph->from));
	memset(graph->classes, UNREACHED, graph->count);
	for (uint32_t i = 0; i < graph->count; i++)
		graph->parents[i] = GRAPH_NONE;
	ARRAY_SORT(&graph->hits, by_kind);
	for (; marking.strength < STRENGTHS; marking.strength++) {
		marking.done = 0;
		flood(&marking);
		/*
		 * begin with roots of lower kinds, so that a reported path begins at a named
		 * variable rather than at a word of a stack
		 */
		for (size_t i = 0; i < graph->hits.count; i++) {
			const struct graph_hit *hit = &graph->hits.items[i];

			if (hit->strength <= marking.strength)
				reach_block(&marking, hit->block, graph->count + hit->root, hit->at,
					    hit->kind);
			if (i + 1 == graph->hits.count || hit[1].kind != hit->kind)
				flood(&marking);
		}
	}
	for (uint32_t i = 0; i < graph->count; i++)
		if (graph->classes[i] == UNREACHED)
			graph->classes[i] = GRAPH_LOST;
	part_lost(graph);
}
