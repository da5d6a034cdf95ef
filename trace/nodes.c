/* SPDX-License-Identifier: MIT */
#include "trace/nodes.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/hash_table.h"

#define SLOTS_MIN 64u

/* Chunk sizes double from FIRST nodes on, up to CHUNK. */
#define FIRST	  64u
#define DOUBLINGS 9u
#define CHUNK	  (FIRST << DOUBLINGS)
#define SMALL	  (CHUNK - FIRST) /* number of nodes in all smaller chunks */

/*
 * A mark of 0 means that the slot is free. Other marks hold MARKED and bits of the hash that do not
 * determine the slot. A search compares only nodes of slots with the right mark, which are few.
 */
#define MARKED 0x80u

const struct trace_node trace_no_node;

void trace_nodes_init(struct trace_nodes *nodes, struct pool *pool)
{
	struct hash_table seeded;

	hash_table_init(&seeded);
	*nodes = (struct trace_nodes){ .pool = pool, .seed = seeded.seed };
}

void trace_nodes_rest(struct trace_nodes *nodes)
{
	free(nodes->slots);
	nodes->slots = NULL;
	nodes->marks = NULL;
	nodes->most = 0;
}

void trace_nodes_free(struct trace_nodes *nodes)
{
	free(nodes->chunks.items);
	free(nodes->slots);
	*nodes = (struct trace_nodes){ .pool = nodes->pool, .seed = nodes->seed };
}

/* The chunk of a node. index: the node's number minus 1. */
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

/* Hashes the pointer `caller` itself, because the node that it points to is seldom in a cache. */
static inline uint64_t hash_of(const struct trace_nodes *nodes, const struct trace_node *caller,
			       uint64_t address)
{
	return hash_two(nodes->seed, address, (uintptr_t)caller);
}

static inline uint8_t mark_of(uint64_t hash)
{
	return (uint8_t)(hash >> 57 | MARKED);
}

static void take_slot(struct trace_nodes *nodes, size_t slot, uint64_t hash, uint32_t number)
{
	nodes->marks[slot] = mark_of(hash);
	nodes->slots[slot] = number;
}

static bool nodes_grow(struct trace_nodes *nodes)
{
	size_t old = nodes->mask ? nodes->mask + 1 : 0;
	size_t size = !old ? SLOTS_MIN : nodes->slots ? old * 2 : old;
	size_t bytes = sizeof(*nodes->slots) + sizeof(*nodes->marks);
	uint32_t *slots;

	if (!pool_charge(nodes->pool, (size - old) * bytes))
		return false;
	slots = memory_zalloc(size, bytes);
	if (!slots)
		return false;
	free(nodes->slots);
	nodes->slots = slots;
	nodes->marks = (uint8_t *)(slots + size);
	nodes->mask = size - 1;
	nodes->most = (uint32_t)(size / 4 * 3);
	for (uint32_t index = 0; index < nodes->count; index++) {
		const struct trace_node *node = node_at(nodes, index);
		uint64_t hash = hash_of(nodes, node->caller, node->address);
		size_t i = (size_t)hash & nodes->mask;

		while (nodes->marks[i])
			i = (i + 1) & nodes->mask;
		take_slot(nodes, i, hash, index + 1);
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

const struct trace_node *trace_nodes_add(struct trace_nodes *nodes, const struct trace_node *caller,
					 uint64_t address)
{
	const struct trace_node *node;
	struct trace_node *added;
	uint64_t hash = hash_of(nodes, caller, address);
	size_t i;

	if (nodes->count >= nodes->most && !nodes_grow(nodes))
		return NULL;
	for (i = (size_t)hash & nodes->mask; nodes->marks[i]; i = (i + 1) & nodes->mask) {
		if (nodes->marks[i] != mark_of(hash))
			continue;
		node = node_at(nodes, nodes->slots[i] - 1);
		if (node->address == address && node->caller == caller)
			return node;
	}
	added = new_node(nodes);
	if (!added)
		return NULL;
	*added = (struct trace_node){ caller, address, caller->count + 1, ++nodes->count };
	take_slot(nodes, i, hash, added->number);
	return added;
}

const struct trace_node *trace_nodes_at(const struct trace_nodes *nodes, uint32_t number)
{
	return node_at(nodes, number - 1);
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
