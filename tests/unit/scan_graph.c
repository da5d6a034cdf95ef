/* SPDX-License-Identifier: MIT */
#include "scan/graph.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tests/lib/tap.h"

/* ---- a small memory ---- */

#define BASE   0x10000000ull
#define MEMORY (64u * WORDS_PAGE)

static uint64_t memory[MEMORY / 8];
static struct words words;
static struct graph graph;

static void poke(uint64_t address, uint64_t value)
{
	memory[(address - BASE) / 8] = value;
}

static void begin(const struct graph_block *blocks, size_t count)
{
	struct graph_block *copy = malloc((count + 1) * sizeof(*copy));

	memcpy(copy, blocks, count * sizeof(*copy));
	if (graph_begin(&graph, copy, count))
		abort();
}

static void read_memory(void)
{
	struct ranges targets = { 0 };

	ranges_add(&targets, BASE, BASE + MEMORY);
	words_add(&words, &targets, BASE, memory, sizeof(memory));
	ranges_free(&targets);
}

/* Returns the usable size of a block: as in glibc, a block of 16 bytes has 24. */
static uint64_t slack(uint64_t size)
{
	return ((size + 8 + 15) & ~15ull) - 8;
}

static void connect_all(void)
{
	read_memory();
	graph_connect(&graph, &words, slack);
}

static void root(uint32_t number, uint64_t word)
{
	graph_hit(&graph, word, &(struct graph_hit){ .at = 8 * number, .root = number, .kind = 0 });
}

static void finish(uint32_t roots)
{
	graph_mark(&graph, roots);
	graph_dominate(&graph);
	graph_locate(&graph, &words);
}

static void end(void)
{
	graph_free(&graph);
	words_free(&words);
	memset(memory, 0, sizeof(memory));
}

/* ---- what pointers mean ---- */

static void test_classes(void)
{
	const uint64_t a = BASE + 0x100;
	const struct graph_block blocks[] = {
		{ a, 32, 1 },	      { a + 0x100, 32, 2 }, { a + 0x200, 32, 3 },
		{ a + 0x300, 32, 4 }, { a + 0x400, 16, 5 }, { a + 0x500, 16, 6 },
		{ a + 0x600, 16, 7 }, { a + 0x700, 32, 8 }, { BASE + 0x3000, 0x1000, 9 },
	};

	begin(blocks, 9);
	poke(a, a + 0x100);				      /* to the start of a block */
	poke(a + 0x108, a + 0x210);			      /* into a block */
	poke(a + 0x110, 0xab00000000000000ull | (a + 0x300)); /* a tagged pointer */
	poke(a + 0x310, a + 0x410);			      /* one past the end of a block */
	poke(a + 0x510, a + 0x600); /* this word is in a block, but after its requested size */
	poke(a + 0x118, a + 0x500);
	poke(a + 0x18, BASE + 0x4000); /* one past the end of a block, at the start of a page */
	connect_all();
	root(0, a);
	finish(1);
	ok(graph.classes[0] == GRAPH_KEPT && graph.classes[1] == GRAPH_KEPT,
	   "a pointer to its start makes a block reachable");
	ok(graph.classes[2] == GRAPH_INSIDE,
	   "a pointer into a block makes it reachable, with the class inside");
	ok(graph.classes[3] == GRAPH_WEAK, "a tagged pointer is weak");
	ok(graph.classes[4] == GRAPH_WEAK,
	   "a pointer one past the end leads to the block, a weak one weakly");
	ok(graph.classes[6] == GRAPH_WEAK, "a word after the requested size is weak");
	ok(graph.classes[7] == GRAPH_LOST, "a block to which no pointer leads is unreachable");
	ok(graph.classes[8] == GRAPH_LOST,
	   "one past the end is not inside the block at a page's start");
	ok(graph.parents[1] == 0 && graph.parents[0] == graph.count, "paths lead back to the root");
	ok(graph.from[2] == a + 0x108, "a path has the address of each pointer");
	end();
}

static void test_doubles(void)
{
	const struct graph_block blocks[] = { { BASE + 64, 32, 1 },
					      { BASE + 64, 48, 5 },
					      { BASE + 16, 4096, 2 },
					      { UINT64_MAX - 8, 4096, 3 } };
	enum strength strength;

	begin(blocks, 4);
	ok(graph.count == 3 && graph.blocks[1].size == 48,
	   "of two blocks at one address the newer one counts");
	ok(graph_end(&graph, 0) == BASE + 64, "a block ends where the next one begins");
	ok(graph_find(&graph, BASE + 70, &strength) == 1 && strength == STRENGTH_INSIDE,
	   "an address in two blocks belongs to the inner one");
	ok(graph_find(&graph, BASE + 200, &strength) == GRAPH_NONE &&
		   graph_find(&graph, BASE, &strength) == GRAPH_NONE,
	   "an address outside of all blocks belongs to none");
	ok(graph_end(&graph, 2) == UINT64_MAX, "a block cannot end before it begins");
	connect_all();
	finish(0);
	end();
	begin(blocks, 0);
	connect_all();
	finish(0);
	ok(graph.count == 0, "a graph without blocks is valid");
	end();
}

static void test_cycle(void)
{
	const uint64_t a = BASE + 0x100;
	const struct graph_block blocks[] = { { a, 64, 3 },
					      { a + 0x100, 64, 1 },
					      { a + 0x200, 64, 2 },
					      { a + 0x300, 8, 4 },
					      { a + 0x400, 8, 5 } };

	begin(blocks, 5);
	poke(a, a + 0x100);
	poke(a + 0x100, a + 0x200);
	poke(a + 0x200, a);
	poke(a + 0x208, a + 0x300);
	connect_all();
	root(0, a + 0x400);
	finish(1);
	ok(graph.classes[1] == GRAPH_LOST && graph.classes[0] == GRAPH_INDIRECT &&
		   graph.classes[2] == GRAPH_INDIRECT && graph.classes[3] == GRAPH_INDIRECT,
	   "of an unreachable cycle the block allocated first is lost, the others are indirect");
	ok(graph.retained[1] == 64 * 3 + 8 && graph.retained_count[1] == 4,
	   "the first block of an unreachable cycle retains the whole cycle");
	ok(graph.parents[2] == 1 && graph.parents[3] == 2 && graph.parents[1] == GRAPH_NONE,
	   "indirect blocks have a path from the first block");
	end();
}

static void test_kinds(void)
{
	const uint64_t a = BASE + 0x100;
	const struct graph_block blocks[] = {
		{ a, 64, 1 }, { a + 0x100, 64, 2 }, { a + 0x200, 64, 3 }, { a + 0x300, 64, 4 }
	};

	begin(blocks, 4);
	poke(a, a + 0x100);
	poke(a + 0x100, a + 0x200);
	poke(a + 0x300, a + 0x200);
	connect_all();
	root(0, a);
	graph_hit(&graph, a + 0x100, &(struct graph_hit){ .root = 1, .kind = 1 });
	graph_hit(&graph, a + 0x300, &(struct graph_hit){ .root = 1, .kind = 1 });
	finish(2);
	ok(graph.retained[4] == 3 * 64 && graph.retained[0] == 3 * 64,
	   "a variable retains its blocks even if a stack leads to them, too");
	ok(graph.retained[5] == 64, "a stack retains the blocks that only it leads to");
	end();
}

/* ---- any graph, against the definitions ---- */

#define NODES 24
#define ROOTS 3

static uint64_t seed = 7;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static uint64_t address_of(uint32_t block)
{
	return BASE + 0x100ull * (block + 1);
}

static bool leads[NODES][NODES], roots[ROOTS][NODES];

/* Marks the nodes that are reached from a set by paths that avoid `without` (NODES + r: root r). */
static void reach(bool *reached, const bool *from, uint32_t without)
{
	for (uint32_t i = 0; i < NODES; i++)
		reached[i] = from[i] && i != without;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t k = 0; reached[i] && k < NODES; k++)
				if (leads[i][k] && !reached[k] && k != without)
					reached[k] = more = true;
	}
}

static void from_roots(bool *from, uint32_t without)
{
	memset(from, 0, NODES);
	for (uint32_t r = 0; r < ROOTS; r++)
		for (uint32_t i = 0; i < NODES; i++)
			from[i] |= roots[r][i] && without != NODES + r;
}

/* A node must retain exactly the blocks that are reached only through the node. */
static bool retained_is_right(uint32_t node, const bool *kept)
{
	bool from[NODES], without[NODES];
	uint64_t bytes = 0;

	from_roots(from, node);
	reach(without, from, node);
	for (uint32_t i = 0; i < NODES; i++)
		bytes += kept[i] && !without[i] ? 16 + i : 0;
	if (graph.retained[node] == bytes)
		return true;
	printf("# node %u: %" PRIu64 " found, %" PRIu64 " expected\n", node, graph.retained[node],
	       bytes);
	return false;
}

/* Blocks of class GRAPH_LOST must lead to all unreachable blocks, but not to each other. */
static bool lost_is_right(const bool *kept)
{
	bool from[NODES] = { false }, reached[NODES], right = true;

	for (uint32_t i = 0; i < NODES; i++) {
		bool is_lost = graph.classes[i] == GRAPH_LOST;

		right &= kept[i] == (graph.classes[i] == GRAPH_KEPT);
		from[i] = is_lost;
	}
	reach(reached, from, GRAPH_NONE);
	for (uint32_t i = 0; i < NODES; i++)
		right &= kept[i] || reached[i];
	for (uint32_t i = 0; i < NODES; i++) {
		bool one[NODES] = { false };

		if (!from[i])
			continue;
		one[i] = true;
		reach(reached, one, GRAPH_NONE);
		for (uint32_t k = 0; k < NODES; k++)
			right &= k == i || !from[k] || !reached[k];
	}
	return right;
}

static void make_any(void)
{
	struct graph_block blocks[NODES];
	uint32_t edges = any(NODES * 3);

	memset(leads, 0, sizeof(leads));
	memset(roots, 0, sizeof(roots));
	for (uint32_t i = 0; i < NODES; i++)
		blocks[i] = (struct graph_block){ address_of(i), 16 + i, any(1000) };
	begin(blocks, NODES);
	for (uint32_t i = 0; i < edges; i++) {
		uint32_t from = any(NODES), to = any(NODES);
		uint32_t place = any(2);

		if (memory[(address_of(from) - BASE) / 8 + place])
			continue;
		leads[from][to] = from != to;
		poke(address_of(from) + 8 * place, address_of(to));
	}
	connect_all();
	for (uint32_t r = 0; r < ROOTS; r++)
		for (uint32_t i = any(3); i > 0; i--) {
			uint32_t to = any(NODES);

			roots[r][to] = true;
			root(r, address_of(to));
		}
	finish(ROOTS);
}

static void test_any(void)
{
	bool kept_right = true, lost_right = true;

	for (int run = 0; run < 2000; run++) {
		bool from[NODES], kept[NODES];

		make_any();
		from_roots(from, GRAPH_NONE);
		reach(kept, from, GRAPH_NONE);
		for (uint32_t i = 0; i < NODES + ROOTS; i++)
			if (i >= NODES || kept[i])
				kept_right &= retained_is_right(i, kept);
		lost_right &= lost_is_right(kept);
		end();
	}
	ok(kept_right,
	   "in 2,000 random graphs each node retains what becomes unreachable without it");
	ok(lost_right, "in 2,000 random graphs first blocks lead to all unreachable ones and not "
		       "to each other");
}

/* ---- a long chain ---- */

static void test_depth(void)
{
	enum { LONG = 400000 };
	struct graph_block *blocks = malloc(LONG * sizeof(*blocks));
	uint64_t *chain = calloc(LONG, 16);
	struct ranges targets = { 0 };
	uint64_t size = (LONG * 16ull + 4095) & ~4095ull;

	if (!blocks || !chain)
		abort();
	chain = realloc(chain, size);
	for (uint32_t i = 0; i < LONG; i++) {
		blocks[i] = (struct graph_block){ BASE + 16ull * i, 16, i };
		chain[i * 2ull] = i + 1 < LONG ? BASE + 16ull * (i + 1) : 0;
		chain[i * 2ull + 1] = 0;
	}
	if (graph_begin(&graph, blocks, LONG))
		abort();
	ranges_add(&targets, BASE, BASE + size);
	words_add(&words, &targets, BASE, chain, size);
	graph_connect(&graph, &words, NULL);
	finish(0);
	ok(graph.classes[0] == GRAPH_LOST && graph.classes[LONG - 1] == GRAPH_INDIRECT &&
		   graph.retained[0] == LONG * 16ull,
	   "a list of 400,000 blocks does not overflow the stack");
	free(chain);
	ranges_free(&targets);
	end();
}

/* Counts how often the code under test reports that it is still at work. */
static void count_beat(void *user)
{
	unsigned int *beats = user;

	(*beats)++;
}

/* A table of pointers is followed by the blocks to which they lead: each pointer must be found. */
static void test_table(void)
{
	enum { MANY = 100000, TABLE = (MANY * 8 + 4095) / 4096 * 4096 };
	struct graph_block *blocks = malloc((MANY + 1) * sizeof(*blocks));
	uint64_t *table = calloc(1, TABLE + MANY * 16 + 4096);
	struct ranges targets = { 0 };
	uint64_t size = (TABLE + MANY * 16ull + 4095) & ~4095ull;
	unsigned int beats = 0;
	bool is_right = true, is_heard;

	if (!blocks || !table)
		abort();
	blocks[MANY] = (struct graph_block){ BASE, MANY * 8ull, 0 };
	for (uint32_t i = 0; i < MANY; i++) {
		blocks[i] = (struct graph_block){ BASE + TABLE + 16ull * i, 16, i };
		table[i] = blocks[i].address;
	}
	if (graph_begin(&graph, blocks, MANY + 1))
		abort();
	graph.beat = count_beat;
	graph.user = &beats;
	ranges_add(&targets, BASE, BASE + size);
	words_add(&words, &targets, BASE, table, size);
	graph_connect(&graph, &words, NULL);
	is_heard = beats >= 2;
	beats = 0;
	graph_mark(&graph, 0);
	is_heard &= beats >= 2;
	beats = 0;
	graph_dominate(&graph);
	is_heard &=
		beats >= 3; /* two beats from the search, one from the computation of dominators */
	beats = 0;
	graph_locate(&graph, &words);
	is_heard &= beats >= 2;
	for (uint32_t i = 1; i <= MANY; i++)
		is_right &= graph.parents[i] == 0 && graph.from[i] == BASE + 8ull * (i - 1);
	ok(is_right, "each of 100,000 pointers of a table is found");
	ok(is_heard, "each step of a long scan of a graph says that it is still at work");
	free(table);
	ranges_free(&targets);
	end();
}

int main(void)
{
	test_classes();
	test_doubles();
	test_cycle();
	test_kinds();
	test_any();
	test_depth();
	test_table();
	return tap_end();
}
