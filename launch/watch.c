/* SPDX-License-Identifier: MIT */
#include "control/control.h"
#include "launch/command.h"
#include "launch/run.h"

#include "base/cleanup.h"
#include "base/options.h"
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
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#include "live/watch.def"
#undef OPTION
	char **words; /* the command and its options, but for --then */
	size_t word_count;
	int pid; /* of the run, as it was given */
	struct ctl_run *run;
	struct step *steps; /* one for each --then */
};

static const struct option_row rows[] = {
#define OPTION(...) { OPTION_FIELDS(struct plan, __VA_ARGS__) },
#define OWN(...)    { OPTION_FIELDS(struct plan, __VA_ARGS__), .is_own = true },
#include "live/watch.def"
#undef OPTION
};

static const struct option_table watch_options = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.help = "holdtrace help watch",
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
	cleanup_free char *answer = NULL;

	(void)breaker;
	(void)with;
	return ctl_ask(plan->run, 0, CONTROL_STOP, "", &answer, err);
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
	if (child < 0)
		return error_system(err, errno, "report");
	return run_wait(child) ? error_set(err, EIO, "no report could be made") : 0;
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
			return error_set(err, EINVAL, "%s: there is no such signal", text);
		*step = (struct step){ .action = action, .text = text, .with = text + length };
		return 0;
	}
	return error_set(
		err, EINVAL,
		"--then=%s: an action is snapshot, keep, report, stop, signal:NAME or '|COMMAND'",
		text);
}

static int make_plan(struct plan *plan, int argc, char **argv, struct error *err)
{
	int first = options_read(&watch_options, plan, argc, argv, err);

	if (first < 0)
		return first;
	if (!plan->when.count || !argv[first] || !ctl_is_process(argv[first]) || argv[first + 1])
		return error_set(err, EINVAL,
				 "--when=LIMIT and a process of the run are needed: holdtrace "
				 "watch --when='fd>900' PID");
	plan->words = argv;
	plan->word_count = (size_t)first;
	plan->pid = atoi(argv[first]);
	plan->steps = calloc(plan->then.count + 1, sizeof(*plan->steps));
	if (!plan->steps)
		return error_system(err, ENOMEM, "watch");
	for (size_t i = 0; i < plan->then.count; i++)
		if (take_action(&plan->steps[i], plan->then.items[i], err))
			return -EINVAL;
	return 0;
}

/* Waits for a limit to break; *pid, *stream: where. Returns the status of who looks. */
static int wait_for_break(const struct plan *plan, int *pid, unsigned *stream, struct error *err)
{
	cleanup_free char **words = calloc(plan->word_count + 5, sizeof(*words));
	cleanup_free char *path = NULL, *checker = NULL;
	char tell[32], number[32];
	int ends[2], status;
	ssize_t got;
	pid_t child;

	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	if (!words || asprintf(&checker, "--check=%s", path) < 0 || pipe2(ends, O_CLOEXEC)) {
		error_system(err, errno, "cannot make a pipe");
		return STATUS_OWN_FAILURE;
	}
	snprintf(tell, sizeof(tell), "--tell=%d", ends[1]);
	snprintf(number, sizeof(number), "%d", plan->pid);
	words[0] = program_invocation_name;
	memcpy(words + 1, plan->words, plan->word_count * sizeof(*words));
	words[plan->word_count + 1] = tell;
	words[plan->word_count + 2] = checker;
	words[plan->word_count + 3] = number;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		fcntl(ends[1], F_SETFD, 0);
		status = run_become(PART_LIVE, words, err);
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
	status = run_wait(child);
	got = read(ends[0], number, sizeof(number) - 1);
	number[got > 0 ? got : 0] = '\0';
	*pid = plan->pid;
	if (sscanf(number, "%d %u", pid, stream) != 2)
		*stream = WIRE_NO_STREAM;
	close(ends[0]);
	return status;
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

	for (size_t i = 0; i < plan->then.count; i++) {
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
	free(plan.when.items);
	free(plan.then.items);
	return status;
}
