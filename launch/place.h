/* SPDX-License-Identifier: MIT */
#ifndef PLACE_H
#define PLACE_H

/* Where the other parts of holdtrace are: beside this program (build tree), or installed. */

#include "base/error.h"

enum part {
	PART_LIBRARY,	/* libholdtrace.so */
	PART_COLLECTOR, /* holdtrace-collect */
	PART_INJECTOR,	/* holdtrace-inject */
	PART_LIVE,	/* holdtrace-live */
	PART_VIEW,	/* holdtrace-view; a build without libmicrohttpd has none */
	PART_POSTPROC,	/* holdtrace-postproc */
};

/* The absolute path of a part, to be freed. Returns -ENOENT with the places that were tried. */
int place_find(enum part part, char **path, struct error *err);

/* The file that a shell would run for this word, to be freed: -ENOENT, -EACCES. */
int place_program(const char *word, char **path, struct error *err);

#endif
