/* SPDX-License-Identifier: MIT */
/* Allocates 1000 blocks of 77 bytes and ends as it is told: exit, _exit, abort, kill, segv. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit";
	int *nowhere = NULL;

	for (int i = 0; i < 1000; i++)
		if (!malloc(77))
			return 1;
	if (strcmp(how, "_exit") == 0)
		_exit(5);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "segv") == 0)
		*(volatile int *)nowhere = 0;
	return 7;
}
