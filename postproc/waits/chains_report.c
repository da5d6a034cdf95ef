/* SPDX-License-Identifier: MIT */
/*
 * The report on chains of waits: the call sites that caused waits, the longest chains, the critical
 * path of each process, and which call sites ended which waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/order.h"
#include "chains.h"
#include "lanes.h"
#include "postproc/report/report.h"

/*
 * The critical path of a process: speeding up code outside this path does not make the process
 * faster. The path is followed back in time, beginning with the thread of the last call. At a wait
 * with a known waker, it continues in the thread of the waker. The steps have no gaps, so they add
 * up to the total time. Only the last CRITICAL_WAITS waits of a process are stored; the path begins
 * after the waits that were overwritten.
 */

#define CRITICAL_WAITS (1u << 18)

enum critical_step {
	CRITICAL_RAN,	 /* the thread ran, as far as is known */
	CRITICAL_WAITED, /* the thread waited, and it is unknown which thread ended the wait */
	/* another thread had ended the wait, but the waiting thread did not run again yet */
	CRITICAL_WOKEN,
};

struct critical_part {
	enum critical_step step;
	uint32_t thread;
	uint64_t since_ns, until_ns;
	/*
	 * for CRITICAL_RAN: call site where the thread woke the next thread of the path; NULL: the
	 * thread ran to the end, or created the next thread. For other steps: call site of the wait
	 */
	const struct trace_node *backtrace;
	const char *function; /* for CRITICAL_WAITED: the function in which the thread waited */
};

struct critical {
	ARRAY_OF(struct lane_wait) waits; /* the last CRITICAL_WAITS waits, as a ring buffer */
	size_t next;			  /* number of overwritten waits */
	/* start of the first call and end of the last one; first_ns 0: there was no call */
	uint64_t first_ns, last_ns;
	uint32_t last_thread;
};

#define CALL_LEAST 10000u /* in ns: shorter waits of the kind LANE_OTHER are ignored */

#define CHAINS_SHOWN 20u /* number of chains that are shown without --top */

/* Sums of the waits with the same pair of call sites, in all processes. */
struct wakers {
	const struct trace_node *waiter, *waker;
	const char *function; /* the function in which the thread waited */
	enum lane_kind kind;
	bool is_first; /* the sums have only waits of first threads (tid is pid) */
	uint64_t count, ns, longest_ns;
};

struct step {
	enum critical_step step;
	uint32_t pid, thread;
	const char *function;
	const struct trace_node *backtrace;
	uint64_t count, ns, first_ns;
};

/* The waiting time that a call site caused. */
struct owed {
	const struct trace_node *backtrace;
	bool is_unseen;	 /* the call site of the holder is unknown */
	bool has_thread; /* the tid of the holder is known */
	bool is_cycle;	 /* the thread at the call site is in a cycle of waits */
	/* if the waker is unknown, the function that the waiter called; else NULL */
	const char *function;
	uint64_t waits, waited_ns, passed_ns, owed_ns;
};

struct chains_state {
	struct report_run *run;
	struct lanes lanes;
	struct chains chains;
	struct critical critical;
	uint32_t pid;
	/* copies of function names, because the names in waits are freed at the end of a process */
	struct pool names;
	/*
	 * key: see the enum below; value: number of a backtrace or thread, or index in `wakers`,
	 * `steps` or `owed`
	 */
	struct map index;
	ARRAY_OF(struct wakers) wakers; /* index 0 is unused */
	ARRAY_OF(struct step) steps;	/* index 0 is unused */
	ARRAY_OF(struct owed) owed;	/* index 0 is unused */
	/* at least one critical path does not reach the start of its process */
	bool is_partial;
};

/*
 * The kinds of keys in the index. Keys of OF_OWED, OF_STEP and OF_WAKERS are made of numbers of
 * backtraces and threads.
 */
enum { OF_BACKTRACE, OF_THREAD, OF_OWED, OF_STEP, OF_WAKERS = OF_STEP + 3 };

/* Returns the number of a key, which is a pointer or a pair of numbers. */
static uint32_t number_of(struct chains_state *state, uint32_t kind, uint64_t key)
{
	struct map_entry *entry = map_put(&state->index, kind, key);

	if (!entry->value)
		entry->value = (uint32_t)state->index.count;
	return entry->value;
}

/* ---- the walk ---- */

/* Sorts waits by thread, then by their end. */
ORDER_FUNCTION(compare, struct lane_wait,
	       ORDER(a->thread, b->thread) ?: ORDER(a->until_ns, b->until_ns))

/* Finds or adds the row for a part of the path. Returns its index. */
static uint32_t step_of(struct chains_state *state, const struct critical_part *part)
{
	uint64_t place = number_of(state, OF_BACKTRACE, (uintptr_t)part->backtrace);
	uint32_t thread = number_of(state, OF_THREAD, (uint64_t)state->pid << 32 | part->thread);
	uint32_t kind = OF_STEP + (uint32_t)part->step, number;
	struct step row = { .step = part->step,
			    .pid = state->pid,
			    .thread = part->thread,
			    .backtrace = part->backtrace };

	number = map_get(&state->index, kind, place << 32 | thread);
	if (number)
		return number;
	number = ARRAY_NUMBER(&state->steps);
	map_set(&state->index, kind, place << 32 | thread, number);
	row.function = pool_copy(&state->names, part->function);
	state->steps.items[number] = row;
	return number;
}

static void add_part(struct chains_state *state, const struct critical_part *part)
{
	uint32_t number = step_of(state, part);
	struct step *step = &state->steps.items[number];

	step->count++;
	step->ns += part->until_ns - part->since_ns;
	/* the path is followed backwards, so this is the earliest time so far */
	step->first_ns = part->since_ns;
}

struct walk {
	struct chains_state *state;
	/* the part in which the walk now is; its start is not known yet */
	struct critical_part ran;
};

/* Adds the part in which the thread ran, which began at since_ns. */
static void ran_since(struct walk *walk, uint64_t since_ns)
{
	walk->ran.since_ns = since_ns;
	if (since_ns < walk->ran.until_ns)
		add_part(walk->state, &walk->ran);
}

static void go_on(struct walk *walk, uint32_t thread, uint64_t until_ns,
		  const struct trace_node *backtrace)
{
	walk->ran = (struct critical_part){
		.step = CRITICAL_RAN, .thread = thread, .until_ns = until_ns, .backtrace = backtrace
	};
}

/*
 * Returns the time at which the waker ended the wait, or 0 if it is unknown. A joined thread is
 * assumed to end when the wait for it ends.
 */
static uint64_t woken_at(const struct lane_wait *wait)
{
	if (!wait->waker_thread || wait->waker_thread == wait->thread)
		return 0;
	if (wait->kind == LANE_JOIN)
		return wait->until_ns;
	return wait->woken_ns > wait->since_ns && wait->woken_ns <= wait->until_ns ? wait->woken_ns
										   : 0;
}

static void pass_wait(struct walk *walk, const struct lane_wait *wait)
{
	uint64_t woken_ns = woken_at(wait), first_ns = walk->state->critical.first_ns;
	struct critical_part part = { .step = woken_ns ? CRITICAL_WOKEN : CRITICAL_WAITED,
				      .thread = wait->thread,
				      .since_ns = woken_ns ? woken_ns : wait->since_ns,
				      .until_ns = wait->until_ns,
				      .backtrace = wait->waiter,
				      .function = wait->function };

	if (part.since_ns < first_ns)
		part.since_ns = first_ns;
	if (part.since_ns < part.until_ns)
		add_part(walk->state, &part);
	if (woken_ns)
		go_on(walk, wait->waker_thread, part.since_ns, wait->waker);
	else
		go_on(walk, wait->thread, part.since_ns, wait->waiter);
}

/*
 * Returns the thread that created the current thread, and sets *born_ns to the time of the
 * creation. Returns NULL if the creator is unknown, or the path does not include the creation.
 */
static const struct thread_life *maker_of(const struct walk *walk, uint64_t *born_ns)
{
	const struct threads *threads = &walk->state->lanes.threads;
	uint32_t number = map_get(&threads->by_number, 0, walk->ran.thread);
	const struct thread_life *life =
		number && number <= threads->list.count ? &threads->list.items[number - 1] : NULL;

	if (!life || life->creator >= threads->list.count ||
	    life->first_ns <= walk->state->critical.first_ns ||
	    life->first_ns >= walk->ran.until_ns)
		return NULL;
	*born_ns = life->first_ns;
	return &threads->list.items[life->creator];
}

/*
 * Goes back to the last wait of the current thread or, if there is none, to the thread that created
 * it. Returns false at the start of the path.
 */
static bool step_back(struct walk *walk)
{
	const struct critical *critical = &walk->state->critical;
	const struct lane_wait key = { .thread = walk->ran.thread, .until_ns = walk->ran.until_ns };
	size_t low = ARRAY_SEARCH(critical->waits.count, at,
				  compare(&critical->waits.items[at], &key) <= 0);
	/* the thread's last wait that ended no later than until_ns */
	const struct lane_wait *wait = low ? &critical->waits.items[low - 1] : NULL;
	const struct thread_life *maker;
	uint64_t born_ns;

	if (wait && wait->thread == key.thread && wait->until_ns > critical->first_ns) {
		ran_since(walk, wait->until_ns);
		pass_wait(walk, wait);
		return true;
	}
	maker = maker_of(walk, &born_ns);
	ran_since(walk, maker ? born_ns : critical->first_ns);
	if (maker)
		go_on(walk, maker->tid, born_ns, NULL);
	return maker;
}

/* Follows the path from its end, adds each part of it, and then removes all waits. */
static void critical_process(struct chains_state *state)
{
	struct critical *critical = &state->critical;
	struct walk walk = { .state = state };
	/* a limit on the loop: in a damaged trace, the walk may pass the same wait again */
	size_t steps = critical->waits.count + state->lanes.threads.list.count + 1;
	uint64_t first_ns = UINT64_MAX;

	/*
	 * if waits were overwritten in the ring buffer, the path begins at the end of the earliest
	 * remaining wait
	 */
	for (size_t i = 0; critical->next && i < critical->waits.count; i++)
		if (critical->waits.items[i].until_ns < first_ns)
			first_ns = critical->waits.items[i].until_ns;
	if (first_ns != UINT64_MAX && first_ns > critical->first_ns)
		critical->first_ns = first_ns;
	ARRAY_SORT(&critical->waits, compare);
	go_on(&walk, critical->last_thread, critical->last_ns, NULL);
	if (critical->waits.count && critical->first_ns) {
		while (steps && step_back(&walk))
			steps--;
		if (!steps)
			ran_since(&walk, critical->first_ns);
	}
	critical->waits.count = critical->next = 0;
	critical->first_ns = critical->last_ns = 0;
}

/* ---- waits ---- */

/*
 * Finds or adds the row for waits of the same kind and call sites. is_first: the row has only waits
 * of the first thread. Returns the index of the row.
 */
static uint32_t wakers_of(struct chains_state *state, const struct lane_wait *wait, bool is_first)
{
	uint64_t waiter = number_of(state, OF_BACKTRACE, (uintptr_t)wait->waiter);
	uint32_t waker = number_of(state, OF_BACKTRACE, (uintptr_t)wait->waker), number;
	uint32_t kind = OF_WAKERS + (uint32_t)wait->kind + (is_first ? LANE_KINDS : 0);
	struct wakers row = { .waiter = wait->waiter,
			      .waker = wait->waker,
			      .kind = wait->kind,
			      .is_first = is_first };

	number = map_get(&state->index, kind, waiter << 32 | waker);
	if (number)
		return number;
	number = ARRAY_NUMBER(&state->wakers);
	map_set(&state->index, kind, waiter << 32 | waker, number);
	row.function = pool_copy(&state->names, wait->function);
	state->wakers.items[number] = row;
	return number;
}

static void add_wait(struct chains_state *state, const struct lane_wait *wait, bool is_first)
{
	uint32_t number = wakers_of(state, wait, is_first);
	struct wakers *sum = &state->wakers.items[number];
	uint64_t ns = wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;

	sum->count++;
	sum->ns += ns;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
}

static void on_wait(void *user, const struct lane_wait *wait)
{
	struct chains_state *state = user;
	struct critical *critical = &state->critical;
	uint32_t pid = summary_current(state->run->summary)->pid;

	if (wait->kind != LANE_OTHER)
		add_wait(state, wait, false);
	if (state->run->options->is_of_set && wait->thread == pid)
		add_wait(state, wait, true);
	chains_add(&state->chains, wait, pid);
	if (wait->until_ns <= wait->since_ns ||
	    (wait->kind == LANE_OTHER && wait->until_ns - wait->since_ns < CALL_LEAST))
		return;
	if (critical->waits.count < CRITICAL_WAITS)
		*ARRAY_ADD(&critical->waits) = *wait;
	else
		critical->waits.items[critical->next++ % CRITICAL_WAITS] = *wait;
}

static void chains_report_event(void *user, const struct event *event)
{
	struct chains_state *state = user;
	struct critical *critical = &state->critical;
	uint64_t until_ns = event->leave_ns > event->enter_ns ? event->leave_ns : event->time_ns;

	if (!critical->first_ns || event->enter_ns < critical->first_ns)
		critical->first_ns = event->enter_ns ? event->enter_ns : event->time_ns;
	if (until_ns >= critical->last_ns) {
		critical->last_ns = until_ns;
		critical->last_thread = event->thread;
	}
	lanes_event(&state->lanes, event);
}

static void chains_report_note(void *user, const struct event *event)
{
	lanes_note(&((struct chains_state *)user)->lanes, event);
}

static void chains_report_process(void *user)
{
	struct chains_state *state = user;

	lanes_process(&state->lanes);
	state->pid = summary_current(state->run->summary)->pid;
	state->is_partial |= state->critical.next != 0;
	chains_process(&state->chains, state->pid);
	critical_process(state);
	lanes_clear(&state->lanes);
}

/* ---- tables ---- */

static struct owed *owed_to(struct chains_state *state, const struct chains_link *link)
{
	bool is_unseen = !link->waker && link->kind == LANE_LOCK;
	const struct trace_node *place = link->waker ? link->waker
					 : is_unseen ? NULL
						     : link->waiter;
	uint64_t number = number_of(state, OF_BACKTRACE, (uintptr_t)place);
	struct map_entry *entry = map_put(&state->index, OF_OWED, number);

	if (!entry->value) {
		entry->value = ARRAY_NUMBER(&state->owed);
		state->owed.items[entry->value].backtrace = place;
		state->owed.items[entry->value].is_unseen = is_unseen;
		state->owed.items[entry->value].function = link->waker ? NULL : link->function;
	}
	return &state->owed.items[entry->value];
}

static void put_owed(struct table *table, const struct owed *owed)
{
	struct table_cell *row = table_add(table);

	table_number(CELL(row, delayed_by, delay), owed->owed_ns);
	table_number(CELL(row, delayed_by, wait_time), owed->waited_ns);
	table_number(CELL(row, delayed_by, passed_on), owed->passed_ns);
	table_number(CELL(row, delayed_by, parts), owed->waits);
	table_backtrace(CELL(row, delayed_by, backtrace), owed->backtrace);
	if (owed->is_unseen)
		table_text(table, CELL(row, delayed_by, state),
			   owed->has_thread ? "held the lock, which it had locked by a call that "
					      "was not recorded"
					    : "the holder is unknown");
	else if (owed->is_cycle)
		table_text(table, CELL(row, delayed_by, state), "waited in a cycle");
	else if (owed->function)
		table_format(table, CELL(row, delayed_by, state), "waited in %s", owed->function);
	else
		table_text(table, CELL(row, delayed_by, state), "did not wait");
}

static int by_time(const void *left, const void *right)
{
	const struct chains_link *a = *(const struct chains_link *const *)left;
	const struct chains_link *b = *(const struct chains_link *const *)right;

	return ORDER(b->ns, a->ns);
}

/* Adds a row for each step of a chain, and a row for the thread at its end. */
static void put_chain(struct chains_state *state, struct table *table,
		      const struct chains_link *first, uint32_t rank)
{
	const struct chains_link *link = first, *last = first;
	struct human waited;
	char name[128];

	snprintf(name, sizeof(name), "%u. %s, %u threads of process %u", rank + 1,
		 human_time(&waited, first->ns), first->steps + 1, first->pid);
	for (uint32_t step = 0; link; step++) {
		struct table_cell *row = table_add(table);

		table_group(table, CELL(row, wait_chains, chain), name, rank);
		table_format(table, CELL(row, wait_chains, step), "%s %s",
			     step ? "that thread waits for a" : "waits for a",
			     lane_word(link->kind));
		if (!step) {
			table_number(CELL(row, wait_chains, wait_time), first->ns);
			table_number(CELL(row, wait_chains, longest), first->longest_ns);
			table_number(CELL(row, wait_chains, thread), first->thread);
		} else {
			table_backtrace(CELL(row, wait_chains, holder_backtrace), last->waker);
		}
		if (step == 1)
			table_number(CELL(row, wait_chains, thread), first->waker_thread);
		table_backtrace(CELL(row, wait_chains, backtrace), link->waiter);
		last = link;
		link = link->next ? &state->chains.links.items[link->next] : NULL;
	}
	if (last->waker) {
		struct table_cell *row = table_add(table);

		table_group(table, CELL(row, wait_chains, chain), name, rank);
		table_text(table, CELL(row, wait_chains, step),
			   last->is_cycle ? "that thread waits in the same cycle"
					  : "that thread does not wait");
		table_backtrace(CELL(row, wait_chains, holder_backtrace), last->waker);
	}
}

/*
 * Adds the chains with the longest waits. Leaves out chains with one step, which the table
 * lock_waits has.
 */
static void put_chains(struct chains_state *state, struct tables *tables)
{
	size_t top = state->run->options->top ? state->run->options->top : CHAINS_SHOWN, count = 0;
	const struct chains_link **order =
		memory_zalloc(state->chains.links.count + 1, sizeof(*order));
	struct table *table = NULL;

	for (size_t i = 1; i < state->chains.links.count; i++)
		if (state->chains.links.items[i].count &&
		    (state->chains.links.items[i].next || state->chains.links.items[i].is_cycle))
			order[count++] = &state->chains.links.items[i];
	if (count) {
		qsort(order, count, sizeof(*order), by_time);
		table = tables_begin(tables, TABLE_wait_chains);
	}
	for (size_t i = 0; i < count && i < top; i++)
		put_chain(state, table, order[i], (uint32_t)i);
	if (table && count > top)
		table->note = "Only the longest chains are shown.";
	free(order);
}

static void put_step(struct chains_state *state, struct table *table, const struct step *step)
{
	struct table_cell *row = table_add(table);

	if (step->step == CRITICAL_WAITED)
		table_format(table, CELL(row, critical_path, step), "waited in %s",
			     step->function ? step->function : "a call");
	else
		table_text(table, CELL(row, critical_path, step),
			   step->step == CRITICAL_WOKEN ? "was woken, but did not run yet"
			   : step->backtrace		? "ran, until"
							: "ran");
	table_number(CELL(row, critical_path, time), step->ns);
	table_number(CELL(row, critical_path, count), step->count);
	table_number(CELL(row, critical_path, first_time), report_time(state->run, step->first_ns));
	table_number(CELL(row, critical_path, pid), step->pid);
	table_number(CELL(row, critical_path, thread), step->thread);
	table_backtrace(CELL(row, critical_path, backtrace), step->backtrace);
}

static void put_wakers(const struct chains_state *state, struct tables *tables)
{
	struct table *table = tables_begin(tables, TABLE_wakers);
	struct table *ranks =
		state->run->options->is_of_set ? tables_begin(tables, TABLE_ranks) : NULL;

	for (size_t i = 1; i < state->wakers.count; i++) {
		const struct wakers *wakers = &state->wakers.items[i];
		struct table_cell *row = table_add(wakers->is_first ? ranks : table);

		if (wakers->is_first) {
			table_number(CELL(row, ranks, longest_sum), wakers->ns);
			table_text(ranks, CELL(row, ranks, function), wakers->function);
			table_backtrace(CELL(row, ranks, waker_backtrace), wakers->waker);
			table_backtrace(CELL(row, ranks, backtrace), wakers->waiter);
			continue;
		}
		table_text(table, CELL(row, wakers, object_kind), lane_word(wakers->kind));
		table_text(table, CELL(row, wakers, function), wakers->function);
		table_number(CELL(row, wakers, waits), wakers->count);
		table_number(CELL(row, wakers, wait_time), wakers->ns);
		table_number(CELL(row, wakers, longest), wakers->longest_ns);
		table_backtrace(CELL(row, wakers, waker_backtrace), wakers->waker);
		table_backtrace(CELL(row, wakers, backtrace), wakers->waiter);
	}
}

static void chains_report_end(void *user, struct tables *tables)
{
	struct chains_state *state = user;
	struct table *table = tables_begin(tables, TABLE_delayed_by);

	for (size_t i = 1; i < state->chains.links.count; i++) {
		const struct chains_link *link = &state->chains.links.items[i];
		const struct chains_link *end = chains_end(&state->chains, link);
		struct owed *owed = link->count ? owed_to(state, link) : NULL;

		if (!owed)
			continue;
		owed->waits += link->count;
		owed->has_thread |= link->waker_thread != 0;
		owed->waited_ns += link->ns;
		owed->passed_ns += link->next ? link->ns : 0;
		owed = owed_to(state, end);
		owed->owed_ns += link->ns;
		owed->is_cycle |= end->is_cycle;
	}
	for (size_t i = 1; i < state->owed.count; i++)
		put_owed(table, &state->owed.items[i]);
	if (state->chains.cut)
		table->note = "Some chains are incomplete: they are too long, or their first waits "
			      "are no longer stored.";
	put_chains(state, tables);
	if (state->steps.count) {
		table = tables_begin(tables, TABLE_critical_path);
		for (size_t i = 1; i < state->steps.count; i++)
			put_step(state, table, &state->steps.items[i]);
		if (state->is_partial)
			table->note = "The paths do not reach back to the start of the processes: "
				      "there were too many waits.";
	}
	put_wakers(state, tables);
}

/* ---- begin and end ---- */

static int chains_report_begin(void *user, struct report_run *run, struct error *err)
{
	struct chains_state *state = user;

	(void)err;
	lanes_begin(&state->lanes, run, &(struct lanes_listener){ .wait = on_wait, .user = state });
	return 0;
}

static void chains_report_destroy(void *user)
{
	struct chains_state *state = user;

	lanes_free(&state->lanes);
	chains_free(&state->chains);
	free(state->critical.waits.items);
	map_clear(&state->index);
	pool_free(&state->names);
	free(state->wakers.items);
	free(state->steps.items);
	free(state->owed.items);
}

const struct report report_chains = {
	.wants_summary = true,
	.state_size = sizeof(struct chains_state),
	.begin = chains_report_begin,
	.event = chains_report_event,
	.note = chains_report_note,
	.process = chains_report_process,
	.end = chains_report_end,
	.destroy = chains_report_destroy,
};
