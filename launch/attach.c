/* SPDX-License-Identifier: MIT */
/* The commands attach, ctl and doctor, for processes that are already running. */
#include "control/control.h"
#include "launch/command.h"
#include "launch/run.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/out.h"
#include "process/maps.h"
#include "process/proc.h"
#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define LOOK_MS	    100
#define LIMIT_LEAST 1000 /* minimum time in ms between two checks of the limits */
/* the time between two checks is LIMIT_LEAST plus this multiple of a check's duration */
#define LIMIT_SHARE 10

/* ---- the injector ---- */

#define ARGUMENTS_MAX 5

/*
 * Runs holdtrace-inject with these arguments (NULL ends them), in a process group of its own,
 * because only the launcher handles Ctrl-C. Copies the injector's standard output to `line`;
 * with_errors: also its standard error. Returns its exit status.
 */
static int inject(const char *const arguments[ARGUMENTS_MAX], bool with_errors, char *line,
		  size_t room, struct error *err)
{
	char *words[ARGUMENTS_MAX + 2] = { NULL };
	cleanup_free char *path = NULL;
	int ends[2], status = place_find(PART_INJECTOR, &path, err);
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	if (status || pipe2(ends, O_CLOEXEC))
		return status ? STATUS_OWN_FAILURE
			      : (error_system(err, errno, "cannot make a pipe"),
				 STATUS_OWN_FAILURE);
	words[0] = path;
	memcpy(words + 1, arguments, ARGUMENTS_MAX * sizeof(*words));
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		dup2(ends[1], STDOUT_FILENO);
		if (with_errors)
			dup2(ends[1], STDERR_FILENO);
		execv(path, words);
		_exit(STATUS_NOT_FOUND);
	}
	close(ends[1]);
	/* the message in the pipe may need several reads */
	memset(line, 0, room);
	while ((got = read(ends[0], line + used, room - 1 - used)) > 0 ||
	       (got < 0 && errno == EINTR))
		used += got > 0 ? (size_t)got : 0;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OWN_FAILURE;
}

/* ---- the process ---- */

/*
 * Reads the process's argv[0] without directories or, if it is empty, the name of the executable.
 */
static void read_name(int pid, char *name, size_t room)
{
	char text[PATH_MAX] = "";
	cleanup_fd int fd = proc_open(pid, 0, "cmdline");
	const char *slash;
	ssize_t length;

	length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	/* keep the first word of a title such as "postgres: checkpointer" */
	text[strcspn(text, " :")] = '\0';
	if (!*text || text[strlen(text) - 1] == '/')
		proc_link(pid, 0, "exe", text, sizeof(text));
	slash = strrchr(text, '/');
	snprintf(name, room, "%.63s", slash ? slash + 1 : *text ? text : "unknown");
}

/* ---- while the run lasts ---- */

static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int number)
{
	(void)number;
	is_asked_to_end = 1;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_ns() / 1000000);
}

/*
 * Runs the post-processor over the traces of the run so far, including those of children. Returns
 * true if it reports a broken limit.
 */
static bool is_broken(const struct run *run, int pid)
{
	cleanup_free char *limits = memory_format("--fail-on=%s", run->until), *paths = NULL;
	ARRAY_OF(char *) words = { 0 };
	struct error ignored = { 0 };
	bool is_so;
	char *rest;

	if (ctl_snapshot(pid, &paths, &ignored))
		return false;
	*ARRAY_ADD(&words) = (char *)"holdtrace";
	*ARRAY_ADD(&words) = (char *)"--report=check";
	*ARRAY_ADD(&words) = (char *)"--now";
	*ARRAY_ADD(&words) = limits;
	for (char *path = strtok_r(paths, "\n", &rest); path; path = strtok_r(NULL, "\n", &rest))
		*ARRAY_ADD(&words) = path;
	*ARRAY_ADD(&words) = NULL;
	is_so = run_part(PART_POSTPROC, words.items, -1, &ignored) == 1;
	free(words.items);
	return is_so;
}

/*
 * Waits until the user ends the run, the time of --for is over, or a limit is broken. Returns the
 * reason as text, "" if the user ended the run, or NULL if the process has ended or left the run.
 */
static const char *wait_for_end(const struct run *run, int pid, int64_t time_ms)
{
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int64_t begun = now_ms(), look = begun + LIMIT_LEAST;
	struct pollfd poller = { .fd = pidfd, .events = POLLIN };

	while (!is_asked_to_end) {
		int64_t now = now_ms();
		int step = LOOK_MS;

		if (time_ms >= 0 && now - begun >= time_ms)
			return "the time limit is reached";
		if (time_ms >= 0 && time_ms - (now - begun) < step)
			step = (int)(time_ms - (now - begun));
		if ((SESSION_COUNT(&run->session, attached) &&
		     !SESSION_COUNT(&run->session, alive)) ||
		    poll(&poller, 1, step) > 0 || (pidfd < 0 && kill(pid, 0) && errno == ESRCH))
			return NULL;
		if (!run->until || now < look)
			continue;
		if (is_broken(run, pid))
			return "a limit is broken";
		look = now_ms() + LIMIT_LEAST + LIMIT_SHARE * (now_ms() - now);
	}
	return "";
}

/* ---- the end ---- */

static int end_run(struct run *run, int pid, const char *text, const char *name, const char *why,
		   struct error *err)
{
	const char *words[ARGUMENTS_MAX] = { "detach", text, run->session.library };
	const struct dirent *entry;
	struct stat control;
	DIR *directory;
	char line[512];
	int status = 0;

	if (why && *why && !run->quiet)
		say("%s: detaching", why);
	/*
	 * why NULL: the process has ended or left the run. If it still exists, detach anyway, but
	 * ignore the injector's error message and status, since the injector may fail.
	 */
	if (why || kill(pid, 0) == 0)
		status = inject(words, !why, line, sizeof(line), err);
	if (!why)
		status = 0;
	/* detach from the children that joined the run, in all pid namespaces */
	directory = fstat(run->session.fd, &control) ? NULL : opendir("/proc");
	while (directory && (entry = readdir(directory)) != NULL) {
		int other = ctl_is_process(entry->d_name) ? atoi(entry->d_name) : 0;

		words[1] = entry->d_name;
		if (other && other != pid && other != getpid() && other != run->session.collector &&
		    maps_have(other, control.st_dev, control.st_ino) > 0)
			inject(words, false, line, sizeof(line), &(struct error){ 0 });
	}
	if (directory)
		closedir(directory);
	session_tell(&run->session, -1, 0);
	return status ? status : run_tell(run, name);
}

static int attach_to(struct run *run, const char *text, struct error *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = ask_to_end };
	struct sigaction before;
	int64_t time_ms = run->time.is_set ? (int64_t)(run->time.value / 1000000) : -1;
	char line[512] = "", name[64], where[SESSION_TEXT_MAX];
	int pid = atoi(text), status;
	unsigned long long pause = 0;

	if ((run->until && run_check_limits(run->until, err)) ||
	    (run->fail_on && run_check_limits(run->fail_on, err)))
		return STATUS_USAGE;
	status = inject((const char *[ARGUMENTS_MAX]){ "check", text }, false, line, sizeof(line),
			err);
	if (status)
		return status;
	read_name(pid, name, sizeof(name));
	run->session.control->guest = pid;
	if (session_collect(&run->session, err))
		return STATUS_OWN_FAILURE;
	run->session.control->starter = pid;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	session_name(&run->session, where);
	status = inject(
		(const char *[ARGUMENTS_MAX]){ "attach", text, run->session.library, where, name },
		false, line, sizeof(line), err);
	if (status) {
		/*
		 * the injection failed, so the collector must not wait for the process to connect
		 */
		session_tell(&run->session, -1, 0);
		return status;
	}
	sscanf(line, "pause_us=%llu", &pause);
	if (!run->quiet)
		say("attached to process %d (%s); one of its threads was stopped for %.1f ms. %s",
		    pid, name, (double)pause / 1000,
		    run->time.is_set ? "Ctrl-C detaches earlier" : "Ctrl-C detaches");
	return end_run(run, pid, text, name, wait_for_end(run, pid, time_ms), err);
}

int command_attach(int argc, char **argv, struct error *err)
{
	struct run run = { .command = "attach", .takes_process = true, .is_shown = true };
	int status = session_create(&run.session, err) ? STATUS_OWN_FAILURE : 0, next = 0;

	if (!status) {
		next = run_read_options(&run, argc, argv, err);
		status = next < 0 ? STATUS_USAGE : 0;
	}
	if (!status && next && !(argv[next] && ctl_is_process(argv[next]) && !argv[next + 1])) {
		say("attach: expected one process id: holdtrace attach PID [OPTION]...");
		status = STATUS_USAGE;
	} else if (!status && next) {
		status = attach_to(&run, argv[next], err);
	}
	session_destroy(&run.session);
	return status;
}

/* ---- ctl ---- */

static const struct {
	const char *word;
	enum control_command command;
	bool takes_text;
	const char *text; /* text of the request; NULL: the text comes from the command line */
} words[] = {
	{ "start", CONTROL_START, false, NULL }, { "stop", CONTROL_STOP, false, NULL },
	{ "mark", CONTROL_MARK, true, NULL },	 { "snapshot", CONTROL_SNAPSHOT, false, NULL },
	{ "scan", CONTROL_SCAN, false, NULL },	 { "resident", CONTROL_SCAN, false, SCAN_LIGHT },
};

#define WORDS ((int)(sizeof(words) / sizeof(words[0])))

/* Parses the arguments PID WORD [TEXT]; PID and WORD may be swapped. */
int command_ctl(int argc, char **argv, struct error *err)
{
	bool is_swapped = argc > 2 && !ctl_is_process(argv[1]) && ctl_is_process(argv[2]);
	const char *process = argc > 2 ? argv[is_swapped ? 2 : 1] : "";
	const char *order = argc > 2 ? argv[is_swapped ? 1 : 2] : "";
	const char *text = argc > 3 ? argv[3] : NULL;
	bool is_keep = !strcmp(order, "keep"), is_detach = !strcmp(order, "detach");
	cleanup_free struct ctl_run *run = NULL;
	cleanup_free char *answer = NULL;
	int word = 0, pid = atoi(process), status;

	while (word < WORDS && strcmp(words[word].word, order) != 0)
		word++;
	if (word == WORDS)
		word = -1;

	if (argc > 4 || !ctl_is_process(process) || (word < 0 && !is_keep && !is_detach) ||
	    ((word >= 0 || is_detach) && (word >= 0 && words[word].takes_text) != (text != NULL))) {
		say("ctl: expected one process id, and start, stop, mark TEXT, snapshot, keep "
		    "[FILE], scan, resident or detach: holdtrace ctl 4711 snapshot");
		return STATUS_USAGE;
	}
	if (is_detach) {
		cleanup_free char *library = NULL;
		char line[512];

		if (place_find(PART_LIBRARY, &library, err))
			return STATUS_OWN_FAILURE;
		return inject((const char *[ARGUMENTS_MAX]){ "detach", process, library }, false,
			      line, sizeof(line), err);
	}
	if (word >= 0 && words[word].text)
		text = words[word].text;
	status = ctl_find(pid, &run, err);
	/* ctl_keep() copies the files itself; every other word is a request to the collector */
	if (!status && is_keep)
		status = ctl_keep(run, pid, text, err);
	else if (!status)
		status = ctl_ask(run, pid, words[word].command, text ? text : "", &answer, err);
	if (answer) {
		status = ctl_cut(answer, err);
		ctl_print(answer);
	}
	return fflush(stdout) || status ? STATUS_OWN_FAILURE : 0;
}

/* ---- doctor ---- */

/*
 * Prints the result of a check on one line and, if the check failed, the advice. Returns `is_well`.
 */
static bool report_check(bool is_well, const char *what, const char *advice)
{
	print_message(stdout, "%s  %s%s%s", is_well ? "ok" : "NO", what, is_well ? "" : ": ",
		      is_well ? "" : advice);
	return is_well;
}

static bool check_process(const char *text)
{
	cleanup_free char *library = NULL, *path = NULL;
	char line[1024] = "", name[64], what[128];
	struct error err = { 0 };
	bool is_well = inject((const char *[ARGUMENTS_MAX]){ "check", text }, true, line,
			      sizeof(line), &err) == 0;
	int pid = atoi(text);
	const char *advice = strncmp(line, "holdtrace: ", 11) == 0 ? line + 11 : err.text;

	line[strcspn(line, "\n")] = '\0';
	read_name(pid, name, sizeof(name));
	snprintf(what, sizeof(what), "process %s (%s) can be attached to", text, name);
	if (!report_check(is_well, what, advice))
		return false;
	/* print what the attach cannot record, for reasons that the user cannot change */
	if (proc_is_elsewhere(pid, "net") && geteuid() != 0)
		puts("--  it is in another network namespace: only root can record it");
	if (proc_is_elsewhere(pid, "pid"))
		puts("--  it is in another pid namespace: its trace has the process ids of that "
		     "namespace");
	if (place_find(PART_LIBRARY, &library, NULL) == 0 &&
	    access(path = memory_format("/proc/%d/root%s", pid, library), R_OK))
		puts("--  it cannot see the library's file: programs that it executes are not "
		     "recorded");
	return true;
}

int command_doctor(int argc, char **argv, struct error *err)
{
	static const enum part parts[] = { PART_LIBRARY, PART_COLLECTOR, PART_INJECTOR,
					   PART_POSTPROC };
	struct error missing = { 0 };
	bool is_well = true;
	char scope = proc_yama(), advice[128];
	int fd;

	(void)err;
	if (argc > 2 || (argc == 2 && !ctl_is_process(argv[1]))) {
		say("doctor: expected one process id or no argument: holdtrace doctor [PID]");
		return STATUS_USAGE;
	}
	for (size_t i = 0; is_well && i < sizeof(parts) / sizeof(parts[0]); i++) {
		cleanup_free char *path = NULL;

		is_well = place_find(parts[i], &path, &missing) == 0;
	}
	report_check(is_well, "library, collector, injector and post-processor are installed",
		     missing.text);
	fd = memfd_create("holdtrace-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	snprintf(advice, sizeof(advice),
		 "%s: a seccomp filter (perhaps of a container) forbids memfd_create",
		 strerror(errno));
	if (fd >= 0)
		close(fd);
	is_well &= report_check(fd >= 0, "memory can be shared (memfd_create)", advice);
	is_well &= argc == 2
			   ? check_process(argv[1])
			   : report_check(
				     scope == '0' || (geteuid() == 0 && scope != '3'),
				     "the kernel allows this user to attach to programs of the "
				     "same user",
				     "kernel.yama.ptrace_scope permits it only to root: attach as "
				     "root, run "
				     "`sysctl kernel.yama.ptrace_scope=0`, or start programs with "
				     "`holdtrace record --start=off`");
	if (fflush(stdout))
		return STATUS_OWN_FAILURE;
	return is_well ? 0 : 1;
}
