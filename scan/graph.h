/* SPDX-License-Identifier: MIT */
#ifndef SCAN_GRAPH_H
#define SCAN_GRAPH_H

/*
 * Blocks of memory, and the pointers between them and from the roots: which blocks are reachable
 * and by which path, which are unreachable, and what each block retains (dominators). Independent
 * of processes and traces.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "scan/words.h"

#define GRAPH_BLOCKS_MAX (1u << 30)
#define GRAPH_NONE	 UINT32_MAX

struct graph_block {
	uint64_t address, size;
	uint64_t order; /* of its allocation; perhaps with GRAPH_OF_PARENT */
};

/*
 * Flag in order: allocated before the fork that made the process. Such a block leads to others but
 * is not counted.
 */
#define GRAPH_OF_PARENT (1ull << 63)

/* How certain it is that a word is a pointer to the block. */
enum strength { STRENGTH_START, STRENGTH_INSIDE, STRENGTH_WEAK, STRENGTHS };

/*
 * The best path to a block: by pointers to the starts of blocks only; also by pointers into their
 * insides; also by words that may not be pointers (tagged, or after the requested size). Or none:
 * the first block of an unreachable component (lost), or a block reached from it.
 */
enum graph_class { GRAPH_KEPT, GRAPH_INSIDE, GRAPH_WEAK, GRAPH_LOST, GRAPH_INDIRECT };

/* A word of a root that leads to a block. */
struct graph_hit {
	uint64_t at; /* address of the word, or another position that its kind defines */
	uint32_t block;
	uint32_t root; /* set it before graph_mark() */
	uint8_t strength;
	uint8_t kind;	/* lower kinds are followed first */
	uint32_t owner; /* for the caller */
};

/* A range of pages in which blocks begin. */
struct graph_page {
	uint64_t from, to; /* page numbers */
	size_t first;	   /* index in page_first */
};

struct graph {
	struct graph_block *blocks; /* ascending addresses, each address once */
	uint32_t count;
	ARRAY_OF(struct graph_hit) hits;
	uint32_t root_count;

	/* by block: results of graph_mark(). A parent is a block, count + a root, or GRAPH_NONE */
	uint8_t *classes;
	uint8_t *kinds; /* kind of the root where the path begins */
	uint32_t *parents;
	uint64_t *from; /* address of the word in the parent that leads to the block; 0: not
			 * found */

	/*
	 * By block and then by root: results of graph_dominate(), the blocks that would become
	 * unreachable without this one. Dominators are numbered like parents; GRAPH_NONE: several
	 * roots retain the block, or none. Among roots, an earlier kind wins: a list that a
	 * variable retains counts as the variable's, even if a word on a stack leads to it, too.
	 */
	uint32_t *dominators;
	uint64_t *retained;
	uint32_t *retained_count;

	/* internal to graph.c */
	ARRAY_OF(struct graph_page) pages;
	ARRAY_OF(uint32_t) page_first;
	uint64_t *starts;
	ARRAY_OF(uint32_t) edges; /* target, strength in the upper bits */
};

/*
 * Owns blocks from now on, and sorts them; of two with the same address the newer one stays.
 * Returns 0 or -E2BIG.
 */
int graph_begin(struct graph *graph, struct graph_block *blocks, size_t count);
void graph_free(struct graph *graph);

/* The block that a word leads to, and how certain that is; GRAPH_NONE: no block. */
uint32_t graph_find(const struct graph *graph, uint64_t word, enum strength *strength);

/* The end of a block: its start plus its size, or the start of the next block if earlier. */
uint64_t graph_end(const struct graph *graph, uint32_t block);

/*
 * Finds the pointers between blocks. slack: the usable size of a block of this size, whose extra
 * bytes are searched, too.
 */
void graph_connect(struct graph *graph, const struct words *words,
		   uint64_t (*slack)(uint64_t size));

/* Adds a word of a root, which leads to at most one block. */
void graph_hit(struct graph *graph, uint64_t word, const struct graph_hit *like);

/* Marks all reachable blocks, starting at the hits, whose roots are set by now. */
void graph_mark(struct graph *graph, uint32_t root_count);

/* Call it after graph_mark(). */
void graph_dominate(struct graph *graph);

/* After graph_mark(): sets from where the parent is a block. */
void graph_locate(struct graph *graph, const struct words *words);

/* A pointer in graph.edges. */

#define EDGE_TARGET(edge)   ((edge) & (GRAPH_BLOCKS_MAX - 1))
#define EDGE_STRENGTH(edge) ((enum strength)((edge) >> 30))

#endif
