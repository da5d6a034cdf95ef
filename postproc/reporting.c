/* SPDX-License-Identifier: MIT */
#include "reporting.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "naming/naming.h"
#include "postproc/gate/checker.h"
#include "postproc/print/overview.h"
#include "postproc/totals/allocators.h"
#include "postproc/run/spans.h"

/* The state while a run is read: the part that all reports share, and a state for each fold. */
struct fold {
	const struct reporting_options *options;
	struct report_run run;
	const struct choice *choice;
	void *states[CHOICE_MAX]; /* the state of each fold of `choice` */
	struct reporting_result *result;
};

static bool has_flag(const struct fold *fold, enum format_flag flag)
{
	return fold->options->style.format->flags & flag;
}

/* ---- events ---- */

static int on_open(void *user, const struct trace *trace, const char *path, struct error *err)
{
	struct fold *fold = user;

	(void)err;
	(void)trace;
	summary_open(fold->run.summary, strcmp(path, "-") ? path : NULL);
	return 0;
}

static int on_begin(void *user, const struct event *event, struct error *err)
{
	struct fold *fold = user;

	(void)err;
	summary_event(fold->run.summary, event);
	fold->run.life = (struct rises_axis){ 0 };
	return 0;
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct fold *fold = user;
	const struct choice *choice = fold->choice;

	(void)err;
	if (event->kind != EVENT_CALL) {
		summary_event(fold->run.summary, event);
		for (unsigned i = 0; event->kind == EVENT_NOTE && i < choice->count; i++)
			if (choice->folds[i]->note)
				choice->folds[i]->note(fold->states[i], event);
		return 0;
	}
	if (choice->wants_summary)
		summary_event(fold->run.summary, event);
	else
		summary_count(fold->run.summary, event);
	if (choice->wants_ledger && !choice->wants_summary)
		ledger_event(fold->run.ledger, event);
	for (unsigned i = 0; i < choice->count; i++)
		if (choice->folds[i]->event)
			choice->folds[i]->event(fold->states[i], event);
	return 0;
}

/*
 * Calls process() of each fold while the ledger still has the live objects. on_close() then adds
 * the process to the run.
 */
static int on_end(void *user, struct error *err)
{
	struct fold *fold = user;
	struct report_run *run = &fold->run;

	(void)err;
	/* extend the curves to the end of the process, because live objects were held until then */
	if (run->life.shift) {
		rises_reach(&run->life, summary_current(run->summary)->end_ns);
		rises_reach(&run->windows, summary_current(run->summary)->end_ns);
	}
	for (unsigned i = 0; i < fold->choice->count; i++)
		if (fold->choice->folds[i]->process)
			fold->choice->folds[i]->process(fold->states[i]);
	return 0;
}

static int on_close(void *user, const struct trace *trace, struct error *err)
{
	struct fold *fold = user;

	summary_close(fold->run.summary, trace_tally(trace), trace_until_ns(trace));
	if (trace_is_damaged(trace) && !trace_process(trace))
		return error_set(err, EIO,
				 "ends before its first event: was the recording killed, or the "
				 "disk full?");
	return 0;
}

/* ---- traces ---- */

static int read_run(struct fold *fold, const char *const *paths, size_t count, struct error *err)
{
	const struct engine_listener listener = {
		.user = fold,
		.open = on_open,
		.begin = on_begin,
		.event = on_event,
		.end = on_end,
		.close = on_close,
	};

	return engine_read(paths, count, &fold->options->reading, &listener, &fold->result->reading,
			   err);
}

static int read_all(struct fold *fold, const char *const *paths, size_t count, struct error *err)
{
	const struct reporting_options *options = fold->options;
	int rc = 0;

	if (fold->choice->wants_directories)
		return 0;
	fold->run.is_base = true;
	if (options->base_count)
		rc = read_run(fold, options->base, options->base_count, err);
	fold->run.is_base = false;
	return rc ? rc : read_run(fold, paths, count, err);
}

/* ---- printing ---- */

static bool is_screen(const struct fold *fold, unsigned index)
{
	return has_flag(fold, FORMAT_PEOPLE) && !fold->choice->is_of_tables &&
	       fold->choice->folds[index]->is_screen;
}

/*
 * Checks the limits. In the format text, prints the result before the reports; in other formats,
 * the result is the first table.
 */
static int judge(struct fold *fold, struct tables *tables, struct tables *others, struct out *out,
		 struct error *err)
{
	const struct reporting_options *options = fold->options;
	bool is_alone = has_flag(fold, FORMAT_PEOPLE);
	struct judge judge = { .limits = options->limits,
			       .run = &fold->run,
			       .baseline = options->baseline,
			       .learned = options->learned,
			       .verdicts = options->verdicts,
			       .is_so_far = options->is_so_far,
			       .is_empty = select_is_empty(options->reading.select.tally) };
	struct tables alone;
	int rc;

	tables_init(&alone);
	judge_limits(&judge, tables, others,
		     tables_begin(is_alone ? &alone : tables, TABLE_limits));
	fold->result->broken = judge.broken;
	fold->result->unknown = judge.unknown;
	if (judge.verdicts)
		verdicts_sort(judge.verdicts, fold->run.naming, options->style.source);
	rc = tables_finish(&alone, NULL, 0, err);
	if (rc == 0 && is_alone && out) {
		tables_print(&alone, &fold->run, fold->run.naming, fold->choice->rows, 0,
			     &options->style, out);
		out_char(out, '\n');
	}
	tables_free(&alone);
	return rc;
}

static const char *by_of(const struct fold *fold)
{
	return fold->choice->takes_by ? NULL : fold->options->report.by;
}

static void print_tables(const struct fold *fold, const struct tables *tables, struct out *out)
{
	tables_print(tables, &fold->run, fold->run.naming, fold->choice->rows,
		     fold->choice->row_count, &fold->options->style, out);
}

/* ---- a page with a maximum size: the most detailed page that fits is searched for ---- */

/* maximum number of attempts between the least and the full detail */
#define ATTEMPTS   6u
#define GOOD(most) ((most) / 8 * 7) /* a page that fits and is this large ends the search */

struct page {
	struct fold *fold;
	const struct tables *tables; /* tables with all details */
	uint32_t all;		     /* the level of detail that includes everything */
	uint64_t most_bytes;
};

/* A page that was printed into memory, to learn its size. */
struct attempt {
	uint32_t detail;
	uint64_t size;
	int fd;
};

/*
 * Prints the page with this detail, from 1 (the least) to page->all. Below page->all, folds with
 * has_detail fill their tables again; these tables are printed before the others.
 */
static int print_page(const struct page *page, uint32_t detail, struct out *out, struct error *err)
{
	struct fold *fold = page->fold;
	bool is_own[TABLE_ID_COUNT] = { false };
	struct tables tables;
	unsigned own;
	int rc;

	naming_restart(fold->run.naming);
	if (detail == page->all) {
		print_tables(fold, page->tables, out);
		return 0;
	}
	tables_init(&tables);
	fold->run.detail = detail;
	for (unsigned i = 0; i < fold->choice->shown; i++)
		if (fold->choice->folds[i]->has_detail)
			fold->choice->folds[i]->end(fold->states[i], &tables);
	own = tables.count;
	rc = tables_finish(&tables, NULL, 0, err);
	for (unsigned i = 0; i < own; i++)
		is_own[tables.list[i].id] = true;
	for (unsigned i = 0; i < page->tables->count; i++)
		if (!is_own[page->tables->list[i].id])
			tables.list[tables.count++] = page->tables->list[i];
	if (rc == 0)
		print_tables(fold, &tables, out);
	tables.count = own;
	tables_free(&tables);
	return rc;
}

static int attempt(const struct page *page, uint32_t detail, struct attempt *made,
		   struct error *err)
{
	struct out out;
	off_t size;
	int rc, closed;

	*made = (struct attempt){ .detail = detail,
				  .fd = memfd_create("holdtrace-page", MFD_CLOEXEC) };
	if (made->fd < 0)
		return error_system(err, errno, "file in memory");
	out_open(&out, made->fd);
	rc = print_page(page, detail, &out, err);
	closed = out_close(&out);
	if (rc == 0 && closed)
		return error_system(err, -closed, "file in memory");
	size = lseek(made->fd, 0, SEEK_END);
	made->size = size > 0 ? (uint64_t)size : 0;
	return rc;
}

static int copy_attempt(const struct attempt *made, struct out *out, struct error *err)
{
	cleanup_free char *bytes = memory_alloc(OUT_SIZE);
	ssize_t size = 0;

	if (lseek(made->fd, 0, SEEK_SET) == 0)
		while ((size = read(made->fd, bytes, OUT_SIZE)) > 0)
			out_bytes(out, bytes, (size_t)size);
	return size < 0 ? error_system(err, errno, "file in memory") : 0;
}

/*
 * Searches for a larger page that fits. At the start, the page `small` fits and `large` does not;
 * at the end, `small` is the largest page found that fits.
 */
static int approach(const struct page *page, struct attempt *small, struct attempt *large,
		    struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < ATTEMPTS && small->size < GOOD(page->most_bytes); i++) {
		/*
		 * use the geometric mean, because the size of a page changes by factors, for
		 * example when the steps of time are doubled
		 */
		uint32_t detail = (uint32_t)sqrt((double)small->detail * (double)large->detail);
		struct attempt made, *replaced;

		if (detail <= small->detail || detail >= large->detail)
			break;
		rc = attempt(page, detail, &made, err);
		replaced = rc ? &made : made.size <= page->most_bytes ? small : large;
		if (replaced->fd >= 0)
			close(replaced->fd);
		if (rc == 0)
			*replaced = made;
	}
	return rc;
}

/*
 * Prints the page with as much detail as its maximum size allows. Returns -EFBIG if the page is too
 * large even with the least detail.
 */
static int print_limited(struct fold *fold, const struct tables *tables, struct out *out,
			 struct error *err)
{
	struct page page = { fold, tables, UINT32_MAX, fold->options->report.max_bytes };
	struct attempt all, small = { .fd = -1 };
	size_t most = 1;
	int rc;

	for (unsigned i = 0; i < tables->count; i++)
		if (tables->list[i].rows.count > most)
			most = tables->list[i].rows.count;
	if (most < UINT32_MAX / SPANS_A_PLACE)
		page.all = (uint32_t)most * SPANS_A_PLACE;
	rc = attempt(&page, page.all, &all, err);
	if (rc == 0 && all.size <= page.most_bytes) {
		rc = copy_attempt(&all, out, err);
	} else if (rc == 0) {
		rc = attempt(&page, 1, &small, err);
		if (rc == 0 && small.size > page.most_bytes)
			rc = error_set(err, EFBIG,
				       "--format=html:%" PRIu64
				       ": the minimum for this run is %" PRIu64,
				       page.most_bytes, small.size);
		if (rc == 0)
			rc = approach(&page, &small, &all, err);
		if (rc == 0)
			rc = copy_attempt(&small, out, err);
	}
	if (small.fd >= 0)
		close(small.fd);
	if (all.fd >= 0)
		close(all.fd);
	return rc;
}

/* ---- all output ---- */

static int print(struct fold *fold, struct tables *tables, struct out *out, struct error *err)
{
	const struct reporting_options *options = fold->options;
	const struct report *first = fold->choice->folds[0];
	const char *by = by_of(fold);
	const struct overview_style style = {
		.width = options->style.width,
		.has_colour = options->style.has_colour,
		.is_newest = options->is_newest,
	};
	bool has_screen = false;
	int rc;

	if (first->print)
		return first->print(fold->states[0], out, err);
	rc = tables_finish(tables, by, options->report.top, err);
	if (rc == 0 && !tables_fit(tables, options->style.format))
		rc = error_set(err, EINVAL,
			       "--format=%s is only for trees: the tables tree, call_tree and diff",
			       options->style.format->name);
	/* in text, join rows that look the same */
	if (rc == 0 && has_flag(fold, FORMAT_PEOPLE) && !options->style.is_verbose)
		rc = tables_fold_same(tables, fold->run.naming, by, options->report.top, err);
	for (unsigned i = 0; rc == 0 && i < fold->choice->shown; i++)
		if (is_screen(fold, i)) {
			rc = overview_print(fold->run.summary, fold->run.naming, &options->report,
					    &style, out, err);
			has_screen = true;
		}
	/* the screen says itself which data is missing, so if there are no tables, print no more */
	if (rc || (!tables->count && has_screen))
		return rc;
	if (options->report.max_bytes)
		return print_limited(fold, tables, out, err);
	print_tables(fold, tables, out);
	return 0;
}

static int finish(struct fold *fold, struct out *out, struct error *err)
{
	const struct reporting_options *options = fold->options;
	struct tables tables, others;
	struct report_gaps gaps;
	int rc;

	fold->run.summary->unread = fold->result->reading.unread;
	summary_end(fold->run.summary);
	allocators_find(fold->run.summary, fold->run.naming);
	report_find_gaps(&fold->run, KIND_ALL, 0, &gaps);
	fold->result->damaged = gaps.damaged;
	fold->result->incomplete = gaps.incomplete;
	tables_init(&tables);
	tables_init(&others);
	tables.wanted = fold->choice->tables;
	tables.others = &others;
	/* text without limits needs only the top rows; but limits are checked against all rows */
	if (has_flag(fold, FORMAT_PEOPLE) && options->report.top && !options->limits)
		tables_bound(&tables, by_of(fold), options->report.top);
	if (options->limits && !has_flag(fold, FORMAT_PEOPLE))
		tables_begin(&tables, TABLE_limits);
	/* tables that are not printed, but that limits need, go to `others` */
	for (unsigned i = 0; i < fold->choice->count; i++)
		if (!is_screen(fold, i) && fold->choice->folds[i]->end)
			fold->choice->folds[i]->end(fold->states[i],
						    i < fold->choice->shown ? &tables : &others);
	/* reset the counts of shown frames: the frames so far were only matched, not shown */
	naming_restart(fold->run.naming);
	rc = tables_failure(&tables, err);
	if (rc == 0)
		rc = tables_failure(&others, err);
	if (rc == 0 && options->limits)
		rc = judge(fold, &tables, &others, out, err);
	if (rc == 0 && out)
		rc = print(fold, &tables, out, err);
	tables_free(&tables);
	tables_free(&others);
	return rc;
}

/* ---- begin and end ---- */

static int fold_begin(struct fold *fold, const struct reporting_options *options,
		      const char *const *paths, size_t count, struct reporting_result *result,
		      struct error *err)
{
	bool has_findings = false; /* whether a fold shows findings, in a screen or a table */
	int rc;

	*result = (struct reporting_result){ 0 };
	*fold = (struct fold){ .options = options,
			       .choice = &options->choice,
			       .result = result,
			       .run = { .options = &options->report,
					.paths = paths,
					.path_count = count,
					.reading = &options->reading.trace } };
	fold->run.summary = summary_begin();
	fold->run.summary->selection = fold->options->reading.select.tally;
	fold->run.summary->begins_late = trace_begins_late(&fold->options->reading.trace);
	fold->run.detail = fold->options->report.max_bytes ? UINT32_MAX : 0;
	rc = naming_create(&fold->run.naming, &fold->run.summary->space, &fold->options->files,
			   err);
	for (unsigned i = 0; i < fold->choice->shown; i++)
		has_findings |= fold->choice->folds[i]->is_screen;
	if (has_findings)
		summary_watch(fold->run.summary);
	fold->run.ledger = fold->run.summary->ledger;
	for (unsigned i = 0; rc == 0 && i < fold->choice->count; i++)
		rc = report_begin(fold->choice->folds[i], &fold->states[i], &fold->run, err);
	return rc;
}

/* Frees the reports before the summary, which owns the tallies that the reports use. */
static void fold_end(struct fold *fold)
{
	for (unsigned i = 0; i < fold->choice->count; i++)
		report_destroy(fold->choice->folds[i], fold->states[i]);
	naming_destroy(fold->run.naming);
	summary_free(fold->run.summary);
}

static int read_and_print(struct fold *fold, struct out *out, struct error *err)
{
	const struct select_options *select = &fold->options->reading.select;
	struct error later = { 0 };
	int rc = read_all(fold, fold->run.paths, fold->run.path_count, err), printed = 0;
	bool has_processes = fold->run.summary->processes.count != 0;

	if (rc == 0 && !has_processes && select->process)
		rc = error_set(err, ESRCH,
			       "--process=%s: no process of the run has this number or name",
			       select->process);
	/*
	 * after an error, report on the part of the run that was read; but do not compare it,
	 * because the differences would be false
	 */
	if (rc == 0 || rc == -EINTR || (has_processes && !fold->options->base_count))
		printed = finish(fold, out, &later);
	if (rc || !printed)
		return rc;
	*err = later;
	return printed;
}

/* Whether the requested reports use only facts about processes, so that reading can skip calls. */
static bool can_skip(const char *const *paths, size_t count,
		     const struct reporting_options *options)
{
	struct stat facts;

	/*
	 * if facts about processes turn out to be insufficient, the traces are read again; a pipe
	 * cannot be read again
	 */
	for (size_t i = 0; i < count; i++)
		if (!strcmp(paths[i], "-") || (stat(paths[i], &facts) == 0 &&
					       !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)))
			return false;
	return options->choice.skips_calls && !options->limits && !options->base_count &&
	       !options->is_strict && !options->reading.is_merged &&
	       !options->reading.trace.no_wait;
}

/*
 * Makes the reports without reading calls. Returns 1, and prints nothing, if the calls turn out to
 * be needed.
 */
static int report_briefly(const char *const *paths, size_t count,
			  const struct reporting_options *options, struct out *out,
			  struct reporting_result *result, struct error *err)
{
	struct reporting_options fast = *options;
	struct select_tally tally = { 0 };
	struct fold fold;
	int rc;

	if (options->reading.select.tally)
		fast.reading.select.tally = &tally;
	fast.reading.trace.skips_calls = true;
	fast.reading.trace.failed = NULL;
	fast.reading.read = NULL;
	rc = fold_begin(&fold, &fast, paths, count, result, err);
	if (rc == 0)
		rc = read_all(&fold, paths, count, err);
	if (rc || result->reading.is_damaged || fold.run.summary->wants_calls || tally.filters ||
	    !fold.run.summary->processes.count)
		rc = 1;
	else
		rc = finish(&fold, out, err);
	fold_end(&fold);
	return rc;
}

int reporting(const char *const *paths, size_t count, const struct reporting_options *options,
	      struct out *out, struct reporting_result *result, struct error *err)
{
	struct fold fold;
	int rc = 1;

	if (can_skip(paths, count, options))
		rc = report_briefly(paths, count, options, out, result, err);
	if (rc <= 0)
		return rc;
	rc = fold_begin(&fold, options, paths, count, result, err);
	if (rc == 0)
		rc = read_and_print(&fold, out, err);
	fold_end(&fold);
	return rc;
}
