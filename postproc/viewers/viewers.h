/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_VIEWERS_H
#define VIEWERS_VIEWERS_H

/*
 * Writes files for the viewers of other tools. Each format has a row in formats.def, and a source
 * file that defines viewer_NAME, a report on the whole run that prints itself. Its numbers come
 * from the same sums as those of other reports; it chooses only the names and fields.
 */

#include "postproc/report/report.h"

/* Returns the report that writes a format for a viewer, or NULL if the format has none. */
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
