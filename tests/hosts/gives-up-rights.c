/* SPDX-License-Identifier: MIT */
/*
 * gives-up-rights COMMAND: becomes nobody, as a server does, and then has a shell run the command
 * by system() and by popen(). Ends with 0 if both did.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOBODY 65534

int main(int argc, char **argv)
{
	FILE *pipe;

	if (argc < 2 || setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return 77;
	if (system(argv[1]))
		return 1;
	pipe = popen(argv[1], "r");
	while (pipe && getc(pipe) != EOF)
		;
	return !pipe || pclose(pipe);
}
