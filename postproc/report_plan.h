/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PLAN_H
#define REPORT_PLAN_H

/*
 * Turns the options into a plan, for printing streams or for reports (which reports, of which
 * traces, with which limits), and checks whether the options fit together.
 */

#include "formats/writer.h"
#include "postproc/engine/pass.h"
#include "postproc/engine/select.h"
#include "postproc/gate/verdicts.h"
#include "postproc/request/newest.h"
#include "postproc/request/output.h"
#include "postproc/request/request.h"
#include "reporting.h"
#include "runs.h"

/* ---- streams ---- */

/*
 * Finds the writer of --format. Returns 0, or -EINVAL if the format does not exist or cannot be
 * combined with the other options.
 */
int plan_writer(const struct writer **writer, const struct options *options, struct error *err);

/*
 * Fills `pass`, except for its writer, which the caller has set, and for reading.trace, which
 * console_plan() sets. `output` and `tally` belong to the caller. Returns 0 or -EINVAL.
 */
int plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	      const struct options *options, struct error *err);

/* Checks the filters before a trace is read. Returns the same values as select_create(). */
int plan_check_selection(const struct select_options *options, struct error *err);

/* Checks that the directory of -o exists. Returns 0, -ENOTDIR or the error of stat(2). */
int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err);

/* ---- reports ---- */

struct report_plan {
	struct reporting_options how;
	struct limits limits;
	struct baseline baseline, learned;
	struct verdicts verdicts;
	const char *const *paths; /* paths of the traces */
	size_t count;
	/*
	 * `newest` owns `paths`, and `old` owns how.base, if the traces were found in directories
	 */
	struct newest newest, old;
	/*
	 * the trace that was chosen if no file was named and the directory has files of several
	 * runs; else NULL
	 */
	const struct newest_trace *guessed;
	const char **found, **old_found;
	/* set by sets_find(): the runs of the traces `paths` and how.base */
	struct runs runs, old_runs;
	/* the suggested next command: the text before and after the name of the report */
	char *before, *behind;
	struct source_style source;
	char *here;			       /* the current directory */
	ARRAY_OF(const char *) roots, changed; /* the arguments of --source-root and --changed */
};

/*
 * Fills the plan, except for how.reading.trace, which console_plan() has set. screen: the writer of
 * the screen; if the options name no report, the report with the name of this writer is printed.
 * The selection counts calls in `tally`, which belongs to the caller. Returns 0, -EINVAL (wrong
 * usage), or the error of the search for traces.
 */
int report_plan(struct report_plan *plan, const struct writer *screen, struct select_tally *tally,
		const struct options *options, struct error *err);

/*
 * Sets *paths to the files of the newest run if `path` is a directory, else to `path` itself. The
 * caller frees `newest` and *found.
 */
int report_plan_run(struct newest *newest, const struct trace_options *reading,
		    const char *const *path, const char ***found, const char *const **paths,
		    size_t *count, struct error *err);

void report_plan_free(struct report_plan *plan);

#endif
