/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_OUTPUT_H
#define REQUEST_OUTPUT_H

/*
 * Where text goes: standard output, a new file in a directory, or a file with a given name;
 * directly or through a child, the resolver. Opened and closed once for each stream, or for a
 * report. A file gets its name when it is complete.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/out.h"
#include "trace/event.h"

#define OUTPUT_PATH_MAX 4096

struct output {
	const char *directory; /* NULL: standard output */
	const char *suffix;    /* of a file there: "htr" */
	bool is_resolved;      /* through holdtrace-resolve */
	bool is_quiet;	       /* for the child */

	/* set while it is open */
	bool is_open;
	bool is_over;	/* an existing file is replaced */
	bool is_spoilt; /* the writer failed: the file is removed */
	struct out out;
	int file; /* of the file, -1: standard output */
	int pipe; /* to the child, -1: none */
	pid_t child;
	char path[OUTPUT_PATH_MAX];	/* of the file; "standard output" */
	char fresh[OUTPUT_PATH_MAX];	/* name until the file is complete; "": it needs none */
	volatile sig_atomic_t is_fresh; /* that file exists: the end of the program removes it */
};

/* Opens the output for the stream of that process. Returns 0 or a negative errno. */
int output_open(struct output *output, const struct trace_process *process, struct error *err);

/*
 * Opens one file, readable by its owner only, for output that belongs to no stream. path: NULL,
 * "-", "stdout" and "/dev/stdout" are standard output; a device or a pipe is written to directly.
 * is_over: replaces an existing file, which is an error otherwise. Returns 0 or a negative errno.
 */
int output_open_file(struct output *output, const char *path, bool is_over, struct error *err);

/* A signal ends the program: removes an incomplete file. Called by the signal handler. */
void output_drop(const struct output *output);

/* Whether that path is the name of a file, and not standard output. */
bool output_is_named(const char *path);

/* 0 or the first error of output. -EPIPE has no text: the reader has closed the pipe on purpose. */
int output_error(const struct output *output, struct error *err);

/* Flushes, closes, waits for the child. Returns as output_error(); 0 if it is not open. */
int output_close(struct output *output, struct error *err);

#endif
