/* SPDX-License-Identifier: MIT */
/* in-jail DIRECTORY: shuts itself into an empty directory as nobody and goes on; forks there, too.
 */
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>

#include "made.h"

static void *allocate(void *argument)
{
	make_silently(100, 1019);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;

	if (argc < 2 || chroot(argv[1]) || chdir("/") || setgroups(0, NULL) || setgid(65534) ||
	    setuid(65534))
		return 77;
	pthread_create(&thread, NULL, allocate, NULL);
	pthread_join(thread, NULL);
	if (!fork()) {
		make_silently(100, 1021);
		_exit(4);
	}
	wait(&status);
	printf("%d\n", WEXITSTATUS(status));
	fflush(stdout);
	say_made(100, 1019);
	say_made(100, 1021);
	return 0;
}
