/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/memory.h"
#include "base/out.h"
#include "live/screen.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * The sub-commands. holdtrace runs this program with the name of the sub-command as first argument.
 */
static const struct {
	const char *word;
	int (*function)(int argc, char **argv, struct error *err);
	const struct option_table *options;
} questions[] = {
	{ "top", live_top, &live_top_options },
	{ "waits", live_waits, &live_waits_options },
	{ "watch", live_watch, &live_watch_options },
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static void end_without_memory(void)
{
	screen_restore();
	print_message(stderr, "holdtrace: out of memory");
	_exit(LIVE_FAILURE);
}

int main(int argc, char **argv)
{
	static const char usage[] = "Usage: holdtrace-live top|waits|watch ARGUMENT...\n"
				    "Shows the state of running processes. `holdtrace` starts this "
				    "program: see holdtrace(1).\n";
	struct error err = { 0 };
	int about = options_about(argc, argv, usage);

	/* ignore SIGPIPE: if the reader of standard output is gone, write() fails with EPIPE */
	signal(SIGPIPE, SIG_IGN);
	if (about >= 0)
		return about ? LIVE_FAILURE : 0;
	memory_set_end(end_without_memory);
	for (size_t i = 0; argc > 1 && i < QUESTIONS; i++) {
		int status;

		if (strcmp(argv[1], questions[i].word) != 0)
			continue;
		if (argc == 3 && !strcmp(argv[2], "--help")) {
			options_print(stdout, questions[i].options, OPTION_FULL);
			return fflush(stdout) ? LIVE_FAILURE : 0;
		}
		status = questions[i].function(argc - 1, argv + 1, &err);
		if (err.number)
			print_message(stderr, "holdtrace: %s: %s", argv[1], err.text);
		return status;
	}
	fprintf(stderr, "holdtrace-live: run it through holdtrace: holdtrace waits PID, holdtrace "
			"top PID\n");
	return LIVE_USAGE;
}
