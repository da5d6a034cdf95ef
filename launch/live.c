/* SPDX-License-Identifier: MIT */
#include "launch/live.h"

#include "launch/command.h"
#include "launch/place.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIST_MS 1000 /* between two looks for files that are new */

/* Ends as the program does that looks at running processes; its first word is the command. */
static int run_live(char **argv, struct error *err)
{
	cleanup_free char *path = NULL;
	cleanup_free char **list = NULL;
	int count = 0;

	while (argv[count])
		count++;
	list = calloc((size_t)count + 2, sizeof(*list));
	if (!list) {
		error_system(err, ENOMEM, "%s", argv[0]);
		return STATUS_OWN_FAILURE;
	}
	if (place_find(PART_LIVE, &path, err))
		return STATUS_OWN_FAILURE;
	list[0] = program_invocation_name;
	for (int i = 0; i < count; i++)
		list[i + 1] = argv[i];
	execv(path, list);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

bool live_is_process(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0' && strlen(word) < 10;
}

/* ---- the files of a run ---- */

/* Nobody reads any more, or a second has passed. */
static bool has_reader(int fd)
{
	struct pollfd poller = { .fd = fd };

	return poll(&poller, 1, LIST_MS) == 0;
}

/* Each file that the run has begun to write, a line each, while it goes on and somebody reads. */
static void tell_files(const struct ctl_run *run, int pid, int fd)
{
	cleanup_free char *told = NULL;

	while (has_reader(fd)) {
		struct error err = { 0 };
		char *paths = NULL;
		int status = ctl_paths(run, pid, &paths, &err);

		if (status && status != -ETIMEDOUT)
			return;
		if (status || (told && !strcmp(told, paths))) {
			free(paths);
			continue;
		}
		free(told);
		told = paths;
		if (write(fd, told, strlen(told)) < 0)
			return;
	}
}

/* Nobody's descriptors are kept open by it, and it goes with its reader. */
__attribute__((noreturn)) static void be_teller(const struct ctl_run *run, int pid, int fd,
						pid_t reader)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (dup2(fd, 3) == 3 && getppid() == reader) {
		for (int i = 0; i < 3; i++)
			close(i);
		syscall(SYS_close_range, 4u, ~0u, 0u);
		tell_files(run, pid, 3);
	}
	_exit(0);
}

/* A child that tells of further files, while we become the program that reads them. */
static int begin_list(const struct ctl_run *run, int pid, struct error *err)
{
	pid_t child, reader = getpid();
	int ends[2];

	if (pipe(ends))
		return error_system(err, errno, "cannot make a pipe");
	fflush(NULL);
	child = fork();
	if (child == 0)
		be_teller(run, pid, ends[1], reader);
	close(ends[1]);
	if (child > 0)
		return ends[0];
	close(ends[0]);
	return error_system(err, errno, "cannot start a process");
}

static int run_live_with(int argc, char **argv, char *paths, int list, struct error *err)
{
	cleanup_free char **words = NULL;
	size_t lines = 0, count = 0;
	char further[16];

	for (const char *at = paths; *at; at++)
		lines += *at == '\n';
	words = calloc((size_t)argc + lines + 2, sizeof(*words));
	if (!words) {
		error_system(err, ENOMEM, "%s", argv[0]);
		return STATUS_OWN_FAILURE;
	}
	for (int i = 0; i < argc - 1; i++)
		words[count++] = argv[i];
	for (char *save = NULL, *path = strtok_r(paths, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		words[count++] = path;
	snprintf(further, sizeof(further), "fd:%d", list);
	words[count++] = further;
	return run_live(words, err);
}

/* Options may stand behind the process, too; what belongs to which of them is not known here. */
static void put_process_last(int argc, char **argv)
{
	char *process = argv[1];

	if (argc < 3 || !live_is_process(process))
		return;
	memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = process;
}

/* "top FILE -n 1", "--rows 5": a number that is an option's argument is no process. */
static bool is_argument(int argc, char **argv)
{
	static const char *const options[] = { "-n", "--interval", "--rows" };

	for (size_t i = 0; argc > 2 && i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(argv[argc - 2], options[i]))
			return true;
	return false;
}

int live_of_run(int argc, char **argv, struct error *err)
{
	cleanup_free struct ctl_run *run = NULL;
	cleanup_free char *paths = NULL;
	int pid, list, status;

	put_process_last(argc, argv);
	if (argc < 2 || !live_is_process(argv[argc - 1]) || is_argument(argc, argv))
		return run_live(argv, err);
	pid = atoi(argv[argc - 1]);
	status = ctl_find(pid, &run, err);
	if (!status)
		status = ctl_paths(run, pid, &paths, err);
	if (!status && !*paths)
		status = error_set(err, ENOENT, "the traces of process %d's run are in no file",
				   pid);
	if (status)
		return STATUS_OWN_FAILURE;
	list = begin_list(run, pid, err);
	return list < 0 ? STATUS_OWN_FAILURE : run_live_with(argc, argv, paths, list, err);
}

int command_top(int argc, char **argv, struct error *err)
{
	return live_of_run(argc, argv, err);
}

int command_waits(int argc, char **argv, struct error *err)
{
	(void)argc;
	return run_live(argv, err);
}
