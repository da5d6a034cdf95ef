/* SPDX-License-Identifier: MIT */
#ifndef TRACE_NODES_H
#define TRACE_NODES_H

/*
 * Backtraces as a tree that keeps each frame once: a node is a return address and the node of the
 * frame that called it, so backtraces share what is outside of where they part. Nodes stay where
 * they are and never change; equal backtraces of one tree are the same node.
 *
 *   for (const struct trace_node *at = backtrace->node; at->count; at = at->caller)
 *           use(at->address);
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"

struct trace_node {
	const struct trace_node *caller; /* NULL: it is the outermost one's, which is no frame */
	uint64_t address;		 /* return address */
	uint32_t count;			 /* frames from here to the outermost one */
	uint32_t number;		 /* in its tree, from 1; 0: no frame */
};

/* What is outside of the outermost frame, in all trees: the backtrace without frames. */
extern const struct trace_node trace_no_node;

struct trace_nodes {
	struct pool *pool; /* what nodes are taken from, and what limits them */
	ARRAY_OF(struct trace_node *) chunks;
	uint32_t count;
	uint32_t *slots; /* numbers by hash */
	uint8_t *marks;	 /* by slot: a bit and part of the hash; 0: free */
	size_t mask;
	uint32_t most; /* nodes for so many slots */
	uint64_t seed;
};

void trace_nodes_init(struct trace_nodes *nodes, struct pool *pool);

/* The nodes themselves go with the pool. */
void trace_nodes_free(struct trace_nodes *nodes);

/* Gives back what finds nodes; the next one that is added makes it again. */
void trace_nodes_rest(struct trace_nodes *nodes);

/* The frame that was called from caller, of the same tree. NULL: no memory, or over the limit. */
const struct trace_node *trace_nodes_add(struct trace_nodes *nodes, const struct trace_node *caller,
					 uint64_t address);

/* The one with that number, from 1 to count. */
const struct trace_node *trace_nodes_at(const struct trace_nodes *nodes, uint32_t number);

/* The same of count frames, innermost first. */
const struct trace_node *trace_nodes_of(struct trace_nodes *nodes, const uint64_t *frames,
					size_t count);

/* Fills at most max frames, innermost first; returns how many. */
size_t trace_node_frames(const struct trace_node *node, uint64_t *frames, size_t max);

#endif
