/* SPDX-License-Identifier: MIT */
#include "trace/nodes.h"

#include <stdlib.h>

#include "base/table.h"

#define SLOTS_MIN 64u

/* Chunks are of 64 nodes, 128, and so on; from the ninth on each has CHUNK. */
#define FIRST	  64u
#define DOUBLINGS 9u
#define CHUNK	  (FIRST << DOUBLINGS)
#define SMALL	  (CHUNK - FIRST) /* nodes in the chunks before */

const struct trace_node trace_no_node;

void trace_nodes_init(struct trace_nodes *nodes, struct pool *pool)
{
	struct table seeded;

	table_init(&seeded);
	*nodes = (struct trace_nodes){ .pool = pool, .seed = seeded.seed };
}

void trace_nodes_free(struct trace_nodes *nodes)
{
	free(nodes->chunks.items);
	free(nodes->slots);
	*nodes = (struct trace_nodes){ .pool = nodes->pool, .seed = nodes->seed };
}

/* index: the node's number - 1 */
static inline uint32_t chunk_of(uint32_t index)
{
	if (index >= SMALL)
		return DOUBLINGS + (index - SMALL) / CHUNK;
	return 31 - (uint32_t)__builtin_clz(index / FIRST + 1);
}

static inline struct trace_node *node_at(const struct trace_nodes *nodes, uint32_t index)
{
	uint32_t chunk = chunk_of(index);

	if (chunk < DOUBLINGS)
		return &nodes->chunks.items[chunk][index + FIRST - (FIRST << chunk)];
	return &nodes->chunks.items[chunk][(index - SMALL) % CHUNK];
}

static inline size_t home_of(const struct trace_nodes *nodes, const struct trace_node *caller,
			     uint64_t address)
{
	return (size_t)hash_two(nodes->seed, address, caller->number) & nodes->mask;
}

static bool grow(struct trace_nodes *nodes)
{
	size_t old = nodes->slots ? nodes->mask + 1 : 0, size = old ? old * 2 : SLOTS_MIN;
	uint32_t *slots;

	if (!pool_charge(nodes->pool, (size - old) * sizeof(*slots)))
		return false;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return false;
	free(nodes->slots);
	nodes->slots = slots;
	nodes->mask = size - 1;
	nodes->most = (uint32_t)(size / 3 * 2);
	for (uint32_t index = 0; index < nodes->count; index++) {
		const struct trace_node *node = node_at(nodes, index);
		size_t i = home_of(nodes, node->caller, node->address);

		while (slots[i])
			i = (i + 1) & nodes->mask;
		slots[i] = index + 1;
	}
	return true;
}

static struct trace_node *new_node(struct trace_nodes *nodes)
{
	uint32_t chunk = chunk_of(nodes->count);
	struct trace_node **place;

	if (nodes->count == UINT32_MAX)
		return NULL;
	if (chunk < nodes->chunks.count)
		return node_at(nodes, nodes->count);
	place = ARRAY_ADD(&nodes->chunks);
	if (!place)
		return NULL;
	*place = pool_alloc(nodes->pool, (chunk < DOUBLINGS ? FIRST << chunk : CHUNK) *
						 sizeof(struct trace_node));
	if (!*place)
		nodes->chunks.count--;
	return *place;
}

static const struct trace_node *add(struct trace_nodes *nodes, const struct trace_node *caller,
				    uint64_t address, size_t slot)
{
	struct trace_node *node = new_node(nodes);

	if (!node)
		return NULL;
	*node = (struct trace_node){ caller, address, caller->count + 1, ++nodes->count };
	nodes->slots[slot] = node->number;
	return node;
}

const struct trace_node *trace_nodes_add(struct trace_nodes *nodes, const struct trace_node *caller,
					 uint64_t address)
{
	size_t i;

	if (nodes->count >= nodes->most && !grow(nodes))
		return NULL;
	for (i = home_of(nodes, caller, address); nodes->slots[i]; i = (i + 1) & nodes->mask) {
		const struct trace_node *node = node_at(nodes, nodes->slots[i] - 1);

		if (node->address == address && node->caller == caller)
			return node;
	}
	return add(nodes, caller, address, i);
}

const struct trace_node *trace_nodes_of(struct trace_nodes *nodes, const uint64_t *frames,
					size_t count)
{
	const struct trace_node *node = &trace_no_node;

	while (node && count)
		node = trace_nodes_add(nodes, node, frames[--count]);
	return node;
}

size_t trace_node_frames(const struct trace_node *node, uint64_t *frames, size_t max)
{
	size_t count = 0;

	for (; node->count && count < max; node = node->caller)
		frames[count++] = node->address;
	return count;
}
