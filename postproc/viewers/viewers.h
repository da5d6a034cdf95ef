/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_VIEWERS_H
#define VIEWERS_VIEWERS_H

/*
 * Files for the viewers of other tools. Each viewer has a row in formats.def, and a source file
 * that defines viewer_NAME, a report of the whole run that prints itself. The numbers come from
 * folds that reports use, too; a viewer only chooses the names and fields.
 */

#include "postproc/report/report.h"

/* Returns the viewer for a format. NULL: no viewer writes the format. */
const struct report *viewer_find(const char *format);

/* Returns the command line of a process, or its name; "" if both are unknown or `process` is NULL.
 */
const char *viewer_command(const struct summary_process *process);

#define FORMAT(kind, name, ...) FORMAT_VIEWER_OF_##kind(name)
#define FORMAT_VIEWER_OF_STREAM(name)
#define FORMAT_VIEWER_OF_DIALECT(name)
#define FORMAT_VIEWER_OF_SCREEN(name)
#define FORMAT_VIEWER_OF_TABLES(name)
#define FORMAT_VIEWER_OF_VIEWER(name) extern const struct report viewer_##name;
#include "formats/formats.def"
#undef FORMAT_VIEWER_OF_VIEWER

#endif
