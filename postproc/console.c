/* SPDX-License-Identifier: MIT */
#include "console.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/invocation.h"
#include "base/out.h"
#include "postproc/request/output.h"
#include "trace/bundle.h"
#include "trace/merge.h"

const char *console_program(void)
{
	return invocation_is_launcher() ? "holdtrace" : "holdtrace-postproc";
}

void console_error(const char *path, const struct error *err)
{
	print_message(stderr, "%s: %s%s%s", console_program(), path ? path : "", path ? ": " : "",
		      err->text);
}

/* ---- while traces are read ---- */

/*
 * Shows how many events were read. From the first second on, rewrites the line five times a second.
 * If trace is NULL, reading has ended: removes the line.
 */
static void show_progress(void *user, const struct trace *trace)
{
	struct progress *progress = &((struct console *)user)->progress;
	struct timespec now;
	unsigned tenths;
	int done;

	if (!trace) {
		fputs(progress->shown ? "\r\033[K" : "", stderr);
		progress->shown = 0;
		return;
	}
	progress->events += TRACE_PROGRESS_EVENTS;
	clock_gettime(CLOCK_MONOTONIC, &now);
	tenths = (unsigned)((now.tv_sec - progress->start.tv_sec) * 10 +
			    (now.tv_nsec - progress->start.tv_nsec) / 100000000);
	if (tenths < 10 || tenths < progress->shown + 2)
		return;
	progress->shown = tenths;
	done = trace_progress(trace);
	fprintf(stderr, "\r%s: %.1f million events", console_program(),
		(double)progress->events / 1e6);
	if (done >= 0)
		fprintf(stderr, ", %d %%", done / 10);
	fputs("\033[K", stderr);
}

static void say_waiting(void *user, const char *path)
{
	(void)user;
	print_message(stderr,
		      "%s: %s: waiting until the traced program has ended; --now reads the events "
		      "recorded so far",
		      console_program(), path);
}

/* ---- the jail, which drops rights ---- */

static void allow(struct jail *jail, const char *directory)
{
	for (int i = 0; i < SANDBOX_WRITABLE_MAX; i++)
		if (!jail->options.writable[i]) {
			jail->options.writable[i] = directory;
			return;
		}
}

static void say_wall(void *user, const char *line)
{
	(void)user;
	print_message(stderr, "%s: a trace belongs to another user: %s", console_program(), line);
}

void console_hush(void *console)
{
	((struct console *)console)->jail.is_verbose = false;
}

/*
 * Called when a file is opened. If the trace belongs to another user or to an unknown owner, drops
 * rights (enters the jail) before the trace is read.
 */
static void look_at_owner(void *user, int fd)
{
	struct console *console = user;
	struct stat facts;

	if (!console->jail.is_entered && (fstat(fd, &facts) || facts.st_uid != geteuid())) {
		struct jail *jail = &console->jail;
		unsigned walls;

		jail->is_entered = true;
		/* create the writer's directory now, because the jail does not allow mkdir() */
		if (jail->made)
			mkdir(jail->made, 0777);
		walls = sandbox_enter(&jail->options);
		if (jail->is_verbose)
			sandbox_describe(walls, &jail->options, say_wall, NULL);
	}
}

/* ---- messages ---- */

static void console_failed(void *user, const char *path, const struct error *err)
{
	((struct console *)user)->has_failed = true;
	console_error(path, err);
}

/* ---- warnings ---- */

static __attribute__((format(printf, 2, 3))) void say(const char *path, const char *format, ...)
{
	char before[PATH_MAX + 64];
	va_list list;

	snprintf(before, sizeof(before), "%s: %s: ", console_program(), path);
	va_start(list, format);
	print_message_list(stderr, before, format, list);
	va_end(list);
}

/* Prints the warnings about a trace. path: name of the trace in the warnings. */
static void warn(const struct console *console, const char *path, const struct trace *trace)
{
	const struct trace_tally *tally = trace_tally(trace);
	const struct trace_process *process = trace_process(trace);
	bool is_at_end = tally->is_truncated && tally->damages == 1;

	if (tally->damages && !is_at_end)
		say(path,
		    "damaged at byte %" PRIu64 ": %s; %" PRIu64 " bytes skipped in %" PRIu64
		    " places; the rest of the trace was used",
		    tally->damage_offset, tally->damage_text, tally->damaged_bytes, tally->damages);
	if (is_at_end)
		say(path,
		    "ends early, at byte %" PRIu64
		    " (%s); everything before that byte was used. Was the recording killed, or was "
		    "the disk full?",
		    tally->damage_offset, tally->damage_text);
	else if (tally->is_truncated)
		say(path, "also ends early");
	if (tally->unknown_packets)
		say(path,
		    "%" PRIu64 " packets of unknown kinds skipped, first %s: "
		    "a newer %s may be able to read them",
		    tally->unknown_packets, tally->unknown_tag, console_program());
	if (tally->misplaced)
		say(path,
		    "%" PRIu64 " backtraces or arguments ignored because they belong to no call",
		    tally->misplaced);
	if (tally->lost)
		say(path,
		    "%" PRIu64 " events were dropped while recording, so reported leaks "
		    "may be false; `holdtrace report info` says why",
		    tally->lost);
	if (tally->lost_notes)
		say(path,
		    "%" PRIu64 " notes were dropped while recording, so names of threads, or how "
		    "threads ended, may be missing",
		    tally->lost_notes);
	if (process && process->has_tails && !tally->has_ended && !trace_is_damaged(trace))
		say(path, "has no end: the recording was killed or is still going on");
	if (tally->calls == 0 && !trace_is_damaged(trace) && !*console->options->filters)
		say(path,
		    "no events: the program called no hooked function, or tracing never began");
}

void console_warn(void *user, const char *path, const struct trace *trace)
{
	const struct console *console = user;
	const struct trace_process *process;
	const struct trace *part;
	const char *name;

	if (console->options->quiet)
		return;
	/* for a merged trace, warn about each part under that part's name */
	for (size_t i = 0; !path && (part = trace_merge_part(trace, i, &name)) != NULL; i++)
		warn(console, strcmp(name, "-") ? name : "standard input", part);
	if (!path)
		return;
	path = strcmp(path, "-") ? path : "standard input";
	process = trace_process(trace);
	warn(console, path, trace);
	/* traces that sp-rtrace recorded (protocol 1.4) lack facts that some formats print */
	if (*console->writer->missing && process && !process->has_tails)
		say(path, "not recorded by holdtrace, so these facts are missing: %s",
		    console->writer->missing);
}

void console_warn_empty(const struct console *console, const struct select_tally *tally)
{
	if (console->options->quiet || !select_is_empty(tally))
		return;
	if (tally->seen)
		print_message(stderr, "%s: the filters %s removed all %" PRIu64 " events",
			      console_program(), tally->filters, tally->seen);
	else
		print_message(stderr, "%s: no event matches the filters %s", console_program(),
			      tally->filters);
}

/* ---- the options for opening traces ---- */

void console_plan(struct console *console, struct engine_options *reading)
{
	const struct options *options = console->options;
	const char *directory = options->directory, *temporary = getenv("TMPDIR");
	const char *slash = directory ? strrchr(directory, '/') : NULL;
	struct jail *jail = &console->jail;
	/* text on the same terminal would be mixed with the progress line */
	bool is_text = isatty(STDOUT_FILENO) && !options->leaks && !options->compress;
	bool has_progress = isatty(STDERR_FILENO) && !options->quiet && !is_text;

	/* plan which rights the process keeps; `jail` keeps pointers into `options` */
	*jail = (struct jail){ .is_verbose = options->verbose };
	/*
	 * the jail must allow fork, because child processes look up names; with -r it must also
	 * allow the execution of the resolver
	 */
	jail->options.may_start = true;
	jail->options.may_execute = options->resolve;
	allow(jail, temporary && *temporary ? temporary : "/tmp");
	if ((options->report || console->writer->kind == FORMAT_SCREEN) &&
	    output_is_named(directory)) {
		snprintf(jail->report, sizeof(jail->report), "%.*s",
			 slash ? (int)(slash - directory) + 1 : 1, slash ? directory : ".");
		allow(jail, jail->report);
	} else if (directory && strcmp(directory, "stdout") != 0) {
		allow(jail, directory);
		if (console->writer->flags & FORMAT_DIRECTORY)
			jail->made = directory;
	}
	clock_gettime(CLOCK_MONOTONIC, &console->progress.start);
	console->bundles = bundles_create();
	reading->stop = console->stop;
	reading->trace =
		(struct trace_options){ .memory_max = options->max_memory.value,
					.no_wait = options->now || options->is_screen,
					.wants_repeats = console->writer->flags & FORMAT_REPEATS,
					.bundles = console->bundles,
					.waiting = options->quiet ? NULL : say_waiting,
					.opened = look_at_owner,
					.progress = has_progress ? show_progress : NULL,
					.failed = console_failed,
					.user = console };
}
