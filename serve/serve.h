/* SPDX-License-Identifier: MIT */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

/*
 * Serves one file over HTTP to a browser on this machine: only on the loopback address, only under
 * a random path, and only to pages of one origin. Uses libmicrohttpd.
 */

#include <stdint.h>

#include "base/error.h"

struct serve;

struct serve_options {
	int fd; /* a regular file, which is served from its start, not from its offset; the caller
		   closes it */
	const char *name;   /* the file's name in the URL */
	const char *type;   /* media type */
	const char *origin; /* origin of the page that may read the file; NULL: the file itself is
			       the page */
	uint16_t port;	    /* 0: any */
};

/*
 * Starts a thread that serves the file until serve_end(). `options` must be valid until then.
 * Returns 0, -EADDRINUSE or another negative errno.
 */
int serve_begin(struct serve **serve, const struct serve_options *options, struct error *err);

/* Returns the URL, "http://127.0.0.1:PORT/SECRET/NAME", valid until serve_end(). */
const char *serve_address(const struct serve *serve);

void serve_end(struct serve *serve);

#endif
