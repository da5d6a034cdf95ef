/* SPDX-License-Identifier: MIT */
/* adopts-orphans PROGRAM...: a subreaper that executes PROGRAM and counts whom wait() finds. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "made.h"

int main(int argc, char **argv)
{
	int children = 0;

	if (argc > 1) {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		execv(argv[1], argv + 1);
		return 1;
	}
	make(100, 1023);
	if (!fork()) {
		if (!fork())
			usleep(100000);
		_exit(0);
	}
	while (wait(NULL) > 0)
		children++;
	printf("%d children\n", children);
	return 0;
}
