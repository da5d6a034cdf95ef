/* SPDX-License-Identifier: MIT */
#ifndef CONSOLE_H
#define CONSOLE_H

/*
 * What holdtrace-postproc prints on standard error: progress, warnings about a trace, errors. It
 * also plans how traces are opened, because opening reports through it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "formats/writer.h"
#include "postproc/engine/engine.h"
#include "jail.h"
#include "postproc/request/request.h"

struct progress {
	struct timespec start;
	unsigned shown; /* when the line was last written, in tenths of a second; 0: never */
	uint64_t events;
};

struct console {
	const struct options *options;
	const struct writer *writer; /* of events; for reports the first one */
	const volatile sig_atomic_t *stop;
	struct progress progress;
	struct bundles *bundles;
	struct jail jail;
	bool has_failed; /* an input could not be read */
};

void console_begin(struct console *console, const struct options *options,
		   const volatile sig_atomic_t *stop);
void console_end(struct console *console);

/* Fills reading except select and is_merged. */
void console_plan(struct console *console, struct engine_options *reading);

/* The name under which the user started the program: holdtrace runs it under its own name. */
const char *console_program(void);

/* path: the file with the error, or NULL. */
void console_error(const char *path, const struct error *err);

/* Warns if filters removed every event; otherwise prints nothing. */
void console_warn_empty(const struct console *console, const struct select_tally *tally);

/* For engine_options.read: warns of what a trace lacks. user: the console. */
void console_warn(void *user, const char *path, const struct trace *trace);

#endif
