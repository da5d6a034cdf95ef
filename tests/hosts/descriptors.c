/* SPDX-License-Identifier: MIT */
/*
 * Opens, forgets, closes twice, and knows how much of it: each line of its output is
 *
 *   TABLE FUNCTION COLUMN VALUE
 *
 * what the report fds must say of the place where that function did it. Descriptor 9 is inherited.
 */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOT_SHARED __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static FILE *volatile stream;
static DIR *volatile directory;

static void say(const char *table, const char *function, const char *column, const char *value)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "%s %s %s %s\n", table, function, column, value);

	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(99);
}

NOT_SHARED static void leak_files(void)
{
	for (int i = 0; i < 7; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			_exit(99);
	say("fd_sites", "leak_files", "open", "7");
	say("fd_sites", "leak_files", "opened", "7");
	say("fd_sites", "leak_files", "kind", "device");
	say("fd_sites", "leak_files", "example", "/dev/null");
}

NOT_SHARED static void open_many(void)
{
	int fds[12];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 12; i++)
			fds[i] = open("/etc/passwd", O_RDONLY);
		for (int i = 0; i < 12; i++)
			close(fds[i]);
	}
	say("fd_sites", "open_many", "open", "0");
	say("fd_sites", "open_many", "opened", "24");
	say("fd_sites", "open_many", "peak", "12");
	say("fd_sites", "open_many", "kind", "file");
}

/* The socket of a pair that is left knows its peer. */
NOT_SHARED static void leak_socket(void)
{
	char text[32];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		_exit(99);
	close(pair[1]);
	say("open_fds", "leak_socket", "kind", "socket");
	snprintf(text, sizeof(text), "paired with %d", pair[1]);
	say("open_fds", "leak_socket", "target", text);
	snprintf(text, sizeof(text), "%d", pair[0]);
	say("open_fds", "leak_socket", "fd", text);
}

NOT_SHARED static void leak_listener(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		_exit(99);
	say("open_fds", "leak_listener", "target", "at 127.0.0.1:0");
}

NOT_SHARED static void leak_streams(void)
{
	stream = fopen("/etc/passwd", "r");
	say("open_fds", "leak_streams", "stream", "FILE");
}

NOT_SHARED static void leak_directory(void)
{
	directory = opendir("/");
	say("open_fds", "leak_directory", "stream", "DIR");
	say("open_fds", "leak_directory", "kind", "directory");
}

NOT_SHARED static void leak_epoll(void)
{
	epoll_create1(0);
	say("open_fds", "leak_epoll", "kind", "epoll");
}

NOT_SHARED static int open_it(void)
{
	return open("/etc/group", O_RDONLY);
}

NOT_SHARED static void close_it(int fd)
{
	close(fd);
}

NOT_SHARED static void close_again(int fd)
{
	if (close(fd) == 0)
		_exit(99);
}

NOT_SHARED static void use_it(int fd)
{
	if (dup(fd) >= 0)
		_exit(99);
}

/* The same mistake five times is one. */
static void close_twice(void)
{
	for (int i = 0; i < 5; i++) {
		int fd = open_it();

		close_it(fd);
		close_again(fd);
	}
	say("fd_misuses", "close_again", "count", "5");
	say("fd_misuses", "close_again", "step", "close");
}

static void use_closed(void)
{
	int fd = open_it();

	close_it(fd);
	use_it(fd);
	say("fd_misuses", "use_it", "count", "1");
	say("fd_misuses", "use_it", "step", "dup");
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 30000000 };

	close_twice();
	use_closed();
	close(-1);
	close(1000);
	open_many();
	leak_files();
	leak_socket();
	leak_listener();
	leak_streams();
	leak_directory();
	leak_epoll();
	close(9);
	nanosleep(&pause, NULL);
	_exit(0);
}
