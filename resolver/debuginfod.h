/* SPDX-License-Identifier: MIT */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

/*
 * Files by build-id from debuginfod servers. libdebuginfod is opened when it is first needed, so
 * that nobody who does not ask the network depends on it; DEBUGINFOD_URLS and its like, which the
 * program sets, say which servers, and for how long.
 */

#include "resolver/files.h"

/*
 * want: FILE_EXECUTABLE_FETCHED or FILE_DEBUG_FETCHED, with a build-id; module: its path, for the
 * progress, of which options are told about once a second. Returns a descriptor of the file in the
 * user's cache, or a negative errno value.
 */
int debuginfod_find(const struct file_want *want, const char *module,
		    const struct resolve_options *options);

#endif
