/* SPDX-License-Identifier: MIT */
#include "size_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define ATTEMPTS   6u		    /* between the least detail and all */
#define GOOD(most) ((most) / 8 * 7) /* a file of this size is large enough */

/* A file in memory, written with this detail. */
struct attempt {
	uint32_t detail;
	uint64_t size;
	int fd;
};

static int attempt(const struct size_limit *limited, uint32_t detail, struct attempt *made,
		   struct error *err)
{
	struct out out;
	off_t size;
	int rc, closed;

	*made = (struct attempt){ .detail = detail,
				  .fd = memfd_create("holdtrace-fitting", MFD_CLOEXEC) };
	if (made->fd < 0)
		return error_system(err, errno, "file in memory");
	out_open(&out, made->fd, err);
	rc = limited->print(limited->user, detail, &out, err);
	closed = out_close(&out);
	if (rc == 0 && closed)
		return error_system(err, -closed, "file in memory");
	size = lseek(made->fd, 0, SEEK_END);
	made->size = size > 0 ? (uint64_t)size : 0;
	return rc;
}

static int copy(const struct attempt *made, struct out *out, struct error *err)
{
	cleanup_free char *bytes = memory_alloc(OUT_SIZE);
	ssize_t size = 0;

	if (lseek(made->fd, 0, SEEK_SET) == 0)
		while ((size = read(made->fd, bytes, OUT_SIZE)) > 0)
			out_bytes(out, bytes, (size_t)size);
	return size < 0 ? error_system(err, errno, "file in memory") : 0;
}

/* The geometric mean: sizes change in steps, as when a unit of time doubles. */
static uint32_t between(const struct attempt *small, const struct attempt *large)
{
	return (uint32_t)sqrt((double)small->detail * (double)large->detail);
}

static void keep(struct attempt *kept, struct attempt *made)
{
	close(kept->fd);
	*kept = *made;
	made->fd = -1;
}

/* small fits and large does not; afterwards small is the largest attempt found that fits. */
static int approach(const struct size_limit *limited, struct attempt *small, struct attempt *large,
		    struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < ATTEMPTS && small->size < GOOD(limited->most_bytes);
	     i++) {
		uint32_t detail = between(small, large);
		struct attempt made;

		if (detail <= small->detail || detail >= large->detail)
			break;
		rc = attempt(limited, detail, &made, err);
		if (rc == 0)
			keep(made.size <= limited->most_bytes ? small : large, &made);
		if (made.fd >= 0)
			close(made.fd);
	}
	return rc;
}

static int fit_least(const struct size_limit *limited, struct attempt *large, struct out *out,
		     struct error *err)
{
	struct attempt small;
	int rc = attempt(limited, 1, &small, err);

	if (rc == 0 && small.size > limited->most_bytes)
		rc = error_set(err, EFBIG,
			       "--format=html:%" PRIu64 ": the least that works is %" PRIu64,
			       limited->most_bytes, small.size);
	if (rc == 0)
		rc = approach(limited, &small, large, err);
	if (rc == 0)
		rc = copy(&small, out, err);
	if (small.fd >= 0)
		close(small.fd);
	return rc;
}

int fit(const struct size_limit *limited, struct out *out, struct error *err)
{
	struct attempt all;
	int rc = attempt(limited, limited->detail, &all, err);

	if (rc == 0)
		rc = all.size <= limited->most_bytes ? copy(&all, out, err)
						     : fit_least(limited, &all, out, err);
	if (all.fd >= 0)
		close(all.fd);
	return rc;
}
