/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "naming/runtime.h"
#include "naming/types.h"
#include "naming/waiters.h"
#include "postproc/totals/selection.h"
#include "report.h"
#include "wire.h"

/* maximum number of functions of a backtrace to read, from the innermost */
#define SYMBOLS_MAX 256u
#define TYPE_MAX    1024u

static const struct report_row rows[] = {
#define REPORT(name, question, next)	 { #name, question, next, NULL },
#define COMMAND(name, question, instead) { #name, question, "leaks", instead },
#include "postproc/reports.def"
};

/*
 * The rows of reports.def, in the same order. A table belongs to the last report and the last fold
 * before it.
 */
static const struct {
	const struct report *fold; /* NULL: the fold of the previous row */
	bool begins_report;
	int table; /* enum table_id of a TABLE row; -1: the row is not a TABLE row */
} entries[] = {
#define REPORT(name, question, next)	 { NULL, true, -1 },
#define COMMAND(name, question, instead) { NULL, true, -1 },
#define FOLD(name)			 { &report_##name, false, -1 },
#define TABLE(name, by, title)		 { NULL, false, TABLE_##name },
#include "postproc/reports.def"
};

const struct report_row *report_at(unsigned index)
{
	return index < sizeof(rows) / sizeof(*rows) ? &rows[index] : NULL;
}

const struct report_row *report_find(const char *name, size_t length)
{
	const struct report_row *row;

	for (unsigned i = 0; (row = report_at(i)) != NULL; i++)
		if (strlen(row->name) == length && !strncmp(row->name, name, length))
			return row;
	return NULL;
}

const char *report_renamed(const char *name, size_t length)
{
	static const struct {
		const char *name, *instead;
	} renamed[] = {
#define RENAMED(name, instead)		 { #name, "`report " instead "`" },
#define COMMAND(name, question, instead) { #name, instead },
#include "postproc/reports.def"
	};

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
		if (strlen(renamed[i].name) == length && !strncmp(renamed[i].name, name, length))
			return renamed[i].instead;
	return NULL;
}

const struct report_row *report_of(enum table_id id)
{
	size_t begun = 0;

	for (size_t i = 0; entries[i].table != (int)id; i++)
		begun += entries[i].begins_report;
	return &rows[begun - 1];
}

const struct report *report_fold(enum table_id id)
{
	const struct report *fold = NULL;

	for (size_t i = 0; entries[i].table != (int)id; i++)
		fold = entries[i].fold ?: fold;
	return fold;
}

enum table_id report_table(const char *name, size_t length)
{
	unsigned id = 0;

	while (id < TABLE_ID_COUNT && (strlen(table_facts(id).name) != length ||
				       strncmp(table_facts(id).name, name, length) != 0))
		id++;
	return id;
}

struct table_cell *report_add(const struct report_run *run, struct table *table, uint32_t index)
{
	const struct ledger_class *class = ledger_class(run->ledger, index);
	struct table_cell *row = table_add(table);

	table_group(table, &row[0], class->type, class->rank);
	return row;
}

struct tally *report_listen(struct report_run *run, size_t size,
			    void (*merge)(void *state, void *run, const void *process),
			    ledger_listener *on_move, void *state)
{
	ledger_listen(run->ledger, on_move, state);
	return tallies_add(&run->summary->tallies, size, merge, state);
}

void report_hold(struct report_run *run, struct rises *rises, const struct ledger_move *move)
{
	bool has_bytes = ledger_class(run->ledger, move->class)->has_bytes;
	int64_t bytes = (int64_t)(move->is_acquisition ? move->bytes : -move->bytes);
	uint64_t time_ns = move->event->time_ns;

	/* if the event is late, use the latest time so far */
	rises_reach(&run->life, time_ns);
	time_ns = run->life.now_ns;
	rises_reach(&run->windows, time_ns);
	rises_add(rises, &run->life, time_ns, has_bytes ? bytes : move->count);
}

void report_curve(const struct report_run *run, struct table *table, struct table_cell *cell,
		  const struct rises *rises)
{
	uint64_t amounts[RISES_WINDOWS];

	if (rises)
		table_steps(table, cell, amounts, rises_curve(rises, &run->windows, amounts));
}

void report_type(const struct report_run *run, struct table *table, struct table_cell *cell,
		 const struct trace_node *backtrace)
{
	struct naming_symbol symbols[SYMBOLS_MAX];
	char type[TYPE_MAX];
	size_t count = 0;

	if (run->naming && backtrace)
		count = naming_symbols(run->naming, backtrace, symbols, SYMBOLS_MAX);
	if (types_find(run->naming, symbols, count, type, sizeof(type)))
		table_text(table, cell, type);
}

void report_places(const struct report_run *run, const struct tally *tally, struct table *table,
		   report_put *put, void *state)
{
	for (uint32_t i = 0; i < tallies_count(&run->summary->tallies); i++) {
		const void *entry = tally_of_place(tally, i);

		if (entry)
			put(state, table, tallies_place(&run->summary->tallies, i), entry);
	}
}

const struct trace_node *report_site(const struct report_run *run, const struct site *site)
{
	return space_backtrace(&run->summary->space, site->backtrace, site->index);
}

const struct trace_node *report_caller(const struct report_run *run, const struct event *event)
{
	return space_backtrace(&run->summary->space, event->backtrace, event->index);
}

int report_begin(const struct report *report, void **state, struct report_run *run,
		 struct error *err)
{
	*state = report->state_size ? memory_zalloc(1, report->state_size) : run;
	if (report->state_size)
		*(struct report_run **)*state = run;
	if (report->move)
		ledger_listen(run->ledger, report->move, *state);
	if (report->entry_size)
		((struct report_tallied *)*state)->tally = tallies_add(
			&run->summary->tallies, report->entry_size, report->merge, *state);
	return report->begin ? report->begin(*state, run, err) : 0;
}

void report_destroy(const struct report *report, void *state)
{
	if (!state)
		return;
	if (report->destroy)
		report->destroy(state);
	if (report->state_size)
		free(state);
}

void report_note_samples(const struct report_run *run, struct table *table, const char *words)
{
	if (!run->summary->sample)
		return;
	table->is_unknown = true;
	table_note(table, "%s%smemory was sampled: %s", table->note ? table->note : "",
		   table->note ? "; " : "", words);
}

void report_note_coverage(const struct report_run *run, struct table *table)
{
	const struct coverage_sum *sum = &run->summary->blocked_time;
	char text[COVERAGE_TEXT_SIZE];

	if (!sum->blocked && !sum->unmeasured)
		return;
	table->is_unknown |= coverage_is_low(sum);
	table_note(table, "%s%s%s", table->note ? table->note : "", table->note ? "; " : "",
		   coverage_say(sum, text));
}

bool report_is_incomplete(const struct summary_process *process)
{
	return process->has_tails && !process->has_end && !process->is_damaged;
}

bool report_is_untraced(const struct summary_process *process)
{
	return process->end == SUMMARY_EXEC && process->untraced;
}

/*
 * Whether the process was still running when the collector ended or when holdtrace detached from
 * the process.
 */
static bool report_ran_on(const struct summary_process *process)
{
	return process->end == SUMMARY_LEFT || process->end == SUMMARY_DETACHED;
}

/*
 * Whether a thread may have been blocked for longer than limit_ns without a recorded wait. limit_ns
 * 0: the limit is not a time; then COVERAGE_SLACK_NS is the limit. Times below COVERAGE_EXACT_NS
 * cannot be measured.
 */
static bool report_is_unobserved(const struct summary_process *process, uint64_t limit_ns)
{
	if (!limit_ns)
		limit_ns = COVERAGE_SLACK_NS;
	return process->coverage.worst >
	       (limit_ns > COVERAGE_EXACT_NS ? limit_ns : COVERAGE_EXACT_NS);
}

/* Whether a list like the argument of --events ("memory,fd") contains the class. */
static bool is_listed(const char *list, const char *class)
{
	size_t size = strlen(class);

	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if ((length == size && !strncmp(list, class, size)) ||
		    (length == 3 && !strncmp(list, "all", 3)))
			return true;
	}
	return false;
}

/* Returns the kinds of events whose classes are in the list; never kinds with the class "-". */
static unsigned kinds_listed(const char *list)
{
	unsigned kinds = 0;

#define KIND(name, class) kinds |= strcmp(class, "-") && is_listed(list, class) ? KIND_##name : 0;
#include "postproc/reasons.def"
#undef KIND
	return kinds;
}

/* Returns the kinds of events that --events excluded. */
static unsigned report_unrecorded(const struct summary_process *process)
{
	return process->recorded ? KIND_EVENTS & ~kinds_listed(process->recorded) : 0;
}

/*
 * Whether all calls of this kind were recorded and selected, from the start of the process to its
 * end.
 */
static bool is_whole(const struct summary *summary, const struct summary_process *process,
		     unsigned kind)
{
	return !(summary->selection && summary->selection->filters) &&
	       !(report_unrecorded(process) & kind) && !process->pauses && !process->is_attached &&
	       !process->cut_calls;
}

/*
 * Whether the number of open descriptors according to the kernel differs from the number according
 * to the recorded calls, for example because --events excluded streams.
 */
bool report_is_unhooked(const struct summary *summary, const struct summary_process *process)
{
	return is_whole(summary, process, KIND_FD) && process->descriptors &&
	       process->descriptors != process->held[RESOURCE_FD] + process->inherited &&
	       process->descriptors != process->counted;
}

/*
 * Whether the process has a zombie according to the kernel, but none according to the recorded
 * calls.
 */
bool report_has_unseen_zombie(const struct summary *summary, const struct summary_process *process)
{
	return is_whole(summary, process, KIND_PROCESS) && process->has_zombie &&
	       !process->held[RESOURCE_PROCESS];
}

/*
 * Whether the memory of the process was not scanned. A process image that exec has replaced has no
 * live objects, so it needs no scan.
 */
static bool report_is_unscanned(const struct summary_process *process)
{
	return process->end != SUMMARY_EXEC && !process->is_scanned;
}

/*
 * Whether the resident memory of the process was not measured. No memory of a program is left after
 * an exec.
 */
static bool report_is_unmeasured(const struct summary_process *process)
{
	return process->end != SUMMARY_EXEC && !process->is_measured;
}

/*
 * Whether resident pages may contain blocks that the process inherited by fork. The trace of the
 * process does not have these blocks.
 */
static bool report_has_forked_blocks(const struct summary_process *process)
{
	return process->is_measured && process->parent_stream != WIRE_NO_STREAM;
}

/*
 * Returns the number of processes that a flight recorder removed. The recorder counts them, and
 * each process has the value of the counter from its own end. The counter never decreases, so the
 * largest value is the total.
 */
static uint64_t report_gone(const struct summary *summary)
{
	uint64_t gone = 0;

	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].gone > gone)
			gone = summary->processes.items[i].gone;
	return gone;
}

const char *report_language(const struct summary *summary)
{
	for (size_t i = 0; i < summary->space.module_list.count; i++) {
		const char *path = summary->space.module_list.items[i]->path;
		const char *slash = strrchr(path, '/');

		if (runtime_has(RUNTIME_LOCKS, slash ? slash + 1 : path))
			return path;
	}
	return NULL;
}

uint64_t report_indirect_ns(const struct summary *summary)
{
	const struct summary_class *conditions = summary_class_of(summary, RESOURCE_CONDITION);
	const struct summary_class *semaphores = summary_class_of(summary, RESOURCE_SEMAPHORE);

	return (conditions ? waits_ns(&conditions->waits.times, 0) : 0) +
	       (semaphores ? waits_ns(&semaphores->waits.times, 0) : 0);
}

/*
 * Whether waits for locks of a language's runtime may have been recorded as waits for conditions or
 * semaphores. For a limit on the time of waits: whether these waits took more than limit_ns in
 * total. For limits on threads that wait for each other: whether a thread is in such a wait at the
 * end.
 */
static bool report_has_language_waits(const struct summary *summary, unsigned kinds,
				      uint64_t limit_ns)
{
	if (!(kinds & KIND_OWNER))
		return kinds == KIND_WAIT && report_indirect_ns(summary) > limit_ns &&
		       report_language(summary);
	for (size_t i = 0; i < summary->blocked.count; i++)
		if (summary->blocked.items[i].resource == RESOURCE_CONDITION ||
		    summary->blocked.items[i].resource == RESOURCE_SEMAPHORE)
			return report_language(summary) != NULL;
	return false;
}

/*
 * Returns the number of threads that wait at the end for a futex that is or may be a lock. These
 * threads may wait for each other.
 */
static uint64_t report_ownerless(const struct report_run *run)
{
	uint64_t threads = 0;

	for (size_t i = 0; i < run->summary->blocked.count; i++) {
		const struct summary_blocked *blocked = &run->summary->blocked.items[i];

		if (blocked->resource == RESOURCE_FUTEX && !blocked->related &&
		    waiters_is_lock(waiters_kind(run->naming, blocked->backtrace)))
			threads += blocked->threads;
	}
	return threads;
}

/* time in ns for which a released lock may have no holder, until the next holder wakes up */
#define HOLDERLESS_NS 100000000u

/*
 * Returns the number of threads that wait at the end for a lock that no thread holds according to
 * the recorded calls.
 */
static uint64_t report_holderless(const struct summary *summary)
{
	uint64_t threads = 0;

	for (size_t i = 0; i < summary->blocked.count; i++) {
		const struct summary_blocked *blocked = &summary->blocked.items[i];

		if (blocked->resource == RESOURCE_LOCK && !blocked->has_holder &&
		    blocked->longest_ns > HOLDERLESS_NS)
			threads += blocked->threads;
	}
	return threads;
}

/*
 * Excludes descriptors if the kernel reported their number at the end, because report_is_unhooked()
 * compares that number. Excludes child processes if the kernel reported that there was no zombie.
 */
unsigned report_made_directly(const struct summary_process *process)
{
	unsigned kinds = process->past ? kinds_listed(process->past) : 0;

	if (process->descriptors)
		kinds &= ~KIND_FD;
	if (process->has_no_zombie)
		kinds &= ~KIND_PROCESS;
	return kinds;
}

void report_find_gaps(const struct report_run *run, unsigned kinds, uint64_t limit_ns,
		      struct report_gaps *gaps)
{
	const struct summary *summary = run->summary;
	const struct select_tally *selection = summary->selection;

	(void)limit_ns;
	*gaps = (struct report_gaps){
		.events = (selection && selection->filters ? selection->seen : summary->events) +
			  summary->lost,
		.traces = summary->processes.count,
	};
#define READER(field, number)
#define REASON(field, of, number, part, hidden, noun, what) \
	of(field, ((hidden)&kinds) ? (number) : 0)
#define RUN(field, number) gaps->field = (number);
#define PROCESSES(field, number)
#include "postproc/reasons.def"
#undef RUN
#undef PROCESSES
	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];

#define RUN(field, number)
#define PROCESSES(field, number) gaps->field += (number);
#include "postproc/reasons.def"
#undef RUN
#undef PROCESSES
	}
#undef REASON
#undef READER
}

void report_add_run(struct json *json, const struct report_run *run)
{
	const struct summary *summary = run->summary;
	struct report_gaps gaps;

	report_find_gaps(run, KIND_ALL, 0, &gaps);
	json_add_unsigned(json, "processes", summary->processes.count);
	json_add_unsigned(json, "events", summary->events);
	json_key(json, "dropped");
	/* if traces or their ends are missing, the number of dropped events is unknown */
	if (summary->lost || !(gaps.incomplete || gaps.damaged || gaps.unread))
		json_unsigned(json, summary->lost);
	else
		json_null(json);
	if (summary->sample)
		json_add_unsigned(json, "sample_bytes", summary->sample);
	json_add_unsigned(json, "incomplete", gaps.incomplete);
	json_add_unsigned(json, "damaged", gaps.damaged);
	if (gaps.unread)
		json_add_unsigned(json, "not_read", gaps.unread);
	if (gaps.cut || gaps.gone) {
		json_add_unsigned(json, "truncated", gaps.cut);
		json_add_unsigned(json, "ended_untraced", gaps.gone);
	}
	json_add_unsigned(json, "duration_ns",
			  summary->end_ns > summary->start_ns ? summary->end_ns - summary->start_ns
							      : 0);
}

static void add_optional(struct json *json, const char *key, const char *text)
{
	if (text)
		json_add_text(json, key, text);
}

void report_add_frame(struct json *json, const struct naming_symbol *frame)
{
	json_begin(json, '{');
	json_add_hex(json, "address", frame->offset);
	add_optional(json, "function", frame->function);
	add_optional(json, "file", frame->file);
	if (frame->line)
		json_add_unsigned(json, "line", frame->line);
	add_optional(json, "module", frame->module);
	if (frame->is_inlined)
		json_add_bool(json, "inlined", true);
	json_end(json);
}

/*
 * The report on limits has no fold of its own: reporting.c fills its table from the tables of other
 * reports.
 */
static int check_begin(void *user, struct report_run *run, struct error *err)
{
	(void)user;
	if (run->options->has_limits)
		return 0;
	return error_set(err, EINVAL, "check needs limits: add --fail-on='leak>0,fd>0'");
}

const struct report report_check = {
	.begin = check_begin,
};
