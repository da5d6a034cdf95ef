/* SPDX-License-Identifier: MIT */
#ifndef REPORT_REPORT_JSON_H
#define REPORT_REPORT_JSON_H

/* The parts that all JSON about a run has in common. man/report.schema.json describes them. */

#include "base/json.h"
#include "postproc/report/report.h"

#define REPORT_SCHEMA 1 /* version of the JSON; see holdtrace-report(5) */

/* Adds to the open object the keys that say how much was read and what is missing. */
void report_add_run(struct json *json, const struct report_run *run);

/* Adds a frame of a backtrace as an object. */
void report_add_frame(struct json *json, const struct naming_symbol *frame);

#endif
