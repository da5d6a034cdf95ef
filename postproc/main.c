/* SPDX-License-Identifier: MIT */
/* holdtrace-postproc: a trace goes in, sp-rtrace text or another format comes out. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "postproc/options.h"
#include "postproc/pass.h"
#include "postproc/summarise.h"

#define PROGRAM "holdtrace-postproc"

/* As diff(1) and grep(1): what scripts ask for. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_DAMAGED = 3,
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

static void say_waiting(void *user, const char *path)
{
	(void)user;
	fprintf(stderr, PROGRAM ": %s: waiting until its program has ended\n", path);
}

static int print_help(void)
{
	printf("Usage: " PROGRAM " [OPTION]... [FILE]...\n"
	       "Print traces of holdtrace or sp-rtrace, packets or text, as text or a report.\n\n");
	options_print_help(stdout);
	printf("\nExit status: 0 all is well, 1 cannot read or write, 2 wrong usage,\n"
	       "3 damaged input or lost events (--strict).\n\n"
	       "Example: holdtrace record ./prog; " PROGRAM " -lcr holdtrace.prog.*\n");
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int print_version(void)
{
	printf(PROGRAM " (holdtrace) %s\n", PACKAGE_VERSION);
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int print_formats(void)
{
	const struct writer *writer;

	for (unsigned i = 0; (writer = writer_at(i)) != NULL; i++)
		printf("%-12s%s%s\n", writer->name, writer->description,
		       writer->is_directory ? " (files in -o DIR)" : "");
	return fflush(stdout) || ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int check_directory(const struct output *output, const struct writer *writer,
			   struct error *err)
{
	struct stat facts;

	/* A format that is a directory makes it itself. */
	if (!output->directory || writer->is_directory)
		return 0;
	if (stat(output->directory, &facts) != 0)
		return error_system(err, errno, "-o %s: make the directory first",
				    output->directory);
	if (!S_ISDIR(facts.st_mode))
		return error_set(err, ENOTDIR, "-o %s: is no directory; use > for a file",
				 output->directory);
	return 0;
}

/* Looks for mistakes in the selection before anything is read. */
static int check_selection(const struct select_options *options, struct error *err)
{
	struct select *select;
	int rc = select_create(&select, options, err);

	if (rc == 0)
		select_destroy(select);
	return rc;
}

/* What the options mean together. Returns 0 or -EINVAL. */
static int plan(struct pass_options *pass, struct output *output, const struct options *options,
		struct error *err)
{
	pass->writer = options->format ? writer_find(options->format) : writer_at(0);
	if (!pass->writer)
		return error_set(err, EINVAL, "--format=%s: no such format, see --format=list",
				 options->format);
	if (options->sort && !options->compress)
		return error_set(err, EINVAL, "-s orders the groups of -c: add -c");
	pass->order = options->sort ? compress_order(options->sort) : SORT_SIZE_ASC;
	if (pass->order == SORT_COUNT_OF)
		return error_set(err, EINVAL, "-s %s: expected size, size-asc, count or count-asc",
				 options->sort);
	output->directory = options->directory;
	if (options->directory && !strcmp(options->directory, "stdout"))
		output->directory = NULL;
	output->is_resolved = options->resolve;
	output->is_quiet = options->quiet;
	if (pass->writer->is_directory && !output->directory)
		return error_set(err, EINVAL, "--format=%s writes several files: add -o DIR",
				 options->format);
	if (pass->writer != writer_at(0) &&
	    (options->leaks || options->compress || options->resolve))
		return error_set(err, EINVAL, "-l, -c and -r are for text, not for --format=%s",
				 options->format);
	pass->is_leaks = options->leaks;
	pass->is_compressed = options->compress;
	pass->force = options->force;
	pass->output = output;
	pass->stop = &stop;
	pass->select = (struct select_options){
		.has_resources = options->resources.is_set,
		.resources = options->resources.value,
		.has_contexts = options->contexts.is_set,
		.contexts = options->contexts.value,
		.depth = options->depth.is_set && options->depth.value <= INT32_MAX
				 ? (int64_t)options->depth.value
				 : -1,
		.remove_arguments = options->remove_args,
		.include = options->include,
		.exclude = options->exclude,
		.call_address = options->call_address,
	};
	return 0;
}

static void warn_damage(const char *path, const struct trace_tally *tally)
{
	bool is_at_end = tally->is_truncated && tally->damages == 1;

	if (tally->damages && !is_at_end)
		fprintf(stderr,
			PROGRAM ": %s: damaged at byte %" PRIu64 ": %s; %" PRIu64
				" bytes skipped in %" PRIu64 " places: the rest was used\n",
			path, tally->damage_offset, tally->damage_text, tally->damaged_bytes,
			tally->damages);
	if (is_at_end)
		fprintf(stderr,
			PROGRAM ": %s: ends early, at byte %" PRIu64
				" (%s): what is before it was used; "
				"was the recording killed, or the disk full?\n",
			path, tally->damage_offset, tally->damage_text);
	else if (tally->is_truncated)
		fprintf(stderr, PROGRAM ": %s: ends early, too\n", path);
}

static void warn(const char *path, const struct trace *trace)
{
	const struct trace_tally *tally = trace_tally(trace);
	const struct trace_process *process = trace_process(trace);

	warn_damage(path, tally);
	if (tally->unknown_packets)
		fprintf(stderr,
			PROGRAM ": %s: %" PRIu64 " packets of unknown kinds skipped, first %s: "
				"a newer " PROGRAM " may know them\n",
			path, tally->unknown_packets, tally->unknown_tag);
	if (tally->misplaced)
		fprintf(stderr,
			PROGRAM ": %s: %" PRIu64
				" backtraces or arguments without a call ignored\n",
			path, tally->misplaced);
	if (tally->lost)
		fprintf(stderr,
			PROGRAM ": %s: %" PRIu64
				" events were lost while recording, so leaks may be "
				"reported that are none: record with --lossless\n",
			path, tally->lost);
	if (process && process->has_tails && !tally->has_ended && !trace_is_damaged(trace))
		fprintf(stderr,
			PROGRAM
			": %s: has no end: the recording was killed, or is still going on\n",
			path);
	if (tally->calls == 0)
		fprintf(stderr,
			PROGRAM ": %s: no events: the program called nothing that is hooked, or "
				"tracing never began\n",
			path);
}

static void print_error(const char *path, const struct error *err)
{
	fprintf(stderr, PROGRAM ": %s%s%s\n", path ? path : "", path ? ": " : "", err->text);
}

/* One input from its opening to its warnings. */
static int print_trace(const char *path, const struct pass_options *pass,
		       const struct options *options, struct error *err)
{
	struct trace_options how = { .memory_max = options->max_memory.value << 20,
				     .wants_repeats = writer_is_stream(pass->writer),
				     .waiting = options->quiet ? NULL : say_waiting };
	const char *name = strcmp(path, "-") ? path : "standard input";
	struct trace *trace;
	int status = STATUS_OK;
	int rc = trace_open(&trace, path, &how, err);

	if (rc) {
		print_error(name, err);
		return rc == -EINTR ? STATUS_INTERRUPTED : STATUS_FAILED;
	}
	rc = pass_run(trace, pass, err);
	if (rc == -EINTR || stop)
		status = STATUS_INTERRUPTED;
	else if (rc && rc != -EPIPE)
		status = STATUS_FAILED;
	else if (options->strict && !trace_is_whole(trace))
		status = STATUS_DAMAGED;
	if (status == STATUS_FAILED)
		print_error(name, err);
	else if (!options->quiet && rc != -EPIPE)
		warn(name, trace);
	trace_close(trace);
	return status;
}

static int print_all(const struct pass_options *pass, const struct options *options,
		     struct error *err)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths = options->inputs.count ? options->inputs.items : standard_input;
	size_t count = options->inputs.count ? options->inputs.count : 1;
	int worst = STATUS_OK;

	for (size_t i = 0; i < count && !stop; i++) {
		int status = print_trace(paths[i], pass, options, err);

		/* A failure counts more than damage. */
		if (worst == STATUS_OK || status == STATUS_FAILED || status == STATUS_INTERRUPTED)
			worst = status ? status : worst;
	}
	return worst;
}

/* All inputs on one screen, with what would else be warnings. */
static int print_summary(const struct pass_options *pass, const struct options *options,
			 struct error *err)
{
	static const char *const standard_input[] = { "-" };
	const char *const *paths = options->inputs.count ? options->inputs.items : standard_input;
	struct summarise_options how = {
		.select = pass->select,
		.trace = { .memory_max = options->max_memory.value << 20,
			   .waiting = options->quiet ? NULL : say_waiting },
		.stop = &stop,
		.failed = print_error,
	};
	bool is_damaged = false;
	struct out out;
	int rc = out_open(&out, STDOUT_FILENO, err);

	if (rc == 0) {
		int closed;

		rc = summarise(paths, options->inputs.count ? options->inputs.count : 1, &how, &out,
			       &is_damaged, err);
		closed = out_close(&out);
		if (rc == 0 && closed)
			rc = error_system(err, -closed, "standard output");
	}
	if (rc == -EINTR)
		return STATUS_INTERRUPTED;
	if (rc == -EPIPE)
		return STATUS_OK;
	if (rc) {
		print_error(options->inputs.count == 1 ? paths[0] : NULL, err);
		return STATUS_FAILED;
	}
	return options->strict && is_damaged ? STATUS_DAMAGED : STATUS_OK;
}

static int usage(const struct error *err)
{
	print_error(NULL, err);
	fprintf(stderr, "Try `" PROGRAM " --help'.\n");
	return STATUS_USAGE;
}

static int run(const struct options *options, struct error *err)
{
	struct pass_options pass = { 0 };
	struct output output = { 0 };
	int rc;

	if (options->help)
		return print_help();
	if (options->version)
		return print_version();
	if (options->format && !strcmp(options->format, "list"))
		return print_formats();
	if (plan(&pass, &output, options, err))
		return usage(err);
	if (options->inputs.count == 0 && isatty(STDIN_FILENO)) {
		error_set(err, EINVAL, "no input: name a trace, or send one through a pipe");
		return usage(err);
	}
	rc = check_selection(&pass.select, err);
	if (rc == -EINVAL)
		return usage(err);
	if (rc == 0)
		rc = check_directory(&output, pass.writer, err);
	if (rc) {
		print_error(NULL, err);
		return STATUS_FAILED;
	}
	catch_signals();
	if (!strcmp(pass.writer->name, "summary"))
		return print_summary(&pass, options, err);
	return print_all(&pass, options, err);
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
