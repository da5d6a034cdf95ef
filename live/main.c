/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/out.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define STATUS_USAGE 2

/* What running processes are asked; holdtrace calls this program with the word first. */
static const struct {
	const char *word;
	int (*function)(int argc, char **argv, struct error *err);
} questions[] = {
	{ "top", live_top },
	{ "waits", live_waits },
	{ "watch", live_watch },
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static int print_about(const char *option)
{
	if (!strcmp(option, "--version"))
		puts("holdtrace-live (holdtrace) " PACKAGE_VERSION);
	else
		puts("Usage: holdtrace-live top|waits|watch ARGUMENT...\n"
		     "Looks at running processes; holdtrace calls it: see holdtrace(1).");
	return fflush(stdout) ? LIVE_FAILURE : 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	/* a reader that leaves is told by writing */
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--version")))
		return print_about(argv[1]);
	for (size_t i = 0; argc > 1 && i < QUESTIONS; i++) {
		int status;

		if (strcmp(argv[1], questions[i].word) != 0)
			continue;
		status = questions[i].function(argc - 1, argv + 1, &err);
		if (err.number)
			print_message(stderr, "holdtrace: %s: %s", argv[1], err.text);
		return status;
	}
	fprintf(stderr,
		"holdtrace-live: is called by holdtrace: holdtrace waits PID, holdtrace top PID\n");
	return STATUS_USAGE;
}
