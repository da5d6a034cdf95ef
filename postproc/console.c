/* SPDX-License-Identifier: MIT */
#include "console.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/invocation.h"
#include "base/out.h"
#include "postproc/request/warnings.h"
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

static void show_progress(void *user, const struct trace *trace)
{
	progress_show(&((struct console *)user)->progress, trace);
}

static void say_waiting(void *user, const char *path)
{
	(void)user;
	print_message(stderr,
		      "%s: %s: waiting until its program has ended; --now reads what there is",
		      console_program(), path);
}

static void say_wall(void *user, const char *line)
{
	(void)user;
	print_message(stderr, "%s: a trace of another user: %s", console_program(), line);
}

/*
 * Called for each file; enters the jail before anything of the first trace of another user is read.
 */
static void look_at_owner(void *user, int fd)
{
	struct console *console = user;

	if (jail_is_needed(&console->jail, fd))
		jail_enter(&console->jail, say_wall, NULL);
}

static void console_failed(void *user, const char *path, const struct error *err)
{
	((struct console *)user)->has_failed = true;
	console_error(path, err);
}

void console_warn(void *user, const char *path, const struct trace *trace)
{
	const struct console *console = user;
	struct warnings warnings = { stderr, console_program(), *console->options->filters != 0 };
	const struct trace *part;

	if (console->options->quiet)
		return;
	if (path) {
		path = strcmp(path, "-") ? path : "standard input";
		warnings_print(&warnings, path, trace);
		warnings_print_missing(&warnings, path, trace, console->writer);
		return;
	}
	/* Each part of a merged trace has warnings of its own, with its name. */
	for (size_t i = 0; (part = trace_merge_part(trace, i, &path)) != NULL; i++)
		warnings_print(&warnings, strcmp(path, "-") ? path : "standard input", part);
}

void console_warn_empty(const struct console *console, const struct select_tally *tally)
{
	if (console->options->quiet || !select_is_empty(tally))
		return;
	if (tally->seen)
		print_message(stderr, "%s: %s left none of %" PRIu64 " events", console_program(),
			      tally->filters, tally->seen);
	else
		print_message(stderr, "%s: %s left no event", console_program(), tally->filters);
}

/* ---- begin and end ---- */

/* Only on a terminal, and not while text is printed to the same terminal. */
static bool wants_progress(const struct options *options)
{
	bool is_text = isatty(STDOUT_FILENO) && !options->leaks && !options->compress;

	return isatty(STDERR_FILENO) && !options->quiet && !is_text;
}

void console_begin(struct console *console, const struct options *options,
		   const volatile sig_atomic_t *stop)
{
	*console = (struct console){ .options = options, .writer = writer_at(0), .stop = stop };
}

void console_end(struct console *console)
{
	bundles_free(console->bundles);
}

int console_plan(struct console *console, struct engine_options *reading, struct error *err)
{
	const struct options *options = console->options;
	struct trace_options *trace = &reading->trace;

	(void)err;
	jail_plan(&console->jail, options, console->writer);
	progress_begin(&console->progress, stderr, console_program());
	console->bundles = bundles_create();
	reading->stop = console->stop;
	*trace = (struct trace_options){ .memory_max = options->max_memory.value,
					 .no_wait = options->now || options->is_screen,
					 .wants_repeats = console->writer->flags & FORMAT_REPEATS,
					 .bundles = console->bundles,
					 .waiting = options->quiet ? NULL : say_waiting,
					 .opened = look_at_owner,
					 .progress = wants_progress(options) ? show_progress : NULL,
					 .failed = console_failed,
					 .user = console };
	return 0;
}
