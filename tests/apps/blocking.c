/* SPDX-License-Identifier: MIT */
/*
 * Calls that block: those that lasted are events. errno, bad pointers, jumps out of a call,
 * cancellation, handlers and children of vfork are as without a trace.
 */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf place;
static int ends[2], was_cancelled;
static volatile int handled;

static void jump(int number)
{
	siglongjmp(place, number);
}

/* Calls that are allowed in a handler. */
static void transfer(int number)
{
	char byte;

	(void)number;
	errno = 7;
	if (write(ends[1], "x", 1) == 1 &&
	    poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, -1) == 1 &&
	    read(ends[0], &byte, 1) == 1 && errno == 7)
		handled++;
}

static void on_cancel(void *unused)
{
	(void)unused;
	was_cancelled++;
}

/* A read that waits is a cancellation point. */
static void *wait_forever(void *call)
{
	char byte;
	fd_set set;

	pthread_cleanup_push(on_cancel, NULL);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	for (;;)
		switch (*(int *)call) {
		case 0:
			(void)!read(ends[0], &byte, 1);
			break;
		case 1:
			poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, -1);
			break;
		case 2:
			select(ends[0] + 1, &set, NULL, NULL, NULL);
			break;
		case 3:
			pause();
			break;
		case 4:
			sleep(1000);
			break;
		case 5:
			recvmsg(ends[0], &(struct msghdr){ 0 }, 0);
			pause(); /* a pipe has no messages */
		}
	pthread_cleanup_pop(0);
	return NULL;
}

static void alarm_once(void (*handler)(int), int us)
{
	/* without SA_RESTART */
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = handler }, NULL);
	ualarm((useconds_t)us, 0);
}

int main(void)
{
	const struct timespec little = { .tv_nsec = 5000000 };
	struct flock whole = { .l_type = F_WRLCK };
	struct epoll_event event;
	void *volatile nowhere = (void *)8;
	void *bad = nowhere;
	char byte = 0;
	void *result;
	int status, file;

	if (pipe(ends))
		return 1;
	expect("pipe<fd>(1) = 0x%x\n\t$peer = %d\n\t$fds = *\npipe<fd>(1) = 0x%x\n\t$peer = "
	       "%d\n\t$fds = *",
	       ends[1], ends[0], ends[0], ends[1]);
	/* what did not block */
	if (write(ends[1], "ab", 2) != 2 || read(ends[0], &byte, 1) != 1 || byte != 'a')
		return 2;
	expect("write<event>(0x%x)*", ends[0]);
	if (poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 1000) != 1 ||
	    read(ends[0], &byte, 1) != 1 || byte != 'b')
		return 3;
	errno = 9;
	if (poll(NULL, 0, 0) || errno != 9)
		return 4;
	/* pointers that the kernel refuses */
	if (poll(bad, 1, 1000) != -1 || errno != EFAULT)
		return 5;
	if (select(3, bad, NULL, NULL, NULL) != -1 || errno != EFAULT)
		return 6;
	if (nanosleep(bad, NULL) != -1 || errno != EFAULT)
		return 8;
	if (clock_nanosleep(77, 0, &little, NULL) != EINVAL || sleep(0))
		return 9;
	if (epoll_wait(ends[0], &event, 1, 1000) != -1 || errno != EINVAL)
		return 10;
	if (read(-1, &byte, 1) != -1 || errno != EBADF)
		return 11;

	/* what blocked */
	if (poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 5))
		return 12;
	expect("poll<event>(0x%x)\n\t$count = 1\n\t$timeout = 5\n\t$fds = *", ends[0]);
	if (nanosleep(&little, NULL))
		return 13;
	expect("nanosleep<event>(0x0)\n\t$time = 0.005000000");
	alarm_once(transfer, 5000);
	if (read(ends[0], &byte, 0) || (sleep(1000) > 1000) || handled != 1)
		return 14;
	expect("write<event>(0x%x)*\nsleep<event>(0x0)\n\t$time = 1000", ends[0]);
	alarm_once(transfer, 5000);
	if (read(ends[0], &byte, 1) != -1 || errno != EINTR || handled != 2)
		return 15;
	expect("write<event>(0x%x)*\nread<event>(0x%x)\n\t$count = 1", ends[0], ends[0]);

	/* jumps */
	if (!sigsetjmp(place, 1)) {
		alarm_once(jump, 5000);
		pause();
		return 16;
	}
	expect("pause<event>(0x0)");
	if (!sigsetjmp(place, 1)) {
		alarm_once(jump, 5000);
		(void)!read(ends[0], &byte, 1);
		return 17;
	}
	expect("read<event>(0x%x)*", ends[0]);

	/* a lock of a file that another process has */
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (file >= 0 && fcntl(file, F_SETLKW, &whole))
		return 18;
	if (fcntl(file, F_SETLKW, bad) != -1 || (errno != EFAULT && errno != EBADF))
		return 19;

	if (!vfork()) {
		char own;

		poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 5);
		if (write(ends[1], "v", 1) != 1 || read(ends[0], &own, 1) != 1)
			_exit(1);
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		return 20;

	for (int i = 0; i < 6; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, wait_forever, &i);
		usleep(20000);
		pthread_cancel(thread);
		if (pthread_join(thread, &result) || result != PTHREAD_CANCELED ||
		    was_cancelled != i + 1)
			return 21;
	}
	free(malloc(77));
	expect("malloc<memory>(77) = *");
	expect_print();
	puts("- ~open*");
	return 0;
}
