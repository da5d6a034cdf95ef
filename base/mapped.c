/* SPDX-License-Identifier: MIT */
#include "base/mapped.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int mapped_open(const char *path, dev_t device, ino_t inode)
{
	cleanup_fd int place = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	char again[32];

	if (place < 0 || fstat(place, &status) != 0 || !S_ISREG(status.st_mode) ||
	    (device && status.st_dev != device) || status.st_ino != inode)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	return open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}
