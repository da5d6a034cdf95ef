/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include "base/options.h"
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"Usage: holdtrace-collect CONTROL [SINK [REPORTS]]\n"
	"Collects the events that libholdtrace.so records in traced programs.\n"
	"\n"
	"The library or `holdtrace` starts this program; users do not start it themselves.\n"
	"The arguments are numbers of open descriptors: the run's control page; the output\n"
	"if it is `stdout` or `fd:N`, otherwise -1; and a pipe that gets a line for each\n"
	"stream that begins.\n"
	"\n"
	"      --help     print this text and exit\n"
	"      --version  print the version and exit\n";

/* Parses the number of a descriptor, or -1 for no descriptor. Returns false for any other text. */
static bool parse_descriptor(const char *text, int *fd)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	*fd = (int)number;
	return end != text && !*end && !errno && number >= -1 && number <= INT_MAX;
}

static int refuse(const char *why, const char *what)
{
	print_message(stderr, "holdtrace-collect: %s%s", why, what);
	fputs("Try 'holdtrace-collect --help'.\n", stderr);
	return 2;
}

/*
 * Reports a failure that happened after the start. Without a launcher, no other program reports it.
 * Standard error was kept open only if it is a file; a terminal is opened again.
 */
static void say_failure(const char *failure, const char *terminal)
{
	int fd = *failure && *terminal ? open(terminal, O_WRONLY | O_NOCTTY) : -1;

	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
	if (*failure)
		print_message(stderr, "holdtrace-collect: %s", failure);
}

int main(int argc, char **argv)
{
	struct collect_fds fds = { .control = -1, .sink = -1, .reports = -1 };
	int *const where[] = { &fds.control, &fds.sink, &fds.reports };
	struct collector *collector;
	struct error err = { 0 };
	char terminal[64];
	int about = options_about(argc, argv, usage);

	if (about >= 0)
		return about;
	if (argc < 2 || argc > 4)
		return refuse("expected one to three descriptors", "");
	for (int i = 1; i < argc; i++)
		if (!parse_descriptor(argv[i], where[i - 1]))
			return refuse("not a descriptor: ", argv[i]);
	if (ttyname_r(STDERR_FILENO, terminal, sizeof(terminal)))
		terminal[0] = 0;
	collector = collect_start(&fds, &err);
	if (!collector) {
		/*
		 * if there is a launcher, it prints the error text, which is also on the control
		 * page
		 */
		if (fds.reports < 0)
			print_message(stderr, "holdtrace-collect: %s", err.text);
		return 1;
	}
	collect_run(collector);
	if (fds.reports < 0)
		say_failure(collect_failure(collector), terminal);
	return 0;
}
