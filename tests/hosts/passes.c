/* SPDX-License-Identifier: MIT */
/*
 * Opens descriptors and executes itself. The last program of each process prints how many
 * descriptors above 2 it has, by /proc/self/fd, that its process did not inherit: "left N".
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX 1024

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* PASSES_BEFORE: what the process had before it opened anything, a letter for each number. */
static void remember(void)
{
	char had[MAX + 1] = { 0 };

	for (int fd = 0; fd < MAX; fd++)
		had[fd] = is_open(fd) ? 'y' : 'n';
	setenv("PASSES_BEFORE", had, 1);
}

static int tell(void)
{
	const char *had = getenv("PASSES_BEFORE");
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int left = 0;

	while (directory && (entry = readdir(directory)) != NULL) {
		int fd = atoi(entry->d_name);

		left += fd > 2 && fd != dirfd(directory) && had[fd] != 'y';
	}
	printf("left %d\n", left);
	fflush(stdout);
	closedir(directory);
	return 0;
}

static int open_one(int flags)
{
	int fd = open("/etc/passwd", O_RDONLY | flags);

	if (fd < 0)
		abort();
	return fd;
}

/* A child whose program is this one; what it has at its start it inherits. */
static void child(bool shares_memory)
{
	char *const arguments[] = { (char *)"passes", (char *)"flags", NULL };
	pid_t pid = shares_memory ? vfork() : fork();

	if (pid == 0) {
		if (shares_memory)
			close(50); /* the table of descriptors is the child's own */
		execv("/proc/self/exe", arguments);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void open_by(const char *what)
{
	int fds[2], fd;

	if (!strcmp(what, "flags")) {
		open_one(0);
		open_one(O_CLOEXEC);
		dup(open_one(O_CLOEXEC));
		dup2(open_one(0), 20);
		dup3(open_one(O_CLOEXEC), 21, O_CLOEXEC);
		fcntl(open_one(0), F_DUPFD, 30);
		fcntl(open_one(0), F_DUPFD_CLOEXEC, 40);
		fcntl(open_one(0), F_SETFD, FD_CLOEXEC);
		fcntl(open_one(O_CLOEXEC), F_SETFD, 0);
	} else if (!strcmp(what, "kinds")) {
		socket(AF_UNIX, SOCK_STREAM, 0);
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
		pipe(fds);
		pipe2(fds, O_CLOEXEC);
		eventfd(0, EFD_CLOEXEC);
		fopen("/etc/passwd", "r");
		fopen("/etc/passwd", "re");
		opendir("/");
	} else if (!strcmp(what, "range")) {
		open_one(0);
		fd = open_one(0);
		open_one(0);
#ifdef SYS_close_range
		close_range(fd, fd, 1u << 2); /* CLOSE_RANGE_CLOEXEC, which Linux 5.11 has */
#endif
	} else if (!strcmp(what, "fails")) {
		fd = open_one(0);
		open_one(0);
		open_one(O_CLOEXEC);
		execl("/nonexistent/program", "program", NULL);
		close(fd);
	} else { /* closes, again, twice */
		open_one(0);
		open_one(0);
	}
}

/* What the next program does. */
static const char *after(const char *what)
{
	if (!strcmp(what, "closes"))
		return "close";
	return strcmp(what, "twice") != 0 ? "tell" : "again";
}

static void close_one(void)
{
	int fd = 3;

	while (fd < MAX && (getenv("PASSES_BEFORE")[fd] == 'y' || !is_open(fd)))
		fd++;
	close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "flags";

	if (!strcmp(what, "close"))
		close_one();
	if (!strcmp(what, "close") || !strcmp(what, "tell"))
		return tell();
	if (strcmp(what, "again") != 0)
		remember();
	if (!strcmp(what, "children")) {
		const char *before = strdup(getenv("PASSES_BEFORE"));

		dup2(open_one(0), 50);
		child(false);
		child(true);
		setenv("PASSES_BEFORE", before, 1);
		return tell();
	}
	open_by(what);
	execl("/proc/self/exe", "passes", after(what), NULL);
	return 1;
}
