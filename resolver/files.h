/* SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H

/*
 * The places where a module's files may lie. Opens them for the sandboxed process that reads them.
 * The author of the trace chose the paths: a file must be a regular one of at most 4 GiB, opening
 * it must not block, and no device, FIFO or terminal is touched.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

#define FILES_BUILD_ID_MAX 64

enum file_kind {
	FILE_DEBUG,		 /* by build-id, or by the name in .gnu_debuglink, like gdb */
	FILE_ALTERNATE,		 /* the file with common parts that dwz made; directory: of the file
				  * that refers to it */
	FILE_PACKAGE,		 /* .dwp; name: the path of the file with the skeletons */
	FILE_SPLIT,		 /* .dwo; name: relative to directory */
	FILE_EXECUTABLE_FETCHED, /* by build-id from debuginfod servers, if an option allows them */
	FILE_DEBUG_FETCHED,
};

/* The wanted file. The sandboxed process names it, so it is not trusted. */
struct file_want {
	uint32_t kind;
	uint32_t number; /* of the place to try, from 0 */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	char name[PATH_MAX], directory[PATH_MAX];
};

/* How a process that may not open files gets descriptors: with the contract of files_open(). */
struct file_opener {
	int (*open)(void *context, const struct file_want *want);
	void *context;
};

/*
 * Opens the place want->number of this file, for the module with this path. Returns a descriptor;
 * -ERANGE: no place has this number; -ENOEXEC: not a regular file; or another negative errno.
 */
int files_open(const struct resolve_options *options, const char *path,
	       const struct file_want *want);

/*
 * Opens the module's own file. Returns a descriptor or, with a text in err, -ENOEXEC for a file
 * that must not be used, or another negative errno. "[vdso]": a copy of this process's own.
 */
int files_open_module(const struct resolve_options *options, const char *path, struct error *err);

#endif
