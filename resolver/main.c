/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "base/sandbox.h"
#include "resolver/filter.h"
#include "resolver/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "holdtrace-resolve"

#define STATUS_FAILURE 1
#define STATUS_USAGE   2

/*
 * Default time limits of libdebuginfod, in seconds: how long a server may send no data, and how
 * long the download of a file may take.
 */
#define SERVER_TIMEOUT "10"
#define SERVER_MAXTIME "600"

struct asked {
	struct option_values values;
#define OPTION(kind, name, word, letter, argument, with, text) option_##kind name;
#define RENAMED(word, instead)
#include "resolver/options.def"
#undef OPTION
#undef RENAMED
};

struct settings {
	struct asked asked;
	struct resolve_options resolve;
	struct filter_options filter;
	double require; /* minimum share of frames with names, in percent */
};

static const struct option_row rows[] = {
#define OPTION(...)  { OPTION_FIELDS(struct asked, __VA_ARGS__) },
#define RENAMED(...) { OPTION_RENAMED_FIELDS(__VA_ARGS__) },
#include "resolver/options.def"
#undef OPTION
#undef RENAMED
};

static const struct option_table table = { .rows = rows, .count = sizeof(rows) / sizeof(*rows) };

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message_list(stderr, PROGRAM ": ", format, args);
	va_end(args);
}

/*
 * Sets DEBUGINFOD_URLS, which names the servers of libdebuginfod. asked: argument of --debuginfod;
 * known: the value of DEBUGINFOD_URLS before main() removed it.
 */
static int take_servers(const char *asked, const char *known, struct error *err)
{
	const char *servers = asked && *asked ? asked : known;

	if (!asked)
		return 0;
	if (!servers || !*servers)
		return error_set(err, EINVAL,
				 "--debuginfod: DEBUGINFOD_URLS is not set: name a server: "
				 "--debuginfod=https://debuginfod.debian.net");
	setenv("DEBUGINFOD_URLS", servers, 1);
	setenv("DEBUGINFOD_TIMEOUT", SERVER_TIMEOUT, 0);
	setenv("DEBUGINFOD_MAXTIME", SERVER_MAXTIME, 0);
	return 0;
}

static int take_percent(double *percent, const char *text, struct error *err)
{
	char *end;

	if (!text)
		return 0;
	*percent = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(*percent >= 0 && *percent <= 100))
		return error_set(err, EINVAL, "--require=%s: expected a number from 0 to 100",
				 text);
	return 0;
}

static void say_wall(void *context, const char *line)
{
	(void)context;
	print_message(stderr, PROGRAM ": sandbox of the child processes: %s", line);
}

/*
 * Opens the file `path`. If `path` is NULL or "-", returns the descriptor `standard`. On failure,
 * prints the error and returns -1.
 */
static int open_or(const char *path, int flags, int standard)
{
	int fd;

	if (!path || strcmp(path, "-") == 0)
		return standard;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		complain("%s: cannot be opened: %s", path, strerror(errno));
	return fd;
}

static void end_without_memory(void)
{
	complain("no memory");
	_exit(STATUS_FAILURE);
}

/* Shows the progress of the current download on one line of a terminal. */
static void show_progress(void *context, const char *text)
{
	struct out out;

	(void)context;
	if (!isatty(STDERR_FILENO))
		return;
	out_open(&out, STDERR_FILENO);
	out_text(&out, "\r\033[K" PROGRAM ": ");
	out_name(&out, text, strlen(text), ESCAPE_ALL);
	out_char(&out, '\r');
	out_close(&out);
}

/* ---- modules without names ---- */

static void put_escaped(struct out *out, const char *before, const char *text)
{
	out_text(out, before);
	out_name(out, text, strlen(text), ESCAPE_ALL);
}

/* Prints a line about a module without names or lines. events: number of events in the run. */
static void put_module(struct out *out, const struct resolve_state *state, uint64_t events)
{
	uint64_t permille = (uint64_t)(events ? (double)state->events * 1000 / (double)events : 0);

	put_escaped(out, PROGRAM ": MISSING: ", state->module);
	if (*state->text)
		put_escaped(out, ": ", state->text);
	if (state->unresolved == 0)
		out_format(out, ": %" PRIu64 " of %" PRIu64 " frames without a line",
			   state->unlined, state->asked);
	else
		out_format(out, ": %" PRIu64 " of %" PRIu64 " frames without a name",
			   state->unresolved, state->asked);
	if (state->unresolved && events && permille == 0 && state->events)
		out_text(out, " in less than 0.1 % of the events");
	else if (state->unresolved && events)
		out_format(out, " in %" PRIu64 ".%" PRIu64 " %% of the events", permille / 10,
			   permille % 10);
	if (state->build_id_size)
		out_text(out, ", build-id ");
	for (unsigned i = 0; i < state->build_id_size; i++)
		out_format(out, "%02x", state->build_id[i]);
	if (state->advice)
		put_escaped(out, ": ", state->advice);
	out_char(out, '\n');
}

/* Prints a line for each module without names or, with --unnamed, without lines. */
static void report_names(const struct settings *settings, struct resolve *resolve,
			 const struct filter_result *result)
{
	struct out out;
	struct resolve_totals totals;
	struct resolve_state state;

	if (settings->asked.quiet && !settings->asked.unnamed)
		return;
	if (result->foreign_arch[0] && !settings->resolve.root) {
		out_open(&out, STDERR_FILENO);
		out_text(&out, PROGRAM ": the trace comes from another kind of machine (");
		out_name(&out, result->foreign_arch, strlen(result->foreign_arch), ESCAPE_ALL);
		out_text(&out, "): name a copy of its files with --map=DIR\n");
		out_close(&out);
	}
	totals = resolve_totals(resolve);
	out_open(&out, STDERR_FILENO);
	for (unsigned i = 0; resolve_state(resolve, i, &state); i++)
		if (state.reason != RESOLVE_SPECIAL &&
		    (state.unresolved || state.reason == RESOLVE_BROKEN ||
		     (settings->asked.unnamed && state.unlined)))
			put_module(&out, &state, totals.events);
	if (totals.unmapped)
		out_format(&out,
			   PROGRAM ": %" PRIu64 " frames are in no mapping of the trace: they may "
				   "be generated code, or the backtrace is wrong\n",
			   totals.unmapped);
	out_close(&out);
}

static int resolve_text(const struct settings *settings, int input, int output)
{
	struct filter_result result;
	struct resolve_totals totals;
	struct resolve *resolve;
	double percent;
	struct error err = { 0 };
	int failure = resolve_create(&resolve, &settings->resolve, &err), status = 0;

	if (failure) {
		complain("%s", err.text);
		return STATUS_FAILURE;
	}
	failure = filter_text(resolve, input, output, &settings->filter, &result, &err);
	if (failure && failure != -EPIPE)
		complain("%s", err.text);
	if (failure) {
		status = failure == -EPIPE ? 0 : STATUS_FAILURE;
	} else {
		report_names(settings, resolve, &result);
		if (result.long_lines && !settings->asked.quiet)
			complain("%s: line %" PRIu64
				 " is longer than %d MiB (lines of this length: %" PRIu64
				 "): such lines are copied without being parsed",
				 settings->filter.input_name, result.first_long,
				 FILTER_LINE_MAX >> 20, result.long_lines);
		if (result.is_foreign) {
			complain("%s: has no line of sp-rtrace text: holdtrace-postproc makes such "
				 "a text from a trace",
				 settings->filter.input_name);
			status = STATUS_FAILURE;
		}
		totals = resolve_totals(resolve);
		percent = totals.frames ? (double)totals.named * 100 / (double)totals.frames : 100;
		if (percent < settings->require) {
			complain(
				"%.1f %% of the frames have a name, but --require asks for %.1f %%",
				percent, settings->require);
			status = STATUS_FAILURE;
		}
	}
	resolve_destroy(resolve);
	return status;
}

static void plan_settings(struct settings *settings)
{
	const struct asked *asked = &settings->asked;

	settings->resolve = (struct resolve_options){
		.root = resolve_root(asked->maps.items, asked->maps.count),
		.full_path = asked->full_path,
		.symbols_only = asked->method.value == 1,
		.inlines = asked->inlines.value == 1,
		.demangle = (enum demangle)asked->demangle.value,
		.debug_dir = resolve_debug_dir(asked->maps.items, asked->maps.count),
		.maps = asked->maps.items,
		.map_count = asked->maps.count,
		.debuginfod = asked->debuginfod != NULL,
		.cache = asked->cache,
		.jobs = (unsigned)asked->jobs.value,
		.progress = show_progress,
	};
	settings->filter = (struct filter_options){
		.keep_resolved = asked->keep,
		.input_name = asked->input ? asked->input : "standard input",
		.output_name = asked->output ? asked->output : "standard output",
	};
}

/* Prints the error. Returns the exit status for wrong usage. */
static int report_usage(const struct error *err)
{
	complain("%s", err->text);
	fprintf(stderr, "Try '%s --help'.\n", PROGRAM);
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	static struct settings settings;
	struct asked *asked = &settings.asked;
	const char *environment = getenv("DEBUGINFOD_URLS");
	cleanup_free char *servers = environment ? memory_text(environment) : NULL;
	struct stat from, to;
	struct error err = { 0 };
	cleanup_fd int input = -1;
	int at, output, status;

	/*
	 * use the network only with --debuginfod: if this variable were set, elfutils would always
	 * use the servers in it
	 */
	unsetenv("DEBUGINFOD_URLS");
	at = options_read(&table, asked, argc, argv, &err);
	if (at > 0 && argv[at])
		at = error_set(&err, EINVAL, "%s: unexpected argument: name the input with -i %s",
			       argv[at], argv[at]);
	if (at > 0 && asked->jobs.value > 64)
		at = error_set(&err, EINVAL, "--jobs: expected a number from 0 to 64");
	if (at < 0)
		return report_usage(&err);
	if (asked->help) {
		printf("Usage: %s [OPTION]... < TEXT\n"
		       "Adds names to the addresses in an sp-rtrace text, line by line.\n\n",
		       PROGRAM);
		options_print(stdout, &table, OPTION_FULL);
		printf("\nExit status: 0 all read and written; 1 a file could not be read or "
		       "written, is not an\n"
		       "sp-rtrace text, or --require was not met; 2 wrong usage. Modules whose "
		       "names were not found are reported\n"
		       "on standard error.\n");
		return fflush(stdout) == 0 ? 0 : STATUS_FAILURE;
	}
	if (asked->version) {
		printf("%s (holdtrace) %s\n", PROGRAM, PACKAGE_VERSION);
		return fflush(stdout) == 0 ? 0 : STATUS_FAILURE;
	}
	if (take_servers(asked->debuginfod, servers, &err) ||
	    take_percent(&settings.require, asked->require, &err))
		return report_usage(&err);
	plan_settings(&settings);
	memory_set_end(end_without_memory);
	if (asked->verbose)
		sandbox_describe(sandbox_probe(),
				 &(struct sandbox_options){ .opens_nothing = true }, say_wall,
				 NULL);
	signal(SIGPIPE, SIG_IGN);
	input = open_or(asked->input, O_RDONLY, STDIN_FILENO);
	if (input < 0)
		return STATUS_FAILURE;
	output = open_or(asked->output, O_WRONLY | O_CREAT, STDOUT_FILENO);
	if (output < 0)
		return STATUS_FAILURE;
	/* if both are the same file, truncating the output would destroy the input */
	if (output != STDOUT_FILENO && fstat(input, &from) == 0 && fstat(output, &to) == 0 &&
	    S_ISREG(to.st_mode) && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
		complain("%s: is also the input: name another output file", asked->output);
		return STATUS_USAGE;
	}
	if (output != STDOUT_FILENO)
		(void)!ftruncate(output, 0);
	status = resolve_text(&settings, input, output);
	free(asked->maps.items);
	if (close(output) != 0 && status == 0) {
		complain("%s: cannot be written: %s", settings.filter.output_name, strerror(errno));
		status = STATUS_FAILURE;
	}
	return status;
}
