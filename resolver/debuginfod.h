/* SPDX-License-Identifier: MIT */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

/*
 * Files by build-id from debuginfod servers. libdebuginfod is loaded on first use, so that a
 * program that does not ask the network does not depend on it. The program sets DEBUGINFOD_URLS and
 * its relatives, which name the servers and the time limits.
 */

#include "resolver/files.h"

/*
 * want: FILE_EXECUTABLE_FETCHED or FILE_DEBUG_FETCHED, with a build-id; module: its path, for the
 * progress, which is reported through options about once a second. Returns a descriptor of the file
 * in the user's cache, or a negative errno value.
 */
int debuginfod_find(const struct file_want *want, const char *module,
		    const struct resolve_options *options);

#endif
