/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_OUTPUT_H
#define REQUEST_OUTPUT_H

/*
 * Where text is printed to: standard output, a new file in a directory, or a file with a given
 * name. The text may pass through a child process, holdtrace-resolve. The output is opened and
 * closed once for each stream, or once for all reports. A file gets its final name only when it is
 * complete.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/out.h"
#include "trace/event.h"

#define OUTPUT_PATH_MAX 4096

struct output {
	const char *directory; /* directory for files; NULL: standard output */
	const char *suffix;    /* suffix of a file in that directory: "htr" */
	bool is_resolved;      /* whether the text passes through holdtrace-resolve */
	bool is_quiet;	       /* pass -q to the child */

	/* the following members are set while the output is open */
	bool is_open;
	bool is_over;	/* replace an existing file */
	bool is_spoilt; /* set by the caller if writing failed: output_close() removes the file */
	struct out out;
	int file; /* descriptor of the file; -1: standard output */
	int pipe; /* descriptor of the pipe to the child; -1: none */
	pid_t child;
	char path[OUTPUT_PATH_MAX]; /* path of the file, or "standard output" */
	/* temporary name of the file until it is complete; "": it has none */
	char fresh[OUTPUT_PATH_MAX];
	/* a file with the temporary name exists, which output_drop() removes */
	volatile sig_atomic_t is_fresh;
};

/* Opens the output for a stream of the process. Returns 0 or a negative errno. */
int output_open(struct output *output, const struct trace_process *process, struct error *err);

/*
 * Opens a file, readable only by its owner, for output that belongs to no stream. path: NULL, "-",
 * "stdout" and "/dev/stdout" mean standard output; a device or a pipe is opened directly. is_over:
 * replace an existing file, instead of failing. Returns 0 or a negative errno.
 */
int output_open_file(struct output *output, const char *path, bool is_over, struct error *err);

/* Removes an incomplete file before a signal ends the program. Safe in a signal handler. */
void output_drop(const struct output *output);

/* Whether the path names a file rather than standard output. */
bool output_is_named(const char *path);

/*
 * Returns 0 or the first error of writing. -EPIPE means that the reader has closed the pipe, which
 * the caller should not report as an error.
 */
int output_error(const struct output *output, struct error *err);

/*
 * Flushes and closes the output, and waits for the child. Does nothing if the output is not open.
 * Returns 0 or a negative errno.
 */
int output_close(struct output *output, struct error *err);

#endif
