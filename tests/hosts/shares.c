/* SPDX-License-Identifier: MIT */
/*
 * shares DIRECTORY: a process uses the file `common` there, its child and the child's child use it,
 * too, and each a file of its own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600), copy;

	if (fd < 0)
		exit(1);
	copy = dup(fd);
	close(copy);
	close(fd);
}

static int wait_for(pid_t child)
{
	int status;

	return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static int grandchild(void)
{
	FILE *stream = fopen("./common", "r");

	touch("youngest");
	return !stream || fclose(stream) != 0;
}

static int child(void)
{
	pid_t next;

	touch("../common");
	touch("../middle");
	if (open("../common", O_RDWR | O_EXCL | O_CREAT, 0600) >= 0 || chdir("..") != 0)
		return 1;
	next = fork();
	if (next == 0)
		return grandchild();
	return wait_for(next);
}

int main(int argc, char **argv)
{
	pid_t next;

	if (argc != 2 || chdir(argv[1]) != 0)
		return 2;
	touch("common");
	touch("oldest");
	if (chdir("inside") != 0)
		return 2;
	next = fork();
	if (next == 0)
		return child();
	/* What the target uses only now was not shared before. */
	if (wait_for(next))
		return 1;
	touch("../middle");
	return 0;
}
