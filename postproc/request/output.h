/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_OUTPUT_H
#define REQUEST_OUTPUT_H

/*
 * Where text goes: standard output, a new file in a directory, or a file of that name; directly or
 * through a child, the resolver. Opened and closed once for each stream, or for a report. A file
 * gets its name when all of it is there.
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

	/* while it is open */
	bool is_open;
	bool is_over;	/* a file that has the name gives it up */
	bool is_spoilt; /* by the writer, which failed: a file does not stay */
	struct out out;
	int file; /* of the file, -1: standard output */
	int pipe; /* to the child, -1: none */
	pid_t child;
	char path[OUTPUT_PATH_MAX];	/* of the file; "standard output" */
	char fresh[OUTPUT_PATH_MAX];	/* until all of it is there; "": it needs none */
	volatile sig_atomic_t is_fresh; /* there is a file of that name: whoever ends removes it */
};

/* Opens for the stream of that process. Returns 0 or a negative errno. */
int output_open(struct output *output, const struct trace_process *process, struct error *err);

/*
 * Opens one file, which only its owner reads, for what is no stream's. path: NULL, "-", "stdout"
 * and "/dev/stdout" are standard output; a device or a pipe is written to as it is. is_over: in the
 * place of a file that is there already, which is refused otherwise. Returns 0 or a negative errno.
 */
int output_open_file(struct output *output, const char *path, bool is_over, struct error *err);

/* A signal ends the program: what has no name yet goes. To be called by its handler. */
void output_drop(const struct output *output);

/* Whether that path is a name, and not standard output. */
bool output_is_named(const char *path);

/* 0 or the error that output has met. -EPIPE has no text: who read it wants no more. */
int output_error(const struct output *output, struct error *err);

/* Flushes, closes, waits for the child. Returns as output_error(); 0 if it is not open. */
int output_close(struct output *output, struct error *err);

#endif
