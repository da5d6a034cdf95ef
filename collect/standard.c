/* SPDX-License-Identifier: MIT */
#include "collect/standard.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Programs look a name up before they run: it must not lead over a network, or to a user's server.
 */
static bool is_local(int fd)
{
	static const unsigned int kinds[] = {
		EXT4_SUPER_MAGIC,      TMPFS_MAGIC,	   XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
		OVERLAYFS_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
	};
	struct statfs system;

	if (fstatfs(fd, &system))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((unsigned int)system.f_type == kinds[i])
			return true;
	return false;
}

/* Pipes and sockets are named by their numbers, and need no look. */
static void find_one(int fd, char name[BOARD_STANDARD_MAX])
{
	char link[32];
	struct stat file;
	ssize_t length;

	if (fstat(fd, &file) || !(S_ISREG(file.st_mode) || S_ISCHR(file.st_mode)) || !is_local(fd))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, name, BOARD_STANDARD_MAX - 1);
	/* what was cut leads elsewhere */
	name[length > 0 && length < BOARD_STANDARD_MAX - 1 ? length : 0] = 0;
}

void standard_find(struct board *board)
{
	for (int fd = 0; fd < BOARD_STANDARDS; fd++)
		find_one(fd, board->standard[fd]);
}
