/* SPDX-License-Identifier: MIT */
#include "trace/nodes.h"

#include <stdlib.h>

#include "naming/address_space.h"
#include "tests/lib/tap.h"
#include "trace/registry.h"

#define DEPTH  24
#define LEVELS 17 /* outer frames that vary: 2^17 different backtraces */
#define COUNT  (1u << LEVELS)
#define BYTES  128 /* limit of memory per backtrace, if it shares all but two frames with others */

/* Makes a backtrace as bench/workload's stacks do: each bit selects the function of a level. */
static void fill(uint64_t *frames, uint32_t number)
{
	for (uint32_t i = 0; i < DEPTH; i++)
		frames[i] =
			0x1000 + (i < LEVELS ? 2 * i + (number >> (LEVELS - 1 - i) & 1) : 100 + i);
}

static void tree_tests(void)
{
	static const uint64_t abc[] = { 1, 2, 3 }, xbc[] = { 9, 2, 3 };
	struct pool pool = { 0 };
	struct trace_nodes nodes;
	const struct trace_node *one, *other;
	uint64_t frames[4] = { 0 };

	trace_nodes_init(&nodes, &pool);
	one = trace_nodes_of(&nodes, abc, 3);
	other = trace_nodes_of(&nodes, xbc, 3);
	ok(one->count == 3 && one->address == 1 && one->caller->caller->address == 3,
	   "frames stand innermost first");
	ok(one->caller == other->caller && nodes.count == 4, "common outer frames are stored once");
	ok(trace_nodes_of(&nodes, abc, 3) == one && nodes.count == 4,
	   "equal frames are the same node");
	ok(trace_nodes_of(&nodes, abc + 1, 1) != one->caller, "a frame by itself is another one");
	ok(trace_nodes_at(&nodes, one->number) == one && trace_nodes_at(&nodes, 1)->count == 1,
	   "a node is found by its number");
	ok(trace_nodes_of(&nodes, NULL, 0) == &trace_no_node, "no frames are a backtrace, too");
	ok(trace_node_frames(one, frames, 2) == 2 && frames[1] == 2 && !frames[2],
	   "frames are taken out as far as there is room");
	ok(trace_node_frames(one, frames, 4) == 3 && frames[2] == 3,
	   "all frames of a node are copied");
	trace_nodes_free(&nodes);
	pool_free(&pool);
}

/* Backtraces with the same frames but different texts must not be mixed up. */
static void registry_tests(void)
{
	static const uint64_t frames[] = { 5, 6 };
	static const char *const texts[] = { "main", NULL };
	struct registry registry;
	const struct backtrace *plain, *text;
	const struct trace_node *node;

	registry_init(&registry, 0);
	plain = registry_backtrace(&registry, frames, NULL, 2);
	text = registry_backtrace(&registry, frames, texts, 2);
	node = trace_nodes_of(&registry.nodes, frames, 2);
	ok(plain->node == node && text->node == node && plain != text,
	   "texts tell backtraces with the same frames apart");
	ok(registry_node_backtrace(&registry, node) == plain,
	   "a node is the backtrace that its frames are");
	ok(registry_backtrace(&registry, frames, texts, 2) == text && text->texts[0] == texts[0],
	   "each of many nodes is found again");
	registry_free(&registry);
}

/* Nodes must be found in a large table, whatever bits their hashes have in common. */
static void find_tests(void)
{
	uint64_t frames[DEPTH];
	struct pool pool = { 0 };
	struct trace_nodes nodes;
	uint32_t made;
	bool is_right = true;

	trace_nodes_init(&nodes, &pool);
	for (uint32_t i = 0; i < COUNT; i++) {
		fill(frames, i);
		trace_nodes_of(&nodes, frames, DEPTH);
	}
	made = nodes.count;
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i % 50000 == 1)
			trace_nodes_rest(&nodes);
		fill(frames, i);
		is_right &= trace_nodes_of(&nodes, frames, DEPTH)->address == frames[0];
	}
	for (uint32_t number = 1; number <= made; number++)
		is_right &= trace_nodes_at(&nodes, number)->number == number;
	ok(is_right && nodes.count == made, "all of many nodes are found again, none is made anew");
	made = (uint32_t)pool.total;
	trace_nodes_rest(&nodes);
	trace_nodes_of(&nodes, frames, DEPTH);
	ok(pool.total == made, "a released hash table is charged to the pool once");
	trace_nodes_free(&nodes);
	pool_free(&pool);
}

static void memory_tests(void)
{
	uint64_t frames[DEPTH];
	struct registry registry;
	bool is_right = true;

	registry_init(&registry, 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		fill(frames, i);
		is_right &= registry_node_backtrace(&registry,
						    trace_nodes_of(&registry.nodes, frames, DEPTH))
				    ->id == i;
	}
	for (uint32_t i = 0; i < COUNT; i += 1023) {
		const struct trace_node *at = registry.backtrace_list.items[i]->node;

		fill(frames, i);
		for (uint32_t f = 0; f < DEPTH; f++, at = at->caller)
			is_right &= at->address == frames[f];
		is_right &= at == &trace_no_node &&
			    registry_backtrace(&registry, frames, NULL, DEPTH)->id == i;
	}
	ok(is_right, "each of many backtraces has its own frames");
	ok(registry.pool.total / COUNT < BYTES, "each of many backtraces takes few bytes");
	printf("# %u bytes each\n", (unsigned)(registry.pool.total / COUNT));
	registry_free(&registry);
}

static void limit_tests(void)
{
	struct registry registry;
	uint64_t frames[DEPTH];
	uint32_t i = 0;

	registry_init(&registry, 1 << 20);
	do
		fill(frames, i);
	while (registry_backtrace(&registry, frames, NULL, DEPTH) && ++i < COUNT);
	ok(i > 1000 && i < COUNT, "no more than the limit is taken");
	registry_free(&registry);
}

/* A call site is cached per process. If a mapping replaces another, the call's time selects one. */
static void space_tests(void)
{
	const struct trace_mapping low = { .from = 0x1000, .to = 0x2000, .path = "/a" };
	const struct trace_mapping high = { .from = 0x8000, .to = 0x9000, .path = "/b" };
	const struct trace_mapping late = {
		.from = 0x8000, .to = 0x9000, .path = "/c", .since = 10
	};
	static const uint64_t frames[] = { 0x8010, 0x1010 };
	struct registry registry, other;
	struct address_space space;
	const struct backtrace *backtrace;
	const struct trace_node *first, *second, *third;

	registry_init(&registry, 0);
	space_init(&space);
	backtrace = registry_backtrace(&registry, frames, NULL, 2);
	first = space_backtrace(&space, backtrace, 5);
	ok(first->address == 0x8010 && first->caller->address == 0x1010,
	   "what is not mapped keeps its address");
	if (space_map(&space, &low) || space_map(&space, &high))
		abort();
	first = space_backtrace(&space, backtrace, 5);
	ok(!strcmp(space_module_at(&space, first->address)->path, "/b"),
	   "a mapping that has come counts at once");
	if (space_map(&space, &late))
		abort();
	second = space_backtrace(&space, backtrace, 15);
	ok(!strcmp(space_module_at(&space, second->address)->path, "/c") &&
		   second->caller == first->caller,
	   "so does one in the place of another, for that frame");
	ok(space_backtrace(&space, backtrace, 5) == first,
	   "calls from before stay where they were");
	ok(space_frames(&space, frames, 2, 15) == second, "frames of no trace have the same place");
	space_rest(&space);
	ok(space_backtrace(&space, backtrace, 15) == second, "what was given back is made again");
	registry_init(&other, 0);
	third = space_backtrace(&space, registry_backtrace(&other, frames + 1, NULL, 1), 5);
	ok(third == first->caller && space_backtrace(&space, backtrace, 5) == first,
	   "frames of another trace are others, whatever their numbers");
	third = space_backtrace(&space, registry_backtrace(&other, frames, NULL, 1), 5);
	ok(third->address == first->address && third != first && third->caller == &trace_no_node,
	   "and need not lie where they do");
	registry_free(&other);
	space_free(&space);
	registry_free(&registry);
}

int main(void)
{
	tree_tests();
	find_tests();
	registry_tests();
	memory_tests();
	limit_tests();
	space_tests();
	return tap_end();
}
