/* SPDX-License-Identifier: MIT */
/*
 * Writes a run as rows for databases. Each row is a line that begins with the name of its table;
 * holdtrace-fleet(7) lists the columns. Columns are separated by tabs and escaped as in
 * TabSeparated of ClickHouse and COPY of PostgreSQL. Ids are signed, because SQLite and PostgreSQL
 * have no unsigned 64-bit integers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/estimate.h"
#include "base/array.h"
#include "base/memory.h"
#include "naming/paths.h"
#include "profile.h"
#include "viewers.h"

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u
#define STACK_MAX 4000 /* maximum size of a site's text in bytes */

/* The sums of the call sites, or of the waits, that have the same key. */
struct row_sum {
	const char *key[2]; /* of a call site: its class; of a wait: its kind and function */
	int64_t site, holder;
	bool has_holder;
	struct costs_place held;
	uint64_t waits, wait_ns, longest_ns;
};

struct rows {
	struct profile profile;
	void *fds; /* the state of the report `fds` */
	struct paths paths;
	struct out *out;
	struct hash_table sites, sums;
	struct pool pool;
	ARRAY_OF(struct row_sum *) list;
	int64_t run;
};

/* ---- columns ---- */

static void begin_row(const struct rows *rows, const char *table)
{
	out_text(rows->out, table);
}

static void add_signed(const struct rows *rows, int64_t number)
{
	out_char(rows->out, '\t');
	out_signed(rows->out, number);
}

static void add_unsigned(const struct rows *rows, uint64_t number)
{
	add_signed(rows, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static void add_null(const struct rows *rows)
{
	out_text(rows->out, "\t\\N");
}

/*
 * Adds a text of at most `length` bytes. Replaces control characters other than tab and newline,
 * and bytes that are not valid UTF-8, by U+FFFD, because PostgreSQL refuses them.
 */
static void add_part(const struct rows *rows, const char *text, size_t length)
{
	out_char(rows->out, '\t');
	for (size_t at = 0; at < length;) {
		uint32_t code = 0;
		unsigned bytes = utf8_decode(text + at, length - at, &code);

		if (bytes && (code == '\t' || code == '\n' || code == '\\')) {
			out_char(rows->out, '\\');
			out_char(rows->out, code == '\t' ? 't' : code == '\n' ? 'n' : '\\');
		} else if (!bytes || code < ' ' || code == 0x7f) {
			out_text(rows->out, "\xef\xbf\xbd");
		} else {
			out_bytes(rows->out, text + at, bytes);
		}
		at += bytes ? bytes : 1;
	}
}

static void add_text(const struct rows *rows, const char *text)
{
	add_part(rows, text ? text : "", text ? strlen(text) : 0);
}

/* Adds a cell of a report's table: a text, a number, or NULL if it is unknown. */
static void add_cell(const struct rows *rows, const struct table_cell *cell, bool is_text)
{
	if (is_text)
		add_text(rows, cell->is_set ? cell->text : NULL);
	else if (cell->is_set)
		add_unsigned(rows, cell->number);
	else
		add_null(rows);
}

/*
 * Adds the value of a label of the run. If the run does not have the label, adds an empty text or,
 * for a number, NULL.
 */
static void add_label(const struct rows *rows, const char *labels, const char *name, bool is_number)
{
	size_t length = 0;
	const char *value = trace_label(labels, name, &length);

	if (!is_number)
		add_part(rows, value ? value : "", length);
	else if (value && length && length <= 10 && strspn(value, "0123456789") >= length)
		add_part(rows, value, length);
	else
		add_null(rows);
}

/* ---- sites ---- */

/*
 * The hash function FNV-1a, whose result is the same on all machines. Databases store ids of call
 * sites, so this function must never change.
 */
static uint64_t hash_on(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	} while (*text++);
	return hash;
}

static bool is_site(const void *item, const void *key)
{
	return *(const int64_t *)item == *(const int64_t *)key;
}

static const char *name_of(const struct path_function *function, char offset[24])
{
	if (function->symbol.function)
		return function->symbol.function;
	snprintf(offset, 24, "+0x%" PRIx64, function->symbol.offset);
	return offset;
}

static void put_site(struct rows *rows, int64_t site, size_t count)
{
	struct path_function *const *path = rows->paths.path;
	char stack[STACK_MAX] = "", offset[24];
	const struct path_function *own;
	size_t used = 0, at = count;

	/* find the innermost function of the program itself */
	while (at && (path[at - 1]->symbol.is_library || path[at - 1]->symbol.is_runtime))
		at--;
	own = path[(at ? at : count) - 1];
	for (size_t i = count; i && used < sizeof(stack); i--)
		used += (size_t)snprintf(stack + used, sizeof(stack) - used, "%s%s",
					 used ? ";" : "", name_of(path[i - 1], offset));
	begin_row(rows, "sites");
	add_signed(rows, site);
	add_text(rows, name_of(own, offset));
	add_text(rows, own->program);
	/* if snprintf() has cut a UTF-8 character, add_text() replaces the rest of it by U+FFFD */
	add_text(rows, stack);
	out_char(rows->out, '\n');
}

/*
 * Returns the id of a call site: a hash of the functions and files of its path, outermost first.
 * The hash ignores addresses and lines, so the id is the same on all hosts and in different builds
 * of a program.
 */
static int64_t site_of(struct rows *rows, const struct trace_node *backtrace, const char *called)
{
	size_t count = paths_make(&rows->paths, backtrace, called ? called : "");
	uint64_t hash = FNV_START;
	char offset[24];
	int64_t *known;
	int64_t site;

	for (size_t i = 0; i < count; i++) {
		hash = hash_on(hash, name_of(rows->paths.path[i], offset));
		hash = hash_on(hash, rows->paths.path[i]->program);
	}
	site = (int64_t)hash;
	if (!count || hash_table_find(&rows->sites, hash, is_site, &site))
		return site;
	known = pool_alloc(&rows->pool, sizeof(*known));
	*known = site;
	hash_table_add(&rows->sites, hash, known);
	put_site(rows, site, count);
	return site;
}

static bool is_sum(const void *item, const void *key)
{
	const struct row_sum *one = item, *two = key;

	return one->site == two->site && one->holder == two->holder &&
	       one->has_holder == two->has_holder && !strcmp(one->key[0], two->key[0]) &&
	       !strcmp(one->key[1], two->key[1]);
}

/* Finds or adds the sum with this key. The texts of the key must outlive `rows`. */
static struct row_sum *sum_of(struct rows *rows, const struct row_sum *key)
{
	uint64_t hash = hash_on(
		hash_on((uint64_t)key->site ^ (uint64_t)key->holder * FNV_PRIME, key->key[0]),
		key->key[1]);
	struct row_sum *sum = hash_table_find(&rows->sums, hash, is_sum, key);

	if (sum)
		return sum;
	sum = pool_zalloc(&rows->pool, sizeof(*sum));
	*sum = *key;
	hash_table_add(&rows->sums, hash, sum);
	*ARRAY_ADD(&rows->list) = sum;
	return sum;
}

/* Removes the sums of a table, so that the next table begins without sums. */
static void forget_sums(struct rows *rows)
{
	hash_table_free(&rows->sums);
	hash_table_init(&rows->sums);
	rows->list.count = 0;
}

/* ---- tables ---- */

static void add_amount(struct peaks_amount *sum, const struct peaks_amount *amount)
{
	sum->count += amount->count;
	sum->bytes += amount->bytes;
}

static void put_holds(struct rows *rows)
{
	struct costs_place place;
	uint32_t at = 0;

	while (costs_next(&rows->profile.costs, &at, &place)) {
		struct row_sum key = {
			.key = { place.class->type, "" },
			.site = site_of(rows, place.place->backtrace, place.place->function),
		};
		struct row_sum *sum = sum_of(rows, &key);

		add_amount(&sum->held.acquired, &place.acquired);
		add_amount(&sum->held.held, &place.held);
		add_amount(&sum->held.peak, &place.peak);
		sum->held.held_variance += place.held_variance;
		sum->held.held_ns += place.held_ns;
	}
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct row_sum *sum = rows->list.items[i];

		begin_row(rows, "holds");
		add_signed(rows, rows->run);
		add_text(rows, sum->key[0]);
		add_signed(rows, sum->site);
		add_unsigned(rows, sum->held.acquired.count);
		add_unsigned(rows, sum->held.acquired.bytes);
		add_unsigned(rows, sum->held.held.count);
		add_unsigned(rows, sum->held.held.bytes);
		add_unsigned(rows, estimate_error(sum->held.held_variance));
		add_unsigned(rows, sum->held.peak.count);
		add_unsigned(rows, sum->held.peak.bytes);
		add_unsigned(rows, sum->held.held_ns);
		out_char(rows->out, '\n');
	}
	forget_sums(rows);
}

static void put_waits(struct rows *rows)
{
	for (size_t i = 0; i < rows->profile.waits.list.count; i++) {
		const struct wait_sum *wait = rows->profile.waits.list.items[i];
		struct row_sum key = {
			.key = { lane_word(wait->kind), wait->function },
			.site = site_of(rows, wait->waiter, wait->function),
			.holder = wait->waker ? site_of(rows, wait->waker, NULL) : 0,
			.has_holder = wait->waker,
		};
		struct row_sum *sum = sum_of(rows, &key);

		sum->waits += wait->count;
		sum->wait_ns += wait->ns;
		if (wait->longest_ns > sum->longest_ns)
			sum->longest_ns = wait->longest_ns;
	}
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct row_sum *sum = rows->list.items[i];

		begin_row(rows, "waits");
		add_signed(rows, rows->run);
		add_text(rows, sum->key[0]);
		add_text(rows, sum->key[1]);
		add_signed(rows, sum->site);
		/* an unknown holder is 0: the column is part of the key, so it cannot be NULL */
		add_signed(rows, sum->holder);
		add_unsigned(rows, sum->waits);
		add_unsigned(rows, sum->wait_ns);
		add_unsigned(rows, sum->longest_ns);
		out_char(rows->out, '\n');
	}
	forget_sums(rows);
}

/* Writes the table `processes` of the report, whose rows are in the order of the traces. */
static void put_processes(const struct rows *rows, const struct table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_cell *row = table->rows.items[i];

		begin_row(rows, "processes");
		add_signed(rows, rows->run);
		add_unsigned(rows, i);
		add_cell(rows, CELL(row, processes, pid), false);
		add_cell(rows, CELL(row, processes, parent), false);
		add_cell(rows, CELL(row, processes, program), true);
		add_cell(rows, CELL(row, processes, start), false);
		add_cell(rows, CELL(row, processes, duration), false);
		add_cell(rows, CELL(row, processes, threads), false);
		add_cell(rows, CELL(row, processes, events), false);
		add_cell(rows, CELL(row, processes, dropped), false);
		add_cell(rows, CELL(row, processes, end), true);
		add_cell(rows, CELL(row, processes, command), true);
		out_char(rows->out, '\n');
	}
}

static void put_descriptors(const struct rows *rows, const struct table *table)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_cell *row = table->rows.items[i];

		begin_row(rows, "descriptors");
		add_signed(rows, rows->run);
		add_unsigned(rows, i);
		add_cell(rows, CELL(row, fd_peaks, pid), false);
		add_cell(rows, CELL(row, fd_peaks, program), true);
		add_cell(rows, CELL(row, fd_peaks, peak), false);
		add_cell(rows, CELL(row, fd_peaks, time), false);
		add_cell(rows, CELL(row, fd_peaks, inherited), false);
		add_cell(rows, CELL(row, fd_peaks, opened), false);
		add_cell(rows, CELL(row, fd_peaks, open), false);
		out_char(rows->out, '\n');
	}
}

static void put_run(const struct rows *rows)
{
	const struct summary *run = rows->profile.run->summary;
	const struct summary_process *first = summary_process_at(run, 0);
	uint64_t events = 0, dropped = 0;
	bool is_whole = true;

	for (size_t i = 0; i < run->processes.count; i++) {
		const struct summary_process *process = &run->processes.items[i];

		events += process->events;
		dropped += process->lost;
		is_whole &= process->has_end && !process->is_damaged;
	}
	begin_row(rows, "runs");
	add_signed(rows, rows->run);
	add_unsigned(rows, (first->start_ns + first->realtime_ns) / 1000000000u);
	add_label(rows, first->labels, "host", false);
	add_label(rows, first->labels, "job", false);
	add_label(rows, first->labels, "rank", true);
	add_label(rows, first->labels, "release", false);
	add_text(rows, first->labels);
	add_text(rows, first->name);
	add_text(rows, first->command);
	add_unsigned(rows, run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	add_unsigned(rows, run->processes.count);
	add_unsigned(rows, events);
	if (dropped || is_whole)
		add_unsigned(rows, dropped);
	else
		add_null(rows);
	add_unsigned(rows, run->sample);
	out_char(rows->out, '\n');
}

/* ---- the fold ---- */

static int rows_begin(void *user, struct report_run *run, struct error *err)
{
	struct rows *rows = user;
	int rc = profile_begin(&rows->profile, run, err);

	hash_table_init(&rows->sites);
	hash_table_init(&rows->sums);
	paths_init(&rows->paths, run->naming);
	return rc ? rc : report_begin(&report_fds, &rows->fds, run, err);
}

static void rows_event(void *state, const struct event *event)
{
	struct rows *rows = state;

	profile_event(&rows->profile, event);
	report_fds.event(rows->fds, event);
}

static void rows_note(void *state, const struct event *event)
{
	struct rows *rows = state;

	profile_note(&rows->profile, event);
	report_fds.note(rows->fds, event);
}

static void rows_process(void *state)
{
	struct rows *rows = state;

	profile_process(&rows->profile);
	report_fds.process(rows->fds);
}

static int rows_print(void *state, struct out *out, struct error *err)
{
	struct rows *rows = state;
	struct report_run *run = rows->profile.run;
	const struct summary_process *first = summary_process_at(run->summary, 0);
	struct tables tables;
	uint64_t hash;
	size_t length;
	int rc;

	if (!first)
		return 0;
	rows->out = out;
	/* a trace of another tool has no id for the run, so use a hash of the trace's path */
	hash = first->session[0] | first->session[1] ? first->session[0]
						     : hash_on(FNV_START, run->paths[0]);
	/* the ranks of a node share a file and an id, but each rank is a run of its own */
	if (trace_label(first->labels, "node", &length)) {
		const char *rank = trace_label(first->labels, "rank", &length);

		for (; rank && length; length--)
			hash = (hash ^ (unsigned char)*rank++) * FNV_PRIME;
	}
	rows->run = (int64_t)hash;
	profile_expect(&rows->profile);
	tables_init(&tables);
	report_processes.end(run, &tables);
	report_fds.end(rows->fds, &tables);
	rc = tables_failure(&tables, err);
	if (rc == 0) {
		put_processes(rows, tables_begin(&tables, TABLE_processes));
		put_descriptors(rows, tables_begin(&tables, TABLE_fd_peaks));
		put_holds(rows);
		put_waits(rows);
		/* write this row last: it shows that all rows of the run are present */
		put_run(rows);
	}
	tables_free(&tables);
	return rc;
}

static void rows_destroy(void *state)
{
	struct rows *rows = state;

	report_destroy(&report_fds, rows->fds);
	profile_destroy(&rows->profile);
	paths_free(&rows->paths);
	hash_table_free(&rows->sites);
	hash_table_free(&rows->sums);
	pool_free(&rows->pool);
	free(rows->list.items);
}

const struct report viewer_rows = {
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct rows),
	.begin = rows_begin,
	.event = rows_event,
	.note = rows_note,
	.process = rows_process,
	.print = rows_print,
	.destroy = rows_destroy,
};
