/* SPDX-License-Identifier: MIT */
/*
 * Creates shared memory and semaphores in a child process, and removes some of them in the parent.
 * Usage: lasts PREFIX [clean]. With clean, it removes all of them. It prints the number of a
 * segment.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *prefix;

static const char *named(const char *name)
{
	static char text[100];

	snprintf(text, sizeof(text), "/%s-%s", prefix, name);
	return text;
}

int main(int argc, char **argv)
{
	int segment = shmget(IPC_PRIVATE, 100000, 0600);

	prefix = argc > 1 ? argv[1] : "lasts";
	if (!fork()) {
		shm_open(named("kept"), O_CREAT | O_RDWR, 0600);
		shm_open(named("removed"), O_CREAT | O_RDWR, 0600);
		sem_open(named("lock"), O_CREAT, 0600, 1);
		sem_close(sem_open(named("gone"), O_CREAT, 0600, 1));
		return 0;
	}
	wait(NULL);
	shm_unlink(named("removed"));
	sem_unlink(named("gone"));
	printf("%d\n", segment);
	if (argc < 3)
		return 0;
	shm_unlink(named("kept"));
	sem_unlink(named("lock"));
	return shmctl(segment, IPC_RMID, NULL);
}
