/* SPDX-License-Identifier: MIT */
#ifndef CONSOLE_H
#define CONSOLE_H

/*
 * Prints progress, warnings about traces, and errors on standard error. Also sets the options for
 * opening traces, because the functions that open traces report through this file.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/sandbox.h"
#include "formats/writer.h"
#include "postproc/engine/engine.h"
#include "postproc/engine/pass.h"
#include "postproc/request/request.h"

/*
 * State for dropping rights before another user's trace is read. A trace that exploits a bug in the
 * reader can then write only to the requested output and to the directory for temporary files.
 */
struct jail {
	struct sandbox_options options;
	char report[PATH_MAX]; /* directory of the report's file, if the report goes to a file */
	const char *made;      /* directory to create before the jail is entered, or NULL */
	bool is_verbose, is_entered;
};

struct progress {
	struct timespec start;
	/*
	 * when the progress line was last written, in tenths of a second since the start; 0: the
	 * line is not on the screen
	 */
	unsigned shown;
	uint64_t events;
};

/* Initialise it with `options`, `writer` and `stop`. The caller frees `bundles`. */
struct console {
	const struct options *options;
	/* the stream writer that --format names; with --report, the first stream writer */
	const struct writer *writer;
	const volatile sig_atomic_t *stop;
	struct progress progress;
	struct bundles *bundles;
	struct jail jail;
	bool has_failed; /* at least one input could not be read */
};

/*
 * Called in a worker process that reads only the heads of traces: the process then prints no
 * message when it enters the jail. console: the `user` of its struct trace_options.
 */
void console_hush(void *console);

/* Fills `reading`, except for its members `select`, `is_merged` and `read`. */
void console_plan(struct console *console, struct engine_options *reading);

/*
 * The name of this program in messages: "holdtrace" if the launcher started this program, else
 * "holdtrace-postproc".
 */
const char *console_program(void);

/* path: the file that the error is about, or NULL. */
void console_error(const char *path, const struct error *err);

/* Warns if filters have removed every event. */
void console_warn_empty(const struct console *console, const struct select_tally *tally);

/*
 * Callback for engine_options.read: warns if a trace is damaged, incomplete or empty. user: the
 * console.
 */
void console_warn(void *user, const char *path, const struct trace *trace);

#endif
