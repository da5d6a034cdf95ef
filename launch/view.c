/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/place.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *word, *format;
} viewers[] = {
#define VIEWER(word, format, ...) { #word, format },
#include "view/viewers.def"
#undef VIEWER
};

struct view {
	const char *viewer, *format;
	char option[64];
	const char *port; /* any, or 1 to 65535 */
	bool opens;
	char **words; /* of the post-processor */
};

static bool take_viewer(struct view *view, const char *word)
{
	for (size_t i = 0; i < sizeof(viewers) / sizeof(viewers[0]); i++)
		if (!strcmp(viewers[i].word, word)) {
			view->viewer = viewers[i].word;
			view->format = viewers[i].format;
			return true;
		}
	return false;
}

/* Before the run is read, which may take long. holdtrace-view looks at it again. */
static bool is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return !strcmp(text, "any") ||
	       (*text >= '1' && *text <= '9' && !*end && port <= UINT16_MAX);
}

/* What is no option of ours is the report's. */
static void take_words(struct view *view, int argc, char **argv)
{
	size_t count = 0;

	view->words[count++] = program_invocation_name;
	view->words[count++] = (char *)"--report=summary";
	view->words[count++] = view->option;
	view->words[count++] = (char *)"--newest";
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--", 2) && take_viewer(view, argv[i] + 2))
			continue;
		if (!strcmp(argv[i], "--no-open"))
			view->opens = false;
		else if (!strncmp(argv[i], "--port=", 7))
			view->port = argv[i] + 7;
		else
			view->words[count++] = argv[i];
	}
	snprintf(view->option, sizeof(view->option), "--format=%s", view->format);
}

/* What the post-processor prints, into memory. Returns its status. */
static int print_into(int fd, const char *path, char **words, struct error *err)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		dup2(fd, STDOUT_FILENO);
		execv(path, words);
		_exit(STATUS_NOT_RUNNABLE);
	}
	if (child < 0) {
		error_system(err, errno, "cannot start %s", path);
		return STATUS_OWN_FAILURE;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int serve(const struct view *view, int fd, struct error *err)
{
	cleanup_free char *path = NULL;

	if (place_find(PART_VIEW, &path, err))
		return STATUS_OWN_FAILURE;
	dup2(fd, STDIN_FILENO);
	execl(path, program_invocation_name, view->viewer, view->port,
	      view->opens ? "open" : "print", (char *)NULL);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

int command_view(int argc, char **argv, struct error *err)
{
	cleanup_free char **words = calloc((size_t)argc + 8, sizeof(*words));
	cleanup_free char *path = NULL;
	cleanup_fd int fd = memfd_create("holdtrace-view", MFD_CLOEXEC);
	struct view view = { .port = "any", .opens = true, .words = words };
	struct stat made;
	int status;

	if (!words || fd < 0) {
		error_system(err, words ? errno : ENOMEM, "view");
		return STATUS_OWN_FAILURE;
	}
	take_viewer(&view, viewers[0].word);
	take_words(&view, argc, argv);
	if (!is_port(view.port)) {
		error_set(err, EINVAL, "--port=%s: expected a number from 1 to 65535", view.port);
		return STATUS_USAGE;
	}
	if (report_has_format(argc - 1, argv + 1)) {
		error_set(err, EINVAL,
			  "view: --format does not go with it: report --format=NAME -o FILE writes "
			  "a file, holdtrace help view names the viewers");
		return STATUS_USAGE;
	}
	if (report_has_output(argc - 1, argv + 1)) {
		error_set(err, EINVAL,
			  "view: -o does not go with it: report --format=%s -o FILE writes a file",
			  view.format);
		return STATUS_USAGE;
	}
	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	status = print_into(fd, path, words, err);
	/* a warning is a status, too: what is there is shown */
	if (status == STATUS_USAGE || fstat(fd, &made) != 0 || !made.st_size)
		return status ? status : STATUS_OWN_FAILURE;
	return serve(&view, fd, err);
}
