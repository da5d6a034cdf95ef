/* SPDX-License-Identifier: MIT */
/*
 * Hangs in the call that its argument names, below a function hang(), until SIGINT ends it after a
 * moment.
 */
#define __NO_INLINE__ 1 /* getchar() is a call of itself */
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static const char zeros[65536];
static int fds[2], file;
static pid_t parent, child;

static int listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "hangs.socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(address.sun_path);
	bind(fd, (struct sockaddr *)&address, sizeof(address));
	listen(fd, 0);
	return fd;
}

/* The queue of the listener holds one connection, so the second call waits. */
static int hang_in_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "hangs.socket" };
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);

	connect(first, (struct sockaddr *)&address, sizeof(address));
	return connect(second, (struct sockaddr *)&address, sizeof(address));
}

static void wait_for_parent(void)
{
	while (getppid() == parent)
		usleep(10000);
	_exit(0);
}

/* Another process has the locks. */
static void lock_in_child(void)
{
	struct flock whole = { .l_type = F_WRLCK };
	int theirs;

	file = open("hangs.file", O_RDWR | O_CREAT, 0600);
	child = fork();
	if (child) {
		char byte;

		if (read(fds[0], &byte, 1) != 1)
			_exit(3);
		return;
	}
	theirs = open("hangs.file", O_RDWR);
	flock(theirs, LOCK_EX);
	fcntl(theirs, F_SETLK, &whole);
	if (write(fds[1], "x", 1) != 1)
		_exit(3);
	wait_for_parent();
}

/* A stream to a pipe without room. */
static FILE *full(void)
{
	int flags = fcntl(fds[1], F_GETFL);

	fcntl(fds[1], F_SETFL, flags | O_NONBLOCK);
	for (size_t size = sizeof(zeros); size; size /= 2)
		while (write(fds[1], zeros, size) > 0)
			;
	fcntl(fds[1], F_SETFL, flags);
	return fdopen(fds[1], "w");
}

/* A stream from a pipe with this text, of which the first letter has been read. */
static FILE *with_text(const char *text)
{
	FILE *stream = fdopen(fds[0], "r");

	if (write(fds[1], text, strlen(text)) < 0 || getc(stream) == EOF)
		_exit(3);
	return stream;
}

/* A connection whose peer does not read. */
static int unread(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger linger = { 1, 1000 };
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	bind(listening, (struct sockaddr *)&address, size);
	listen(listening, 1);
	getsockname(listening, (struct sockaddr *)&address, &size);
	connect(fd, (struct sockaddr *)&address, size);
	while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

/* Hangs in a call on a stream. Returns 0 if there is no such call. */
static long hang_on_stream(const char *name)
{
	char buffer[65536 * 2] = "", *line = NULL;
	wchar_t letters[8];
	size_t room = 0;
	int number;

	if (!strcmp(name, "fgets"))
		return !fgets(buffer, 8, fdopen(fds[0], "r"));
	if (!strcmp(name, "fgets of half a line"))
		return !fgets(buffer, 8, with_text("half"));
	if (!strcmp(name, "fread of half an item"))
		return (long)fread(buffer, 8, 1, with_text("half"));
	if (!strcmp(name, "getc"))
		return getc(fdopen(fds[0], "r"));
	if (!strcmp(name, "getc_unlocked"))
		return getc_unlocked(fdopen(fds[0], "r"));
	if (!strcmp(name, "getline"))
		return getline(&line, &room, fdopen(fds[0], "r"));
	if (!strcmp(name, "getdelim"))
		return getdelim(&line, &room, 0, with_text("a line\n"));
	if (!strcmp(name, "fgetwc"))
		return (long)fgetwc(fdopen(fds[0], "r"));
	if (!strcmp(name, "fgetws"))
		return !fgetws(letters, 8, fdopen(fds[0], "r"));
	if (!strcmp(name, "fwscanf"))
		return fwscanf(fdopen(fds[0], "r"), L"%d", &number);
	if (!strcmp(name, "getchar")) {
		stdin = fdopen(fds[0], "r");
		return getchar();
	}
	if (!strcmp(name, "scanf")) {
		stdin = with_text(" 1\n");
		return scanf("%d", &number) + scanf("%d", &number);
	}
	if (!strcmp(name, "fscanf"))
		return fscanf(fdopen(fds[0], "r"), "%d", &number);
	stdout = full();
	if (!strcmp(name, "fwrite"))
		return (long)fwrite(buffer, 1, sizeof(buffer), stdout);
	if (!strcmp(name, "fputs"))
		while (fputs("a line\n", stdout) >= 0)
			;
	if (!strcmp(name, "putc"))
		while (putc('x', stdout) != EOF)
			;
	if (!strcmp(name, "putc_unlocked"))
		while (putc_unlocked('x', stdout) != EOF)
			;
	if (!strcmp(name, "putchar"))
		while (putchar('x') != EOF)
			;
	if (!strcmp(name, "puts"))
		while (puts("a line") != EOF)
			;
	if (!strcmp(name, "fprintf"))
		for (number = 0; fprintf(stdout, "line %d\n", number) > 0; number++)
			;
	if (!strcmp(name, "printf"))
		for (number = 0; printf("line %d\n", number) > 0; number++)
			;
	if (!strcmp(name, "dprintf"))
		return dprintf(fds[1], "line %d\n", 1);
	if (!strcmp(name, "fputwc"))
		while (fputwc(L'x', stdout) != WEOF)
			;
	if (!strcmp(name, "fputws"))
		while (fputws(L"a line\n", stdout) >= 0)
			;
	if (!strcmp(name, "wprintf"))
		for (number = 0; wprintf(L"line %d\n", number) > 0; number++)
			;
	putc('x', stdout);
	if (!strcmp(name, "fflush"))
		return fflush(stdout);
	if (!strcmp(name, "fclose"))
		return fclose(stdout);
	return 0;
}

/* Removes the queue and the set of semaphores when the parent has ended. */
static void remove_at_end(int queue, int set)
{
	if (fork())
		return;
	while (getppid() == parent)
		usleep(10000);
	msgctl(queue, IPC_RMID, NULL);
	semctl(set, 0, IPC_RMID);
	_exit(0);
}

static long hang_in_queue(const char *name)
{
	int queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = { .sem_op = -1 };
	struct {
		long kind;
		char text[1024];
	} message = { .kind = 1 };

	remove_at_end(queue, set);
	if (!strcmp(name, "semop"))
		return semop(set, &down, 1);
	if (!strcmp(name, "msgrcv"))
		return msgrcv(queue, &message, 8, 0, 0);
	while (!msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT))
		;
	return msgsnd(queue, &message, sizeof(message.text), 0);
}

static long hang(const char *name)
{
	char buffer[65536 * 2] = "";
	struct pollfd polled = { .fd = fds[0], .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	struct flock whole = { .l_type = F_WRLCK };
	sigset_t set;
	fd_set reads;
	int got;

	FD_ZERO(&reads);
	FD_SET(fds[0], &reads);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!strcmp(name, "poll"))
		return poll(&polled, 1, -1);
	if (!strcmp(name, "select"))
		return select(fds[0] + 1, &reads, NULL, NULL, NULL);
	if (!strcmp(name, "epoll_wait")) {
		int epoll = epoll_create1(0);

		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event);
		return epoll_wait(epoll, &event, 1, -1);
	}
	if (!strcmp(name, "read"))
		return read(fds[0], buffer, 1);
	if (!strcmp(name, "write"))
		return write(fds[1], buffer, sizeof(buffer));
	if (!strcmp(name, "recv")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
		return recv(fds[0], buffer, 1, 0);
	}
	if (!strcmp(name, "accept"))
		return accept(listener(), NULL, NULL);
	if (!strcmp(name, "connect")) {
		listener();
		return hang_in_connect();
	}
	if (!strcmp(name, "nanosleep"))
		return nanosleep(&(struct timespec){ .tv_sec = 1000 }, NULL);
	if (!strcmp(name, "flock")) {
		lock_in_child();
		return flock(file, LOCK_EX);
	}
	if (!strcmp(name, "fcntl")) {
		lock_in_child();
		return fcntl(file, F_SETLKW, &whole);
	}
	if (!strcmp(name, "waitpid")) {
		child = fork();
		if (!child)
			wait_for_parent();
		return waitpid(child, NULL, 0);
	}
	if (!strcmp(name, "sigwait"))
		return sigwait(&set, &got);
	if (!strcmp(name, "splice")) {
		int others[2];

		return pipe(others) || splice(fds[0], NULL, others[1], NULL, 1, 0);
	}
	if (!strcmp(name, "mq_receive")) {
		struct mq_attr limits = { .mq_maxmsg = 1, .mq_msgsize = 8 };
		mqd_t queue = mq_open("/hangs", O_RDWR | O_CREAT, 0600, &limits);

		mq_unlink("/hangs");
		return mq_receive(queue, buffer, sizeof(buffer), NULL);
	}
	if (!strcmp(name, "ppoll"))
		return ppoll(&polled, 1, NULL, NULL);
	if (!strcmp(name, "accept4"))
		return accept4(listener(), NULL, NULL, SOCK_CLOEXEC);
	if (!strcmp(name, "wait4") || !strcmp(name, "waitid")) {
		child = fork();
		if (!child)
			wait_for_parent();
		return *name == 'w' && name[4] == '4' ? wait4(child, NULL, 0, NULL)
						      : waitid(P_PID, (id_t)child, NULL, WEXITED);
	}
	if (!strcmp(name, "sigwaitinfo"))
		return sigwaitinfo(&set, NULL);
	if (!strcmp(name, "open")) {
		mkfifo("hangs.fifo", 0600);
		return open("hangs.fifo", O_RDONLY);
	}
	if (!strcmp(name, "sendfile")) {
		full();
		file = open("/proc/self/exe", O_RDONLY);
		return sendfile(fds[1], file, NULL, 1);
	}
	if (!strcmp(name, "vmsplice")) {
		struct iovec part = { buffer, 1 };

		full();
		return vmsplice(fds[1], &part, 1, 0);
	}
	if (!strcmp(name, "aio_suspend")) {
		struct aiocb request = { .aio_fildes = fds[0], .aio_buf = buffer, .aio_nbytes = 1 };
		const struct aiocb *list[] = { &request };

		return aio_read(&request) || aio_suspend(list, 1, NULL);
	}
	if (!strcmp(name, "close"))
		return close(unread());
	if (!strcmp(name, "semop") || !strncmp(name, "msg", 3))
		return hang_in_queue(name);
	if (hang_on_stream(name))
		return 1;
	fprintf(stderr, "hangs: unknown: %s\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	const struct itimerspec moment = { .it_value = { .tv_nsec = 250000000 } };
	struct sigevent interrupt = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT };
	timer_t timer;

	parent = getpid();
	if (argc < 2 || pipe(fds) || timer_create(CLOCK_MONOTONIC, &interrupt, &timer) ||
	    timer_settime(timer, 0, &moment, NULL))
		return 2;
	signal(SIGINT, SIG_DFL);
	return hang(argv[1]) != 0;
}
