/* SPDX-License-Identifier: MIT */
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPOOL_TRIES 100

int spool_directory(int *directory, struct error *err)
{
	const char *path = getenv("TMPDIR");

	if (!path || !*path)
		path = "/tmp";
	*directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *directory < 0 ? error_system(err, errno,
					     "%s: temporary files are needed there "
					     "($TMPDIR)",
					     path)
			      : 0;
}

void spool_init(struct spool *spool, int directory)
{
	spool->directory = directory;
	spool->fd = -1;
	spool->size = 0;
}

/*
 * For file systems without O_TMPFILE (NFS, old overlayfs): creates a name and unlinks it at once.
 */
static int make_by_name(int directory)
{
	char name[64];
	struct timespec now;
	int fd = -1;

	for (int i = 0; fd < 0 && i < SPOOL_TRIES; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		snprintf(name, sizeof(name), ".holdtrace-%d-%ld", (int)getpid(), now.tv_nsec);
		fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EEXIST;
	unlinkat(directory, name, 0);
	return fd;
}

static int spool_make(struct spool *spool, struct error *err)
{
	int fd = openat(spool->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = make_by_name(spool->directory);
	else if (fd < 0)
		fd = -errno;
	if (fd < 0)
		return error_system(err, -fd, "temporary file in the output directory");
	spool->fd = fd;
	return 0;
}

int spool_append(struct spool *spool, const void *bytes, size_t size, uint64_t *offset,
		 struct error *err)
{
	const char *at = bytes;
	int rc = spool->fd < 0 ? spool_make(spool, err) : 0;

	if (rc)
		return rc;
	*offset = spool->size;
	while (size) {
		ssize_t written = pwrite(spool->fd, at, size, (off_t)spool->size);

		if (written < 0 && errno != EINTR)
			return error_system(err, errno,
					    "temporary file in the output directory: cannot write");
		if (written <= 0)
			continue;
		at += written;
		size -= (size_t)written;
		spool->size += (uint64_t)written;
	}
	return 0;
}

int spool_read(const struct spool *spool, uint64_t offset, void *bytes, size_t size,
	       struct error *err)
{
	char *at = bytes;

	while (size) {
		ssize_t got = pread(spool->fd, at, size, (off_t)offset);

		if (got == 0)
			return error_set(err, EIO, "temporary file: became shorter");
		if (got < 0 && errno != EINTR)
			return error_system(err, errno, "temporary file: cannot read");
		if (got < 0)
			continue;
		at += got;
		size -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

void spool_clear(struct spool *spool)
{
	/* If truncating fails, later writes overwrite the old bytes. */
	if (spool->fd >= 0 && ftruncate(spool->fd, 0) < 0)
		errno = 0;
	spool->size = 0;
}

void spool_close(struct spool *spool)
{
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
	spool->size = 0;
}
