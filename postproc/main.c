/* SPDX-License-Identifier: MIT */
/* holdtrace-postproc: a trace goes in, sp-rtrace text or another format comes out. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invocation.h"
#include "postproc/jail.h"
#include "postproc/options.h"
#include "postproc/pass.h"
#include "postproc/plan.h"
#include "postproc/progress.h"
#include "postproc/report_plan.h"
#include "postproc/summarise.h"
#include "postproc/warnings.h"
#include "trace/bundle.h"
#include "trace/inputs.h"
#include "trace/merge.h"

/* As the user called it: holdtrace runs us under its own name. */
#define PROGRAM	       (invocation_is_launcher() ? "holdtrace" : "holdtrace-postproc")
#define STANDARD_INPUT "standard input"

/* As diff(1) and grep(1): what scripts ask for. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_BROKEN = 1, /* a limit of --fail-on */
	STATUS_USAGE = 2,
	STATUS_DAMAGED = 3,
	STATUS_UNKNOWN = 3, /* limits cannot be judged */
	STATUS_INTERRUPTED = 130,
};

static volatile sig_atomic_t stop;

static void on_interrupt(int number)
{
	(void)number;
	stop = 1;
}

/* The first Ctrl-C ends reading and prints what there is, the second ends the program. */
static void catch_signals(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESETHAND };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

/* What is told while a trace is read. */
struct listener {
	struct progress progress;
	struct bundles *bundles;
	struct jail jail;
	bool has_failed; /* an input of --merge */
};

static void show_progress(void *user, const struct trace *trace)
{
	progress_show(&((struct listener *)user)->progress, trace);
}

static void say_waiting(void *user, const char *path)
{
	(void)user;
	fprintf(stderr, "%s: %s: waiting until its program has ended; --now reads what there is\n",
		PROGRAM, path);
}

static void say_wall(void *user, const char *line)
{
	(void)user;
	fprintf(stderr, "%s: a trace of another user: %s\n", PROGRAM, line);
}

/* Once, before anything of the first trace of another user is read. */
static void look_at_owner(void *user, int fd)
{
	struct listener *listener = user;

	if (jail_is_needed(&listener->jail, fd))
		jail_enter(&listener->jail, say_wall, NULL);
}

/* On a terminal alone, and not between the lines of a text that goes there, too. */
static bool wants_progress(const struct options *options)
{
	bool is_text = isatty(STDOUT_FILENO) && !options->leaks && !options->compress;

	return isatty(STDERR_FILENO) && !options->quiet && !is_text;
}

static int print_help(void)
{
	printf("Usage: holdtrace-postproc [OPTION]... [FILE]...\n"
	       "Print traces of holdtrace or sp-rtrace, packets or text, as text or a report.\n\n");
	options_print_help(stdout);
	printf("\nExit status: 0 all is well, 1 cannot read or write, 2 wrong usage,\n"
	       "3 damaged input or lost events (--strict).\n\n"
	       "Example: holdtrace record ./prog; holdtrace-postproc -lcr holdtrace.prog.*\n");
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static void list_reports(void)
{
	const struct report_row *row;

	for (unsigned i = 0; (row = report_at(i)) != NULL; i++)
		printf("%-12s%s\n", row->name, row->question);
}

/* Of one report, or with "list" of all. */
static int print_report_help(const char *report)
{
	const struct report_row *row = report_find(report, strlen(report));

	if (row)
		printf("%s: %s\n", row->name, row->question);
	else
		list_reports();
	printf("\nOptions (all of them: holdtrace-postproc --help; columns: "
	       "holdtrace-report(1)):\n");
	options_print_report_help(stdout, row ? row->name : "list");
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int print_version(void)
{
	printf("%s (holdtrace) %s\n", PROGRAM, PACKAGE_VERSION);
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int print_formats(void)
{
	const struct writer *format;

	/* A word that events have, too, stands there. */
	for (unsigned i = 0; (format = format_at(i)) != NULL; i++)
		if (format->kind != FORMAT_SHEETS || !writer_find(format->name))
			printf("%-12s%s%s%s\n", format->name, format->description,
			       format->flags & FORMAT_DIRECTORY ? " (files in -o DIR)" : "",
			       format->kind == FORMAT_SHEETS ? " (--report)" : "");
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

/* How traces are opened. Returns 0 or -EINVAL. */
static int plan_reading(struct trace_options *reading, struct listener *listener,
			const struct options *options, const struct writer *writer,
			struct error *err)
{
	int rc = 0;

	*reading = (struct trace_options){ .memory_max = options->max_memory.value << 20,
					   .no_wait = options->now,
					   .wants_repeats = writer->flags & FORMAT_REPEATS,
					   .waiting = options->quiet ? NULL : say_waiting,
					   .opened = look_at_owner,
					   .user = listener };
	jail_plan(&listener->jail, options, writer);
	listener->bundles = reading->bundles = bundles_create();
	if (!reading->bundles)
		return error_system(err, ENOMEM, "list of streams");
	if (wants_progress(options))
		reading->progress = show_progress;
	progress_begin(&listener->progress, stderr, PROGRAM);
	if (options->since)
		rc = instant_parse(&reading->since, options->since, err);
	if (rc == 0 && options->until)
		rc = instant_parse(&reading->until, options->until, err);
	return rc;
}

static void print_error(const char *path, const struct error *err)
{
	fprintf(stderr, "%s: %s%s%s\n", PROGRAM, path ? path : "", path ? ": " : "", err->text);
}

/* Where no other word of it is printed. */
static void warn_empty(const struct options *options, const struct select_tally *tally)
{
	if (options->quiet || !select_is_empty(tally))
		return;
	if (tally->seen)
		fprintf(stderr, "%s: %s left none of %" PRIu64 " events\n", PROGRAM, tally->filters,
			tally->seen);
	else
		fprintf(stderr, "%s: %s left no event\n", PROGRAM, tally->filters);
}

/* The parts of a merged trace warn each by its name. Returns true if all are whole. */
static bool warn_parts(const struct warnings *warnings, const struct trace *trace, bool is_quiet)
{
	bool is_whole = true;
	const struct trace *part;
	const char *path;

	for (size_t i = 0; (part = trace_merge_part(trace, i, &path)) != NULL; i++) {
		if (!is_quiet)
			warnings_print(warnings, strcmp(path, "-") ? path : STANDARD_INPUT, part);
		is_whole &= trace_is_whole(part);
	}
	return is_whole;
}

/* A pass over an open trace, and what is to be said of it. name: NULL for a merged one. */
static int print_trace(struct trace *trace, const char *name, const struct pass_options *pass,
		       const struct options *options, struct error *err)
{
	int rc = pass_run(trace, pass, err);
	bool is_silent = options->quiet || rc == -EPIPE;
	struct warnings warnings = { stderr, PROGRAM, *options->filters != 0 };
	bool is_whole = true;

	if (rc && rc != -EINTR && rc != -EPIPE) {
		print_error(name, err);
		return STATUS_FAILED;
	}
	if (!name)
		is_whole = warn_parts(&warnings, trace, is_silent);
	else if (!is_silent)
		warnings_print(&warnings, name, trace);
	if (name && !is_silent)
		warnings_print_missing(&warnings, name, trace, pass->writer);
	if (rc == -EINTR || stop)
		return STATUS_INTERRUPTED;
	return options->strict && !(name ? trace_is_whole(trace) : is_whole) ? STATUS_DAMAGED
									     : STATUS_OK;
}

static int print_file(const char *path, const struct pass_options *pass,
		      const struct trace_options *reading, const struct options *options,
		      struct error *err)
{
	const char *name = strcmp(path, "-") ? path : STANDARD_INPUT;
	struct trace *trace;
	int status, rc = trace_open(&trace, path, reading, err);

	if (rc) {
		print_error(name, err);
		return rc == -EINTR ? STATUS_INTERRUPTED : STATUS_FAILED;
	}
	status = print_trace(trace, name, pass, options, err);
	trace_close(trace);
	return status;
}

static void say_failed(void *user, const char *path, const struct error *err)
{
	((struct listener *)user)->has_failed = true;
	print_error(path, err);
}

static int print_merged(const char *const *paths, size_t count, const struct pass_options *pass,
			const struct trace_options *reading, const struct options *options,
			struct error *err)
{
	struct trace_options how = *reading;
	struct trace *trace;
	int status, rc;

	how.failed = say_failed;
	rc = trace_merge_open(&trace, paths, count, &how, err);
	if (rc) {
		print_error(NULL, err);
		return rc == -EINTR ? STATUS_INTERRUPTED : STATUS_FAILED;
	}
	status = print_trace(trace, NULL, pass, options, err);
	trace_close(trace);
	if (status == STATUS_OK && ((struct listener *)how.user)->has_failed)
		return STATUS_FAILED;
	return status;
}

/* One after the other. A failure counts more than damage. */
static int print_streams(const char *const *paths, size_t count, const struct pass_options *pass,
			 const struct trace_options *reading, const struct options *options,
			 struct error *err)
{
	int worst = STATUS_OK;

	for (size_t i = 0; i < count && !stop; i++) {
		int status = print_file(paths[i], pass, reading, options, err);

		if (worst == STATUS_OK || status == STATUS_FAILED || status == STATUS_INTERRUPTED)
			worst = status ? status : worst;
	}
	return worst;
}

static int print_files(const char *const *paths, size_t count, const struct pass_options *pass,
		       const struct trace_options *reading, const struct options *options,
		       struct error *err)
{
	struct inputs inputs;
	int status, rc = inputs_expand(&inputs, paths, count, reading, err);

	if (rc == 0) {
		status = print_streams(inputs.items, inputs.count, pass, reading, options, err);
	} else {
		print_error(NULL, err);
		status = rc == -EINTR ? STATUS_INTERRUPTED : STATUS_FAILED;
	}
	inputs_free(&inputs);
	return status;
}

static int check_found(const struct pass_options *pass, const struct options *options,
		       struct error *err)
{
	if (!SELECT_WANTS_PROCESS(&pass->select) || *pass->has_found)
		return STATUS_OK;
	if (!options->pid.is_set) {
		error_set(err, ESRCH, "--program=%s: no process has such a name",
			  options->programs);
		print_error(NULL, err);
		return STATUS_FAILED;
	}
	error_set(err, ESRCH, "--pid=%" PRIu64 ": no stream is of this process",
		  options->pid.value);
	print_error(NULL, err);
	return STATUS_FAILED;
}

static int print_all(const struct pass_options *pass, const struct trace_options *reading,
		     const struct options *options, struct error *err)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths = options->inputs.count ? options->inputs.items : standard_input;
	size_t count = options->inputs.count ? options->inputs.count : 1;
	int status = options->merge ? print_merged(paths, count, pass, reading, options, err)
				    : print_files(paths, count, pass, reading, options, err);

	if (status == STATUS_OK)
		status = check_found(pass, options, err);
	if (status == STATUS_OK)
		warn_empty(options, pass->select.tally);
	return status;
}

/* rc: what has happened so far; the first error counts. */
static int close_output(struct out *out, int rc, struct error *err)
{
	int closed = out_close(out);

	return rc == 0 && closed ? error_system(err, -closed, "standard output") : rc;
}

/* All inputs on one screen, with what would else be warnings. */
static int print_summary(const struct pass_options *pass, const struct trace_options *reading,
			 const struct options *options, struct error *err)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths = options->inputs.count ? options->inputs.items : standard_input;
	size_t unread = 0;
	struct summarise_options how = {
		.select = pass->select,
		.trace = *reading,
		.stop = &stop,
		.is_newest = options->newest,
		.has_found = pass->has_found,
		.failed = print_error,
		.unread = &unread,
	};
	bool is_damaged = false;
	struct out out;
	int rc = out_open(&out, STDOUT_FILENO, err);

	if (rc == 0) {
		rc = summarise(paths, options->inputs.count ? options->inputs.count : 1, &how, &out,
			       &is_damaged, err);
		rc = close_output(&out, rc, err);
	}
	if (rc == -EINTR)
		return STATUS_INTERRUPTED;
	if (rc == -EPIPE)
		return STATUS_OK;
	if (rc) {
		print_error(options->inputs.count == 1 ? paths[0] : NULL, err);
		return STATUS_FAILED;
	}
	if (options->strict && is_damaged)
		return STATUS_DAMAGED;
	return unread ? STATUS_FAILED : check_found(pass, options, err);
}

static int usage(const struct error *err)
{
	print_error(NULL, err);
	fprintf(stderr, "Try `%s'.\n",
		invocation_is_launcher() ? "holdtrace help report" : "holdtrace-postproc --help");
	return STATUS_USAGE;
}

static int print_report_list(void)
{
	list_reports();
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

/* Whoever asks for limits must not take a run that cannot be judged for one that breaks them. */
static int failure(const struct options *options, bool is_damaged)
{
	return options->fail_on || (options->strict && is_damaged) ? STATUS_DAMAGED : STATUS_FAILED;
}

/* The status of what was printed. */
static int report_status(const struct options *options, const struct reporting_result *result)
{
	if (options->fail_on && !options->write_baseline && result->broken)
		return STATUS_BROKEN;
	if (options->fail_on && result->unknown)
		return STATUS_UNKNOWN;
	if (options->strict && result->is_damaged)
		return STATUS_DAMAGED;
	return result->unread ? STATUS_FAILED : STATUS_OK;
}

/* What an older trace has of what is limited, without a word of it. */
static int learn_baseline(struct report_plan *plan, const char *path, struct error *err)
{
	struct reporting_options how = plan->how;
	struct reporting_result ignored;
	cleanup_fd int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct out out;
	int rc = out_open(&out, nowhere, err);

	how.learned = &plan->baseline;
	how.baseline = NULL;
	if (rc == 0) {
		rc = reporting(&path, 1, &how, &out, &ignored, err);
		out_close(&out);
	}
	*how.select.tally = (struct select_tally){ .filters = how.select.tally->filters };
	return rc == -EINVAL ? -EIO : rc;
}

static int take_baseline(struct report_plan *plan, const char *path, struct error *err)
{
	int rc;

	if (!path)
		return 0;
	rc = baseline_recognises(path) ? baseline_read(&plan->baseline, path, err)
				       : learn_baseline(plan, path, err);
	plan->how.baseline = &plan->baseline;
	return rc ? error_prefix(err, "--baseline") : 0;
}

/* All inputs in one report. */
static int print_reports(struct report_plan *plan, const struct options *options, struct error *err)
{
	struct reporting_result result = { 0 };
	struct out out;
	int rc = take_baseline(plan, options->baseline, err);

	if (rc == 0)
		rc = out_open(&out, STDOUT_FILENO, err);
	if (rc == 0) {
		rc = reporting(plan->paths, plan->count, &plan->how, &out, &result, err);
		rc = close_output(&out, rc, err);
	}
	if (rc == 0 && options->write_baseline)
		rc = baseline_write(&plan->learned, options->write_baseline, err);
	if (rc == -EINTR)
		return STATUS_INTERRUPTED;
	if (rc == -EPIPE)
		return STATUS_OK;
	if (rc) {
		print_error(NULL, err);
		return rc == -EINVAL ? STATUS_USAGE : failure(options, result.is_damaged);
	}
	/* A text has a line for it. */
	if (plan->how.style.format != SHEETS_text)
		warn_empty(options, plan->how.select.tally);
	return report_status(options, &result);
}

static int run_reports(const struct options *options, struct error *err)
{
	struct listener listener = { 0 };
	struct report_plan plan = { 0 };
	struct trace_options reading;
	struct select_tally tally;
	int status, rc;

	if (!strcmp(options->report, "list"))
		return options->fail_on && limits_parse(&plan.limits, options->fail_on, err)
			       ? usage(err)
			       : print_report_list();
	rc = plan_reading(&reading, &listener, options, writer_at(0), err);
	if (rc == 0)
		rc = report_plan(&plan, &reading, options, err);
	if (rc == 0) {
		plan_selection(&plan.how.select, &tally, options);
		plan.how.select.is_whole = true;
		plan.how.stop = &stop;
		plan.how.failed = print_error;
	}
	if (rc == 0 && options->min_age)
		rc = instant_parse_length(&plan.how.report.min_age_ns, options->min_age, err);
	if (rc == 0)
		rc = plan_check_selection(&plan.how.select, err);
	if (rc == 0 && !options->inputs.count && !options->newest && isatty(STDIN_FILENO))
		rc = error_set(err, EINVAL, "no input: name a trace, or send one through a pipe");
	if (rc == 0) {
		catch_signals();
		status = print_reports(&plan, options, err);
	} else if (rc == -EINVAL) {
		status = usage(err);
	} else {
		print_error(NULL, err);
		status = failure(options, false);
	}
	report_plan_free(&plan);
	bundles_free(listener.bundles);
	return status;
}

static int run_pass(struct listener *listener, const struct options *options, struct error *err)
{
	bool has_found = false;
	struct pass_options pass = { .has_found = &has_found, .stop = &stop };
	struct trace_options reading;
	struct select_tally tally;
	struct output output = { 0 };
	int rc;

	if (plan_pass(&pass, &output, &tally, options, err) ||
	    plan_reading(&reading, listener, options, pass.writer, err))
		return usage(err);
	if (options->inputs.count == 0 && isatty(STDIN_FILENO)) {
		error_set(err, EINVAL, "no input: name a trace, or send one through a pipe");
		return usage(err);
	}
	rc = plan_check_selection(&pass.select, err);
	if (rc == -EINVAL)
		return usage(err);
	if (rc == 0)
		rc = plan_check_directory(&output, pass.writer, err);
	if (rc) {
		print_error(NULL, err);
		return STATUS_FAILED;
	}
	catch_signals();
	if (!strcmp(pass.writer->name, "summary"))
		return print_summary(&pass, &reading, options, err);
	return print_all(&pass, &reading, options, err);
}

static int run(const struct options *options, struct error *err)
{
	struct listener listener = { 0 };
	int status;

	if (options->help)
		return options->report ? print_report_help(options->report) : print_help();
	if (options->version)
		return print_version();
	if (options->report)
		return run_reports(options, err);
	if (options->format &&
	    (!strcmp(options->format, "list") || !strcmp(options->format, "help")))
		return print_formats();
	status = run_pass(&listener, options, err);
	bundles_free(listener.bundles);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	struct error err = { 0 };
	int rc = options_parse(&options, argc, argv, &err);
	int status = rc ? usage(&err) : run(&options, &err);

	options_free(&options);
	return status;
}
