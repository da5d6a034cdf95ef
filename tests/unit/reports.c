/* SPDX-License-Identifier: MIT */
/* Tests tables, the ledger and reports, with events made by hand. */
#include "postproc/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "hook_table.h"
#include "postproc/report/suppress.h"
#include "tests/lib/tap.h"

enum { MEMORY, LOCK, MAPPING, CLASSES };
enum { PLACES = 4 };

/* A simulated run, with the report that processes its events. */
static struct {
	struct report_options options;
	struct report_run run;
	const struct report *report;
	void *state;
	struct tables tables;
	struct trace_process process;
	struct resource_class classes[CLASSES];
	struct function functions[HOOK_COUNT];
	struct trace_node frames[PLACES];
	struct backtrace backtraces[PLACES];
	uint64_t index;
} fake;

static void make_world(void)
{
	static const struct resource_class classes[CLASSES] = {
		[MEMORY] = { .type = "memory", .known = RESOURCE_MEMORY },
		[LOCK] = { .type = "lock", .known = RESOURCE_LOCK, .flags = 1 },
		[MAPPING] = { .type = "mapping", .known = RESOURCE_MAPPING },
	};

	for (uint32_t i = 0; i < CLASSES; i++) {
		fake.classes[i] = classes[i];
		fake.classes[i].id = fake.classes[i].ordinal = i;
		fake.classes[i].description = "";
	}
	for (uint32_t i = 0; i < HOOK_COUNT; i++)
		fake.functions[i] = (struct function){ .id = i,
						       .name = hook_table[i].name,
						       .hook = &hook_table[i] };
	for (uint32_t i = 0; i < PLACES; i++) {
		fake.frames[i] = (struct trace_node){ &trace_no_node, 0x1000 + i, 1, i + 1 };
		fake.backtraces[i] =
			(struct backtrace){ .id = i, .count = 1, .node = &fake.frames[i] };
	}
}

static void must(int rc)
{
	if (rc)
		abort();
}

static void begin(const struct report *report)
{
	make_world();
	fake.report = report;
	fake.run = (struct report_run){ .options = &fake.options };
	fake.run.summary = summary_begin();
	fake.run.ledger = fake.run.summary->ledger;
	must(report_begin(report, &fake.state, &fake.run, NULL));
	tables_init(&fake.tables);
}

static void begin_process(uint32_t pid)
{
	struct event event = { .kind = EVENT_STREAM, .process = &fake.process };

	fake.process = (struct trace_process){
		.pid = pid, .name = "demo", .has_tails = true, .start_ns = 1000
	};
	fake.index = 0;
	summary_open(fake.run.summary, "demo.htr");
	summary_event(fake.run.summary, &event);
	event.kind = EVENT_PROCESS;
	summary_event(fake.run.summary, &event);
}

static void end_process(void)
{
	if (fake.report->process)
		fake.report->process(fake.state);
	summary_close(fake.run.summary, NULL, UINT64_MAX);
}

static void end(void)
{
	summary_end(fake.run.summary);
	fake.report->end(fake.state, &fake.tables);
	must(tables_finish(&fake.tables, NULL, 0, NULL));
}

static void forget(void)
{
	tables_free(&fake.tables);
	report_destroy(fake.report, fake.state);
	summary_free(fake.run.summary);
}

static void send_from(enum hook_number hook, int class, enum call_type type, uint64_t object,
		      uint64_t size, const struct backtrace *backtrace)
{
	struct event event = {
		.kind = EVENT_CALL,
		.process = &fake.process,
		.index = ++fake.index,
		.function = &fake.functions[hook],
		.resource = &fake.classes[class],
		.type = type,
		.object = object,
		.size = size,
		.backtrace = backtrace,
		.has_tail = true,
		.moment = MOMENT_LEAVE,
		.thread = 100,
		.time_ns = 1000 + fake.index * 1000,
	};

	summary_count(fake.run.summary, &event);
	ledger_event(fake.run.ledger, &event);
}

static void send(enum hook_number hook, int class, enum call_type type, uint64_t object,
		 uint64_t size, int place)
{
	send_from(hook, class, type, object, size, &fake.backtraces[place]);
}

static void acquisition(uint64_t object, uint64_t size, int place)
{
	send(HOOK_malloc, MEMORY, CALL_TYPE_ALLOC, object, size, place);
}

static void lose(uint64_t object)
{
	send(HOOK_free, MEMORY, CALL_TYPE_FREE, object, 0, 0);
}

/* Returns the row of a call site in a table, or NULL. */
static struct table_cell *row_of(enum table_id id, int place)
{
	const struct table *table = tables_begin(&fake.tables, id);
	int column = table_column(&table->facts, "backtrace");

	for (size_t i = 0; i < table->rows.count; i++)
		if (table->rows.items[i][column].backtrace->address == fake.frames[place].address)
			return table->rows.items[i];
	return NULL;
}

static bool is(const struct table_cell *cell, uint64_t number)
{
	if (cell->is_set && cell->number == number)
		return true;
	printf("# found %llu, expected %llu\n", (unsigned long long)cell->number,
	       (unsigned long long)number);
	return false;
}

/* ---- the peak ---- */

static void test_peak(void)
{
	struct table_cell *row;

	begin(&report_peak);
	begin_process(100);
	acquisition(1, 100, 0);
	acquisition(2, 50, 1); /* 150 in total */
	lose(1);
	acquisition(3, 30, 2);
	lose(3);
	acquisition(4, 120, 2); /* 170 in total: the peak, without call site 0 */
	lose(2);
	acquisition(5, 10, 3);
	end_process();
	begin_process(101);
	acquisition(1, 160, 0);
	end_process();
	end();
	ok(row_of(TABLE_peak_sites, 0) == NULL, "blocks freed before the peak are not part of it");
	row = row_of(TABLE_peak_sites, 1);
	ok(row && is(CELL(row, peak_sites, amount), 50),
	   "blocks freed after the peak are part of it");
	row = row_of(TABLE_peak_sites, 2);
	ok(row && is(CELL(row, peak_sites, amount), 120) && is(CELL(row, peak_sites, count), 1),
	   "the allocation that made the peak is part of it");
	ok(row_of(TABLE_peak_sites, 3) == NULL,
	   "blocks allocated after the peak are not part of it");
	row = tables_begin(&fake.tables, TABLE_peaks)->rows.items[0];
	ok(is(CELL(row, peaks, peak), 170) && is(CELL(row, peaks, pid), 100),
	   "the peak is of one process, which is named");
	ok(is(CELL(row, peaks, time), 6000), "the peak has its time");
	forget();

	begin(&report_peak);
	begin_process(100);
	acquisition(1, 100, 0);
	end_process();
	begin_process(101);
	acquisition(1, 30, 0);
	acquisition(2, 90, 1);
	end_process();
	end();
	row = row_of(TABLE_peak_sites, 0);
	ok(row && is(CELL(row, peak_sites, amount), 30),
	   "a later process with a higher peak replaces it");
	forget();
}

/* ---- leaks ---- */

static void test_leaks(void)
{
	struct table_cell *row;

	fake.options.suppression_files = (const char *const[]){ "none" };
	fake.options.suppression_count = 1;
	begin(&report_leaks);
	begin_process(100);
	acquisition(1, 100, 0);
	acquisition(1, 40, 1); /* the free of the first block is missing */
	send(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, 9, 0, 2);
	send(HOOK_pthread_mutex_lock, LOCK, CALL_TYPE_ALLOC, 9, 0, 3);
	send(HOOK_pthread_mutex_unlock, LOCK, CALL_TYPE_FREE, 9, 0, 0);
	send(HOOK_mmap, MAPPING, CALL_TYPE_ALLOC, 0x10000, 0x3000, 2);
	send(HOOK_munmap, MAPPING, CALL_TYPE_FREE, 0x11000, 0x1000, 0);
	end_process();
	begin_process(101);
	acquisition(1, 60, 1);
	end_process();
	end();
	ok(row_of(TABLE_leaks, 0) == NULL, "another acquisition of an object replaces the first");
	row = row_of(TABLE_leaks, 1);
	ok(row && is(CELL(row, leaks, amount), 100) && is(CELL(row, leaks, count), 2) &&
		   is(CELL(row, leaks, processes), 2),
	   "the same call site in two processes is one row");
	ok(row && is(CELL(row, leaks, age), 6000 - 1000),
	   "the age of a call site is that of its oldest object");
	row = row_of(TABLE_leaks, 2);
	ok(row && is(CELL(row, leaks, amount), 1),
	   "a lock acquired twice and released once is held");
	row = tables_begin(&fake.tables, TABLE_leaks)->rows.items[2];
	ok(is(CELL(row, leaks, amount), 0x2000) && is(CELL(row, leaks, count), 2),
	   "the part of a mapping that was not unmapped is held");
	forget();
}

/* ---- temp ---- */

static void test_temp(void)
{
	struct table_cell *row;

	fake.options.within = 2;
	begin(&report_temporary);
	begin_process(100);
	acquisition(1, 10, 0);
	lose(1);
	acquisition(2, 20, 0);
	acquisition(3, 30, 1);
	lose(2);
	acquisition(4, 10, 2);
	lose(3);
	lose(4);
	end_process();
	end();
	row = row_of(TABLE_temporary, 0);
	ok(row && is(CELL(row, temporary, temporary), 2) && is(CELL(row, temporary, bytes), 30),
	   "a block freed within two calls is temporary");
	ok(row_of(TABLE_temporary, 1) == NULL, "a block freed within three calls is not temporary");
	forget();
	fake.options.within = 1;
}

/* ---- tables ---- */

static void add_row(struct table *table, const char *class, uint32_t rank, uint64_t amount)
{
	struct table_cell *row = table_add(table);

	table_group(table, CELL(row, leaks, class), class, rank);
	table_amount(CELL(row, leaks, amount), amount, true);
	table_number(CELL(row, leaks, count), 1000 - amount);
}

static void fill(struct tables *tables)
{
	struct table *table = tables_begin(tables, TABLE_leaks);

	tables_begin(tables, TABLE_suppressed);
	add_row(table, "fd", 4, 3);
	add_row(table, "memory", 1, 10);
	add_row(table, "memory", 1, 30);
	add_row(table, "fd", 4, 5);
	add_row(table, "memory", 1, 20);
}

static bool are(const struct table *table, const uint64_t *amounts)
{
	for (size_t i = 0; i < table->rows.count; i++)
		if (!is(CELL(table->rows.items[i], leaks, amount), amounts[i]))
			return false;
	return true;
}

static void test_tables(void)
{
	struct tables tables;
	struct table *table;
	struct error err;

	tables_init(&tables);
	fill(&tables);
	must(tables_finish(&tables, NULL, 2, &err));
	table = tables_begin(&tables, TABLE_leaks);
	ok(are(table, (const uint64_t[]){ 30, 20, 10, 5, 3 }),
	   "groups are sorted by rank, rows by their column, the largest first");
	ok(table->groups.count == 2 && table->groups.items[0].shown == 2 &&
		   table->groups.items[0].count == 3 && table->groups.items[1].shown == 2,
	   "the first rows of each group are shown");
	ok(is(CELL(table->groups.items[0].sums, leaks, amount), 60) &&
		   is(CELL(table->groups.items[0].rest, leaks, amount), 10),
	   "a group has sums of all rows, and of the rows that are not shown");
	tables_free(&tables);

	fill(&tables);
	must(tables_finish(&tables, "count", 0, &err));
	table = tables_begin(&tables, TABLE_leaks);
	ok(are(table, (const uint64_t[]){ 10, 20, 30, 3, 5 }), "--by sorts by another column");
	tables_free(&tables);

	fill(&tables);
	ok(tables_finish(&tables, "nonsense", 0, &err) == -EINVAL, "an unknown column is refused");
	tables_free(&tables);
}

/* Names each row "odd" or "even", so that rows of several call sites have the same name. */
static const char *read_call(void *user, const struct table *table, const struct table_cell *row)
{
	(void)user;
	(void)table;
	return CELL(row, allocations, bytes)->number % 2 ? "odd" : "even";
}

static struct table_cell *add_hot(struct table *table, const char *class, uint64_t calls,
				  uint64_t bytes)
{
	static const struct trace_node backtrace = { 0 };
	struct table_cell *row = table_add(table);

	table_group(table, CELL(row, allocations, class), class, *class == 'f');
	table_number(CELL(row, allocations, calls), calls);
	table_percent(CELL(row, allocations, share), calls, 10);
	table_number(CELL(row, allocations, bytes), bytes);
	table_average(CELL(row, allocations, average), bytes, calls);
	table_backtrace(CELL(row, allocations, backtrace), &backtrace);
	return row;
}

static void test_fold(void)
{
	struct tables tables;
	struct table *table;
	struct table_cell *first;
	struct error err;

	tables_init(&tables);
	table = tables_begin(&tables, TABLE_allocations);
	add_hot(table, "memory", 3, 30);
	first = add_hot(table, "memory", 2, 21);
	add_hot(table, "memory", 2, 99);
	add_hot(table, "fd", 3, 3);
	must(tables_finish(&tables, NULL, 1, &err));
	must(tables_fold(&tables, NULL, 1, read_call, NULL, &err));
	ok(table->rows.count == 3 && table->rows.items[0] == first,
	   "rows of a group with the same text are joined and sorted again");
	ok(is(CELL(first, allocations, calls), 4) && is(CELL(first, allocations, bytes), 120) &&
		   is(CELL(first, allocations, share), 4000),
	   "a joined row has the sums of its rows");
	ok(is(CELL(first, allocations, average), 29), "a joined row has the average of its rows");
	ok(CELL(first, allocations, backtrace)->weight == 2,
	   "a joined row has the number of its rows");
	ok(table->groups.count == 2 && table->groups.items[0].count == 2 &&
		   is(CELL(table->groups.items[0].sums, allocations, bytes), 150) &&
		   is(CELL(table->groups.items[0].rest, allocations, bytes), 30),
	   "joining rows keeps a group's sums, and leaves fewer rows out");
	tables_free(&tables);
}

static void test_table(void)
{
	bool is_sorted_by_own = true, is_text_first = true;

	for (int i = 0; i < TABLE_ID_COUNT; i++) {
		struct table_facts facts = table_facts((enum table_id)i);

		is_sorted_by_own &= !*facts.by || table_column(&facts, facts.by) >= 0;
		for (unsigned j = 1; j < facts.column_count; j++)
			is_text_first &= facts.columns[j].kind != TABLE_GROUP;
	}
	ok(is_sorted_by_own, "every table is sorted by a column of its own");
	ok(is_text_first, "only a first column is a group");
	for (unsigned i = 0; report_at(i); i++)
		if (!report_find(report_at(i)->next, strcspn(report_at(i)->next, " ")))
			ok(false, report_at(i)->name);
}

/* ---- many rows ---- */

static void add_many(struct tables *tables)
{
	enum { ROWS = 200000 };
	struct table *table = tables_begin(tables, TABLE_allocations);

	/* many rows have the same number of calls, and their groups alternate */
	for (uint64_t i = 0; i < ROWS; i++)
		add_hot(table, i % 3 ? "memory" : "fd", i * 7919 % 50021, i);
}

static bool are_same(const struct table_cell *one, const struct table_cell *two)
{
	return one->is_set == two->is_set && one->number == two->number;
}

static bool are_same_groups(const struct table *all, const struct table *few, size_t top)
{
	for (size_t g = 0; g < all->groups.count; g++) {
		const struct table_group *one = &all->groups.items[g], *two = &few->groups.items[g];

		if (strcmp(one->name, two->name) || one->count != two->count ||
		    one->shown != two->shown || one->shown != top ||
		    !are_same(CELL(one->sums, allocations, bytes),
			      CELL(two->sums, allocations, bytes)) ||
		    !are_same(CELL(one->rest, allocations, bytes),
			      CELL(two->rest, allocations, bytes)) ||
		    !are_same(CELL(one->rest, allocations, calls),
			      CELL(two->rest, allocations, calls)))
			return false;
		for (size_t i = 0; i < top; i++)
			if (!are_same(CELL(all->rows.items[one->first + i], allocations, bytes),
				      CELL(few->rows.items[two->first + i], allocations, bytes)))
				return false;
	}
	return all->groups.count == few->groups.count;
}

static void test_bound(void)
{
	enum { TOP = 20 };
	static const char *const orders[] = { NULL, "bytes" };

	for (int i = 0; i < 2; i++) {
		struct tables all, few;
		struct error err;

		tables_init(&all);
		tables_init(&few);
		tables_bound(&few, orders[i], TOP);
		add_many(&all);
		add_many(&few);
		ok(few.list[0].rows.count < all.list[0].rows.count / 4 &&
			   few.pool.total < all.pool.total / 4,
		   "rows that will not be read are not kept");
		must(tables_finish(&all, orders[i], TOP, &err));
		must(tables_finish(&few, orders[i], TOP, &err));
		ok(are_same_groups(&all.list[0], &few.list[0], TOP),
		   "rows and sums that are printed do not depend on rows that were removed");
		tables_free(&all);
		tables_free(&few);
	}
}

/* ---- what a place needs ---- */

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/*
 * Measures the memory per leaking call site, from the calls to the first rows of a table. This
 * memory is a site, a live block, a place, a tally and a node. The rows of a whole table would add
 * 208 bytes.
 */
static void leak_much(void)
{
	enum { MANY = 200000, BYTES_A_PLACE = 320, TOP = 20 };
	struct trace_node *nodes = calloc(MANY, sizeof(*nodes));
	struct backtrace *backtraces = calloc(MANY, sizeof(*backtraces));
	long before;

	fake.options.suppression_files = (const char *const[]){ "none" };
	fake.options.suppression_count = 1;
	begin(&report_leaks);
	tables_bound(&fake.tables, NULL, TOP);
	for (uint32_t i = 0; i < MANY; i++) {
		nodes[i] = (struct trace_node){ &trace_no_node, 0x1000 + i, 1, i + 1 };
		backtraces[i] = (struct backtrace){ .id = i, .count = 1, .node = &nodes[i] };
	}
	before = peak_kib();
	begin_process(100);
	for (uint32_t i = 0; i < MANY; i++)
		send_from(HOOK_malloc, MEMORY, CALL_TYPE_ALLOC, 0x100000 + i * 16, 16,
			  &backtraces[i]);
	end_process();
	end();
	printf("# %ld bytes a place\n", (peak_kib() - before) * 1024 / MANY);
	fflush(stdout);
	if (tables_begin(&fake.tables, TABLE_leaks)->groups.items[0].count != MANY ||
	    peak_kib() - before > (long)MANY * BYTES_A_PLACE / 1024)
		_exit(1);
	forget();
	free(nodes);
	free(backtraces);
	_exit(0);
}

/* Runs leak_much() in a new process, whose peak memory has not been raised by other tests. */
static void test_need(void)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0)
		leak_much();
	ok(child > 0 && waitpid(child, &status, 0) == child && (IS_SANITIZED || status == 0),
	   "two hundred thousand places that leak need less than 320 bytes each");
}

/* ---- suppressions ---- */

static void test_patterns(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "foo", "a foo b", true },
		{ "foo", "fo", false },
		{ "^foo", "foobar", true },
		{ "^foo", "a foo", false },
		{ "foo$", "a foo", true },
		{ "foo$", "foobar", false },
		{ "foo$", "foo foo", true },
		{ "^foo$", "foo", true },
		{ "^foo$", "foofoo", false },
		{ "f*o", "flamingo", true },
		{ "^f*o$", "flamingo", true },
		{ "^f*o$", "flamingos", false },
		{ "*", "", true },
		{ "", "anything", true },
		{ "a*b*c", "xaybzc", true },
		{ "a*b*c", "acb", false },
		{ "^*foo", "a foo", true },
		{ "foo*", "foo", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char sentence[64];

		snprintf(sentence, sizeof(sentence), "%s %s \"%s\"", cases[i].pattern,
			 cases[i].matches ? "is in" : "is not in", cases[i].text);
		ok(suppress_matches(cases[i].pattern, cases[i].text) == cases[i].matches, sentence);
	}
}

/* ---- modules ---- */

static void test_touched(void)
{
	enum { PROCESSES = 100000 };
	const struct trace_node frame = { &trace_no_node, 0x1010, 1, 1 };
	struct trace_mapping mapping = { .from = 0x1000, .to = 0x2000, .path = "a" };
	struct touched touched = { 0 };
	struct address_space space;
	clock_t begun = clock();

	space_init(&space);
	must(space_map(&space, &mapping));
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct backtrace backtrace = { .id = i, .count = 1, .node = &frame };
		struct event event = { .backtrace = &backtrace, .index = 1 };

		touched_event(&touched, &event);
		touched_event(&touched, &event);
		touched_process(&touched, &space);
	}
	ok(touched_events(&touched, space.module_list.items[0]) == 2 * PROCESSES,
	   "every event of every process is counted once");
	ok(clock() - begun < 2 * CLOCKS_PER_SEC,
	   "counting takes a time proportional to the events");
	touched_free(&touched);
	space_free(&space);
}

int main(void)
{
	test_need();
	test_touched();
	test_peak();
	test_leaks();
	test_temp();
	test_tables();
	test_fold();
	test_bound();
	test_table();
	test_patterns();
	return tap_end();
}
