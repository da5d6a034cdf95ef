/* SPDX-License-Identifier: MIT */
/*
 * executes HOW PROGRAM...: makes 10 blocks, then executes PROGRAM in its place: keep, with its
 * environment; empty, with none; nobody, with the rights of nobody in an empty root.
 */
#include <grp.h>
#include <string.h>
#include <sys/stat.h>

#include "made.h"

int main(int argc, char **argv)
{
	char *nothing[] = { NULL };

	make(10, 1017);
	if (argc < 3)
		return 1;
	if (strcmp(argv[1], "empty") == 0)
		execve(argv[2], argv + 2, nothing);
	if (strcmp(argv[1], "nobody") == 0) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			return 2;
	}
	execv(argv[2], argv + 2);
	return 3;
}
