/* SPDX-License-Identifier: MIT */
/*
 * Waits until a process of a run breaks a limit (account/limits.def). The sums in this file are
 * cheap to compute and only decide when to run the checker. The checker (`holdtrace check --now`
 * for the process) then decides whether the limit is broken, not broken or unknown.
 */
#include "base/invocation.h"
#include "control/control.h"
#include "live/live.h"

#include "account/limits.h"
#include "base/cleanup.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "live/look.h"
#include "live/run_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum verdict { KEPT, UNKNOWN, BROKEN };

struct step {
	const struct action *action;
	const char *text, *with;
};

#define PUMP_NS 200000000
#define LOOK_NS 1000000000ull /* time between two examinations of threads */
#define ASK_NS	1000000000ull /* time between two runs of the checker */
/* the time between two checks is ASK_NS plus this multiple of the last check's duration */
#define ASK_SHARE  4
#define ANSWER_MAX 65536

struct watch {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#include "live/watch.def"
#undef OPTION
	option_text check;   /* path of holdtrace-postproc, which is the checker */
	int pid;	     /* process id of the command line */
	struct ctl_run *ctl; /* the run of that process */
	struct step *steps;  /* the actions (--then) */
	size_t step_count;
	const struct watched *broken; /* process that has broken a limit */
	struct run run;
	struct limits limits;
	char *fail_on;	   /* argument of the checker: --fail-on with all limits */
	uint64_t left_out; /* number of files that are not followed, so far */
	size_t next;	   /* index of the process to check first */
	uint64_t ask_ns;   /* time of the next check */
	uint64_t look_ns;  /* time of the next examination of threads */
};

/* ---- the actions of `holdtrace watch` when a limit is broken (--then) ---- */

/* The process that broke a limit. */
struct breaker {
	int pid;
	int handle; /* pidfd; -1: the process has ended, or was not identified */
	/* why the process was not identified for certain; number 0: it was identified */
	struct error doubt;
};

/* The actions. with: the text that follows the action's word, or "". */
static int take_snapshot(const struct watch *watch, const struct breaker *breaker, const char *with,
			 struct error *err)
{
	cleanup_free char *paths = NULL;
	int left_out;

	(void)with;
	if (ctl_paths(watch->ctl, breaker->pid, &paths, err))
		return -err->number;
	left_out = ctl_cut(paths, err);
	ctl_print(paths);
	return left_out;
}

static int keep_traces(const struct watch *watch, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)with;
	return ctl_keep(watch->ctl, breaker->pid, NULL, err);
}

static int stop_recording(const struct watch *watch, const struct breaker *breaker,
			  const char *with, struct error *err)
{
	cleanup_free char *answer = NULL;

	(void)breaker;
	(void)with;
	return ctl_ask(watch->ctl, 0, CONTROL_STOP, "", &answer, err);
}

/* Returns the number of the signal with this name, for example TERM or SIGTERM; 0: unknown. */
static int find_signal(const char *name)
{
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int number = 1; number < 32; number++)
		if (sigabbrev_np(number) && !strcmp(sigabbrev_np(number), name))
			return number;
	return 0;
}

static int send_signal(const struct watch *watch, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	(void)watch;
	if (breaker->handle < 0)
		return error_set(err, ESRCH, "process %d has ended", breaker->pid);
	return syscall(SYS_pidfd_send_signal, breaker->handle, find_signal(with), NULL, 0)
		       ? error_system(err, errno, "process %d", breaker->pid)
		       : 0;
}

/* Runs a shell command with the process id in the environment variable PID. */
static int run_command(const struct watch *watch, const struct breaker *breaker, const char *with,
		       struct error *err)
{
	char number[16];
	int status;

	(void)watch;
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
 * the command line identifies the run.
 */
static int print_report(const struct watch *watch, const struct breaker *breaker, const char *with,
			struct error *err)
{
	char number[16];
	char *words[] = { program_invocation_name, (char *)INVOCATION_COMMAND "report",
			  (char *)"--now", number, NULL };
	int status = 0;
	pid_t child;

	(void)with;
	snprintf(number, sizeof(number), "%d", breaker->handle < 0 ? watch->pid : breaker->pid);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		execv(watch->check, words);
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
	int (*function)(const struct watch *watch, const struct breaker *breaker, const char *with,
			struct error *err);
	bool needs_process; /* the action needs a process that was identified for certain */
} actions[] = {
	{ "snapshot", take_snapshot, false }, { "keep", keep_traces, false },
	{ "report", print_report, false },    { "stop", stop_recording, false },
	{ "signal:", send_signal, true },     { "|", run_command, true },
};

static int take_action(struct watch *watch, const char *text, struct error *err)
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
		watch->steps[watch->step_count++] = (struct step){ action, text, text + length };
		return 0;
	}
	return error_set(
		err, EINVAL,
		"--then=%s: expected snapshot, keep, report, stop, signal:NAME or '|COMMAND'",
		text);
}

/*
 * Performs all actions in order, even if one fails. pid, stream: the process that broke the limit.
 * Returns an exit status.
 */
static int act_on(const struct watch *watch, uint32_t pid, uint32_t stream)
{
	struct breaker breaker = { .pid = (int)pid, .handle = -1 };
	int status = LIVE_FOUND;

	/*
	 * ask the collector which process wrote the stream: the collector has the pid from the
	 * kernel, but the pid in the trace may be forged, or come from another pid namespace
	 */
	switch (ctl_process(watch->ctl, stream, &breaker.pid, &breaker.handle, &breaker.doubt)) {
	case 0:
		break;
	case -ESRCH: /* the whole run has ended */
		breaker.doubt = (struct error){ 0 };
		break;
	default:
		breaker.pid = 0;
	}

	signal(SIGPIPE, SIG_DFL); /* the command of --then expects the default action */
	for (size_t i = 0; i < watch->step_count; i++) {
		const struct step *step = &watch->steps[i];
		struct error err = breaker.doubt;

		if ((!err.number || !step->action->needs_process) &&
		    !step->action->function(watch, &breaker, step->with, &err))
			continue;
		print_message(stderr, "holdtrace: watch: --then=%s: %s", step->text, err.text);
		status = LIVE_FAILURE;
	}
	if (breaker.handle >= 0)
		close(breaker.handle);
	return fflush(stdout) ? LIVE_FAILURE : status;
}

static const struct option_row rows[] = {
	/* set by the launcher, not shown in help */
	{ OPTION_FIELDS(struct watch, text, check, "check", 0, "FILE", NULL, NULL) },
#define OPTION(...) { OPTION_FIELDS(struct watch, __VA_ARGS__) },
#include "live/watch.def"
#undef OPTION
};

const struct option_table live_watch_options = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.help = "holdtrace help watch",
};

/* ---- when to run the checker ---- */

static bool may_break(struct watched *watched, const struct limit *limit, bool looks)
{
	const struct limit_row *row = limit->row;
	struct look look;
	uint64_t amount;
	bool may;

	if (row->live == LIMIT_DEADLOCK) {
		if (watched->has_ended || !looks || watched->is_unproven)
			return watched->has_ended;
		may = look_take(&look, (int)watched->pid, false, NULL) == 0 &&
		      look_is_traced(&look) && look.rings;
		look_free(&look);
		return may;
	}
	if (row->live == LIMIT_LATER)
		return true;
	watched_lock(watched);
	/* add up the live amounts of the limit's class, or of all classes */
	amount = row->live == LIMIT_DROPPED ? watched->lost : 0;
	for (uint32_t i = 0; row->live != LIMIT_DROPPED && i < ledger_class_count(watched->ledger);
	     i++) {
		const struct ledger_sum *sum = ledger_sum(watched->ledger, i);

		if (*row->class && strcmp(ledger_class(watched->ledger, i)->type, row->class) != 0)
			continue;
		amount += row->live == LIMIT_PEAK    ? sum->peak
			  : row->unit == LIMIT_BYTES ? sum->bytes
						     : sum->count;
	}
	watched_unlock(watched);
	return limit_is_broken(limit, amount);
}

/* ---- the checker's result ---- */

/*
 * Runs the checker for one process (0: all) and writes its tables to `answer`, in CSV. Returns the
 * length of the answer, or a negative errno if the checker cannot be run.
 */
static ssize_t run_checker(const struct watch *watch, uint32_t pid, char *answer, struct error *err)
{
	cleanup_free char **words = memory_zalloc(watch->run.file_count + 8, sizeof(*words));
	size_t count = 0, length = 0;
	char process[32], rest[4096];
	ssize_t got;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return error_system(err, errno, "check");
	words[count++] = (char *)"holdtrace";
	words[count++] = (char *)"--report=check";
	words[count++] = (char *)"--now";
	words[count++] = (char *)"--format=csv";
	words[count++] = watch->fail_on;
	if (pid) {
		snprintf(process, sizeof(process), "--process=%u", pid);
		words[count++] = process;
	}
	for (size_t i = 0; i < watch->run.file_count; i++)
		words[count++] = watch->run.files[i]->path;
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(watch->check, words);
		_exit(LIVE_FAILURE);
	}
	close(ends[1]);
	/* reads until the end, but keeps only ANSWER_MAX bytes: the limits are the first table */
	while ((got = read(ends[0], length + 1 < ANSWER_MAX ? answer + length : rest,
			   length + 1 < ANSWER_MAX ? ANSWER_MAX - 1 - length : sizeof(rest))) > 0)
		length += length + 1 < ANSWER_MAX ? (size_t)got : 0;
	answer[length] = '\0';
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return child > 0 ? (ssize_t)length : error_system(err, errno, "check");
}

/* Removes the next cell from a CSV line and returns it. */
static char *cell_of(char **line)
{
	char *cell = *line, *to = cell, *from = cell;
	bool is_quoted = *from == '"';

	for (from += is_quoted; *from && (is_quoted || *from != ','); from++) {
		if (is_quoted && *from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	*line = *from ? from + 1 : from;
	*to = '\0';
	return cell;
}

/*
 * Parses a line of the checker's output: limits,LIMIT,RESULT,UNIT,VALUE,ERROR,BASELINE,WHY. Prints
 * each broken limit; prints an unknown limit only the first time.
 */
static enum verdict read_line(const struct watch *watch, char *line, struct watched *watched)
{
	char *table = cell_of(&line), *text = cell_of(&line), *word = cell_of(&line);
	const struct limit *limit;
	struct human human;
	enum verdict verdict;
	const char *why;
	uint64_t value;
	size_t i = 0;

	cell_of(&line); /* skip the unit */
	value = strtoull(cell_of(&line), NULL, 10);
	while (i < watch->limits.count &&
	       (strlen(text) != watch->limits.items[i].length ||
		strncmp(text, watch->limits.items[i].text, strlen(text))))
		i++;
	verdict = !strcmp(word, "broken") ? BROKEN : !strcmp(word, "unknown") ? UNKNOWN : KEPT;
	if (strcmp(table, "limits") != 0 || i == watch->limits.count || verdict == KEPT)
		return KEPT;
	limit = &watch->limits.items[i];
	cell_of(&line);
	cell_of(&line);
	why = cell_of(&line);
	/* an unknown result matters only if the value breaks the limit */
	if (verdict == UNKNOWN && !limit_is_broken(limit, value))
		return KEPT;
	if (verdict == UNKNOWN && watched->told_unknown & 1u << i)
		return UNKNOWN;
	watched->told_unknown |= verdict == UNKNOWN ? 1u << i : 0;
	print_message(stdout, "%s  %s: %s in process %u (%s)%s%s", word, text,
		      limit->row->unit == LIMIT_BYTES ? human_bytes(&human, value)
		      : limit->row->unit == LIMIT_NS  ? human_time(&human, value)
						      : human_count(&human, value),
		      watched->pid, watched->name, *why ? ": " : "", why);
	fflush(stdout);
	return verdict;
}

/*
 * Runs the checker for one process. Sets *worst to the worst result of the process's limits. The
 * checker lists broken limits first.
 */
static int check_process(struct watch *watch, struct watched *watched, enum verdict *worst,
			 struct error *err)
{
	cleanup_free char *answer = memory_alloc(ANSWER_MAX);
	uint64_t begun = clock_ns();
	ssize_t length = run_checker(watch, watched->pid, answer, err);
	char *save = NULL;

	if (length < 0)
		return (int)length;
	*worst = KEPT;
	for (char *line = strtok_r(answer, "\n", &save); line && *worst != BROKEN;
	     line = strtok_r(NULL, "\n", &save)) {
		enum verdict verdict = read_line(watch, line, watched);

		*worst = verdict > *worst ? verdict : *worst;
	}
	watched->is_unknown = *worst == UNKNOWN;
	if (*worst == BROKEN)
		watch->broken = watched;
	watch->ask_ns = clock_ns() + ASK_NS + ASK_SHARE * (clock_ns() - begun);
	return 0;
}

/* ---- the run ---- */

/*
 * Runs the checker for the next process that may have broken a limit; at the end of the run, for
 * every process that may have broken a limit.
 */
static int watch_processes(struct watch *watch, bool is_complete, bool *is_broken,
			   struct error *err)
{
	size_t count = watch->run.processes.count;
	uint64_t now = clock_ns();
	bool looks = now >= watch->look_ns;
	enum verdict verdict = KEPT;
	int status = 0;

	if (now < watch->ask_ns && !is_complete)
		return 0;
	if (looks)
		watch->look_ns = now + LOOK_NS;
	for (size_t i = 0; i < count && !status && verdict != BROKEN; i++) {
		struct watched *watched = watch->run.processes.items[(watch->next + i) % count];
		bool may = false;

		for (size_t k = 0; watched->pid && k < watch->limits.count && !may; k++)
			may = may_break(watched, &watch->limits.items[k], looks);
		if (!may)
			continue;
		status = check_process(watch, watched, &verdict, err);
		if (is_complete)
			continue;
		watch->next = (watch->next + i + 1) % count;
		break;
	}
	*is_broken = verdict == BROKEN;
	return status;
}

static bool is_unknown(const struct watch *watch)
{
	for (size_t i = 0; i < watch->run.processes.count; i++)
		if (watch->run.processes.items[i]->is_unknown)
			return true;
	return watch->left_out != 0;
}

static int watch_run(struct watch *watch, bool *is_broken, struct error *err)
{
	const struct timespec pause = { .tv_nsec = PUMP_NS };
	uint64_t left_out;
	bool is_complete = false;
	int status = 0;

	while (!status && !is_complete && !*is_broken) {
		status = run_pump(&watch->run, err);
		left_out = run_left_out(&watch->run);
		if (left_out > watch->left_out) {
			printf("LEFT OUT  %llu file%s of the run: too many to follow\n",
			       (unsigned long long)left_out, left_out == 1 ? "" : "s");
			fflush(stdout);
		}
		watch->left_out = left_out;
		is_complete = run_is_complete(&watch->run);
		if (is_complete)
			run_settle(&watch->run);
		if (!status)
			status = watch_processes(watch, is_complete, is_broken, err);
		if (!*is_broken && !is_complete)
			nanosleep(&pause, NULL);
	}
	return status;
}

/* ---- the command ---- */

static int take_arguments(struct watch *watch, struct error *err)
{
	size_t size = sizeof("--fail-on=");

	for (size_t i = 0; i < watch->when.count; i++) {
		if (limits_parse(&watch->limits, "--when", watch->when.items[i], false, err))
			return -EINVAL;
		size += strlen(watch->when.items[i]) + 1;
	}
	watch->fail_on = memory_alloc(size);
	strcpy(watch->fail_on, "--fail-on=");
	for (size_t i = 0; i < watch->when.count; i++)
		strcat(strcat(watch->fail_on, i ? "," : ""), watch->when.items[i]);
	watch->steps = memory_zalloc(watch->then.count, sizeof(*watch->steps));
	for (size_t i = 0; i < watch->then.count; i++)
		if (take_action(watch, watch->then.items[i], err))
			return -EINVAL;
	return 0;
}

static int watch_process(struct watch *watch, char **names, struct error *err)
{
	bool is_broken = false, has_unknown = false;
	uint32_t pid = 0, stream = 0;
	int status = ctl_find(watch->pid, &watch->ctl, err);

	if (!status)
		status = run_open(&watch->run, names, err);
	if (!status)
		status = watch_run(watch, &is_broken, err);
	if (is_broken) {
		pid = watch->broken->pid;
		stream = watch->broken->stream;
	}
	if (!status && !is_broken && is_unknown(watch))
		status = LIVE_UNKNOWN;
	else if (!status && !is_broken) {
		/*
		 * The run has ended without a broken limit: print the limits that are unknown
		 * because some events that they count were not recorded.
		 */
		cleanup_free char *answer = memory_alloc(ANSWER_MAX);
		ssize_t length = run_checker(watch, 0, answer, err);
		char *save = NULL, *line = length < 0 ? NULL : strtok_r(answer, "\n", &save);

		for (; line; line = strtok_r(NULL, "\n", &save)) {
			char *table = cell_of(&line), *text = cell_of(&line),
			     *word = cell_of(&line);

			if (strcmp(table, "limits") != 0 || strcmp(word, "unknown") != 0)
				continue;
			for (int i = 0; i < 4; i++)
				cell_of(&line);
			print_message(stdout, "unknown  %s: %s", text, cell_of(&line));
			has_unknown = true;
		}
		status = length < 0 ? (int)length : 0;
	}
	if (!status && has_unknown)
		status = LIVE_UNKNOWN;
	run_free(&watch->run);
	if (!status && is_broken)
		status = act_on(watch, pid, stream);
	fflush(stdout);
	return status < 0 ? LIVE_FAILURE : status;
}

/*
 * Returns 1 if a limit was broken. At the end of the run, returns 0, or 3 if a result was unknown.
 */
int live_watch(int argc, char **argv, struct error *err)
{
	static struct watch watch = { .run.list = -1 };
	int first = options_read(&live_watch_options, &watch, argc, argv, err), status = LIVE_USAGE;
	char **names = argv + first;

	if (first > 0 &&
	    (!watch.when.count || !watch.check || !*names || !ctl_is_process(*names) || names[1]))
		first = error_set(err, EINVAL,
				  "expected --when=LIMIT and one process id of the run: holdtrace "
				  "watch --when='fd>900' PID");
	if (first > 0 && take_arguments(&watch, err) == 0) {
		watch.pid = atoi(*names);
		status = watch_process(&watch, names, err);
	}
	free(watch.ctl);
	free(watch.steps);
	free(watch.fail_on);
	free(watch.when.items);
	free(watch.then.items);
	return status;
}
