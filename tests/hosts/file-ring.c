/* SPDX-License-Identifier: MIT */
/*
 * file-ring MODE KIND...: as many processes as there are KINDs. Each locks a file of its own, by
 * flock(), fcntl() (process) or an open file (ofd), and then waits for the file of the next one;
 * the last one for the first's. MODE: what is different about the second process:
 *
 *   ring      nothing
 *   chain     it waits for no file
 *   thread    another thread of it sleeps
 *   alarm     it catches SIGALRM
 *   shares    a child of it has its file, too
 *   hidden    nobody may read its descriptors
 *   joins     nothing; but the first one waits in a thread, which its main thread joins
 *
 * The first process is this one. Says the numbers of the others, in their order, and "ready"; ends,
 * by SIGTERM, at the end of its input.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RING_MAX 8

static const char *mode, *kinds[RING_MAX];
static int files[RING_MAX], size;

/* Sleeps until the lock is there; of a file that this process has opened for it. */
static void lock_file(int number)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 10 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[number]);
	fd = open(path, O_RDWR);
	if (fd < 0)
		exit(99);
	if (!strcmp(kinds[number], "flock"))
		flock(fd, LOCK_EX);
	else
		fcntl(fd, !strcmp(kinds[number], "ofd") ? F_OFD_SETLKW : F_SETLKW, &lock);
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void do_nothing(int number)
{
	(void)number;
}

static void be_different(void)
{
	pthread_t thread;

	if (!strcmp(mode, "thread"))
		pthread_create(&thread, NULL, sleep_on, NULL);
	if (!strcmp(mode, "alarm"))
		signal(SIGALRM, do_nothing);
	if (!strcmp(mode, "shares") && fork() == 0)
		sleep_on(NULL);
	if (!strcmp(mode, "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(mode, "chain"))
		sleep_on(NULL);
}

/* A process of the ring, but for the first. */
static void take_part(int number, const int locked[2], const int go[2])
{
	char byte;

	lock_file(number);
	close(locked[0]);
	close(locked[1]);
	close(go[1]);
	if (read(go[0], &byte, 1) != 0)
		exit(99);
	if (number == 1)
		be_different();
	lock_file((number + 1) % size);
	sleep_on(NULL);
}

static void *wait_for_next(void *unused)
{
	lock_file(1 % size);
	return unused;
}

/* A process without the files: says when all sleep, and ends them all at the end of the input. */
static void watch_input(void)
{
	char byte;

	for (int fd = 3; fd < 64; fd++)
		close(fd);
	usleep(300000);
	puts("ready");
	while (read(0, &byte, 1) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	_exit(0);
}

int main(int argc, char **argv)
{
	int locked[2], go[2];
	pthread_t thread;
	char byte;

	mode = argc > 2 ? argv[1] : "";
	size = argc - 2;
	if (size < 1 || size > RING_MAX || pipe(locked) || pipe(go))
		return 99;
	for (int i = 0; i < size; i++) {
		kinds[i] = argv[i + 2];
		files[i] = memfd_create("ring", 0);
	}
	setpgid(0, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < size; i++) {
		pid_t pid = fork();

		if (pid == 0)
			take_part(i, locked, go);
		printf("%d\n", pid);
	}
	lock_file(0); /* no child has the open file */
	close(locked[1]);
	if (read(locked[0], &byte, 1) != 0)
		return 99;
	close(locked[0]);
	close(go[0]);
	close(go[1]);
	if (fork() == 0)
		watch_input();
	if (!strcmp(mode, "joins") && pthread_create(&thread, NULL, wait_for_next, NULL) == 0)
		pthread_join(thread, NULL);
	else
		wait_for_next(NULL);
	return 99;
}
