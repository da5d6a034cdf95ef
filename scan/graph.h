/* SPDX-License-Identifier: MIT */
#ifndef SCAN_GRAPH_H
#define SCAN_GRAPH_H

/*
 * The graph of memory blocks, with the pointers between blocks and from roots to blocks. Finds
 * which blocks are reachable, and by which path; which are unreachable; and what each block retains
 * (dominators). Knows nothing of processes and traces.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "scan/words.h"

#define GRAPH_BLOCKS_MAX (1u << 30)
#define GRAPH_NONE	 UINT32_MAX

struct graph_block {
	uint64_t address, size;
	uint64_t order; /* position in the order of the allocations, and the flag GRAPH_OF_PARENT if
			   it applies */
};

/*
 * Flag in graph_block.order: the block was allocated before the fork that made the process. The
 * block is not counted, but its pointers to other blocks are followed.
 */
#define GRAPH_OF_PARENT (1ull << 63)

/* What a word points to: the start of a block, the inside of a block, or perhaps nothing (WEAK). */
enum strength { STRENGTH_START, STRENGTH_INSIDE, STRENGTH_WEAK, STRENGTHS };

/*
 * KEPT: the best path to the block has only pointers to starts of blocks. INSIDE: the best path
 * also has pointers into blocks. WEAK: it also has words that may not be pointers, because they are
 * tagged or after a block's requested size. LOST: no path leads to the block, which is the first of
 * an unreachable component. INDIRECT: the block is reached only through a LOST block.
 */
enum graph_class { GRAPH_KEPT, GRAPH_INSIDE, GRAPH_WEAK, GRAPH_LOST, GRAPH_INDIRECT };

/* A word of a root that leads to a block. */
struct graph_hit {
	uint64_t at; /* address of the word; for a register or a word in the kernel, its index */
	uint32_t block;
	uint32_t root; /* number of the root; the caller sets it before graph_mark() */
	uint8_t strength;
	uint8_t kind;	/* roots of lower kinds are followed first */
	uint32_t owner; /* not used by the graph: the caller may store any number */
};

/* A range of pages in which blocks begin. */
struct graph_page {
	uint64_t from, to; /* page numbers */
	size_t first;	   /* index in page_first */
};

struct graph {
	struct graph_block *blocks; /* sorted by address; each address occurs once */
	uint32_t count;
	ARRAY_OF(struct graph_hit) hits;
	uint32_t root_count;
	/* is called regularly by functions that take long; NULL: is not called */
	void (*beat)(void *user);
	void *user; /* the argument of beat() */

	/*
	 * results of graph_mark(), indexed by block. `parents`: the node before the block on its
	 * path, which is a block, `count` plus the number of a root, or GRAPH_NONE
	 */
	uint8_t *classes;
	uint8_t *kinds; /* kind of the root at which the path begins */
	uint32_t *parents;
	uint64_t
		*from; /* address of the word in the parent that leads to the block; 0: not found */

	/*
	 * Results of graph_dominate(), indexed by block or by `count` plus the number of a root;
	 * sizes in bytes. A dominator retains the blocks that would become unreachable without it.
	 * Dominators are numbered like parents; GRAPH_NONE: several roots retain the block, or none
	 * does. Of the roots that lead to a block, only those of the lowest kind count: a list in a
	 * variable belongs to the variable, even if a word on a stack also points to the list.
	 */
	uint32_t *dominators;
	uint64_t *retained;
	uint32_t *retained_count;

	/* members that only graph.c uses */
	ARRAY_OF(struct graph_page) pages;
	ARRAY_OF(uint32_t) page_first;
	uint64_t *starts;
	ARRAY_OF(uint32_t) edges; /* the target block, with the strength in the upper bits */
};

/* Calls beat() if `step` is a multiple of 65536. */
static inline void graph_beat(const struct graph *graph, uint64_t step)
{
	if (step % 0x10000 == 0 && graph->beat)
		graph->beat(graph->user);
}

/*
 * Takes ownership of `blocks` and sorts them. If two blocks have the same address, keeps the newer
 * one. Returns 0 or -E2BIG.
 */
int graph_begin(struct graph *graph, struct graph_block *blocks, size_t count);
void graph_free(struct graph *graph);

/* Returns the block that a word points to, or GRAPH_NONE. *strength: how certain the pointer is. */
uint32_t graph_find(const struct graph *graph, uint64_t word, enum strength *strength);

/* Returns a block's end: its start plus its size, or the next block's start if that is lower. */
uint64_t graph_end(const struct graph *graph, uint32_t block);

/*
 * Finds the pointers between blocks. slack() returns the usable size for a requested size; the
 * bytes after the requested size are searched, too. slack NULL: there are no such bytes.
 */
void graph_connect(struct graph *graph, const struct words *words,
		   uint64_t (*slack)(uint64_t size));

/* If a root's `word` leads to a block, adds a hit. Its other members are copied from `like`. */
void graph_hit(struct graph *graph, uint64_t word, const struct graph_hit *like);

/* Marks all reachable blocks, starting at the hits. Before the call, set the root of each hit. */
void graph_mark(struct graph *graph, uint32_t root_count);

/* Computes dominators, retained and retained_count. Call it after graph_mark(). */
void graph_dominate(struct graph *graph);

/* Sets `from` of the blocks whose parent is a block. Call it after graph_mark(). */
void graph_locate(struct graph *graph, const struct words *words);

/* The target and the strength of an edge in graph.edges. */

#define EDGE_TARGET(edge)   ((edge) & (GRAPH_BLOCKS_MAX - 1))
#define EDGE_STRENGTH(edge) ((enum strength)((edge) >> 30))

#endif
