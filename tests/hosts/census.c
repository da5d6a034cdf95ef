/* SPDX-License-Identifier: MIT */
/*
 * Prints what a process has besides its own: descriptors, tasks, children, pending and blocked
 * signals, the number that its next descriptor gets. Traced or not, it must print the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int count(const char *path)
{
	DIR *directory = opendir(path);
	int n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n - 2;
}

static unsigned long long signal_line(const char *name)
{
	unsigned long long mask = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), status))
		if (strncmp(line, name, strlen(name)) == 0)
			mask = strtoull(line + strlen(name), NULL, 16);
	fclose(status);
	return mask;
}

int main(void)
{
	int fd = open("/dev/null", O_RDONLY);

	printf("descriptors %d tasks %d\n", count("/proc/self/fd"), count("/proc/self/task"));
	printf("next descriptor %d\n", fd);
	printf("child %d", (int)waitpid(-1, NULL, WNOHANG));
	printf(" errno %d\n", errno);
	printf("blocked %llx ignored %llx caught %llx pending %llx\n", signal_line("SigBlk:"),
	       signal_line("SigIgn:"), signal_line("SigCgt:"), signal_line("SigPnd:"));
	printf("session %d group %d\n", getsid(0) == getpid(), getpgrp() == getpid());
	errno = 0;
	free(malloc(100));
	close(fd);
	printf("errno %d\n", errno);
	return 0;
}
