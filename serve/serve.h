/* SPDX-License-Identifier: MIT */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

/*
 * One file for one browser of this machine: on the loopback address alone, under a name that nobody
 * else can guess, and for pages of one origin. Built on libmicrohttpd.
 */

#include <stdint.h>

#include "base/error.h"

struct serve;

struct serve_wish {
	int fd;		    /* a regular file, at any place; stays the caller's */
	const char *name;   /* that the browser sees */
	const char *type;   /* media type */
	const char *origin; /* of the page that may read it; NULL: the file is the page itself */
	uint16_t port;	    /* 0: any */
};

/*
 * Begins to serve, in a thread of its own, until serve_end(). wish lives as long. Returns 0,
 * -EADDRINUSE or another negative errno.
 */
int serve_begin(struct serve **serve, const struct serve_wish *wish, struct error *err);

/* "http://127.0.0.1:PORT/SECRET/NAME"; as long as it is served. */
const char *serve_address(const struct serve *serve);

void serve_end(struct serve *serve);

#endif
