/* SPDX-License-Identifier: MIT */
/*
 * The part of the report `waits` about a core file (--core): which threads wait for locks, and
 * which threads hold these locks. The core file shows the waiting threads and their backtraces. The
 * holder comes from the lock's memory or from the trace, the holder's call site from the trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "notes.h"
#include "postproc/report/report.h"

#define FRAMES_MAX 64u
#define CYCLE_MAX  1000u /* longer cycles of threads are not found */

struct blocked {
	uint32_t pid, thread, holder;
	uint64_t object;
	const struct trace_node *locked_at, *waits_at; /* locked_at NULL: unknown */
};

struct blocked_state {
	struct report_run *run;
	ARRAY_OF(struct blocked) list;
	struct map by_thread; /* key: thread; value: index + 1 in `list` */
	uint64_t others;      /* number of threads whose futex is not a lock with a known holder */
	bool has_core, is_unknown;
};

/*
 * Finds the holder of the lock at address `object` in the trace, and stores it in `blocked`.
 * wanted: tid of the holder; 0: the newest holder. Returns false if the trace has no such holder.
 */
static bool find_holder(const struct blocked_state *state, struct blocked *blocked, uint64_t object,
			uint32_t wanted, uint64_t index)
{
	struct summary *summary = state->run->summary;
	struct locks_holder holder, found = { 0 };
	const struct site *site;

	for (uint32_t at = 0; locks_holder(&summary->locks, object, &at, &holder);)
		if (!found.thread || holder.thread == wanted)
			found = holder;
	if (!found.thread || (wanted && found.thread != wanted))
		return false;
	site = sites_at(&summary->locks.sites, found.site);
	blocked->object = object;
	blocked->holder = found.thread;
	blocked->locked_at = space_backtrace(&summary->space, site->backtrace, index);
	return true;
}

static void add_blocked(struct blocked_state *state, const struct event *note)
{
	uint64_t futex = event_number(note, "futex");
	uint32_t holder = (uint32_t)event_number(note, "holder");
	struct blocked blocked = { .pid = note->process->pid,
				   .thread = (uint32_t)event_number(note, "thread"),
				   .holder = holder,
				   .object = futex };
	/* a lock's futex is its first word or, in glibc's rwlock, one of two other words */
	static const unsigned offsets[] = { 0, 8, 12 };
	const char *at = event_argument(note, "frames");
	uint64_t frames[FRAMES_MAX];
	bool is_found = false;
	size_t count = 0;
	char *end;

	for (size_t i = 0; i < (holder ? 1 : 3) && !is_found; i++)
		is_found = find_holder(state, &blocked, futex - offsets[i], holder, note->index);
	if (!is_found && !holder) {
		state->others++;
		return;
	}
	for (; at && count < FRAMES_MAX; at = end) {
		frames[count] = strtoull(at, &end, 16);
		if (end == at)
			break;
		count++;
	}
	blocked.waits_at = space_frames(&state->run->summary->space, frames, count, note->index);
	*ARRAY_ADD(&state->list) = blocked;
	map_set(&state->by_thread, 0, blocked.thread, (uint32_t)state->list.count);
}

static void blocked_note(void *user, const struct event *note)
{
	struct blocked_state *state = user;
	const char *waits;

	if (!strcmp(note->function->name, NOTE_BLOCKED))
		add_blocked(state, note);
	if (strcmp(note->function->name, NOTE_SCAN) != 0)
		return;
	waits = event_argument(note, "waits");
	state->has_core |= waits != NULL;
	state->is_unknown |= waits && strcmp(waits, "read") != 0;
}

static const struct blocked *find_wait(const struct blocked_state *state, uint32_t thread)
{
	uint32_t number = map_get(&state->by_thread, 0, thread);

	return number ? &state->list.items[number - 1] : NULL;
}

/* Whether the thread waits, directly or through other waiting threads, for itself. */
static bool is_deadlock(const struct blocked_state *state, const struct blocked *first)
{
	const struct blocked *at = find_wait(state, first->holder);

	for (size_t steps = 0; at && at != first && steps < CYCLE_MAX; steps++)
		at = find_wait(state, at->holder);
	return at == first;
}

static void blocked_end(void *user, struct tables *tables)
{
	struct blocked_state *state = user;
	struct table *table = state->has_core ? tables_begin(tables, TABLE_blocked_in_core) : NULL;

	for (unsigned waits = 0; table && waits < 2; waits++)
		for (size_t i = 0; i < state->list.count; i++) {
			const struct blocked *blocked = &state->list.items[i];
			struct table_cell *row;

			if (is_deadlock(state, blocked) == waits)
				continue;
			row = table_add(table);
			table_text(table, CELL(row, blocked_in_core, state),
				   waits ? "waits" : "deadlock");
			table_number(CELL(row, blocked_in_core, pid), blocked->pid);
			table_number(CELL(row, blocked_in_core, thread), blocked->thread);
			table_number(CELL(row, blocked_in_core, object), blocked->object);
			table_number(CELL(row, blocked_in_core, holder), blocked->holder);
			table_backtrace(CELL(row, blocked_in_core, holder_backtrace),
					blocked->locked_at);
			table_backtrace(CELL(row, blocked_in_core, backtrace), blocked->waits_at);
		}
	if (table && state->is_unknown) {
		table->is_unknown = true;
		table_note(table, "unknown: the registers of this processor do not show the "
				  "system call of a thread");
	} else if (table && state->others) {
		table_note(table,
			   "%" PRIu64
			   " more thread%s for a futex that may not be a lock, such as the "
			   "futex of a condition",
			   state->others, state->others == 1 ? " waits" : "s wait");
	}
}

static void blocked_destroy(void *user)
{
	struct blocked_state *state = user;

	map_clear(&state->by_thread);
	free(state->list.items);
}

const struct report report_blocked = {
	.wants_summary = true,
	.state_size = sizeof(struct blocked_state),
	.note = blocked_note,
	.end = blocked_end,
	.destroy = blocked_destroy,
};
