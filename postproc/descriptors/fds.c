/* SPDX-License-Identifier: MIT */
/*
 * The report on descriptors: how many each call site opened and left open, the maximum number that
 * was open at a time, the descriptors open at the end, inherited descriptors, and descriptors that
 * were closed twice or used after close().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "postproc/totals/descriptors.h"
#include "postproc/report/report.h"

/* a call site that closed all its descriptors is listed if it had this many open at a time */
#define MANY 8u

struct entry { /* sums of a call site, in one process or in the whole run */
	const char *kind;
	/* target of the oldest open descriptor or, if none is open, of the first descriptor */
	const char *example;
	uint64_t opened, now, most;
	uint64_t age_ns; /* age of the oldest open descriptor */
	/*
	 * processes: number of processes in which the call site had descriptors; last: number of
	 * the process that was added to `processes` last
	 */
	uint32_t processes, last;
};

/* Descriptor counts of a process. */
struct total {
	const char *program;
	uint32_t pid;
	uint64_t inherited, opened, most, most_ns, left;
};

/* A descriptor open at the end. */
struct rest {
	uint32_t pid;
	uint64_t number, stream_object;
	const char *kind, *what, *stream;
	uint64_t opened_ns, age_ns;
	const struct trace_node *backtrace;
};

struct inherited {
	uint64_t number;
	const char *kind, *what;
	/*
	 * processes: number of processes that inherited the descriptor; open: in how many of them
	 * the descriptor was open at the end
	 */
	uint64_t processes, open;
};

struct fds_state {
	struct report_run *run;
	struct tally *tally;
	struct descriptors descriptors;
	struct pool pool;
	/* call site of the current event if the event opened a descriptor, otherwise 0 */
	uint32_t acquired_site;
	uint64_t acquired_index; /* index of the event that set acquired_site */
	struct total total;	 /* counts of the current process */
	ARRAY_OF(struct total) totals;
	ARRAY_OF(struct rest) rests;
	struct hash_table inherited_by_name;
	struct misuses misuses;
	ARRAY_OF(struct inherited *) inherited;
};

/* ---- call sites ---- */

static void on_move(void *user, const struct ledger_move *move)
{
	struct fds_state *state = user;
	struct entry *entry;

	if (ledger_class(state->run->ledger, move->class)->known != RESOURCE_FD ||
	    move->event->flags & CALL_OF_CHILD)
		return;
	entry = tally_entry(state->tally, move->site);
	entry->now += (uint64_t)(int64_t)move->count;
	if (!move->is_acquisition)
		return;
	if (entry->now > entry->most)
		entry->most = entry->now;
	if (move->is_no_call)
		return;
	entry->opened++;
	state->acquired_site = move->site;
	state->acquired_index = move->event->index;
}

static void fds_merge(void *user, void *of_run, const void *of_process)
{
	const struct fds_state *state = user;
	const struct entry *process = of_process;
	struct entry *run = of_run;

	if (!run->kind)
		run->kind = process->kind;
	if (!run->example || (process->now && process->age_ns > run->age_ns))
		run->example = process->example;
	run->opened += process->opened;
	run->now += process->now;
	run->processes += run->last != report_process(state->run);
	run->last = report_process(state->run);
	if (process->most > run->most)
		run->most = process->most;
	if (process->age_ns > run->age_ns)
		run->age_ns = process->age_ns;
}

/* ---- events ---- */

static void watch_most(struct fds_state *state, uint64_t time_ns)
{
	if (state->descriptors.open <= state->total.most)
		return;
	state->total.most = state->descriptors.open;
	state->total.most_ns = time_ns;
}

static void fds_note(void *user, const struct event *event)
{
	struct fds_state *state = user;

	descriptors_note(&state->descriptors, event);
	if (!state->total.opened)
		state->total.inherited = state->descriptors.open;
	watch_most(state, event->time_ns);
}

static void fds_event(void *user, const struct event *event)
{
	struct fds_state *state = user;
	const struct descriptor *descriptor;
	enum descriptor_misuse misuse;
	struct descriptor *of;
	struct entry *entry;

	descriptors_event(&state->descriptors, event, &misuse, &of);
	if (misuse) {
		misuses_add(&state->misuses, event, misuse, of);
		return;
	}
	if (event->type != CALL_TYPE_ALLOC || event->resource->known != RESOURCE_FD ||
	    event->flags & (CALL_FAILED | CALL_OF_CHILD))
		return;
	state->total.opened++;
	watch_most(state, event->time_ns);
	if (!state->acquired_site || state->acquired_index != event->index)
		return;
	entry = tally_entry(state->tally, state->acquired_site);
	state->acquired_site = 0;
	/* store the kind and target of the call site's first descriptor */
	if (entry->kind)
		return;
	descriptor = descriptors_find(&state->descriptors, event->object);
	entry->kind = descriptor ? descriptor->kind : "other";
	entry->example = descriptor ? pool_copy(&state->pool, descriptor->what) : NULL;
}

/* ---- the end of a process ---- */

static bool is_inherited(const void *item, const void *key)
{
	const struct inherited *one = item;
	const struct descriptor *two = key;

	return one->number == two->number && !strcmp(one->what, two->what ? two->what : "");
}

static void keep_inherited(struct fds_state *state, const struct descriptor *descriptor)
{
	const char *what = descriptor->what ? descriptor->what : "";
	uint64_t hash =
		hash_bytes(state->inherited_by_name.seed ^ descriptor->number, what, strlen(what));
	struct inherited *inherited =
		hash_table_find(&state->inherited_by_name, hash, is_inherited, descriptor);

	if (!inherited) {
		inherited = pool_zalloc(&state->pool, sizeof(*inherited));
		*ARRAY_ADD(&state->inherited) = inherited;
		inherited->number = descriptor->number;
		inherited->kind = descriptor->kind;
		inherited->what = pool_copy(&state->pool, what);
		hash_table_add(&state->inherited_by_name, hash, inherited);
	}
	inherited->processes++;
	inherited->open += descriptor->is_open;
}

static uint64_t age_of(const struct fds_state *state, uint64_t opened_ns)
{
	uint64_t end_ns = summary_current(state->run->summary)->end_ns;

	return end_ns > opened_ns ? end_ns - opened_ns : 0;
}

/* Sets the example of each call site to its oldest descriptor that is still open. */
static void look_at_places(struct fds_state *state)
{
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(state->run->ledger, &at, &held)) {
		const struct site *site = sites_at(ledger_sites(state->run->ledger), held.site);
		struct descriptor *descriptor;
		struct entry *entry;

		if (ledger_class(state->run->ledger, held.class)->known != RESOURCE_FD)
			continue;
		entry = tally_entry(state->tally, held.site);
		descriptor = descriptors_find(&state->descriptors, held.object);
		/*
		 * if an earlier program of this process opened the inherited descriptor, the ledger
		 * still has the call: use this call
		 */
		if (descriptor && descriptor->is_inherited) {
			descriptor->is_inherited = false;
			descriptor->opened = (struct descriptor_step){
				.backtrace = site->backtrace,
				.function = site->function,
				.index = held.item->index,
				.time_ns = held.item->acquired_ns,
			};
		}
		if (!descriptor || age_of(state, held.item->acquired_ns) < entry->age_ns)
			continue;
		entry->age_ns = age_of(state, held.item->acquired_ns);
		entry->example = pool_copy(&state->pool, descriptor->what);
	}
}

static void fds_process(void *user)
{
	struct fds_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);
	struct total *total = ARRAY_ADD(&state->totals);
	struct ledger_held held;

	look_at_places(state);
	/*
	 * if the process executed another program, mark the descriptors that this program inherits
	 * (those without FD_CLOEXEC) as closed: they are counted for the new program
	 */
	for (size_t at = 0; ledger_passed(state->run->ledger, &at, &held);) {
		struct descriptor *descriptor = descriptors_find(&state->descriptors, held.object);
		struct entry *entry = tally_entry(state->tally, held.site);

		entry->now--;
		if (descriptor && descriptor->is_open) {
			descriptor->is_open = false;
			state->descriptors.open--;
		}
	}
	for (size_t i = 0; i < state->descriptors.list.count; i++) {
		const struct descriptor *descriptor = &state->descriptors.list.items[i];

		if (descriptor->is_inherited)
			keep_inherited(state, descriptor);
		else if (descriptor->is_open)
			*ARRAY_ADD(&state->rests) = (struct rest){
				.pid = current->pid,
				.number = descriptor->number,
				.stream_object = descriptor->stream_object,
				.kind = descriptor->kind,
				.what = pool_copy(&state->pool, descriptor->what),
				.stream = descriptor->stream,
				.opened_ns = descriptor->opened.time_ns,
				.age_ns = age_of(state, descriptor->opened.time_ns),
				.backtrace = space_backtrace(&state->run->summary->space,
							     descriptor->opened.backtrace,
							     descriptor->opened.index),
			};
	}
	*total = state->total;
	total->pid = current->pid;
	total->program = current->name;
	total->left = state->descriptors.open;
	state->total = (struct total){ .pid = 0 };
	state->acquired_site = 0;
	descriptors_clear(&state->descriptors);
}

/* ---- tables ---- */

static void put_place(void *user, struct table *table, const struct tally_place *place,
		      const void *of_place)
{
	const struct entry *entry = of_place;
	struct table_cell *row;

	(void)user;
	if (!entry->now && entry->most < MANY)
		return;
	row = table_add(table);
	table_text(table, CELL(row, fd_sites, kind), entry->kind ? entry->kind : "other");
	table_number(CELL(row, fd_sites, open), entry->now);
	table_number(CELL(row, fd_sites, opened), entry->opened);
	table_number(CELL(row, fd_sites, peak), entry->most);
	if (entry->now)
		table_number(CELL(row, fd_sites, age), entry->age_ns);
	table_number(CELL(row, fd_sites, processes), entry->processes);
	table_backtrace(CELL(row, fd_sites, backtrace), place->backtrace);
	table_text(table, CELL(row, fd_sites, example), entry->example);
}

static void put_misuse(struct fds_state *state, struct table *table, size_t index)
{
	static const char *const words[] = {
		[DESCRIPTOR_CLOSED_TWICE] = "closed twice",
		[DESCRIPTOR_USED_CLOSED] = "used after close",
		[DESCRIPTOR_GONE] = "used after an unrecorded close",
	};
	const struct misuse *misuse = state->misuses.list.items[index];
	struct table_cell *row = NULL;
	char fault[400];

	snprintf(fault, sizeof(fault), "%zu. %s: descriptor %llu%s%s", index + 1,
		 words[misuse->kind], (unsigned long long)misuse->number, misuse->what ? " " : "",
		 misuse->what ? misuse->what : "");
	for (size_t i = 0; i < MISUSE_STEPS; i++) {
		const struct misuse_step *step = &misuse->steps[i];

		if (!step->backtrace)
			continue;
		row = table_add(table);
		table_group(table, CELL(row, fd_misuses, misuse), fault, 0);
		table_text(table, CELL(row, fd_misuses, step), step->what);
		table_number(CELL(row, fd_misuses, time), report_time(state->run, step->time_ns));
		table_number(CELL(row, fd_misuses, thread), step->thread);
		table_backtrace(CELL(row, fd_misuses, backtrace), step->backtrace);
		table_number(CELL(row, fd_misuses, pid), misuse->pid);
		table_number(CELL(row, fd_misuses, fd), misuse->number);
	}
	if (row)
		table_number(CELL(row, fd_misuses, count), misuse->count);
}

static void put_total(struct fds_state *state, struct table *table, const struct total *total)
{
	struct table_cell *row;

	if (!total->most && !total->opened)
		return;
	row = table_add(table);
	table_text(table, CELL(row, fd_peaks, program), total->program);
	table_number(CELL(row, fd_peaks, peak), total->most);
	table_number(CELL(row, fd_peaks, time), report_time(state->run, total->most_ns));
	/*
	 * table_count() does not print 0: after a fork, the number of inherited descriptors is
	 * unknown, because the child does not record them
	 */
	table_count(CELL(row, fd_peaks, inherited), total->inherited);
	table_number(CELL(row, fd_peaks, opened), total->opened);
	table_number(CELL(row, fd_peaks, open), total->left);
	table_number(CELL(row, fd_peaks, pid), total->pid);
}

static void fds_end(void *user, struct tables *tables)
{
	struct fds_state *state = user;
	struct table *peaks = tables_begin(tables, TABLE_fd_peaks);
	struct table *openers = tables_begin(tables, TABLE_fd_sites);
	struct table *misuses = tables_begin(tables, TABLE_fd_misuses);
	struct table *rests = tables_begin(tables, TABLE_open_fds);
	struct table *inherited = tables_begin(tables, TABLE_inherited_fds);

	report_places(state->run, state->tally, openers, put_place, state);
	misuses_sort(&state->misuses);
	for (size_t i = 0; i < state->misuses.list.count; i++)
		put_misuse(state, misuses, i);
	for (size_t i = 0; i < state->totals.count; i++)
		put_total(state, peaks, &state->totals.items[i]);
	for (size_t i = 0; i < state->rests.count; i++) {
		const struct rest *rest = &state->rests.items[i];
		struct table_cell *row = table_add(rests);

		table_text(rests, CELL(row, open_fds, kind), rest->kind);
		table_text(rests, CELL(row, open_fds, target), rest->what);
		table_text(rests, CELL(row, open_fds, stream), rest->stream);
		table_number(CELL(row, open_fds, fd), rest->number);
		table_number(CELL(row, open_fds, pid), rest->pid);
		table_number(CELL(row, open_fds, opened), report_time(state->run, rest->opened_ns));
		table_number(CELL(row, open_fds, age), rest->age_ns);
		if (rest->stream)
			table_number(CELL(row, open_fds, stream_address), rest->stream_object);
		table_backtrace(CELL(row, open_fds, backtrace), rest->backtrace);
	}
	for (size_t i = 0; i < state->inherited.count; i++) {
		const struct inherited *of = state->inherited.items[i];
		struct table_cell *row = table_add(inherited);

		table_text(inherited, CELL(row, inherited_fds, kind), of->kind);
		table_text(inherited, CELL(row, inherited_fds, target), of->what);
		table_number(CELL(row, inherited_fds, fd), of->number);
		table_number(CELL(row, inherited_fds, processes), of->processes);
		table_number(CELL(row, inherited_fds, open), of->open);
	}
}

/* ---- begin and end ---- */

static void fds_destroy(void *user)
{
	struct fds_state *state = user;

	descriptors_clear(&state->descriptors);
	hash_table_free(&state->inherited_by_name);
	misuses_free(&state->misuses);
	free(state->totals.items);
	free(state->rests.items);
	free(state->inherited.items);
	pool_free(&state->pool);
}

static int fds_begin(void *user, struct report_run *run, struct error *err)
{
	struct fds_state *state = user;

	(void)err;
	hash_table_init(&state->inherited_by_name);
	misuses_init(&state->misuses, &run->summary->space);
	return 0;
}

const struct report report_fds = {
	.about = "fd",
	.wants_ledger = true,
	.state_size = sizeof(struct fds_state),
	.entry_size = sizeof(struct entry),
	.merge = fds_merge,
	.begin = fds_begin,
	.move = on_move,
	.event = fds_event,
	.note = fds_note,
	.process = fds_process,
	.end = fds_end,
	.destroy = fds_destroy,
};
