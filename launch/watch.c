/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/live.h"
#include "launch/place.h"

#include "base/cleanup.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct plan {
	int pid; /* of the run, as it was given */
	struct ctl_run *run;
	struct step *steps;
	size_t count;
	char **limits;
	size_t limit_count;
};

/* The process that broke a limit. */
struct breaker {
	int pid;
	int handle;	    /* pidfd; -1: it has ended */
	struct error doubt; /* number 0: the collector knows which process it is, or was */
};

/* What is done when a limit breaks: a word, behind it perhaps what it is done with. */
static int take_snapshot(const struct plan *plan, const struct breaker *breaker, const char *with,
			 struct error *err)
{
	cleanup_free char *paths = NULL;
	int left_out;

	(void)with;
	if (ctl_paths(plan->run, breaker->pid, &paths, err))
		return -err->number;
	left_out = ctl_cut(paths, err);
	fputs(paths, stdout);
	return left_out;
}

static int keep_traces(const struct plan *plan, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)with;
	return ctl_keep(plan->run, breaker->pid, NULL, err);
}

static int stop_recording(const struct plan *plan, const struct breaker *breaker, const char *with,
			  struct error *err)
{
	(void)breaker;
	(void)with;
	return ctl_stop(plan->run, err);
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

static int send_signal(const struct plan *plan, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)plan;
	if (breaker->handle < 0)
		return error_set(err, ESRCH, "process %d has ended", breaker->pid);
	return syscall(SYS_pidfd_send_signal, breaker->handle, find_signal(with), NULL, 0)
		       ? error_system(err, errno, "process %d", breaker->pid)
		       : 0;
}

/* With the process's number in PID. */
static int run_command(const struct plan *plan, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	char number[16];
	int status;

	(void)plan;
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

/* Of its run, which another process of it finds as well. */
static int print_report(const struct plan *plan, const struct breaker *breaker, const char *with,
			struct error *err)
{
	char number[16];
	char *words[] = { (char *)"report", (char *)"--now", number, NULL };
	int status = 0;
	pid_t child;

	(void)with;
	snprintf(number, sizeof(number), "%d", breaker->handle < 0 ? plan->pid : breaker->pid);
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
	if (child < 0)
		return error_system(err, errno, "report");
	return status ? error_set(err, EIO, "no report could be made") : 0;
}

static const struct action {
	const char *word;
	int (*function)(const struct plan *plan, const struct breaker *breaker, const char *with,
			struct error *err);
	bool needs_process; /* and does nothing where it is not certain which one it is */
} actions[] = {
	{ "snapshot", take_snapshot, false }, { "keep", keep_traces, false },
	{ "report", print_report, false },    { "stop", stop_recording, false },
	{ "signal:", send_signal, true },     { "|", run_command, true },
};

struct step {
	const struct action *action;
	const char *text, *with;
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
		plan->steps[plan->count++] =
			(struct step){ .action = action, .text = text, .with = text + length };
		return 0;
	}
	return error_set(
		err, EINVAL,
		"--then=%s: an action is snapshot, keep, report, stop, signal:NAME or '|COMMAND'",
		text);
}

static int make_plan(struct plan *plan, int argc, char **argv, struct error *err)
{
	/* as many as there are words */
	plan->steps = calloc((size_t)argc, sizeof(*plan->steps));
	plan->limits = calloc((size_t)argc, sizeof(*plan->limits));
	if (!plan->steps || !plan->limits)
		return error_system(err, ENOMEM, "watch");
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!strncmp(word, "--then=", 7)) {
			if (take_action(plan, word + 7, err))
				return -EINVAL;
		} else if (!strncmp(word, "--when=", 7)) {
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

/* The words of who looks: watch --when=LIMIT... --tell=FD --check=CHECKER PID. */
static char **words_of(const struct plan *plan, char *tell, char *checker, char *number)
{
	char **words = calloc(plan->limit_count + 5, sizeof(*words));
	size_t count = 0;

	if (!words)
		return NULL;
	words[count++] = (char *)"watch";
	for (size_t i = 0; i < plan->limit_count; i++)
		words[count++] = plan->limits[i];
	words[count++] = tell;
	words[count++] = checker;
	words[count++] = number;
	return words;
}

/* Waits for a limit to break; *pid, *stream: where. Returns the status of who looks. */
static int wait_for_break(const struct plan *plan, int *pid, unsigned *stream, struct error *err)
{
	cleanup_free char *path = NULL, *checker = NULL;
	cleanup_free char **words = NULL;
	char tell[32], number[32];
	int ends[2], status;
	ssize_t got;
	pid_t child;

	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	if (asprintf(&checker, "--check=%s", path) < 0 || pipe2(ends, O_CLOEXEC)) {
		error_system(err, errno, "cannot make a pipe");
		return STATUS_OWN_FAILURE;
	}
	snprintf(tell, sizeof(tell), "--tell=%d", ends[1]);
	snprintf(number, sizeof(number), "%d", plan->pid);
	words = words_of(plan, tell, checker, number);
	fflush(stdout);
	child = words ? fork() : -1;
	if (child == 0) {
		fcntl(ends[1], F_SETFD, 0);
		status = live_of_run((int)plan->limit_count + 4, words, err);
		if (err->number)
			say("watch: %s", err->text);
		_exit(status);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		error_system(err, errno, "watch");
		return STATUS_OWN_FAILURE;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	got = read(ends[0], number, sizeof(number) - 1);
	number[got > 0 ? got : 0] = '\0';
	*pid = plan->pid;
	if (sscanf(number, "%d %u", pid, stream) != 2)
		*stream = WIRE_NO_STREAM;
	close(ends[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OWN_FAILURE;
}

/*
 * What the trace says of the process is the process's own word, or that of another namespace: which
 * one it is, the collector knows of the kernel.
 */
static struct breaker reach(const struct plan *plan, int pid, uint32_t stream)
{
	struct breaker breaker = { .pid = pid, .handle = -1 };

	switch (ctl_process(plan->run, stream, &breaker.pid, &breaker.handle, &breaker.doubt)) {
	case 0:
		break;
	case -ESRCH: /* with all of the run */
		breaker.doubt = (struct error){ 0 };
		break;
	default:
		breaker.pid = 0;
	}
	return breaker;
}

/* All of them, whatever becomes of one. */
static int act(const struct plan *plan, const struct breaker *breaker)
{
	int status = 1;

	for (size_t i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		struct error err = breaker->doubt;

		if ((!err.number || !step->action->needs_process) &&
		    !step->action->function(plan, breaker, step->with, &err))
			continue;
		say("watch: --then=%s: %s", step->text, err.text);
		status = STATUS_OWN_FAILURE;
	}
	return fflush(stdout) ? STATUS_OWN_FAILURE : status;
}

static int watch(struct plan *plan, struct error *err)
{
	struct breaker breaker;
	unsigned stream;
	int pid, status;

	if (ctl_find(plan->pid, &plan->run, err))
		return STATUS_OWN_FAILURE;
	status = wait_for_break(plan, &pid, &stream, err);
	if (status != 1)
		return status;
	breaker = reach(plan, pid, stream);
	status = act(plan, &breaker);
	if (breaker.handle >= 0)
		close(breaker.handle);
	return status;
}

int command_watch(int argc, char **argv, struct error *err)
{
	struct plan plan = { 0 };
	int status = make_plan(&plan, argc, argv, err) ? STATUS_USAGE : watch(&plan, err);

	free(plan.run);
	free(plan.steps);
	free(plan.limits);
	return status;
}
