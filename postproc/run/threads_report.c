/* SPDX-License-Identifier: MIT */
/*
 * The report on threads, as a tree: which thread created which, how long each thread lived and
 * waited, and how it ended. If many threads have the same creator, call site, name and end, they
 * share a row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/array.h"
#include "postproc/report/report.h"
#include "postproc/totals/threads.h"

#define ALIKE_MAX 6u  /* if more than this number of threads are similar, they share a row */
#define DEPTH_MAX 30u /* maximum indentation in the tree */

/* A row of the table: one thread, or several similar threads. */
struct line {
	const char *name, *fate;
	uint32_t pid, tid, depth;
	uint64_t count, start_ns, life_ns, events;
	uint64_t waited_ns[THREAD_WAITS];
	struct coverage_sum coverage;
	const struct trace_node *backtrace; /* NULL: the creation was not recorded */
};

/* The node of a thread in the tree of its process. */
struct node {
	/* the first child and the next sibling, in the order of creation; THREAD_NONE: none */
	uint32_t first, next;
	uint32_t last; /* last child */
	/*
	 * Similar siblings form a list. alike: its first node; next_alike: its next node. The first
	 * node also has the last node (last_alike) and the number of nodes (count).
	 */
	uint32_t alike, next_alike;
	uint32_t last_alike, count;
	const struct trace_node *backtrace;
	char fate[THREAD_CALL_SIZE + 16];
};

struct threads_state {
	struct report_run *run;
	struct threads threads;
	struct pool pool;
	struct node *nodes; /* nodes of the current process, indexed by thread */
	ARRAY_OF(struct line) lines;
	uint64_t forgotten; /* number of threads that were neither joined nor detached */
};

/* ---- one thread ---- */

/* ---- the tree of a process ---- */

struct alike_key {
	const struct threads_state *state;
	uint32_t parent, index;
};

/* Whether two threads are similar. The hash table has indices of threads plus 1, not pointers. */
static bool is_alike(const void *item, const void *key)
{
	const struct alike_key *wanted = key;
	uint32_t index = (uint32_t)((uintptr_t)item - 1);
	const struct node *one = &wanted->state->nodes[index];
	const struct node *two = &wanted->state->nodes[wanted->index];
	const struct thread_life *lives = wanted->state->threads.list.items;

	return lives[index].creator == wanted->parent && one->first == THREAD_NONE &&
	       two->first == THREAD_NONE && one->backtrace == two->backtrace &&
	       !strcmp(one->fate, two->fate) &&
	       !strcmp(lives[index].name, lives[wanted->index].name);
}

static void find_alike(struct threads_state *state, struct hash_table *table, uint32_t index)
{
	const struct thread_life *life = &state->threads.list.items[index];
	struct node *node = &state->nodes[index], *first;
	struct alike_key key = { state, life->creator, index };
	uint64_t hash = hash_bytes(table->seed ^ life->creator ^ (uintptr_t)node->backtrace,
				   life->name, strlen(life->name));
	void *found;

	if (node->first != THREAD_NONE)
		return;
	found = hash_table_find(table, hash, is_alike, &key);
	if (!found) {
		hash_table_add(table, hash, (void *)((uintptr_t)index + 1));
		return;
	}
	node->alike = (uint32_t)((uintptr_t)found - 1);
	first = &state->nodes[node->alike];
	state->nodes[first->last_alike].next_alike = index;
	first->last_alike = index;
	first->count++;
}

static void make_tree(struct threads_state *state)
{
	size_t count = state->threads.list.count;
	struct hash_table table;

	for (uint32_t i = 0; i < count; i++) {
		const struct thread_life *life = &state->threads.list.items[i];
		struct node *node = &state->nodes[i];
		bool is_forgotten;

		*node = (struct node){ .first = THREAD_NONE, .next = THREAD_NONE };
		node->alike = node->last_alike = i;
		node->next_alike = THREAD_NONE;
		node->count = 1;
		is_forgotten = life->backtrace && !life->is_joined && !life->is_detached;
		if (*life->open_call)
			snprintf(node->fate, sizeof(node->fate), "in %s", life->open_call);
		else
			snprintf(node->fate, sizeof(node->fate), "%s",
				 life->is_joined     ? "joined"
				 : life->is_detached ? "detached"
				 : is_forgotten	     ? "never joined"
						     : "");
		state->forgotten += is_forgotten;
		if (!life->backtrace)
			continue;
		node->backtrace =
			space_backtrace(&state->run->summary->space, life->backtrace, life->index);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t creator = state->threads.list.items[i].creator;
		struct node *parent = creator == THREAD_NONE ? NULL : &state->nodes[creator];

		if (!parent)
			continue;
		*(parent->first == THREAD_NONE ? &parent->first
					       : &state->nodes[parent->last].next) = i;
		parent->last = i;
	}
	hash_table_init(&table);
	for (uint32_t i = 0; i < count; i++)
		find_alike(state, &table, i);
	hash_table_free(&table);
}

/* ---- lines ---- */

static struct line *begin_line(struct threads_state *state, uint32_t index, uint32_t depth)
{
	const struct thread_life *life = &state->threads.list.items[index];
	const struct summary_process *process = summary_current(state->run->summary);
	const char *unnamed = life->is_first ? process->name : "(no name)";
	struct line *line = ARRAY_ADD(&state->lines);

	*line = (struct line){
		.name = pool_copy(&state->pool, *life->name ? life->name
						: unnamed   ? unnamed
							    : "?"),
		.fate = pool_copy(&state->pool, state->nodes[index].fate),
		.pid = process->pid,
		.tid = life->tid,
		.depth = depth < DEPTH_MAX ? depth : DEPTH_MAX,
		.start_ns = life->first_ns,
		.backtrace = state->nodes[index].backtrace,
	};
	return line;
}

static void add_to_line(const struct threads_state *state, struct line *line, uint32_t index)
{
	const struct thread_life *life = &state->threads.list.items[index];
	const struct summary_process *process = summary_current(state->run->summary);
	uint64_t end_ns = life->ended_ns		       ? life->ended_ns
			  : life->is_first || *life->open_call ? process->end_ns
							       : life->last_ns;
	struct coverage_sum coverage;

	line->count++;
	line->life_ns += end_ns > life->first_ns ? end_ns - life->first_ns : 0;
	line->events += life->events;
	for (int i = 0; i < THREAD_WAITS; i++)
		line->waited_ns[i] += life->waited_ns[i];
	coverage_of_thread(&state->run->summary->coverage, life->tid,
			   process->ended_ns ? process->ended_ns : process->end_ns, &coverage);
	coverage_add(&line->coverage, &coverage);
}

/*
 * Adds the row of a thread. If many threads are similar, the first one gets a row for all of them.
 */
static void tell(struct threads_state *state, uint32_t index, uint32_t depth)
{
	bool is_many = state->nodes[state->nodes[index].alike].count > ALIKE_MAX;
	struct line *line;

	if (is_many && state->nodes[index].alike != index)
		return;
	line = begin_line(state, index, depth);
	do {
		add_to_line(state, line, index);
		index = state->nodes[index].next_alike;
	} while (is_many && index != THREAD_NONE);
}

/*
 * Adds the rows of a thread and of all its descendants. This is not a recursive function, because
 * the depth of the tree is not limited.
 */
static void tell_tree(struct threads_state *state, uint32_t root)
{
	uint32_t depth = 0, index = root;

	for (;;) {
		tell(state, index, depth);
		if (state->nodes[index].first != THREAD_NONE) {
			index = state->nodes[index].first;
			depth++;
			continue;
		}
		while (index != root && state->nodes[index].next == THREAD_NONE) {
			index = state->threads.list.items[index].creator;
			depth--;
		}
		if (index == root)
			return;
		index = state->nodes[index].next;
	}
}

static void threads_report_process(void *user)
{
	struct threads_state *state = user;
	size_t count = state->threads.list.count;

	state->nodes = memory_zalloc(count + 1, sizeof(*state->nodes));
	make_tree(state);
	for (uint32_t i = 0; i < count; i++)
		if (state->threads.list.items[i].creator == THREAD_NONE)
			tell_tree(state, i);
	free(state->nodes);
	state->nodes = NULL;
	threads_clear(&state->threads);
}

/* ---- the table ---- */

static void put_waits(struct table *table, const struct line *line)
{
	struct table_cell *row;
	uint64_t sum = 0;

	for (int i = 0; i < THREAD_WAITS; i++)
		sum += line->waited_ns[i];
	if (!sum && !line->coverage.blocked && !line->coverage.unmeasured)
		return;
	row = table_add(table);
	table_text(table, CELL(row, thread_waits, thread), line->name);
	if (line->count == 1 && line->tid)
		table_number(CELL(row, thread_waits, tid), line->tid);
	table_percent(CELL(row, thread_waits, wait_share), sum, line->life_ns);
	for (int i = 0; i < THREAD_WAITS; i++)
		if (line->waited_ns[i])
			table_number(CELL(row, thread_waits, locks) + i, line->waited_ns[i]);
	table_number(CELL(row, thread_waits, blocked), line->coverage.blocked);
	table_number(CELL(row, thread_waits, other), line->coverage.other);
	table_number(CELL(row, thread_waits, unobserved), line->coverage.unobserved);
	table_number(CELL(row, thread_waits, unmeasured), line->coverage.unmeasured);
}

static void put_process(struct table *table, const struct summary_process *process)
{
	const struct coverage_sum *sum = &process->coverage;
	struct table_cell *row;

	if (!sum->ran && !sum->blocked && !sum->unmeasured)
		return;
	row = table_add(table);
	table_text(table, CELL(row, blocked_time, program), process->name);
	table_number(CELL(row, blocked_time, pid), process->pid);
	table_number(CELL(row, blocked_time, ran), sum->ran);
	table_number(CELL(row, blocked_time, queued), sum->queued);
	table_number(CELL(row, blocked_time, blocked), sum->blocked);
	table_number(CELL(row, blocked_time, recorded), sum->recorded);
	table_number(CELL(row, blocked_time, other), sum->other);
	table_number(CELL(row, blocked_time, unobserved), sum->unobserved);
	table_number(CELL(row, blocked_time, unmeasured), sum->unmeasured);
}

static void threads_report_end(void *user, struct tables *tables)
{
	struct threads_state *state = user;
	struct table *table = tables_begin(tables, TABLE_threads);
	struct table *waits = tables_begin(tables, TABLE_thread_waits);
	struct table *blocked = tables_begin(tables, TABLE_blocked_time);

	for (size_t i = 0; i < state->lines.count; i++) {
		const struct line *line = &state->lines.items[i];
		struct table_cell *row = table_add(table);

		table_format(table, CELL(row, threads, thread), "%*s%s", (int)line->depth * 2, "",
			     line->name);
		table_text(table, CELL(row, threads, end), line->fate);
		if (line->count > 1)
			table_number(CELL(row, threads, count), line->count);
		else
			table_count(CELL(row, threads, tid), line->tid);
		table_number(CELL(row, threads, pid), line->pid);
		table_number(CELL(row, threads, start), report_time(state->run, line->start_ns));
		table_number(CELL(row, threads, life), line->life_ns);
		table_number(CELL(row, threads, events), line->events);
		table_backtrace(CELL(row, threads, backtrace), line->backtrace);
		put_waits(waits, line);
	}
	for (size_t i = 0; i < state->run->summary->processes.count; i++)
		put_process(blocked, &state->run->summary->processes.items[i]);
	report_note_coverage(state->run, blocked);
	/* if there are no rows, no thread was measured, or filters removed some waits */
	blocked->is_unknown = true;
	if (state->forgotten)
		table_note(
			table,
			"%llu threads were neither joined nor detached: their memory is not freed",
			(unsigned long long)state->forgotten);
	report_note_samples(state->run, table, REPORT_SAMPLED_CALLS);
}

/* ---- begin and end ---- */

static void threads_report_event(void *user, const struct event *event)
{
	struct threads_state *state = user;

	threads_event(&state->threads, event);
}

static void threads_report_note(void *user, const struct event *event)
{
	struct threads_state *state = user;

	threads_note(&state->threads, event);
}

static void threads_report_destroy(void *user)
{
	struct threads_state *state = user;

	threads_clear(&state->threads);
	free(state->lines.items);
	pool_free(&state->pool);
}

static int threads_report_begin(void *user, struct report_run *run, struct error *err)
{
	struct threads_state *state = user;

	(void)run;
	(void)err;
	threads_init(&state->threads);
	return 0;
}

const struct report report_threads = {
	.wants_summary = true,
	.state_size = sizeof(struct threads_state),
	.begin = threads_report_begin,
	.event = threads_report_event,
	.note = threads_report_note,
	.process = threads_report_process,
	.end = threads_report_end,
	.destroy = threads_report_destroy,
};
