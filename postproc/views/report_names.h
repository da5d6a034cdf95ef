/* SPDX-License-Identifier: MIT */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

/* What reports are called, for who starts the post-processor and links nothing of it. */
static const char *const report_names[] = {
#define REPORT(name, question, next) #name,
#include "postproc/reports.def"
};

#endif
