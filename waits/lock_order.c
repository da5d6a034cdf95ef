/* SPDX-License-Identifier: MIT */
#include "waits/lock_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"

/* maximum edges that a search visits; the first variant of each edge starts a search */
#define SEARCH_BUDGET	  256u
#define SEARCH_BUDGET_ALL 4000000u /* maximum edges that all searches of a process visit */

void lock_order_init(struct lock_order *order)
{
	*order = (struct lock_order){ 0 };
	map_init(&order->index);
}

void lock_order_free(struct lock_order *order)
{
	map_clear(&order->index);
	free(order->nodes.items);
	free(order->edges.items);
	free(order->ways.items);
	free(order->cycles.items);
}

void lock_order_clear(struct lock_order *order)
{
	map_clear(&order->index);
	order->nodes.count = order->edges.count = order->ways.count = order->cycles.count = 0;
	order->spare_edge = order->spare_way = 0;
	order->cycles_left_out = order->searched = 0;
}

/* ---- edges and their variants ---- */

static uint64_t key_of(uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | to;
}

static uint32_t find_edge(const struct lock_order *order, uint32_t from, uint32_t to)
{
	return map_get(&order->index, 0, key_of(from, to));
}

static uint32_t add_edge(struct lock_order *order, const struct lock_order_held *from,
			 const struct lock_order_held *to)
{
	uint32_t index = order->spare_edge;
	struct lock_order_node *nodes;
	struct lock_order_edge *edges;

	if (index)
		order->spare_edge = order->edges.items[index].out.next;
	else
		index = ARRAY_NUMBER(&order->edges);
	(void)ARRAY_REACH(&order->nodes, from->lock > to->lock ? from->lock : to->lock);
	nodes = order->nodes.items;
	edges = order->edges.items;
	map_set(&order->index, 0, key_of(from->lock, to->lock), index);
	edges[index] = (struct lock_order_edge){
		.from = from->lock,
		.to = to->lock,
		.from_object = from->object,
		.to_object = to->object,
		.out.next = nodes[from->lock].out,
		.in.next = nodes[to->lock].in,
	};
	if (nodes[from->lock].out)
		edges[nodes[from->lock].out].out.previous = index;
	if (nodes[to->lock].in)
		edges[nodes[to->lock].in].in.previous = index;
	nodes[from->lock].out = index;
	nodes[to->lock].in = index;
	return index;
}

static void remove_edge(struct lock_order *order, uint32_t index)
{
	struct lock_order_edge *edges = order->edges.items, *edge = &edges[index];

	if (edge->out.previous)
		edges[edge->out.previous].out.next = edge->out.next;
	else
		order->nodes.items[edge->from].out = edge->out.next;
	if (edge->out.next)
		edges[edge->out.next].out.previous = edge->out.previous;
	if (edge->in.previous)
		edges[edge->in.previous].in.next = edge->in.next;
	else
		order->nodes.items[edge->to].in = edge->in.next;
	if (edge->in.next)
		edges[edge->in.next].in.previous = edge->in.previous;
	while (edge->ways) {
		struct lock_order_way *way = &order->ways.items[edge->ways];
		uint32_t next = way->next;

		way->next = order->spare_way;
		order->spare_way = edge->ways;
		edge->ways = next;
	}
	map_set(&order->index, 0, key_of(edge->from, edge->to), 0);
	edge->out.next = order->spare_edge;
	order->spare_edge = index;
}

void lock_order_forget(struct lock_order *order, uint32_t lock)
{
	if (lock >= order->nodes.count)
		return;
	while (order->nodes.items[lock].out)
		remove_edge(order, order->nodes.items[lock].out);
	while (order->nodes.items[lock].in)
		remove_edge(order, order->nodes.items[lock].in);
}

/* ---- cycles ---- */

static bool is_gated(const struct lock_order_way *a, const struct lock_order_way *b)
{
	for (unsigned i = 0; i < a->gate_count; i++)
		for (unsigned j = 0; j < b->gate_count; j++)
			if (a->gates[i] == b->gates[j])
				return true;
	return false;
}

static bool is_cycle(const struct lock_order_way *const *ways, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		/*
		 * the waiting thread and the holding thread are both readers, which do not block
		 * each other
		 */
		if (ways[i]->is_to_shared && ways[(i + 1) % count]->is_from_shared)
			return false;
		for (unsigned j = i + 1; j < count; j++)
			if (is_gated(ways[i], ways[j]))
				return false;
	}
	return true;
}

/* True if `a` has the same sites as `b`, step by step, when `b` starts at its step `turn`. */
static bool is_turned(const struct lock_order_cycle *a, const struct lock_order_cycle *b,
		      unsigned turn)
{
	for (unsigned i = 0; i < a->count; i++) {
		const struct lock_order_step *x = &a->steps[i];
		const struct lock_order_step *y = &b->steps[(i + turn) % b->count];

		if (x->from_site != y->from_site || x->to_site != y->to_site)
			return false;
	}
	return true;
}

static struct lock_order_cycle *find_cycle(const struct lock_order *order,
					   const struct lock_order_cycle *wanted)
{
	for (size_t i = 0; i < order->cycles.count; i++) {
		struct lock_order_cycle *cycle = &order->cycles.items[i];

		if (cycle->signature != wanted->signature || cycle->count != wanted->count)
			continue;
		for (unsigned turn = 0; turn < cycle->count; turn++)
			if (is_turned(cycle, wanted, turn))
				return cycle;
	}
	return NULL;
}

static bool is_one_thread(const struct lock_order_way *const *ways, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (ways[i]->has_more_threads || ways[i]->thread != ways[0]->thread)
			return false;
	return true;
}

static void note_cycle(struct lock_order *order, const uint32_t *edges,
		       const struct lock_order_way *const *ways, unsigned count)
{
	struct lock_order_cycle cycle = { .count = count }, *known;

	for (unsigned i = 0; i < count; i++)
		cycle.steps[i] = (struct lock_order_step){
			.from_object = order->edges.items[edges[i]].from_object,
			.to_object = order->edges.items[edges[i]].to_object,
			.from_site = ways[i]->from_site,
			.to_site = ways[i]->to_site,
			.thread = ways[i]->thread,
			.count = ways[i]->count,
		};
	/* the signature is a sum, so it does not depend on the step at which the cycle starts */
	for (unsigned i = 0; i < count; i++)
		cycle.signature += hash_two(0, cycle.steps[i].from_site, cycle.steps[i].to_site);
	cycle.is_one_thread = is_one_thread(ways, count);
	known = find_cycle(order, &cycle);
	if (known && known->is_one_thread && !cycle.is_one_thread)
		*known = cycle;
	if (!known && order->cycles.count >= LOCK_ORDER_CIRCLES)
		order->cycles_left_out++;
	else if (!known)
		*ARRAY_ADD(&order->cycles) = cycle;
}

/* Finds the cycles of two locks: this variant and each variant of the opposite edge. */
static void close_two(struct lock_order *order, uint32_t index, uint32_t way)
{
	const struct lock_order_edge *edge = &order->edges.items[index];
	uint32_t back = find_edge(order, edge->to, edge->from);
	const struct lock_order_way *ways[2] = { &order->ways.items[way] };

	for (uint32_t other = back ? order->edges.items[back].ways : 0; other;
	     other = order->ways.items[other].next) {
		ways[1] = &order->ways.items[other];
		if (is_cycle(ways, 2))
			note_cycle(order, (uint32_t[]){ index, back }, ways, 2);
	}
}

struct search {
	struct lock_order *order;
	uint32_t edges[LOCK_ORDER_STEPS];
	const struct lock_order_way *ways[LOCK_ORDER_STEPS];
	unsigned count;
	unsigned budget;
};

/* True if the lock is already on the path. The lock at the start of the path does not count. */
static bool is_passed(const struct search *search, uint32_t lock)
{
	for (unsigned i = 1; i < search->count; i++)
		if (search->order->edges.items[search->edges[i]].from == lock)
			return true;
	return false;
}

/*
 * Extends the path until it returns to its start, which closes a cycle. Only the latest variant of
 * each further edge is tried.
 */
static void search_on(struct search *search)
{
	struct lock_order *order = search->order;
	uint32_t first = order->edges.items[search->edges[0]].from;
	uint32_t at = order->edges.items[search->edges[search->count - 1]].to;

	for (uint32_t i = order->nodes.items[at].out; i && search->budget;
	     i = order->edges.items[i].out.next) {
		const struct lock_order_edge *edge = &order->edges.items[i];

		search->budget--;
		search->edges[search->count] = i;
		search->ways[search->count] = &order->ways.items[edge->ways];
		if (is_passed(search, edge->to) || (edge->to == first && search->count == 1))
			continue;
		search->count++;
		if (edge->to != first && search->count < LOCK_ORDER_STEPS)
			search_on(search);
		else if (edge->to == first && is_cycle(search->ways, search->count))
			note_cycle(order, search->edges, search->ways, search->count);
		search->count--;
	}
}

/* ---- locks that threads take ---- */

/* Finds the edge's variant that equals `wanted`, and moves it to the front of the list; 0: none. */
static uint32_t find_way(struct lock_order *order, struct lock_order_edge *edge,
			 const struct lock_order_way *wanted)
{
	uint32_t before = 0;

	for (uint32_t i = edge->ways; i; before = i, i = order->ways.items[i].next) {
		struct lock_order_way *way = &order->ways.items[i];

		if (!(way->from_site == wanted->from_site && way->to_site == wanted->to_site &&
		      way->is_from_shared == wanted->is_from_shared &&
		      way->is_to_shared == wanted->is_to_shared &&
		      way->gate_count == wanted->gate_count &&
		      !memcmp(way->gates, wanted->gates, way->gate_count * sizeof(*way->gates))))
			continue;
		if (before) {
			order->ways.items[before].next = way->next;
			way->next = edge->ways;
			edge->ways = i;
		}
		return i;
	}
	return 0;
}

static void add_way(struct lock_order *order, uint32_t index, const struct lock_order_way *wanted)
{
	struct lock_order_edge *edge = &order->edges.items[index];
	bool is_first = !edge->ways;
	uint32_t way = order->spare_way;

	if (edge->way_count >= LOCK_ORDER_WAYS)
		return;
	if (way)
		order->spare_way = order->ways.items[way].next;
	else
		way = ARRAY_NUMBER(&order->ways);
	order->ways.items[way] = *wanted;
	order->ways.items[way].next = edge->ways;
	edge->ways = way;
	edge->way_count++;
	close_two(order, index, way);
	if (is_first && order->searched < SEARCH_BUDGET_ALL) {
		struct search search = {
			.order = order,
			.edges = { index },
			.ways = { &order->ways.items[way] },
			.count = 1,
			.budget = SEARCH_BUDGET,
		};

		search_on(&search);
		order->searched += SEARCH_BUDGET - search.budget;
	}
}

void lock_order_add(struct lock_order *order, const struct lock_order_held *held, unsigned count,
		    const struct lock_order_held *taken, uint32_t thread)
{
	for (unsigned i = 0; i < count; i++) {
		struct lock_order_way way = {
			.from_site = held[i].site,
			.to_site = taken->site,
			.thread = thread,
			.is_from_shared = held[i].is_shared,
			.is_to_shared = taken->is_shared,
			.count = 1,
		};
		uint32_t edge = find_edge(order, held[i].lock, taken->lock), known;
		struct lock_order_way *same;

		for (unsigned j = 0; j < count && way.gate_count < LOCK_ORDER_GATES; j++)
			if (j != i)
				way.gates[way.gate_count++] = held[j].serial;
		if (!edge)
			edge = add_edge(order, &held[i], taken);
		known = find_way(order, &order->edges.items[edge], &way);
		if (!known) {
			add_way(order, edge, &way);
			continue;
		}
		same = &order->ways.items[known];
		same->count++;
		if (same->has_more_threads || same->thread == thread)
			continue;
		/* a cycle whose edges were all made by one thread may now involve two threads */
		same->has_more_threads = true;
		close_two(order, edge, known);
	}
}
