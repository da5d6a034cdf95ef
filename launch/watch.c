/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/live.h"

#include "base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACTIONS_MAX 16

/* What is done when a limit breaks: a word, behind it perhaps what it is done with. */
static int take_snapshot(int pid, const char *with, struct error *err)
{
	cleanup_free char *paths = NULL;

	(void)with;
	if (ctl_snapshot(pid, &paths, err))
		return -err->number;
	fputs(paths, stdout);
	return 0;
}

static int stop_recording(int pid, const char *with, struct error *err)
{
	(void)with;
	return ctl_stop(pid, err);
}

/* Names as kill(1) has them, with and without SIG. */
static int find_signal(const char *name)
{
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int number = 1; number < 32; number++)
		if (sigabbrev_np(number) && !strcmp(sigabbrev_np(number), name))
			return number;
	return 0;
}

static int send_signal(int pid, const char *with, struct error *err)
{
	return kill(pid, find_signal(with)) ? error_system(err, errno, "process %d", pid) : 0;
}

/* With the process's number in PID; a status that is not 0 is told, and is no failure of ours. */
static int run_command(int pid, const char *with, struct error *err)
{
	char number[16];
	int status;

	snprintf(number, sizeof(number), "%d", pid);
	setenv("PID", number, 1);
	fflush(stdout);
	status = system(with);
	if (status < 0)
		return error_system(err, errno, "%s", with);
	if (status)
		say("watch: %s: %s %d", with, WIFSIGNALED(status) ? "signal" : "exit",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

static int print_report(int pid, const char *with, struct error *err)
{
	char number[16];
	char *words[] = { (char *)"report", (char *)"--now", number, NULL };
	pid_t child;
	int status;

	(void)with;
	snprintf(number, sizeof(number), "%d", pid);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		status = command_report(3, words, err);
		if (err->number)
			say("report: %s", err->text);
		_exit(status);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child < 0 ? error_system(err, errno, "report") : 0;
}

static const struct action {
	const char *word;
	int (*function)(int pid, const char *with, struct error *err);
} actions[] = {
	{ "snapshot", take_snapshot }, { "report", print_report }, { "stop", stop_recording },
	{ "signal:", send_signal },    { "|", run_command },
};

struct plan {
	int pid;
	struct {
		const struct action *action;
		const char *with;
	} steps[ACTIONS_MAX];
	size_t count;
	char *limits[ACTIONS_MAX];
	size_t limit_count;
};

static int take_action(struct plan *plan, const char *text, struct error *err)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		const struct action *action = &actions[i];
		size_t length = strlen(action->word);
		bool takes_more = strchr(":|", action->word[length - 1]);

		if (strncmp(text, action->word, length) ||
		    (takes_more ? !text[length] : text[length]))
			continue;
		if (action->function == send_signal && !find_signal(text + length))
			return error_set(err, EINVAL, "%s: there is no such signal", text);
		if (plan->count == ACTIONS_MAX)
			return error_set(err, E2BIG, "more than %d actions", ACTIONS_MAX);
		plan->steps[plan->count].action = action;
		plan->steps[plan->count++].with = text + length;
		return 0;
	}
	return error_set(
		err, EINVAL,
		"--then=%s: an action is snapshot, report, stop, signal:NAME or '|COMMAND'", text);
}

static int make_plan(struct plan *plan, int argc, char **argv, struct error *err)
{
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!strncmp(word, "--then=", 7)) {
			if (take_action(plan, word + 7, err))
				return -EINVAL;
		} else if (!strncmp(word, "--when=", 7) && plan->limit_count < ACTIONS_MAX) {
			plan->limits[plan->limit_count++] = word;
		} else if (live_is_process(word) && !plan->pid) {
			plan->pid = atoi(word);
		} else {
			return error_set(err, EINVAL,
					 "%s: what is needed is --when=LIMIT, perhaps "
					 "--then=ACTION, and a process of the run",
					 word);
		}
	}
	if (!plan->pid || !plan->limit_count)
		return error_set(err, EINVAL,
				 "--when=LIMIT and a process of the run are needed: holdtrace "
				 "watch --when='fd>900' PID");
	return 0;
}

/* Waits for a limit to break. Returns the status of who looks. */
static int wait_for_break(const struct plan *plan, struct error *err)
{
	char *words[ACTIONS_MAX + 3] = { (char *)"watch" };
	char number[16];
	int count = 1, status;
	pid_t child;

	for (size_t i = 0; i < plan->limit_count; i++)
		words[count++] = plan->limits[i];
	snprintf(number, sizeof(number), "%d", plan->pid);
	words[count++] = number;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		status = live_of_run(count, words, err);
		if (err->number)
			say("watch: %s", err->text);
		_exit(status);
	}
	if (child < 0) {
		error_system(err, errno, "watch");
		return STATUS_OWN_FAILURE;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OWN_FAILURE;
}

int command_watch(int argc, char **argv, struct error *err)
{
	struct plan plan = { 0 };
	int status;

	if (make_plan(&plan, argc, argv, err))
		return STATUS_USAGE;
	status = wait_for_break(&plan, err);
	if (status != 1)
		return status;
	for (size_t i = 0; i < plan.count; i++)
		if (plan.steps[i].action->function(plan.pid, plan.steps[i].with, err))
			return STATUS_OWN_FAILURE;
	return fflush(stdout) ? STATUS_OWN_FAILURE : 1;
}
