/* SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H

/*
 * The places where a module's files may lie, and the files there, opened for the sandboxed process
 * that reads them. Whoever wrote the trace chose the paths: a file must be a regular one of sane
 * size, is never waited for, and no device, FIFO or terminal is touched.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

#define FILES_BUILD_ID_MAX 64

enum file_kind {
	FILE_DEBUG,		 /* by build-id, or by the name in .gnu_debuglink, as gdb does */
	FILE_ALTERNATE,		 /* where dwz moved parts of the file in directory to */
	FILE_PACKAGE,		 /* .dwp; name: the path of the file with the skeletons */
	FILE_SPLIT,		 /* .dwo, by its name in directory */
	FILE_EXECUTABLE_FETCHED, /* by build-id from debuginfod servers, if that is wished for */
	FILE_DEBUG_FETCHED,
};

/* What is looked for. It comes from the process that reads files, and is believed no more. */
struct file_want {
	uint32_t kind;
	uint32_t number; /* of the place, from 0 */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	char name[PATH_MAX], directory[PATH_MAX];
};

/* How a process that opens no files has them opened: as files_open() does. */
struct file_opener {
	int (*open)(void *context, const struct file_want *want);
	void *context;
};

/*
 * Opens what is at the place of the want for the module with this path. Returns a descriptor;
 * -ERANGE: there is no such place; -ENOEXEC: what is there is no regular file; or another negative
 * errno.
 */
int files_open(const struct resolve_options *options, const char *path,
	       const struct file_want *want);

/*
 * Opens the module's own file. Returns a descriptor or, with words in err, -ENOEXEC for what is
 * there but will not be used, or another negative errno. "[vdso]": a copy of this process's.
 */
int files_open_module(const struct resolve_options *options, const char *path, struct error *err);

#endif
