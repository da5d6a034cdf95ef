/* SPDX-License-Identifier: MIT */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

/*
 * Serves one file to one browser of this machine: on the loopback address alone, under a random
 * path, and to pages of one origin. Uses libmicrohttpd.
 */

#include <stdint.h>

#include "base/error.h"

struct serve;

struct serve_options {
	int fd;		    /* a regular file at any offset; the caller closes it */
	const char *name;   /* file name in the address */
	const char *type;   /* media type */
	const char *origin; /* of the page that may read it; NULL: the file itself is the page */
	uint16_t port;	    /* 0: any */
};

/*
 * Serves in a new thread until serve_end(); options must live as long. Returns 0, -EADDRINUSE or
 * another negative errno.
 */
int serve_begin(struct serve **serve, const struct serve_options *options, struct error *err);

/* "http://127.0.0.1:PORT/SECRET/NAME", valid until serve_end(). */
const char *serve_address(const struct serve *serve);

void serve_end(struct serve *serve);

#endif
