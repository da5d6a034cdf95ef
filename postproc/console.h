/* SPDX-License-Identifier: MIT */
#ifndef CONSOLE_H
#define CONSOLE_H

/*
 * What holdtrace-postproc says on standard error: how far reading is, what is wrong with a trace,
 * errors. It plans how traces are opened, since whoever opens them speaks through it.
 */

#include <stdbool.h>

#include "base/error.h"
#include "formats/writer.h"
#include "postproc/engine/engine.h"
#include "jail.h"
#include "postproc/request/request.h"
#include "postproc/request/progress.h"

struct console {
	const struct options *options;
	const struct writer *writer; /* of events; of reports the first */
	const volatile sig_atomic_t *stop;
	struct progress progress;
	struct bundles *bundles;
	struct jail jail;
	bool has_failed; /* an input */
};

void console_begin(struct console *console, const struct options *options,
		   const volatile sig_atomic_t *stop);
void console_end(struct console *console);

/* Fills reading but for select and is_merged. Returns 0 or -EINVAL. */
int console_plan(struct console *console, struct engine_options *reading, struct error *err);

/* As the user called it: holdtrace runs us under its own name. */
const char *console_program(void);

/* path: the file that it is about, or NULL. */
void console_error(const char *path, const struct error *err);

/* Filters left nothing, and no other word of it is printed. */
void console_warn_empty(const struct console *console, const struct select_tally *tally);

/* As engine_options.read: warns of what a trace lacks. user: the console. */
void console_warn(void *user, const char *path, const struct trace *trace);

#endif
