/* SPDX-License-Identifier: MIT */
#include "base/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SPILL_TRIES 100

void spill_init(struct spill_file *spill, int directory)
{
	*spill = (struct spill_file){ .directory = directory, .fd = -1 };
}

static int spill_fail(const struct spill_file *spill, const char *what, struct error *err)
{
	return error_system(err, errno, "cannot %s a temporary file in %s", what,
			    spill->directory < 0 ? "$TMPDIR, or /tmp" : "the output directory");
}

static void spill_create(struct spill_file *spill)
{
	const char *path = getenv("TMPDIR");
	cleanup_fd int opened = -1;
	int directory = spill->directory;

	if (directory < 0)
		directory = opened =
			open(path && *path ? path : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) {
		error_system(&spill->failure, errno, "%s: cannot create temporary files there",
			     path && *path ? path : "/tmp");
		return;
	}
	spill->fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spill->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		/* without O_TMPFILE (NFS, old overlayfs): unlink a named file immediately */
		char name[64];

		errno = EEXIST;
		for (int i = 0; spill->fd < 0 && errno == EEXIST && i < SPILL_TRIES; i++) {
			snprintf(name, sizeof(name), ".holdtrace-%d-%llu", (int)getpid(),
				 (unsigned long long)clock_ns());
			spill->fd =
				openat(directory, name,
				       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		}
		if (spill->fd >= 0)
			unlinkat(directory, name, 0);
	}
	if (spill->fd < 0)
		spill_fail(spill, "create", &spill->failure);
}

uint64_t spill_append(struct spill_file *spill, const void *bytes, size_t size)
{
	uint64_t offset = spill->size;
	const char *at = bytes;

	if (spill->fd < 0 && !spill->failure.number)
		spill_create(spill);
	while (size && !spill->failure.number) {
		ssize_t written = pwrite(spill->fd, at, size, (off_t)spill->size);

		if (written < 0 && errno != EINTR)
			spill_fail(spill, "write", &spill->failure);
		if (written <= 0)
			continue;
		at += written;
		size -= (size_t)written;
		spill->size += (uint64_t)written;
	}
	return offset;
}

int spill_read(const struct spill_file *spill, uint64_t offset, void *bytes, size_t size,
	       struct error *err)
{
	char *at = bytes;

	while (size) {
		ssize_t got = pread(spill->fd, at, size, (off_t)offset);

		if (got == 0)
			errno = EIO;
		if (got == 0 || (got < 0 && errno != EINTR))
			return spill_fail(spill, "read", err);
		if (got < 0)
			continue;
		at += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

int spill_error(const struct spill_file *spill, struct error *err)
{
	if (spill->failure.number && err)
		*err = spill->failure;
	return -spill->failure.number;
}

void spill_clear(struct spill_file *spill)
{
	/* If truncating fails, later writes overwrite the old bytes. */
	if (spill->fd >= 0 && ftruncate(spill->fd, 0) < 0)
		errno = 0;
	spill->size = 0;
}

void spill_close(struct spill_file *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
	spill->size = 0;
}
