/* SPDX-License-Identifier: MIT */
/* starts-programs PROGRAM: runs `PROGRAM 5 1077` in every way that libc has. */
#include <spawn.h>
#include <sys/wait.h>

#include "made.h"

extern char **environ;

static int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	char *arguments[] = { argv[1], (char *)"5", (char *)"1077", NULL };
	char command[4096], line[64] = "";
	posix_spawn_file_actions_t actions;
	FILE *stream;
	pid_t child;

	if (argc < 2)
		return 1;
	snprintf(command, sizeof(command), "exec %s 5 1077", argv[1]);
	child = vfork();
	if (!child) {
		execv(argv[1], arguments);
		_exit(1);
	}
	printf("vfork %d\n", status_of(child));
	child = vfork();
	if (!child) {
		execv("/no/such/program", arguments);
		_exit(3);
	}
	printf("vfork in vain %d\n", status_of(child));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	printf("spawn %d", posix_spawn(&child, argv[1], &actions, NULL, arguments, environ));
	printf(" %d\n", status_of(child));
	posix_spawn_file_actions_destroy(&actions);
	printf("spawn in vain %d\n",
	       posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, environ));
	fflush(stdout);
	printf("system %d\n", system(command));
	fflush(stdout);
	stream = popen(command, "r");
	while (fgets(line, sizeof(line), stream))
		printf("popen %s", line);
	printf("pclose %d\n", pclose(stream));
	fflush(stdout);
	child = fork();
	if (!child) {
		fexecve(dup(0), arguments, environ);
		execl(argv[1], argv[1], "5", "1077", (char *)NULL);
		_exit(1);
	}
	printf("fork %d\n", status_of(child));
	fflush(stdout);
	say_made(5, 1077); /* popen's, whose line we have changed */
	make(50, 1079);
	return 0;
}
