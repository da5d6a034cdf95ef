/* SPDX-License-Identifier: MIT */
#ifndef PLACE_H
#define PLACE_H

/*
 * Finds the other parts of holdtrace: in the directory of this program (build tree), or at their
 * installed paths relative to that directory, so that an installed tree can be moved.
 */

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

#endif
