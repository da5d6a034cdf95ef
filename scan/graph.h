/* SPDX-License-Identifier: MIT */
#ifndef SCAN_GRAPH_H
#define SCAN_GRAPH_H

/*
 * Blocks of memory, what points from one to another and from the roots to them: which of them
 * somebody keeps and by which way, which are lost, and what would go with each (dominators). Knows
 * neither processes nor traces.
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

/* Allocated before the fork that made the process: the block leads to others and counts nothing. */
#define GRAPH_OF_PARENT (1ull << 63)

/* How much a word that leads to a block is to be believed. */
enum strength { STRENGTH_START, STRENGTH_INSIDE, STRENGTH_WEAK, STRENGTHS };

/*
 * The best way to a block: by pointers to starts of blocks alone, also by some into their insides,
 * also by words that may be none (tagged ones, and those behind the size that was asked for); or
 * there is none, and it is the first of what is lost together (lost) or reached from there.
 */
enum graph_class { GRAPH_KEPT, GRAPH_INSIDE, GRAPH_WEAK, GRAPH_LOST, GRAPH_INDIRECT };

/* A word of a root that leads to a block. */
struct graph_hit {
	uint64_t at; /* its address, or what its kind has instead */
	uint32_t block;
	uint32_t root; /* to be set before graph_mark() */
	uint8_t strength;
	uint8_t kind;	/* those of lower kinds are followed first */
	uint32_t owner; /* the caller's */
};

/* A range of pages in which blocks begin. */
struct graph_page {
	uint64_t from, to; /* page numbers */
	size_t first;	   /* in page_first */
};

struct graph {
	struct graph_block *blocks; /* by address, each address once */
	uint32_t count;
	ARRAY_OF(struct graph_hit) hits;
	uint32_t root_count;

	/* by block: results of graph_mark(). Parents: blocks, or count + a root, or GRAPH_NONE */
	uint8_t *classes;
	uint8_t *kinds; /* of the root where the way begins */
	uint32_t *parents;
	uint64_t *from; /* address of the word by which the parent leads here; 0: not found */

	/*
	 * By block and then by root: results of graph_dominate(). What goes when this one goes;
	 * dominators: as parents; GRAPH_NONE: several roots keep it, or nobody. Of what roots of
	 * one kind keep, those of later kinds take nothing away: a word that is left on a stack
	 * leads to a list that a variable keeps all the same.
	 */
	uint32_t *dominators;
	uint64_t *retained;
	uint32_t *retained_count;

	/* graph.c's */
	ARRAY_OF(struct graph_page) pages;
	ARRAY_OF(uint32_t) page_first;
	uint64_t *starts;
	ARRAY_OF(uint32_t) edges; /* target, strength in the upper bits */
};

/*
 * blocks becomes the graph's, sorted; of two with one address the one allocated last stays. Returns
 * 0 or -E2BIG.
 */
int graph_begin(struct graph *graph, struct graph_block *blocks, size_t count);
void graph_free(struct graph *graph);

/* The block that a word leads to, and how; GRAPH_NONE: none. */
uint32_t graph_find(const struct graph *graph, uint64_t word, enum strength *strength);

/* First address behind what of a block may be read: its size, or where the next one begins. */
uint64_t graph_end(const struct graph *graph, uint32_t block);

/* Notes what blocks point to. slack: so much of what was not asked for belongs to a block, too. */
void graph_connect(struct graph *graph, const struct words *words,
		   uint64_t (*slack)(uint64_t size));

/* A word of a root; at most one block is hit. */
void graph_hit(struct graph *graph, uint64_t word, const struct graph_hit *like);

/* Marks, from the hits, which have their roots by now. */
void graph_mark(struct graph *graph, uint32_t root_count);

/* After graph_mark(). */
void graph_dominate(struct graph *graph);

/* After graph_mark(): fills in from where the parent is a block. */
void graph_locate(struct graph *graph, const struct words *words);

/* ---- for the parts of the graph ---- */

#define EDGE_TARGET(edge)   ((edge) & (GRAPH_BLOCKS_MAX - 1))
#define EDGE_STRENGTH(edge) ((enum strength)((edge) >> 30))

/* The components of what is lost, and who comes first in each (graph_lost.c). */
void graph_part_lost(struct graph *graph);

#endif
