/* SPDX-License-Identifier: MIT */
/*
 * The program holdtrace-postproc: reads traces, and prints them as sp-rtrace text or in other
 * formats, or prints reports on them.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/invocation.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "console.h"
#include "core_scan.h"
#include "fleet.h"
#include "postproc/engine/pass.h"
#include "postproc/request/request.h"
#include "report_plan.h"
#include "sets.h"
#include "postproc/engine/window.h"
#include "trace/bundle.h"

#define DEFAULT_PAGER "command -v less >/dev/null && exec less -FRX; exec cat"

/*
 * Returns the command of the pager. NULL: standard output is not a terminal, or the user has turned
 * the pager off.
 */
static const char *find_pager(void)
{
	static const char *const names[] = { "HOLDTRACE_PAGER", "PAGER" };

	if (!isatty(STDOUT_FILENO) || terminal_is_dumb())
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *pager = getenv(names[i]);

		if (pager)
			return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
	}
	return DEFAULT_PAGER;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Forks. The child gets one end of the pipe as its descriptor `standard` (0 or 1). */
static pid_t start(const int *ends, int standard)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(ends[standard], standard);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/*
 * Sends the output through a pager if standard output is a terminal, unless the user has turned
 * pagers off. With a pager, this function returns in a child process whose standard output is a
 * pipe to the pager; the width of the terminal is in $COLUMNS, and the options say whether it has
 * colours. The calling process does not return: it waits for the child and the pager, and exits
 * with the status of the child.
 */
static void pager_begin(struct options *options)
{
	enum { ALWAYS = 1, NEVER }; /* values of --color, in the order of options.def */
	const char *pager = find_pager();
	pid_t reader, writer;
	int ends[2], status;
	char columns[16];

	if (!pager)
		return;
	/* a pipe has no width, so pass on the width of the terminal */
	snprintf(columns, sizeof(columns), "%u", terminal_width(STDOUT_FILENO));
	setenv("COLUMNS", columns, 0);
	if (!options->color.word)
		options->color.value = terminal_has_colour(STDOUT_FILENO) ? ALWAYS : NEVER;
	if (pipe(ends))
		return;
	writer = start(ends, STDOUT_FILENO);
	if (!writer)
		return;
	reader = start(ends, STDIN_FILENO);
	if (!reader) {
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	/*
	 * ignore Ctrl-C and wait for both child processes: Ctrl-C ends the child that writes the
	 * report, and the pager handles Ctrl-C itself
	 */
	signal(SIGINT, SIG_IGN);
	close(ends[0]);
	close(ends[1]);
	status = writer > 0 ? wait_for(writer) : 1;
	if (reader > 0)
		wait_for(reader);
	_exit(status);
}

/* Exit status. 0, 1 and 2 have the same meanings as for diff(1) and grep(1). */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_BROKEN = 1, /* a limit of --fail-on is broken */
	STATUS_USAGE = 2,
	STATUS_DAMAGED = 3,
	STATUS_UNKNOWN = 3,	  /* a limit cannot be checked */
	STATUS_OWN_FAILURE = 125, /* a request to a running process failed */
	STATUS_INTERRUPTED = 130,
};

static volatile sig_atomic_t stop;
static int status_without_memory = STATUS_FAILED;
static const struct output *volatile written; /* the output that is being written; NULL: none */
static pid_t writer_pid;

/*
 * Handler of signals that end the program: removes an incomplete file, then raises the signal again
 * with its default action. A child process that resolves names does not remove the file.
 */
static void on_end(int number)
{
	if (written && getpid() == writer_pid)
		output_drop(written);
	signal(number, SIG_DFL);
	if (raise(number) != 0)
		_exit(128 + number);
}

/* Called when an allocation fails: removes an incomplete file, as on_end() does, and exits. */
static void end_without_memory(void)
{
	if (getpid() != writer_pid)
		_exit(STATUS_FAILED);
	if (written)
		output_drop(written);
	fprintf(stderr,
		"%s: out of memory: read less (--class, --since, --process) or raise the memory "
		"limit (ulimit -v)\n",
		console_program());
	_exit(status_without_memory);
}

static void on_interrupt(int number)
{
	const struct sigaction end = { .sa_handler = on_end };

	stop = 1;
	sigaction(number, &end, NULL);
}

/*
 * Makes on_end() the handler of a signal, unless the signal is ignored: nohup(1) ignores SIGHUP for
 * its command.
 */
static void end_by(int number)
{
	const struct sigaction end = { .sa_handler = on_end };
	struct sigaction before;

	if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		sigaction(number, &end, NULL);
}

/*
 * Sets the signal handlers. The first Ctrl-C stops reading, and the events read so far are printed;
 * the second Ctrl-C ends the program.
 */
static void catch_signals(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	end_by(SIGTERM);
	end_by(SIGHUP);
}

static int status_of_print(void)
{
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

/*
 * Prints each report on one line, for scripts. is_help: wraps the lines to the width of help texts.
 */
static void list_reports(bool is_help)
{
	const struct report_row *row;

	for (unsigned i = 0; (row = report_at(i)) != NULL; i++)
		if (!row->instead && is_help)
			options_print_word(stdout, row->name, 15, row->question);
		else if (!row->instead)
			printf("%-12s%s\n", row->name, row->question);
}

static int usage(const struct options *options, const struct error *err)
{
	console_error(NULL, err);
	if (invocation_is_launcher())
		fprintf(stderr, "Try `holdtrace help %s'.\n", options->command ?: "report");
	else
		fprintf(stderr, "Try `holdtrace-postproc --help'.\n");
	return STATUS_USAGE;
}

/* Prints the help for one report, or for all reports if options->report is "list". */
static int print_report_help(const struct options *options)
{
	const char *report = options->report;
	const struct report_row *row = report_find(report, strlen(report));
	const char *instead = row ? NULL : report_renamed(report, strlen(report));
	bool is_all = *options->help;
	struct error err;

	if (instead) {
		error_set(&err, EINVAL, "report %s: use %s instead", report, instead);
		return usage(options, &err);
	}
	if (row) {
		options_print_word(stdout, "", 2, row->question);
		puts("\nTables (--table):");
		for (enum table_id id = 0; id < TABLE_ID_COUNT; id++)
			if (report_of(id) == row)
				options_print_word(stdout, table_facts(id).name, 23,
						   table_facts(id).title);
	} else {
		puts("Reports:");
		list_reports(true);
	}
	printf("\nOptions%s:\n", is_all ? "" : " (--help=all has the full text of each)");
	request_print_report_help(stdout, row ? row->name : "list",
				  is_all ? OPTION_PLAIN : OPTION_SHORT);
	puts("\nholdtrace-report(5) explains the columns; `holdtrace-postproc --help` lists the\n"
	     "options of all reports.");
	return status_of_print();
}

/* Prints the list of all formats, or only of the formats for reports. */
static void print_formats(bool is_of_report)
{
	const struct format_word *word;
	const struct writer *format;

	/*
	 * Skip a format for reports if a format for streams with the same name was listed already.
	 */
	for (unsigned i = 0; (format = is_of_report ? tables_at(i) : format_at(i)) != NULL; i++) {
		if (!is_of_report && format->kind == FORMAT_TABLES && writer_find(format->name))
			continue;
		printf("%-14s%s%s%s; for %s\n", format->name, format->description,
		       format->flags & FORMAT_DIRECTORY ? " (files in -o DIR)" : "",
		       format_is_of_report(format) && !is_of_report ? " (--report)" : "",
		       format->readers);
		for (unsigned n = 0; (word = format_word_at(format, n)) != NULL; n++)
			printf("  %s:%s%*s%s\n", format->name, word->word,
			       (int)(26 - strlen(format->name) - strlen(word->word)), " ",
			       word->text);
	}
}

static int check_inputs(const struct options *options, struct error *err)
{
	return !options->inputs.count && !options->newest && isatty(STDIN_FILENO)
		       ? error_set(err, EINVAL,
				   "no input: name a trace, or pipe one to standard input")
		       : 0;
}

/* ---- reports ---- */

/* Refuses an output that would replace one of the traces, even with -f. */
static int check_output(const struct report_plan *plan, const char *path, struct error *err)
{
	struct stat output, input;

	if (!output_is_named(path) || stat(path, &output) != 0)
		return 0;
	for (size_t i = 0; i < plan->count; i++)
		if (stat(plan->paths[i], &input) == 0 && S_ISREG(input.st_mode) &&
		    input.st_dev == output.st_dev && input.st_ino == output.st_ino)
			return error_set(
				err, EEXIST,
				"%s: is one of the traces to read: choose another name for -o",
				path);
	return 0;
}

/*
 * The exit status after an error. With --fail-on it is not STATUS_BROKEN, so that scripts do not
 * confuse an error with a broken limit.
 */
static int failure(const struct options *options, bool is_damaged)
{
	return options->fail_on || (options->strict && is_damaged) ? STATUS_DAMAGED : STATUS_FAILED;
}

/* The exit status after printing reports. */
static int report_status(const struct options *options, const struct report_plan *plan,
			 const struct reporting_result *result)
{
	bool is_whole =
		!result->damaged && (!result->incomplete || options->now || options->is_screen);
	const char *format = plan->how.style.format->name;

	/* with --format=baseline, a broken limit is no failure: the new baseline will permit it */
	if (options->fail_on && strcmp(format, "baseline") != 0 && result->broken)
		return STATUS_BROKEN;
	if (options->fail_on && result->unknown)
		return STATUS_UNKNOWN;
	if (options->strict && result->reading.is_damaged)
		return STATUS_DAMAGED;
	if (result->reading.unread)
		return STATUS_FAILED;
	/* for a viewer, an incomplete trace is no error */
	return is_whole || plan->how.style.format->kind == FORMAT_VIEWER ? STATUS_OK
									 : STATUS_DAMAGED;
}

/* Fills a baseline with the numbers of an older run. Prints nothing. */
static int learn_baseline(struct report_plan *plan, struct baseline *baseline, const char *path,
			  struct error *err)
{
	struct reporting_options how = plan->how;
	struct select_tally *tally = how.reading.select.tally;
	struct newest newest = { 0 };
	const char **found = NULL, *const * paths;
	struct reporting_result ignored;
	size_t count;
	int rc;

	how.learned = baseline;
	how.baseline = NULL;
	how.verdicts = NULL;
	rc = report_plan_run(&newest, &how.reading.trace, &path, &found, &paths, &count, err);
	if (rc == 0)
		rc = reporting(paths, count, &how, NULL, &ignored, err);
	*tally = (struct select_tally){ .filters = tally->filters };
	newest_free(&newest);
	free(found);
	return rc == -EINVAL ? -EIO : rc;
}

/* Reads all baselines. For each call site, the smallest number in any of them is used. */
static int take_baselines(struct report_plan *plan, const struct options *options,
			  struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < options->baseline.count; i++) {
		const char *path = options->baseline.items[i];
		struct baseline another, *baseline = i ? &another : &plan->baseline;

		baseline_init(&another);
		rc = baseline_read(baseline, path, err);
		if (rc > 0)
			rc = learn_baseline(plan, baseline, path, err);
		if (i)
			baseline_limit(&plan->baseline, &another);
		baseline_free(&another);
		plan->how.baseline = &plan->baseline;
	}
	return rc ? error_prefix(err, "--baseline") : 0;
}

/* Writes the numbers of this run, which reporting() stored in plan->how.learned, as a baseline. */
static int write_baseline(const struct report_plan *plan, const char *path, struct error *err)
{
	const struct tables_style style = { .learned = plan->how.learned };
	struct output output = { 0 };
	const struct tables_job job = { .style = &style, .out = &output.out };
	int rc = output_open_file(&output, path, true, err);

	if (rc == 0) {
		tables_print_baseline(&job);
		rc = output_close(&output, err);
	}
	return rc ? error_prefix(err, "--write-baseline") : 0;
}

/*
 * Closes the output. rc: the result so far; if it is an error, removes the file. Returns rc, or the
 * error of closing if rc is 0.
 */
static int close_output(struct output *output, int rc, struct error *err)
{
	struct error closing = { 0 };
	int closed;

	output->is_spoilt = rc != 0;
	closed = output_close(output, &closing);
	if (rc == -EINTR && output->fresh[0])
		error_set(err, EINTR, "%s: interrupted, so the file was not written", output->path);
	else if (rc == -EINTR)
		error_set(err, EINTR, "interrupted: the result is partial");
	if (rc || !closed)
		return rc;
	*err = closing;
	return closed;
}

/* Prints the requested reports. Returns the exit status. */
static int print_reports(struct console *console, struct report_plan *plan, struct error *err)
{
	const struct options *options = console->options;
	struct reporting_result result = { 0 };
	struct output output = { 0 };
	int rc = take_baselines(plan, options, err);

	written = &output;
	if (rc == 0)
		rc = check_output(plan, options->directory, err);
	if (rc == 0)
		rc = output_open_file(&output, options->directory, options->force, err);
	if (rc == 0 && (plan->runs.count > 1 || plan->old_runs.count > 1))
		rc = sets_report(plan, &output.out, &result, err);
	else if (rc == 0)
		rc = reporting(plan->paths, plan->count, &plan->how, &output.out, &result, err);
	rc = close_output(&output, rc, err);
	written = NULL;
	if ((rc == 0 || rc == -EPIPE) && options->write_baseline && !result.unknown &&
	    !result.damaged && write_baseline(plan, options->write_baseline, err))
		rc = -err->number;
	/*
	 * The process that reads the pipe has closed it, which is no error. The limits have already
	 * been checked, because reporting() checks them before it prints.
	 */
	if (rc == -EPIPE)
		return options->fail_on ? report_status(options, plan, &result) : STATUS_OK;
	if (rc) {
		console_error(NULL, err);
		if (rc == -EINTR)
			return STATUS_INTERRUPTED;
		return rc == -EINVAL ? STATUS_USAGE : failure(options, result.reading.is_damaged);
	}
	/* if filters removed all events, the format "text" itself reports this */
	if (!(plan->how.style.format->flags & FORMAT_PEOPLE) && plan->runs.count < 2)
		console_warn_empty(console, plan->how.reading.select.tally);
	return report_status(options, plan, &result);
}

/* Writes the rows of many runs. Returns the exit status. */
static int write_rows(const struct options *options, const struct report_plan *plan,
		      struct error *err)
{
	size_t failed;

	if (fleet_rows(plan, options, &failed, err) == 0)
		return failed ? STATUS_DAMAGED : STATUS_OK;
	if (err->number == EINVAL)
		return usage(options, err);
	console_error(NULL, err);
	return STATUS_FAILED;
}

static int run_reports(struct console *console, struct error *err)
{
	const struct options *options = console->options;
	struct report_plan plan = { 0 };
	struct core_scan core = { .bytes = NULL };
	bool is_rows = options->command && !strcmp(options->command, "rows");
	struct select_tally tally;
	int status, rc;

	console_plan(console, &plan.how.reading);
	rc = report_plan(&plan, console->writer, &tally, options, err);
	if (rc == 0)
		rc = plan_check_selection(&plan.how.reading.select, err);
	if (rc == 0)
		rc = check_inputs(options, err);
	if (rc == 0 && options->core) {
		rc = core_scan(&core, options->core, plan.paths, plan.count, err);
		plan.how.reading.trace.notes = &core.notes;
	}
	if (rc == 0)
		rc = window_plan(&plan.how.reading, plan.paths, plan.count, options, err);
	if (rc == 0 && (is_rows || sets_can_report(&plan, options)))
		rc = sets_find(&plan, err);
	if (rc == 0 && plan.guessed && !options->quiet)
		fprintf(stderr, "%s: no FILE was named: reading %s (%s, pid %" PRIu32 ")\n",
			console_program(), plan.guessed->path, plan.guessed->name,
			plan.guessed->pid);
	if (rc == 0 && is_rows) {
		status = write_rows(options, &plan, err);
	} else if (rc == 0) {
		catch_signals();
		status = print_reports(console, &plan, err);
	} else if (rc == -EINVAL) {
		status = usage(options, err);
	} else {
		console_error(NULL, err);
		status = failure(options, false);
	}
	report_plan_free(&plan);
	core_scan_free(&core);
	return status;
}

/* ---- streams ---- */

/* The exit status after printing streams. rc: result of reading and printing. */
static int pass_status(const struct console *console, int rc, const struct engine_result *result,
		       struct error *err)
{
	const struct options *options = console->options;

	if (rc == -EINTR || stop)
		return STATUS_INTERRUPTED;
	if (rc && rc != -EPIPE) {
		console_error(NULL, err);
		return STATUS_FAILED;
	}
	if (console->has_failed)
		return STATUS_FAILED;
	if (options->strict && result->is_damaged)
		return STATUS_DAMAGED;
	if (!options->process || result->has_found)
		return STATUS_OK;
	error_set(err, ESRCH, "--process=%s: no process has this number or name", options->process);
	console_error(NULL, err);
	return STATUS_FAILED;
}

static int print_streams(struct console *console, struct pass_options *how, struct error *err)
{
	const struct options *options = console->options;
	static const char *const standard_input[] = { "-" };
	struct engine_result result = { 0 };
	int rc, status;

	written = how->output;
	catch_signals();
	rc = pass(options->inputs.count ? options->inputs.items : standard_input,
		  options->inputs.count ? options->inputs.count : 1, how, &result, err);
	written = NULL;
	status = pass_status(console, rc, &result, err);
	if (status == STATUS_OK)
		console_warn_empty(console, how->reading.select.tally);
	return status;
}

static int run_pass(struct console *console, struct error *err)
{
	const struct options *options = console->options;
	struct pass_options how = { .writer = console->writer, .reading.read = console_warn };
	struct select_tally tally;
	struct output output = { 0 };
	int rc;

	rc = plan_pass(&how, &output, &tally, options, err);
	console_plan(console, &how.reading);
	if (rc == 0)
		rc = check_inputs(options, err);
	if (rc == 0)
		rc = plan_check_selection(&how.reading.select, err);
	if (rc == 0)
		rc = window_plan(&how.reading, options->inputs.items, options->inputs.count,
				 options, err);
	if (rc == 0)
		rc = plan_check_directory(&output, how.writer, err);
	if (rc == 0)
		return print_streams(console, &how, err);
	if (rc == -EINVAL)
		return usage(options, err);
	console_error(NULL, err);
	return STATUS_FAILED;
}

static int run(struct options *options, struct error *err)
{
	struct limits limits = { 0 };
	struct console console = { .options = options, .writer = writer_at(0), .stop = &stop };
	int status;

	if (options->command && !options->directory)
		pager_begin(options);
	writer_pid = getpid(); /* pager_begin() may have returned in a child process */
	if (options->help && options->report)
		return print_report_help(options);
	if (options->help) {
		printf("Usage: holdtrace-postproc [OPTION]... [FILE]...\n"
		       "Print traces of holdtrace or sp-rtrace, packets or text, as text or a "
		       "report.\n\n");
		request_print_help(stdout, *options->help ? OPTION_FULL : OPTION_SHORT);
		printf("\nExit status: 0 success, 1 cannot read or write, 2 wrong usage,\n"
		       "3 damaged input or dropped events (--strict).\n\n"
		       "Example: holdtrace record ./prog; holdtrace-postproc -lc "
		       "holdtrace.prog.*\n");
		return status_of_print();
	}
	if (options->version) {
		printf("%s (holdtrace) %s\n", console_program(), PACKAGE_VERSION);
		return status_of_print();
	}
	if (options->report && !strcmp(options->report, "list")) {
		if (options->fail_on && limits_parse(&limits, "--fail-on", options->fail_on,
						     options->baseline.count, err))
			return usage(options, err);
		list_reports(false);
		return status_of_print();
	}
	if (options->format &&
	    (!strcmp(options->format, "list") || !strcmp(options->format, "help"))) {
		print_formats(options->report != NULL);
		return status_of_print();
	}
	/* the summary screen is a report, even if --report is not given */
	if (!options->report && plan_writer(&console.writer, options, err))
		status = usage(options, err);
	else if (options->report || console.writer->kind == FORMAT_SCREEN)
		status = run_reports(&console, err);
	else
		status = run_pass(&console, err);
	bundles_free(console.bundles);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct error err = { 0 };
	int rc, status;

	writer_pid = getpid();
	memory_set_end(end_without_memory);
	rc = request_read(&options, argc, argv, &err);
	if (rc == 0)
		status_without_memory = failure(&options, false);
	if (rc && rc != -EINVAL)
		console_error(NULL, &err);
	status = rc == -EINVAL ? usage(&options, &err)
		 : rc	       ? STATUS_OWN_FAILURE
			       : run(&options, &err);
	request_free(&options);
	return status;
}
