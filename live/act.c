/* SPDX-License-Identifier: MIT */
#include "live/act.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/out.h"
#include "live/live.h"

/* The process that broke a limit. */
struct breaker {
	int pid;
	int handle; /* pidfd; -1: the process has ended, or was not identified */
	/* why the process was not identified for certain; number 0: it was identified */
	struct error doubt;
};

/* The actions. with: the text that follows the action's word, or "". */
static int take_snapshot(const struct act *act, const struct breaker *breaker, const char *with,
			 struct error *err)
{
	cleanup_free char *paths = NULL;
	int left_out;

	(void)with;
	if (ctl_paths(act->run, breaker->pid, &paths, err))
		return -err->number;
	left_out = ctl_cut(paths, err);
	ctl_print(paths);
	return left_out;
}

static int keep_traces(const struct act *act, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)with;
	return ctl_keep(act->run, breaker->pid, NULL, err);
}

static int stop_recording(const struct act *act, const struct breaker *breaker, const char *with,
			  struct error *err)
{
	cleanup_free char *answer = NULL;

	(void)breaker;
	(void)with;
	return ctl_ask(act->run, 0, CONTROL_STOP, "", &answer, err);
}

/* Returns the number of a signal by its name as in kill(1), with or without SIG. */
static int find_signal(const char *name)
{
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int number = 1; number < 32; number++)
		if (sigabbrev_np(number) && !strcmp(sigabbrev_np(number), name))
			return number;
	return 0;
}

static int send_signal(const struct act *act, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)act;
	if (breaker->handle < 0)
		return error_set(err, ESRCH, "process %d has ended", breaker->pid);
	return syscall(SYS_pidfd_send_signal, breaker->handle, find_signal(with), NULL, 0)
		       ? error_system(err, errno, "process %d", breaker->pid)
		       : 0;
}

/* Runs a shell command with the process id in the environment variable PID. */
static int run_command(const struct act *act, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	char number[16];
	int status;

	(void)act;
	snprintf(number, sizeof(number), "%d", breaker->pid);
	setenv("PID", number, 1);
	fflush(stdout);
	status = system(with);
	if (status < 0)
		return error_system(err, errno, "%s", with);
	if (status)
		return error_set(err, EIO, "%s %d", WIFSIGNALED(status) ? "signal" : "status",
				 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

/*
 * Prints the report of the run. If the process that broke the limit has ended, the process id of
 * the command line leads to the run.
 */
static int print_report(const struct act *act, const struct breaker *breaker, const char *with,
			struct error *err)
{
	char number[16];
	char *words[] = { program_invocation_name, (char *)INVOCATION_COMMAND "report",
			  (char *)"--now", number, NULL };
	int status = 0;
	pid_t child;

	(void)with;
	snprintf(number, sizeof(number), "%d", breaker->handle < 0 ? act->pid : breaker->pid);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		execv(act->analyst, words);
		_exit(LIVE_FAILURE);
	}
	if (child < 0)
		return error_system(err, errno, "report");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status ? error_set(err, EIO, "the report failed") : 0;
}

static const struct action {
	const char *word;
	int (*function)(const struct act *act, const struct breaker *breaker, const char *with,
			struct error *err);
	bool needs_process; /* refuses to act if the process was not identified for certain */
} actions[] = {
	{ "snapshot", take_snapshot, false }, { "keep", keep_traces, false },
	{ "report", print_report, false },    { "stop", stop_recording, false },
	{ "signal:", send_signal, true },     { "|", run_command, true },
};

static int take_action(struct step *step, const char *text, struct error *err)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		const struct action *action = &actions[i];
		size_t length = strlen(action->word);
		bool takes_more = strchr(":|", action->word[length - 1]);

		if (strncmp(text, action->word, length) ||
		    (takes_more ? !text[length] : text[length]))
			continue;
		if (action->function == send_signal && !find_signal(text + length))
			return error_set(err, EINVAL, "%s: unknown signal", text);
		*step = (struct step){ .action = action, .text = text, .with = text + length };
		return 0;
	}
	return error_set(
		err, EINVAL,
		"--then=%s: an action is snapshot, keep, report, stop, signal:NAME or '|COMMAND'",
		text);
}

/*
 * Asks the collector, which has the pid from the kernel, for the process of a stream. The pid in
 * the trace may be forged or from another pid namespace.
 */
static struct breaker identify_process(const struct act *act, int pid, uint32_t stream)
{
	struct breaker breaker = { .pid = pid, .handle = -1 };

	switch (ctl_process(act->run, stream, &breaker.pid, &breaker.handle, &breaker.doubt)) {
	case 0:
		break;
	case -ESRCH: /* the whole run has ended */
		breaker.doubt = (struct error){ 0 };
		break;
	default:
		breaker.pid = 0;
	}
	return breaker;
}

int act_plan(struct act *act, int pid, const char *analyst, const option_list *texts,
	     struct error *err)
{
	act->pid = pid;
	act->analyst = analyst;
	act->steps = memory_zalloc(texts->count, sizeof(*act->steps));
	for (; act->count < texts->count; act->count++)
		if (take_action(&act->steps[act->count], texts->items[act->count], err))
			return -EINVAL;
	return 0;
}

int act_on(const struct act *act, uint32_t pid, uint32_t stream)
{
	struct breaker breaker = identify_process(act, (int)pid, stream);
	int status = LIVE_FOUND;

	signal(SIGPIPE, SIG_DFL); /* the command of --then expects the default action */
	for (size_t i = 0; i < act->count; i++) {
		const struct step *step = &act->steps[i];
		struct error err = breaker.doubt;

		if ((!err.number || !step->action->needs_process) &&
		    !step->action->function(act, &breaker, step->with, &err))
			continue;
		print_message(stderr, "holdtrace: watch: --then=%s: %s", step->text, err.text);
		status = LIVE_FAILURE;
	}
	if (breaker.handle >= 0)
		close(breaker.handle);
	return fflush(stdout) ? LIVE_FAILURE : status;
}

void act_free(struct act *act)
{
	free(act->run);
	free(act->steps);
}
