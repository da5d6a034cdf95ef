/* SPDX-License-Identifier: MIT */
#ifndef PLACE_H
#define PLACE_H

/*
 * Finds the other parts of holdtrace: in the directory of this program (build tree), or at their
 * installed paths relative to that directory, so that an installed tree can be moved. Inspects a
 * program before it runs: if no library can be preloaded into it, the user gets the reason instead
 * of an empty trace.
 */

#include <stdbool.h>

#include "base/error.h"

enum part {
	PART_LIBRARY,	/* libholdtrace.so */
	PART_COLLECTOR, /* holdtrace-collect */
	PART_INJECTOR,	/* holdtrace-inject */
	PART_LIVE,	/* holdtrace-live */
	PART_VIEW,	/* holdtrace-view; missing in builds without libmicrohttpd */
	PART_PUSH,	/* holdtrace-push; missing in builds without libcurl */
	PART_POSTPROC,	/* holdtrace-postproc */
};

/*
 * Finds the absolute path of a part, which the caller frees. Returns 0, or -ENOENT with a text that
 * names the directories that were searched.
 */
int place_find(enum part part, char **path, struct error *err);

/*
 * Finds the file that a shell would execute for this word. The caller frees the path. Returns 0,
 * -ENOENT or -EACCES.
 */
int place_program(const char *word, char **path, struct error *err);

/*
 * Inspects the program at `path`; if it is a script, inspects its interpreter. Returns 0 if the
 * program can be traced or the file cannot be read, else -ENOTSUP with the reason and advice in
 * `err`. Sets *program to the path of the program or interpreter, if it was found; the caller frees
 * it. Sets *ignores if the program ignores LD_PRELOAD, but can run with it and passes it on to its
 * children.
 */
int inspect_program(const char *path, char **program, bool *ignores, struct error *err);

#endif
