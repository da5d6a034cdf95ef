/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_OVERVIEW_H
#define WRITERS_OVERVIEW_H

/* The screen that a run ends with, from the numbers of the summary. */

#include "base/error.h"
#include "base/out.h"
#include "postproc/views/summary.h"
#include "postproc/writers/names.h"

#define OVERVIEW_LINES_MAX 40

/*
 * Looks up the names of what is shown, and prints. is_newest: the traces are those that a command
 * without a file reads. files: as for names_create(). Returns 0 or -ENOMEM.
 */
int overview_print(const struct summary *summary, const struct names_files *files, bool is_newest,
		   struct out *out, struct error *err);

#endif
