/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_TABLE_H
#define FINDINGS_TABLE_H

#include "postproc/report/report.h"

/*
 * Fills the table `findings`: the problems of the run as sentences, those with the worst damage
 * first.
 */
void findings_put(const struct report_run *run, struct table *table);

#endif
