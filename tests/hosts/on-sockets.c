/* SPDX-License-Identifier: MIT */
/* on-sockets PROGRAM...: runs PROGRAM with a socket for each standard descriptor; prints what it
 * prints. */
#include <sys/socket.h>
#include <sys/wait.h>

#include "made.h"

int main(int argc, char **argv)
{
	int pair[2], status;
	char text[4096];
	ssize_t got;

	if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (!fork()) {
		for (int i = 0; i < 3; i++)
			dup2(pair[1], i);
		close(pair[0]);
		close(pair[1]);
		execv(argv[1], argv + 1);
		_exit(1);
	}
	close(pair[1]);
	while ((got = read(pair[0], text, sizeof(text))) > 0)
		if (write(1, text, (size_t)got) != got)
			return 2;
	wait(&status);
	return WEXITSTATUS(status);
}
