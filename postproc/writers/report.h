/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_REPORT_H
#define WRITERS_REPORT_H

/* The screen that a run ends with, from the numbers of the summary. */

#include "base/error.h"
#include "base/out.h"
#include "postproc/views/summary.h"

#define REPORT_LINES_MAX 40

/* Looks up the names of what is shown, and prints. Returns 0 or -ENOMEM. */
int report_print(const struct summary *summary, struct out *out, struct error *err);

#endif
