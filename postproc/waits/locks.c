/* SPDX-License-Identifier: MIT */
/*
 * The report on locks: where threads wait, which threads hold the locks, and which locks can
 * deadlock. The summary's struct locks (`view`) has the locks of the current process; this file
 * adds up its sums over all processes, by call site.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "hook_table.h"
#include "postproc/report/report.h"
#include "waits/locks.h"

/* Sums of a call site that acquires locks, over all processes. */
struct place {
	const struct trace_node *backtrace;
	uint8_t way;
	struct locks_times times;
	/* the following members describe the longest hold */
	uint64_t since_ns, object;
	uint32_t pid, thread;
	/* call site of the release; NULL: the lock was never released */
	const struct trace_node *released;
	/* number and times of destroyed locks whose first acquisition was at this call site */
	uint64_t gone;
	bool gone_are_rwlocks;
	struct locks_times gone_times[2];
};

struct pair {
	uint32_t waiter, holder; /* indices in `places`; holder 0: unknown */
	struct locks_pair sum;
	uint32_t pid;
};

/* A lock that was not destroyed before its process ended. */
struct lock {
	uint32_t pid, born; /* born: index of the place where the lock was first acquired */
	uint64_t object;
	bool is_rwlock;
	struct locks_times times[2];
};

struct cycle {
	struct lock_order_cycle facts;
	uint32_t pid;
	const struct trace_node *from[LOCK_ORDER_STEPS], *to[LOCK_ORDER_STEPS];
};

/*
 * A misuse: a thread released a mutex or spin lock that another thread or no thread held. The call
 * may have failed with EPERM. Reader-writer locks are not checked, because several threads may hold
 * one at a time. Misuses with the same call sites share an entry, even in different processes.
 */
struct unlock {
	uint64_t count;
	/* the following members describe the first misuse of the entry */
	uint64_t object, time_ns;
	uint32_t pid, thread, holder; /* holder 0: no thread held the lock */
	/* call sites of the acquisition (NULL: no thread held the lock) and of the release */
	const struct trace_node *taken, *given;
};

struct locks_state {
	struct report_run *run;
	struct locks *view; /* the locks of the summary */
	ARRAY_OF(struct unlock) unlocks;
	/* key: backtrace, or pair of places; value: number of the place or pair */
	struct map index;
	ARRAY_OF(struct place) places; /* index 0 is unused */
	ARRAY_OF(struct pair) pairs;   /* index 0 is unused */
	ARRAY_OF(struct lock) locks;
	ARRAY_OF(struct cycle) cycles;
	uint64_t cycles_left_out;
};

enum { OF_PAIR = LOCKS_WAYS };

/* ---- locks released by another thread ---- */

/* Whether several threads may hold the object at a time, so that any thread may release it. */
static bool is_shared(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return hook && hook->how == HOW_RW_UNLOCKS;
}

static void add_unlock(struct locks_state *state, const struct event *event,
		       const struct ledger_item *held)
{
	const struct site *site =
		held ? sites_at(ledger_sites(state->run->ledger), held->site) : NULL;
	struct unlock wanted = {
		.count = 1,
		.object = event->object,
		.time_ns = event->time_ns,
		.pid = event->process->pid,
		.thread = event->thread,
		.holder = held ? ledger_thread(state->run->ledger, held->thread) : 0,
		.given = report_caller(state->run, event),
		.taken = site ? report_site(state->run, site) : NULL,
	};
	struct unlock *unlock;

	for (size_t i = 0; i < state->unlocks.count; i++) {
		unlock = &state->unlocks.items[i];
		if (unlock->taken == wanted.taken && unlock->given == wanted.given) {
			unlock->count++;
			return;
		}
	}
	unlock = ARRAY_ADD(&state->unlocks);
	*unlock = wanted;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct locks_state *state = user;

	/*
	 * check only unlock calls. A wait for a condition also releases a mutex, but fails if the
	 * thread does not hold the mutex
	 */
	if (move->is_acquisition || move->item->thread == move->thread ||
	    move->event->operation != OPERATION_RELEASE || move->event->flags & CALL_OF_CHILD ||
	    is_shared(move->event))
		return;
	add_unlock(state, move->event, move->item);
}

static void on_event(void *user, const struct event *event)
{
	struct locks_state *state = user;
	const struct hook *hook = event->function->hook;

	if (!(event->flags & CALL_FAILED) || event->operation != OPERATION_RELEASE || !hook ||
	    hook->resource != RESOURCE_LOCK || event->flags & CALL_OF_CHILD || is_shared(event))
		return;
	add_unlock(state, event, ledger_find(state->run->ledger, RESOURCE_LOCK, event->object));
}

/* ---- a process ends ---- */

static const struct trace_node *backtrace_of(struct locks_state *state, uint32_t index)
{
	const struct site *site = sites_at(&state->view->sites, index);

	return report_site(state->run, site);
}

/* Finds or adds the place (sums over all processes) of a site. Invalidates pointers to places. */
static uint32_t place_of(struct locks_state *state, uint32_t site)
{
	const struct trace_node *backtrace = backtrace_of(state, site);
	uint8_t way = sites_at(&state->view->sites, site)->class;
	uint32_t number = map_get(&state->index, way, (uintptr_t)backtrace);

	if (number)
		return number;
	number = ARRAY_NUMBER(&state->places);
	map_set(&state->index, way, (uintptr_t)backtrace, number);
	state->places.items[number] = (struct place){ .backtrace = backtrace, .way = way };
	return number;
}

/*
 * Whether calls used the lock. `contended` must be tested, too: it also counts calls that waited
 * but have not returned.
 */
static bool was_used(const struct locks_times *times)
{
	return times->taken || times->contended || times->refused || times->holds;
}

static void close_site(struct locks_state *state, uint32_t index)
{
	const struct locks_site *site = locks_site(state->view, index);
	struct place *place;
	uint32_t number;

	if (!was_used(&site->times))
		return;
	number = place_of(state, index);
	place = &state->places.items[number];
	if (site->times.holds &&
	    (!place->times.holds || site->times.longest_hold_ns > place->times.longest_hold_ns)) {
		place->since_ns = site->since_ns;
		place->object = site->object;
		place->thread = site->thread;
		place->pid = summary_current(state->run->summary)->pid;
		place->released = site->released ? backtrace_of(state, site->released) : NULL;
	}
	locks_add_times(&place->times, &site->times);
	place->gone += site->gone;
	place->gone_are_rwlocks |= place->way == LOCKS_READ || place->way == LOCKS_WRITE;
	for (unsigned i = 0; i < 2; i++)
		locks_add_times(&place->gone_times[i], &site->gone_times[i]);
}

static void close_pair(struct locks_state *state, const struct locks_pair *of_process)
{
	uint32_t waiter = place_of(state, of_process->waiter);
	uint32_t holder = of_process->holder ? place_of(state, of_process->holder) : 0;
	struct map_entry *entry = map_put(&state->index, OF_PAIR, (uint64_t)waiter << 32 | holder);
	struct locks_pair sum = *of_process;
	struct pair *pair;

	if (!entry->value) {
		entry->value = ARRAY_NUMBER(&state->pairs);
		state->pairs.items[entry->value] =
			(struct pair){ .waiter = waiter, .holder = holder };
	}
	pair = &state->pairs.items[entry->value];
	sum.count += pair->sum.count;
	sum.ns += pair->sum.ns;
	if (!pair->sum.count || of_process->longest_ns > pair->sum.longest_ns) {
		pair->sum = sum;
		pair->pid = summary_current(state->run->summary)->pid;
	}
	pair->sum.count = sum.count;
	pair->sum.ns = sum.ns;
}

static void locks_report_process(void *user)
{
	struct locks_state *state = user;
	const struct locks *view = state->view;
	const struct summary_process *current = summary_current(state->run->summary);

	locks_finish(state->view, current->end_ns);
	for (size_t i = 1; i < view->stats.count; i++)
		close_site(state, (uint32_t)i);
	for (size_t i = 1; i < view->pairs.count; i++)
		close_pair(state, &view->pairs.items[i]);
	for (size_t i = 1; i < view->locks.count; i++) {
		const struct locks_lock *lock = &view->locks.items[i];

		if (lock->serial && lock->born)
			*ARRAY_ADD(&state->locks) =
				(struct lock){ .pid = current->pid,
					       .born = place_of(state, lock->born),
					       .object = lock->object,
					       .is_rwlock = lock->is_rwlock,
					       .times = { lock->times[0], lock->times[1] } };
	}
	for (size_t i = 0; i < view->order.cycles.count; i++) {
		const struct lock_order_cycle *facts = &view->order.cycles.items[i];
		struct cycle *cycle = ARRAY_ADD(&state->cycles);

		*cycle = (struct cycle){ .facts = *facts, .pid = current->pid };
		for (unsigned step = 0; step < facts->count; step++) {
			cycle->from[step] = backtrace_of(state, facts->steps[step].from_site);
			cycle->to[step] = backtrace_of(state, facts->steps[step].to_site);
		}
	}
	state->cycles_left_out += view->order.cycles_left_out;
}

/* ---- tables ---- */

static void put_blocked(struct locks_state *state, struct tables *tables)
{
	const struct summary *run = state->run->summary;
	struct table *table = NULL;

	for (size_t i = 0; i < run->blocked.count; i++) {
		const struct summary_blocked *blocked = &run->blocked.items[i];
		struct table_cell *row;

		if (blocked->resource != RESOURCE_LOCK && !blocked->is_deadlock &&
		    !blocked->is_hung)
			continue;
		table = tables_begin(tables, TABLE_blocked_at_exit);
		row = table_add(table);
		table_text(table, CELL(row, blocked_at_exit, state),
			   blocked->is_deadlock ? "deadlock"
			   : blocked->is_hung	? "hangs"
						: "waits");
		table_number(CELL(row, blocked_at_exit, pid), blocked->pid);
		table_number(CELL(row, blocked_at_exit, thread), blocked->thread);
		table_number(CELL(row, blocked_at_exit, threads), blocked->threads);
		table_number(CELL(row, blocked_at_exit, object), blocked->object);
		table_number(CELL(row, blocked_at_exit, wait_time), blocked->longest_ns);
		if (blocked->has_holder) {
			table_number(CELL(row, blocked_at_exit, holder), blocked->holder);
			table_backtrace(CELL(row, blocked_at_exit, holder_backtrace),
					blocked->holder_backtrace);
		}
		table_backtrace(CELL(row, blocked_at_exit, backtrace), blocked->backtrace);
	}
	if (table && run->deadlocked)
		table->facts.title = "DEADLOCK: these threads wait for each other";
}

static void put_cycle(struct table *table, const struct cycle *cycle, uint32_t rank)
{
	const char *how =
		cycle->facts.count == 2 ? "2 locks locked in both orders" : "locks in a cycle";
	const char *who = cycle->facts.is_one_thread ? "by one thread" : "by different threads";
	char name[128];

	snprintf(name, sizeof(name), "%u. %s %s of process %u", rank + 1, how, who, cycle->pid);
	for (unsigned i = 0; i < cycle->facts.count; i++) {
		const struct lock_order_step *step = &cycle->facts.steps[i];
		struct table_cell *row = table_add(table);

		table_group(table, CELL(row, lock_cycles, cycle), name, rank);
		table_number(CELL(row, lock_cycles, thread), step->thread);
		table_number(CELL(row, lock_cycles, holds), step->from_object);
		table_number(CELL(row, lock_cycles, locks), step->to_object);
		table_number(CELL(row, lock_cycles, count), step->count);
		table_backtrace(CELL(row, lock_cycles, first_backtrace), cycle->from[i]);
		table_backtrace(CELL(row, lock_cycles, second_backtrace), cycle->to[i]);
	}
}

/*
 * Adds the cycles of several threads, then those of one thread; in each group the shortest cycles
 * come first.
 */
static void put_cycles(struct locks_state *state, struct tables *tables)
{
	struct table *table = state->cycles.count ? tables_begin(tables, TABLE_lock_cycles) : NULL;
	uint32_t rank = 0;

	for (unsigned alone = 0; alone < 2; alone++)
		for (unsigned length = 2; length <= LOCK_ORDER_STEPS; length++)
			for (size_t i = 0; i < state->cycles.count; i++) {
				const struct cycle *cycle = &state->cycles.items[i];

				if (cycle->facts.is_one_thread == alone &&
				    cycle->facts.count == length)
					put_cycle(table, cycle, rank++);
			}
	if (table && state->cycles_left_out)
		table->note = "There are more cycles; only the first ones are shown.";
}

static void put_unlocks(struct locks_state *state, struct tables *tables)
{
	struct table *table = state->unlocks.count ? tables_begin(tables, TABLE_bad_unlocks) : NULL;

	for (size_t i = 0; i < state->unlocks.count; i++) {
		const struct unlock *unlock = &state->unlocks.items[i];
		struct table_cell *row = table_add(table);

		table_number(CELL(row, bad_unlocks, count), unlock->count);
		table_number(CELL(row, bad_unlocks, object), unlock->object);
		table_number(CELL(row, bad_unlocks, pid), unlock->pid);
		table_number(CELL(row, bad_unlocks, thread), unlock->thread);
		table_count(CELL(row, bad_unlocks, holder), unlock->holder);
		table_number(CELL(row, bad_unlocks, time),
			     report_time(state->run, unlock->time_ns));
		table_backtrace(CELL(row, bad_unlocks, holder_backtrace), unlock->taken);
		table_backtrace(CELL(row, bad_unlocks, backtrace), unlock->given);
	}
}

static void put_pair(struct locks_state *state, struct table *table, const struct pair *pair)
{
	const struct place *waiter = &state->places.items[pair->waiter];
	const struct locks_pair *sum = &pair->sum;
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, lock_waits, mode), locks_way_name(waiter->way));
	table_number(CELL(row, lock_waits, waits), sum->count);
	table_number(CELL(row, lock_waits, wait_time), sum->ns);
	table_average(CELL(row, lock_waits, average), sum->ns, sum->count);
	table_number(CELL(row, lock_waits, longest_wait), sum->longest_ns);
	table_number(CELL(row, lock_waits, time), report_time(state->run, sum->since_ns));
	table_number(CELL(row, lock_waits, object), sum->object);
	table_backtrace(CELL(row, lock_waits, backtrace), waiter->backtrace);
	if (!pair->holder && !sum->holder_thread) {
		table_format(table, CELL(row, lock_waits, longest_threads),
			     "thread %u waited; the holder is unknown", sum->waiter_thread);
		return;
	}
	if (!pair->holder) { /* with --locks=contended, only the tid of the holder is known */
		table_format(table, CELL(row, lock_waits, longest_threads),
			     "thread %u waited for thread %u, which had locked it by a call that "
			     "was not recorded",
			     sum->waiter_thread, sum->holder_thread);
		return;
	}
	table_backtrace(CELL(row, lock_waits, holder_backtrace),
			state->places.items[pair->holder].backtrace);
	table_format(table, CELL(row, lock_waits, longest_threads),
		     "thread %u waited while thread %u held it", sum->waiter_thread,
		     sum->holder_thread);
}

/*
 * Fills the columns that the tables `locks` and `lock_sites` share. taken: the cell of the first
 * shared column, "locked".
 */
static void put_times(struct table_cell *taken, const struct locks_times *times)
{
	struct table_cell *row = taken - (COLUMN_locks_locked - FIRST_locks);

	_Static_assert(COLUMN_locks_longest_hold - COLUMN_locks_locked ==
			       COLUMN_lock_sites_longest_hold - COLUMN_lock_sites_locked,
		       "locks and lock_sites must have the same columns");
	table_number(CELL(row, locks, locked), times->taken);
	table_number(CELL(row, locks, waits), times->contended);
	table_count(CELL(row, locks, busy), times->refused);
	table_number(CELL(row, locks, wait_time), times->waited_ns);
	if (times->contended) {
		table_number(CELL(row, locks, average_wait_ns),
			     times->waited_ns / times->contended);
		table_number(CELL(row, locks, longest_wait), times->longest_wait_ns);
	}
	table_number(CELL(row, locks, hold_time), times->held_ns);
	if (times->holds) {
		table_average(CELL(row, locks, average_hold), times->held_ns, times->holds);
		table_number(CELL(row, locks, longest_hold), times->longest_hold_ns);
	}
}

/* Adds a row for the use of a lock: by readers if `shared`, otherwise exclusive. */
static struct table_cell *put_lock_row(struct table *table, const struct place *born,
				       bool is_rwlock, unsigned shared,
				       const struct locks_times *times)
{
	unsigned way = shared ? LOCKS_READ : is_rwlock ? LOCKS_WRITE : born->way;
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, locks, mode), locks_way_name(way));
	put_times(CELL(row, locks, locked), times);
	table_backtrace(CELL(row, locks, backtrace), born->backtrace);
	return row;
}

/* Sorts places by hold time, longest first. Tables keep this order for rows with equal waits. */
static int compare_places(const void *left, const void *right, void *state)
{
	const struct place *places = ((const struct locks_state *)state)->places.items;
	uint64_t x = places[*(const size_t *)left].times.held_ns;
	uint64_t y = places[*(const size_t *)right].times.held_ns;

	return ORDER(y, x);
}

static void put_places(struct locks_state *state, struct tables *tables)
{
	struct table *sites = tables_begin(tables, TABLE_lock_sites);
	struct table *holds = tables_begin(tables, TABLE_longest_holds);
	size_t count = state->places.count ? state->places.count - 1 : 0;
	size_t *order cleanup_free = memory_zalloc(count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = i + 1;
	if (count)
		qsort_r(order, count, sizeof(*order), compare_places, state);
	for (size_t i = 0; i < count; i++) {
		const struct place *place = &state->places.items[order[i]];
		struct table_cell *row = table_add(sites);

		table_text(sites, CELL(row, lock_sites, mode), locks_way_name(place->way));
		put_times(CELL(row, lock_sites, locked), &place->times);
		table_backtrace(CELL(row, lock_sites, backtrace), place->backtrace);
		if (!place->times.holds)
			continue;
		row = table_add(holds);
		table_text(holds, CELL(row, longest_holds, mode), locks_way_name(place->way));
		table_number(CELL(row, longest_holds, hold_time), place->times.longest_hold_ns);
		table_number(CELL(row, longest_holds, time),
			     report_time(state->run, place->since_ns));
		table_number(CELL(row, longest_holds, pid), place->pid);
		table_number(CELL(row, longest_holds, thread), place->thread);
		table_number(CELL(row, longest_holds, object), place->object);
		table_backtrace(CELL(row, longest_holds, unlock_backtrace), place->released);
		table_backtrace(CELL(row, longest_holds, backtrace), place->backtrace);
	}
}

static void put_locks(struct locks_state *state, struct tables *tables)
{
	struct table *table = tables_begin(tables, TABLE_locks);
	uint64_t uncontended = 0;

	for (size_t i = 0; i < state->locks.count; i++) {
		const struct lock *lock = &state->locks.items[i];
		const struct place *born = &state->places.items[lock->born];

		for (unsigned shared = 0; shared < 2; shared++) {
			struct table_cell *row;

			if (!was_used(&lock->times[shared]))
				continue;
			row = put_lock_row(table, born, lock->is_rwlock, shared,
					   &lock->times[shared]);
			table_format(table, CELL(row, locks, lock), "0x%llx of process %u",
				     (unsigned long long)lock->object, lock->pid);
			table_number(CELL(row, locks, pid), lock->pid);
			table_number(CELL(row, locks, object), lock->object);
		}
	}
	for (size_t i = 1; i < state->places.count; i++) {
		const struct place *born = &state->places.items[i];
		for (unsigned shared = 0; born->gone && shared < 2; shared++) {
			struct table_cell *row;

			if (!was_used(&born->gone_times[shared]))
				continue;
			row = put_lock_row(table, born, born->gone_are_rwlocks, shared,
					   &born->gone_times[shared]);
			table_format(table, CELL(row, locks, lock), "%llu destroyed",
				     (unsigned long long)born->gone);
		}
	}
	for (size_t i = 0; i < state->run->summary->processes.count; i++)
		uncontended += state->run->summary->processes.items[i].uncontended;
	if (uncontended)
		table_note(table,
			   "%llu more locks were acquired without a wait: these are counted, but "
			   "not recorded (--locks=contended)",
			   (unsigned long long)uncontended);
}

static int compare_locks(const void *left, const void *right)
{
	const struct lock *a = left, *b = right;
	uint64_t x = a->times[0].held_ns + a->times[1].held_ns;
	uint64_t y = b->times[0].held_ns + b->times[1].held_ns;

	return ORDER(y, x);
}

static void locks_report_end(void *user, struct tables *tables)
{
	struct locks_state *state = user;
	struct table *table;

	ARRAY_SORT(&state->locks, compare_locks);
	put_blocked(state, tables);
	put_cycles(state, tables);
	put_unlocks(state, tables);
	table = tables_begin(tables, TABLE_lock_waits);
	for (size_t i = 1; i < state->pairs.count; i++)
		put_pair(state, table, &state->pairs.items[i]);
	report_note_coverage(state->run, table);
	put_locks(state, tables);
	put_places(state, tables);
}

static int locks_report_begin(void *user, struct report_run *run, struct error *err)
{
	struct locks_state *state = user;

	(void)err;
	state->view = &run->summary->locks;
	state->view->wants_order = true;
	ledger_listen(run->ledger, on_move, state);
	return 0;
}

static void locks_report_destroy(void *user)
{
	struct locks_state *state = user;

	map_clear(&state->index);
	free(state->places.items);
	free(state->pairs.items);
	free(state->locks.items);
	free(state->cycles.items);
	free(state->unlocks.items);
}

const struct report report_locks = {
	.about = "lock",
	.wants_summary = true,
	.state_size = sizeof(struct locks_state),
	.begin = locks_report_begin,
	.event = on_event,
	.process = locks_report_process,
	.end = locks_report_end,
	.destroy = locks_report_destroy,
};
