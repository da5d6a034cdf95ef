/* SPDX-License-Identifier: MIT */
#include "base/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SPILL_TRIES 100

int spill_directory(int *directory, struct error *err)
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

void spill_init(struct spill_file *spill, int directory)
{
	spill->directory = directory;
	spill->fd = -1;
	spill->size = 0;
}

/*
 * For file systems without O_TMPFILE (NFS, old overlayfs): creates a name and unlinks it at once.
 */
static int make_by_name(int directory)
{
	char name[64];
	struct timespec now;
	int fd = -1;

	for (int i = 0; fd < 0 && i < SPILL_TRIES; i++) {
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

static int spill_make(struct spill_file *spill, struct error *err)
{
	int fd = openat(spill->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = make_by_name(spill->directory);
	else if (fd < 0)
		fd = -errno;
	if (fd < 0)
		return error_system(err, -fd, "temporary file in the output directory");
	spill->fd = fd;
	return 0;
}

int spill_append(struct spill_file *spill, const void *bytes, size_t size, uint64_t *offset,
		 struct error *err)
{
	const char *at = bytes;
	int rc = spill->fd < 0 ? spill_make(spill, err) : 0;

	if (rc)
		return rc;
	*offset = spill->size;
	while (size) {
		ssize_t written = pwrite(spill->fd, at, size, (off_t)spill->size);

		if (written < 0 && errno != EINTR)
			return error_system(err, errno,
					    "temporary file in the output directory: cannot write");
		if (written <= 0)
			continue;
		at += written;
		size -= (size_t)written;
		spill->size += (uint64_t)written;
	}
	return 0;
}

int spill_read(const struct spill_file *spill, uint64_t offset, void *bytes, size_t size,
	       struct error *err)
{
	char *at = bytes;

	while (size) {
		ssize_t got = pread(spill->fd, at, size, (off_t)offset);

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
