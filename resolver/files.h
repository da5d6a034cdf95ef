/* SPDX-License-Identifier: MIT */
#ifndef FILES_H
#define FILES_H

/*
 * Opens the files of a module, at each place (path) where they may be, for the sandboxed process
 * that reads them. The paths come from the trace, which may be hostile. So only regular files of at
 * most 4 GiB are accepted, opening never blocks, and devices, FIFOs and terminals are not opened.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "resolver/symbol.h"

#define FILES_BUILD_ID_MAX 64

enum file_kind {
	/* the debug file, found as gdb finds it: by build-id or the name in .gnu_debuglink */
	FILE_DEBUG,
	/* the file to which dwz moved common parts; directory: directory of the referring file */
	FILE_ALTERNATE,
	FILE_PACKAGE, /* the .dwp file; name: path of the file that refers to it */
	FILE_SPLIT,   /* a .dwo file; name: its path, relative to directory */
	/* the module's own file or debug file, from debuginfod servers, if an option allows it */
	FILE_EXECUTABLE_FETCHED,
	FILE_DEBUG_FETCHED,
};

/* A request for a file. The sandboxed process makes it, so it is not trusted. */
struct file_want {
	uint32_t kind;
	uint32_t number; /* which of the possible paths of the file to try, from 0 */
	uint32_t build_id_size;
	uint8_t build_id[FILES_BUILD_ID_MAX];
	char name[PATH_MAX], directory[PATH_MAX];
};

/* Opens files for a process that must not open files itself. open() works like files_open(). */
struct file_opener {
	int (*open)(void *context, const struct file_want *want);
	void *context;
};

/*
 * Opens the file that `want` requests of the module at `path`. want->number selects one of the
 * places (paths) where the file may be. Returns a descriptor; -ERANGE: no place has that number;
 * -ENOEXEC: not a regular file; or another negative errno.
 */
int files_open(const struct resolve_options *options, const char *path,
	       const struct file_want *want);

/*
 * Opens the module's own file; for "[vdso]", a copy of this process's vdso. Returns a descriptor.
 * On failure, sets err and returns -ENOEXEC for a file that must not be used, or another negative
 * errno.
 */
int files_open_module(const struct resolve_options *options, const char *path, struct error *err);

#endif
