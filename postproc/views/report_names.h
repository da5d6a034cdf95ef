/* SPDX-License-Identifier: MIT */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

/* What reports are called, for who starts the post-processor and links nothing of it. */
static const char *const report_names[] = {
#define REPORT(name, question, next) #name,
#define SHEET(name, by, title)
#define COLUMN(sheet, name, kind, heading, meaning)
#include "postproc/reports.def"
#undef REPORT
#undef SHEET
#undef COLUMN
};

#endif
