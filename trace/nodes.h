/* SPDX-License-Identifier: MIT */
#ifndef TRACE_NODES_H
#define TRACE_NODES_H

/*
 * Backtraces as a tree that stores each frame once. A node consists of a return address and the
 * node of the caller's frame, so backtraces share their common outer frames. Nodes neither move nor
 * change. In one tree, equal backtraces are the same node.
 *
 *   for (const struct trace_node *at = backtrace->node; at->count; at = at->caller)
 *           use(at->address);
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"

struct trace_node {
	const struct trace_node *caller; /* NULL only in trace_no_node */
	uint64_t address;		 /* return address */
	uint32_t count;			 /* number of frames from this one to the outermost */
	uint32_t number; /* number of the node in its tree, from 1; 0: not a frame */
};

/* The empty backtrace: the caller of every outermost frame, shared by all trees. */
extern const struct trace_node trace_no_node;

struct trace_nodes {
	struct pool *pool; /* where nodes are allocated, within the pool's limit */
	ARRAY_OF(struct trace_node *) chunks;
	uint32_t count;
	uint32_t *slots; /* hash table of the numbers of nodes */
	uint8_t *marks;	 /* per slot: MARKED and some bits of the hash; 0: the slot is free */
	size_t mask;
	uint32_t most; /* number of nodes at which the table of slots grows */
	uint64_t seed;
};

void trace_nodes_init(struct trace_nodes *nodes, struct pool *pool);

/* Frees the tables; the pool's owner frees the nodes. */
void trace_nodes_free(struct trace_nodes *nodes);

/*
 * Frees the hash table, which is needed only to add nodes; the next trace_nodes_add() rebuilds it.
 */
void trace_nodes_rest(struct trace_nodes *nodes);

/*
 * Returns the node of a frame whose caller is the node `caller` of the same tree. Adds the node if
 * there is none. Returns NULL if no memory is left or the pool's limit is exceeded.
 */
const struct trace_node *trace_nodes_add(struct trace_nodes *nodes, const struct trace_node *caller,
					 uint64_t address);

/* Returns the node with this number, from 1 to nodes->count. */
const struct trace_node *trace_nodes_at(const struct trace_nodes *nodes, uint32_t number);

/*
 * Returns the node of a backtrace with `count` frames, innermost first; adds the nodes that are
 * new. Returns NULL when trace_nodes_add() does.
 */
const struct trace_node *trace_nodes_of(struct trace_nodes *nodes, const uint64_t *frames,
					size_t count);

/* Stores at most `max` frames, innermost first. Returns the number of stored frames. */
size_t trace_node_frames(const struct trace_node *node, uint64_t *frames, size_t max);

#endif
