/* SPDX-License-Identifier: MIT */
#ifndef FLEET_H
#define FLEET_H

/* The command `holdtrace rows`, which writes many runs as rows for databases. */

#include "base/error.h"
#include "postproc/request/request.h"
#include "report_plan.h"

/*
 * Writes a file for each table, and load.sql, into the directory of -o. With --into, loads these
 * files into a database. Reads the runs in parallel; memory grows with the number of call sites,
 * not of runs. Sets *failed to the number of runs that could not be read. Returns 0 or a negative
 * errno.
 */
int fleet_rows(const struct report_plan *plan, const struct options *options, size_t *failed,
	       struct error *err);

#endif
