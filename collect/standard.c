/* SPDX-License-Identifier: MIT */
#include "collect/standard.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Finds the name of a standard descriptor, but only of devices in /dev. Programs look the name up
 * before they run, and any other directory may be on a network file system, a FUSE server or an
 * automounter that does not answer. Pipes and sockets are named by their numbers, which need no
 * lookup.
 */
static void find_one(int fd, char name[CONTROL_STANDARD_MAX])
{
	char link[32];
	struct stat file;
	ssize_t length;

	if (fstat(fd, &file) || !S_ISCHR(file.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, CONTROL_STANDARD_MAX - 1);
	/* a truncated name would lead elsewhere */
	name[length > 0 && length < CONTROL_STANDARD_MAX - 1 ? length : 0] = 0;
	if (strncmp(name, "/dev/", 5))
		name[0] = 0;
}

void standard_find(struct control_page *control)
{
	for (int fd = 0; fd < CONTROL_STANDARDS; fd++)
		find_one(fd, control->standard[fd]);
	control->maker = getpid();
}
