/* SPDX-License-Identifier: MIT */
/*
 * The report on nested calls: which hooked functions were called inside which other hooked
 * functions. Merges the calls of all threads that have the same path. Calls that may be nested or
 * may enclose others are sorted by time of entry in a temporary file, which takes 96 bytes for each
 * of these calls. Memory use grows with the number of distinct paths.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "postproc/memory/branches.h"
#include "calltree.h"
#include "naming/paths.h"
#include "postproc/report/report.h"

/* Sums of calls. timed: the number of calls with a known duration. */
struct calls_sum {
	uint64_t count, timed, total_ns, min_ns, max_ns;
};

/* The sums of all calls with the same path (the enclosing hooked calls and the call itself). */
struct calls {
	struct calls_sum tally;
	/* threads: number of threads; last_thread: the thread that was counted last */
	uint64_t threads, last_thread;
	uint64_t id;	/* number of the path's row, from 1 */
	uint32_t depth; /* number of ancestors of that row */
};

/*
 * A thread. Most calls are not nested and enclose no other call; the report counts these
 * immediately and never sorts them. A call recorded at its return encloses no call, unless a nested
 * call was recorded before it. A call recorded at its entry may still enclose others, so it is
 * stored in `waiting` until the thread's next event.
 */
struct thread {
	struct thread *next; /* the next thread in the order of appearance */
	uint64_t handle;     /* the handle that calltree_next_thread() returns */
	uint64_t number;
	/* number of the newest call that was counted immediately; its further events are ignored */
	uint64_t counted;
	uint64_t in_tree; /* number of the newest call with an event in the tree */
	/* the next outermost call may enclose nested calls that are already recorded */
	bool has_nested;
	bool has_waiting;
	struct event waiting;
	/* calls that were counted immediately, indexed by number of the function */
	ARRAY_OF(struct calls_sum) alone;
};

/* The next `count` nodes that calltree_next() returns are children of `parent`. */
struct wave {
	struct branch *parent;
	uint64_t count;
};

struct calls_state {
	struct report_run *run;
	struct paths paths;
	struct branches branches;
	struct error failure; /* first error of the temporary files */
	bool is_open;	      /* `tree` is initialised: some calls may be nested */
	struct calltree tree;
	struct {
		/* indexed by a function's id in the trace: its number in `paths` + 1; 0: unknown */
		uint32_t *items;
		size_t count, capacity;
	} functions;
	struct {
		struct wave *items;
		size_t count, capacity, first;
	} waves;
	struct pool pool;	       /* memory of struct thread */
	struct hash_table threads;     /* threads of the current process; key: handle */
	struct thread *first, *newest; /* the same threads as a list, in order of appearance */
	struct thread *last;	       /* the thread that was looked up last, or NULL */
	uint64_t thread_count, timed;
};

static int call_tree_report_begin(void *user, struct report_run *run, struct error *err)
{
	struct calls_state *state = user;

	(void)err;
	branches_init(&state->branches);
	hash_table_init(&state->threads);
	paths_init(&state->paths, run->naming);
	return 0;
}

/* ---- counting ---- */

static void count_call(struct calls_sum *tally, uint64_t ns)
{
	tally->count++;
	if (!ns)
		return;
	if (!tally->timed || ns < tally->min_ns)
		tally->min_ns = ns;
	if (ns > tally->max_ns)
		tally->max_ns = ns;
	tally->timed++;
	tally->total_ns += ns;
}

/* Adds calls of a thread. All calls of a thread must be added before those of the next thread. */
static struct branch *add_calls(struct calls_state *state, struct branch *parent, uint32_t function,
				const struct calls_sum *tally, uint64_t thread)
{
	struct branch *branch =
		branches_child(&state->branches, parent, state->paths.list.items[function]);
	struct calls *calls;

	if (!branch->user)
		branch->user = pool_zalloc(&state->branches.pool, sizeof(struct calls));
	calls = branch->user;
	if (tally->timed && (!calls->tally.timed || tally->min_ns < calls->tally.min_ns))
		calls->tally.min_ns = tally->min_ns;
	if (tally->max_ns > calls->tally.max_ns)
		calls->tally.max_ns = tally->max_ns;
	calls->tally.count += tally->count;
	calls->tally.timed += tally->timed;
	calls->tally.total_ns += tally->total_ns;
	calls->threads += calls->last_thread != thread;
	calls->last_thread = thread;
	state->timed += tally->timed;
	branches_add(branch, tally->count, 0);
	return branch;
}

/* ---- events ---- */

static uint64_t duration_of(const struct event *event)
{
	return event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
}

static bool is_thread(const void *item, const void *key)
{
	return ((const struct thread *)item)->handle == *(const uint64_t *)key;
}

static struct thread *thread_of(struct calls_state *state, uint64_t handle)
{
	uint64_t hash = hash_two(state->threads.seed, handle, 0);
	struct thread *thread = hash_table_find(&state->threads, hash, is_thread, &handle);

	if (thread)
		return state->last = thread;
	thread = pool_zalloc(&state->pool, sizeof(*thread));
	hash_table_add(&state->threads, hash, thread);
	thread->handle = handle;
	thread->number = ++state->thread_count;
	*(state->newest ? &state->newest->next : &state->first) = thread;
	state->newest = thread;
	return state->last = thread;
}

/* Returns the number of the function in state->paths, + 1. */
static uint32_t number_of(struct calls_state *state, const struct function *function)
{
	uint32_t *number = ARRAY_AT(&state->functions, function->id);
	const struct path_function *known;

	if (*number)
		return *number;
	known = paths_function(&state->paths, function->name);
	return *number = known->number + 1;
}

static void count_alone(struct calls_state *state, struct thread *thread, const struct event *event)
{
	uint32_t number = number_of(state, event->function);

	count_call(ARRAY_AT(&thread->alone, number - 1), duration_of(event));
	thread->counted = event->call;
}

static void put_in_tree(struct calls_state *state, struct thread *thread, const struct event *event)
{
	uint64_t extra[2] = { duration_of(event) };
	uint32_t number = number_of(state, event->function);

	if (!state->is_open)
		calltree_init(&state->tree, SPILL_TMPDIR);
	state->is_open = true;
	thread->in_tree = event->call;
	calltree_add(&state->tree, event, number - 1, 0, extra);
}

/* Processes an outermost call that has a single, complete event. */
static void on_outer(struct calls_state *state, struct thread *thread, const struct event *event)
{
	bool has_nested = thread->has_nested || thread->in_tree == event->call;

	thread->has_nested = false;
	if (thread->has_waiting)
		count_alone(state, thread, &thread->waiting);
	thread->has_waiting = false;
	if (has_nested) {
		put_in_tree(state, thread, event);
	} else if (event->moment == MOMENT_ENTER) {
		thread->waiting = *event;
		thread->has_waiting = true;
	} else {
		count_alone(state, thread, event);
	}
}

static void on_event(void *user, const struct event *event)
{
	struct calls_state *state = user;
	uint64_t handle = event->pthread ? event->pthread : event->thread;
	struct thread *thread = state->last && state->last->handle == handle
					? state->last
					: thread_of(state, handle);
	bool is_part = event->part || event->moment == MOMENT_HALF;

	/* traces of other tracers have no depths */
	if (!event->has_tail) {
		count_alone(state, thread, event);
	} else if (is_part && thread->counted == event->call) {
		return;
	} else if (is_part || event->depth || event->flags & (CALL_OPEN | CALL_UNWOUND)) {
		/* the call is or may be nested in `waiting`: put both calls into the tree */
		if (thread->has_waiting)
			put_in_tree(state, thread, &thread->waiting);
		thread->has_waiting = false;
		thread->has_nested = true;
		put_in_tree(state, thread, event);
	} else {
		on_outer(state, thread, event);
	}
}

/* ---- merging the trees of threads ---- */

static void expect(struct calls_state *state, struct branch *parent, uint64_t children)
{
	size_t count = state->waves.count, first = state->waves.first;
	struct wave *wave = count > first ? &state->waves.items[count - 1] : NULL;

	if (!children)
		return;
	if (wave && wave->parent == parent) {
		wave->count += children;
		return;
	}
	/* remove the processed part of the queue once it is at least half of the queue */
	if (first >= 1024 && first >= count / 2) {
		state->waves.count -= first;
		memmove(state->waves.items, state->waves.items + first,
			state->waves.count * sizeof(*state->waves.items));
		state->waves.first = 0;
	}
	*ARRAY_ADD(&state->waves) = (struct wave){ parent, children };
}

/* Counts a node. Nodes come level by level, so the node's parent is at the head of the queue. */
static void call_tree_report_take(struct calls_state *state, const struct calltree_node *node,
				  uint64_t thread)
{
	struct calls_sum tally = { 0 };
	struct branch *branch;
	struct wave *wave;

	while (state->waves.first < state->waves.count &&
	       !state->waves.items[state->waves.first].count)
		state->waves.first++;
	if (state->waves.first == state->waves.count)
		return;
	wave = &state->waves.items[state->waves.first];
	wave->count--;
	count_call(&tally, node->extra[0]);
	branch = add_calls(state, wave->parent, node->symbol, &tally, thread);
	expect(state, branch, node->children);
}

/* Adds the thread's calls that were counted immediately, and clears these counts. */
static void fold_alone(struct calls_state *state, struct thread *thread)
{
	if (thread->has_waiting)
		count_alone(state, thread, &thread->waiting);
	thread->has_waiting = false;
	for (size_t i = 0; i < thread->alone.count; i++)
		if (thread->alone.items[i].count)
			add_calls(state, NULL, (uint32_t)i, &thread->alone.items[i],
				  thread->number);
	thread->alone.count = 0;
}

static int fold_tree(struct calls_state *state, struct error *err)
{
	uint64_t handle, children;
	struct calltree_node node;
	int rc = calltree_finish(&state->tree, err);

	while (rc == 0 && (rc = calltree_next_thread(&state->tree, &handle, &children, err)) > 0) {
		struct thread *thread = thread_of(state, handle);

		state->waves.count = state->waves.first = 0;
		fold_alone(state, thread);
		expect(state, NULL, children);
		while ((rc = calltree_next(&state->tree, &node, err)) > 0)
			call_tree_report_take(state, &node, thread->number);
	}
	calltree_free(&state->tree);
	state->is_open = false;
	return rc;
}

/* Adds the remaining counts of the process's threads, and frees the threads. */
static void forget_threads(struct calls_state *state)
{
	for (struct thread *thread = state->first; thread; thread = thread->next) {
		fold_alone(state, thread);
		free(thread->alone.items);
	}
	hash_table_free(&state->threads);
	hash_table_init(&state->threads);
	pool_reset(&state->pool);
	state->last = state->first = state->newest = NULL;
}

static void call_tree_report_process(void *user)
{
	struct calls_state *state = user;

	if (state->is_open && !state->failure.number)
		fold_tree(state, &state->failure);
	forget_threads(state);
	state->functions.count = 0;
}

/* ---- the table ---- */

static void call_tree_report_put(struct table *table, struct branch *branch)
{
	struct calls *calls = branch->user;
	const struct calls *parent = branch->parent->user;
	struct table_cell *row = table_add(table);

	calls->id = table->rows.count;
	calls->depth = parent ? parent->depth + 1 : 0;
	table_number(CELL(row, call_tree, id), calls->id);
	if (parent)
		table_number(CELL(row, call_tree, parent), parent->id);
	table_number(CELL(row, call_tree, count), calls->tally.count);
	table_number(CELL(row, call_tree, threads), calls->threads);
	if (calls->tally.timed) {
		table_number(CELL(row, call_tree, total), calls->tally.total_ns);
		table_number(CELL(row, call_tree, average),
			     calls->tally.total_ns / calls->tally.timed);
		table_number(CELL(row, call_tree, shortest), calls->tally.min_ns);
		table_number(CELL(row, call_tree, longest), calls->tally.max_ns);
	}
	branches_cell(table, CELL(row, call_tree, function), branch, branch, calls->depth, false);
}

/* Sets the note, which says how many calls have no duration. */
static void put_note(const struct calls_state *state, struct table *table)
{
	uint64_t all = state->branches.root.total, left_out = state->branches.left_out;
	char more[64] = "";

	if (left_out)
		snprintf(more, sizeof(more),
			 "; %" PRIu64 " rarer paths are not shown (use --top=0)", left_out);
	if (state->timed < all)
		table_note(table,
			   "%" PRIu64 " of %" PRIu64
			   " calls have no duration: with --detail=durations, the durations of "
			   "calls that cannot wait are recorded, too%s",
			   all - state->timed, all, more);
	else
		table_note(table, "all calls have a duration%s", more);
	report_note_samples(state->run, table, REPORT_SAMPLED_CALLS);
}

static void call_tree_report_end(void *user, struct tables *tables)
{
	struct calls_state *state = user;
	struct table *table = tables_begin(tables, TABLE_call_tree);
	struct branch *branch = NULL;

	if (state->failure.number)
		tables->failure = state->failure;
	branches_finish(&state->branches, state->run->options->top);
	while ((branch = branches_next(&state->branches, branch)) != NULL)
		call_tree_report_put(table, branch);
	put_note(state, table);
}

static void call_tree_report_destroy(void *user)
{
	struct calls_state *state = user;

	if (state->is_open)
		calltree_free(&state->tree);
	forget_threads(state);
	pool_free(&state->pool);
	hash_table_free(&state->threads);
	free(state->functions.items);
	free(state->waves.items);
	branches_free(&state->branches);
	paths_free(&state->paths);
}

const struct report report_call_tree = {
	.state_size = sizeof(struct calls_state),
	.begin = call_tree_report_begin,
	.event = on_event,
	.process = call_tree_report_process,
	.end = call_tree_report_end,
	.destroy = call_tree_report_destroy,
};
