/* SPDX-License-Identifier: MIT */
#include "launch/run.h"

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "process/proc.h"
#include "base/suggest.h"
#include "collect/keep.h"
#include "hook_table.h"
#include "launch/command.h"
#include "launch/session.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int take_setting(void *values, const struct option_row *row, const char *text,
			struct error *err);

static const struct option_row rows[] = {
#define OPTION(...)		  { OPTION_FIELDS(struct run, __VA_ARGS__) },
#define SETTING(kind_, name, ...) { .kind = OPTION_other, __VA_ARGS__ },
#define RENAMED(...)		  { OPTION_RENAMED_FIELDS(__VA_ARGS__) },
#include "launch/run.def"
#undef OPTION
#undef SETTING
#undef RENAMED
};

enum { ATTACH_ALONE = 2, RUN_ALONE = 4, ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct option_table run_options = {
	.rows = rows + ATTACH_ALONE,
	.count = ROWS - ATTACH_ALONE,
	.ends_at_name = true,
	.help = "holdtrace help run",
	.take = take_setting,
};

const struct option_table attach_options = {
	.rows = rows,
	.count = ROWS - RUN_ALONE,
	.help = "holdtrace help attach",
	.take = take_setting,
};

/*
 * The one-screen help lists the usual options. Others are rarely needed, or serve the development
 * of holdtrace.
 */
void run_print_options(FILE *to, bool is_all)
{
	static const char usual[] =
		" output force backtrace events start fail-on report quiet help ";

	for (size_t i = 0; i < run_options.count; i++) {
		const struct option_row *row = &run_options.rows[i];
		char word[40];

		snprintf(word, sizeof(word), " %s ", row->option);
		if (row->kind != OPTION_renamed && (is_all || strstr(usual, word)))
			options_print_row(to, row, is_all ? OPTION_FULL : OPTION_SHORT);
	}
}

/* Stores an option of settings.def. An option without an argument gets the value 1. */
static int take_setting(void *values, const struct option_row *row, const char *text,
			struct error *err)
{
	struct run *run = values;
	struct settings *settings = &run->session.control->settings;
	cleanup_free char *entry = memory_format("%s=%s", row->environment, text ? text : "1");

	/* --label adds a label to the labels of earlier options */
	if (!strcmp(row->option, "label"))
		return labels_add(settings, text ? text : "", err);
	if (settings_take(settings, entry) == SETTINGS_TAKEN)
		return 0;
	return error_set(err, EINVAL, "--%s=%s: expected %s; see `holdtrace help run`", row->option,
			 text, row->argument);
}

static int take_environment(struct run *run, struct error *err)
{
	labels_add(&run->session.control->settings, getenv("OTEL_RESOURCE_ATTRIBUTES") ?: "", NULL);
	for (size_t i = 0; i < ROWS; i++) {
		const char *value = rows[i].environment ? getenv(rows[i].environment) : NULL;
		char old[40] = "";

		/* refuse the variable of a renamed option, because it would have no effect */
		if (rows[i].kind == OPTION_renamed)
			snprintf(old, sizeof(old), "HOLDTRACE_%s", rows[i].option);
		for (char *at = old; *at; at++)
			*at = (char)(*at == '-' ? '_' : toupper(*at));
		if (*old && getenv(old))
			return error_set(err, EINVAL,
					 "environment: %s has no effect any more: see %s", old,
					 rows[i].text);
		if (value && *value && take_setting(run, &rows[i], value, err))
			return error_prefix(err, "environment, %s", rows[i].environment);
	}
	return 0;
}

static bool is_event_name(const char *name, size_t length)
{
	if (length == 3 && strncmp(name, "all", length) == 0)
		return true;
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (strlen(hook_table[i].name) == length &&
		    strncmp(hook_table[i].name, name, length) == 0)
			return true;
	for (size_t i = 1; i < RESOURCE_COUNT; i++)
		if (strlen(resource_table[i].type) == length &&
		    strncmp(resource_table[i].type, name, length) == 0)
			return true;
	return false;
}

static int check_output(const char *out, struct error *err)
{
	size_t length = strlen(out);
	char *end;
	long fd;

	/* if mkdir() fails, the collector will report the error when it opens the output */
	if (length && *out != '|' && out[length - 1] == '/')
		mkdir(out, 0777);
	if (strncmp(out, "fd:", 3) != 0)
		return 0;
	fd = strtol(out + 3, &end, 10);
	if (end == out + 3 || *end || fd < 0)
		return error_set(err, EINVAL, "--output=%s: not the number of a descriptor", out);
	/* a descriptor with FD_CLOEXEC was opened by this process, not passed by the caller */
	if (fcntl((int)fd, F_GETFD) != 0)
		return error_set(err, EBADF, "--output=%s: descriptor %ld is not open", out, fd);
	return 0;
}

/* Checks settings for errors that the rows of settings.def cannot describe. */
static int check_settings(const struct settings *settings, bool is_node, struct error *err)
{
	bool has_directory = strchr(settings->follow, '/') != NULL;
	size_t out = strlen(settings->out);
	bool is_htr = out > 4 && !strcmp(settings->out + out - 4, ".htr");
	struct keep_options options;

	if (settings->backtrace.depth > ARENA_FRAMES_MAX)
		return error_set(err, EINVAL, "--backtrace=%lld: expected 0 to %u frames",
				 (long long)settings->backtrace.depth, ARENA_FRAMES_MAX);
	if (check_output(settings->out, err))
		return -EINVAL;
	/* --follow matches the file name of a program, without its directory */
	if (!*settings->follow || has_directory)
		return error_set(
			err, EINVAL, "--follow=%s: expected all, no, or names of programs%s",
			settings->follow, has_directory ? " without their directories" : "");
	if (keep_parse(&options, settings->keep, err))
		return -EINVAL;
	/* --keep, which replaces the trace file from time to time, and --node need one .htr file */
	if ((*settings->keep || is_node) && (settings->format == FORMAT_RTRACE_1_4 ||
					     !(is_htr || (!out && settings->format == FORMAT_HTR))))
		return error_set(err, EINVAL,
				 "--%s%s: needs a single .htr file as output (-o NAME.htr)",
				 is_node ? "node" : "keep=", is_node ? "" : settings->keep);

	const char *list = settings->events;
	struct suggest suggest;

	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (is_event_name(list, length))
			continue;
		suggest_begin(&suggest, list, length);
		for (size_t i = 1; i < RESOURCE_COUNT; i++)
			suggest_try(&suggest, resource_table[i].type);
		for (size_t i = 0; i < HOOK_COUNT; i++)
			suggest_try(&suggest, hook_table[i].name);
		return error_set(err, EINVAL,
				 "--events: \"%.*s\" is neither a class of resource nor a hooked "
				 "function%s; holdtrace-hooks(7) lists them",
				 (int)length, list, suggest_text(&suggest));
	}
	return 0;
}

static int refuse_result(const char *path, int number, struct error *err)
{
	return error_set(err, number, "--report=%s: %s", path, strerror(number));
}

/* Checks that a new file with this name can be created. */
static int check_directory(const char *path, struct error *err)
{
	cleanup_free char *copy = memory_text(path);

	if (faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	return refuse_result(path, errno, err);
}

/*
 * Checks that the file of --report can be written, before the program runs: otherwise the user
 * would see the error only at the end of the run. Does not create or truncate a file. is_replaced:
 * a new file will be renamed to this path.
 */
static int check_result(const char *path, bool is_replaced, struct error *err)
{
	struct stat facts, itself;

	if (!path)
		return 0;
	if (!*path)
		return refuse_result(path, ENOENT, err);
	if (stat(path, &facts) != 0)
		return check_directory(path, err);
	if (S_ISDIR(facts.st_mode))
		return refuse_result(path, EISDIR, err);
	if (is_replaced && S_ISREG(facts.st_mode)) {
		if (lstat(path, &itself) == 0 && S_ISLNK(itself.st_mode))
			return error_set(err, EEXIST,
					 "--report=%s: is a symbolic link: name the file itself",
					 path);
		return check_directory(path, err);
	}
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0
								: refuse_result(path, errno, err);
}

/*
 * Sets the paths of the screen and of the HTML page from the --report options. Each path may be
 * given once.
 */
static int take_reports(struct run *run, struct error *err)
{
	for (size_t i = 0; i < run->reports.count; i++) {
		const char *path = run->reports.items[i];
		size_t length = strlen(path);
		bool is_page = length > 5 && !strcmp(path + length - 5, ".html");
		const char **place = is_page ? &run->html : &run->screen;

		if (*place)
			return error_set(err, EINVAL,
					 "--report=%s: only one file can have the %s, which "
					 "--report=%s has named",
					 path, is_page ? "page" : "screen", *place);
		*place = path;
		if (check_result(path, is_page, err))
			return -EINVAL;
	}
	return 0;
}

int run_read_options(struct run *run, int argc, char **argv, struct error *err)
{
	const struct option_table *table = run->takes_process ? &attach_options : &run_options;
	struct settings *settings = &run->session.control->settings;
	int first;

	settings->format = FORMAT_HTR;
	if (take_environment(run, err))
		return -EINVAL;
	first = options_read(table, run, argc, argv, err);
	if (first > 0 && run->help) {
		char *asked[] = { (char *)"help", (char *)(uintptr_t)run->command, NULL };

		return command_help(2, asked, err) ? -EIO : 0;
	}
	settings_finish(settings);
	labels_finish(settings, run->node);
	if (!strcmp(settings->out, "-"))
		strcpy(settings->out, "stdout");
	if (first < 0 || options_check(table, run, err) || labels_expand(settings, err) ||
	    check_settings(settings, run->node, err) || take_reports(run, err))
		return -EINVAL;
	if (run->mark_on && strcmp(run->mark_on, "USR1") != 0 && strcmp(run->mark_on, "USR2") != 0)
		return error_set(err, EINVAL, "--mark-on=%s: expected USR1 or USR2", run->mark_on);
	if (!argv[first] && !run->takes_process)
		return error_set(err, EINVAL,
				 "no program to run: holdtrace [OPTION]... PROGRAM [ARGUMENT]...");
	return first;
}

/* Waits for a child to end. Returns its status as a shell does: 128 + N for signal N. */
static int wait_for_child(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_part(enum part part, char **argv, int to, struct error *err)
{
	cleanup_free char *path = NULL;
	pid_t pid;

	if (place_find(part, &path, err))
		return STATUS_OWN_FAILURE;
	pid = fork();
	if (!pid) {
		dup2(to < 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : to, STDOUT_FILENO);
		execv(path, argv);
		/* execv() fails, for example, if a run has too many traces for the argument list */
		say("cannot start %s: %s", path, strerror(errno));
		_exit(STATUS_NOT_FOUND);
	}
	if (pid > 0)
		return wait_for_child(pid);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

int run_become(enum part part, char **argv, struct error *err)
{
	cleanup_free char *path = NULL;

	if (place_find(part, &path, err))
		return STATUS_OWN_FAILURE;
	execv(path, argv);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

/* Runs the post-processor, which knows all limits, to check them before the program starts. */
int run_check_limits(const char *limits, struct error *err)
{
	cleanup_free char *option = memory_format("--fail-on=%s", limits);
	char *argv[] = { (char *)"holdtrace", (char *)"--report=list", option, NULL };

	return run_part(PART_POSTPROC, argv, -1, err);
}

/* Whether a stream was written to a file that exists and is not empty. */
static bool is_readable(const struct session_stream *stream)
{
	struct stat status;

	return stream->path[0] && stat(stream->path, &status) == 0 && status.st_size;
}

/*
 * Runs the post-processor over all trace files of the run. what: its first argument; more: NULL, or
 * up to five further arguments and a final NULL; to: its standard output. Returns its exit status,
 * or -ENODATA if no trace was written to a file.
 */
static int run_over_traces(const struct run *run, const char *what, char *const *more, int to)
{
	const struct session *session = &run->session;
	cleanup_free char **argv = memory_zalloc(session->stream_count + 10, sizeof(*argv));
	struct error err = { 0 };
	size_t n = 0, words;
	int status;

	argv[n++] = program_invocation_name;
	argv[n++] = (char *)INVOCATION_COMMAND "run";
	argv[n++] = (char *)what;
	while (more && *more)
		argv[n++] = *more++;
	words = n;
	for (size_t i = 0; i < session->stream_count; i++)
		if (is_readable(&session->streams[i]))
			argv[n++] = session->streams[i].path;
	if (n == words)
		return -ENODATA;
	status = run_part(PART_POSTPROC, argv, to, &err);
	if (err.number)
		say("%s", err.text);
	return status;
}

/*
 * Prints the results of the limits, and the screen. With --quiet, prints only the limits, and only
 * if a limit is broken or unknown. Returns the post-processor's status: 1 if a limit is broken.
 */
static int show_screen(const struct run *run, int to)
{
	cleanup_fd int quiet = memfd_create("limits", MFD_CLOEXEC);
	bool is_quiet = run->quiet && !run->screen;
	cleanup_free char *limits = NULL;
	char now[] = "--now";
	char *words[] = { NULL, NULL, NULL };
	off_t at = 0;
	int status;

	if (!run->fail_on)
		return run_over_traces(run, "--format=summary", NULL, to);
	words[0] = limits = memory_format("--fail-on=%s", run->fail_on);
	/* after an attach, the processes may still be running */
	words[1] = run->takes_process ? now : NULL;
	status = run_over_traces(run, is_quiet ? "--report=check" : "--report=check,summary", words,
				 is_quiet ? quiet : to);
	if (is_quiet && status > 0)
		while (sendfile(STDERR_FILENO, quiet, &at, 1 << 16) > 0)
			;
	if (status != -ENODATA)
		return status;
	say("--fail-on: the trace is not in a file, so the limits cannot be checked");
	return STATUS_UNKNOWN;
}

/*
 * Writes the screen to standard error or to the file of --report. Returns the exit status: a broken
 * limit takes precedence over a file that cannot be written.
 */
static int write_screen(const struct run *run)
{
	int to = run->quiet ? -1 : STDERR_FILENO, status;

	if (run->screen) {
		to = open(run->screen, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
		if (to < 0)
			say("--report=%s: %s", run->screen, strerror(errno));
	}
	status = show_screen(run, to);
	if (status == -ENODATA)
		say("no screen: the trace went to %s, which cannot be read again",
		    run->session.control->settings.out);
	if (!run->fail_on)
		status = 0;
	if (!run->screen)
		return status;
	if (to >= 0)
		close(to);
	return !status && to < 0 ? STATUS_OWN_FAILURE : status;
}

static int tell_no_page(const struct run *run)
{
	if (run->html)
		say("--report=%s: no page, because nothing was recorded", run->html);
	return run->html ? STATUS_OWN_FAILURE : 0;
}

/*
 * Called if nothing was recorded. Returns STATUS_UNKNOWN if --fail-on was given; otherwise a
 * failure if a page was requested, else 0.
 */
static int tell_nothing(const struct run *run)
{
	int page = tell_no_page(run);

	return run->fail_on ? STATUS_UNKNOWN : page;
}

/*
 * Prints the problems of the recording, then its results. Returns an exit status, which is not 0 if
 * a limit is broken or unknown.
 */
int run_tell(struct run *run, const char *program)
{
	struct error err = { 0 };
	struct session *session = &run->session;
	const struct control_page *control = session->control;
	char format[] = "--format=html", over[] = "-f", output[] = "-o";
	char *words[] = { over, output, (char *)(uintptr_t)run->html, format, NULL };
	char text[PROC_STAT_SIZE];
	const char *state;
	int status = 0, page = 0;
	bool is_frozen, is_screen = run->fail_on || run->screen || (run->is_shown && !run->quiet);

	if (!SESSION_COUNT(session, attached) && run->is_untraced)
		return tell_no_page(run);
	if (!SESSION_COUNT(session, attached) && SESSION_COUNT(session, left_out)) {
		say("nothing was recorded: --follow=%s matches neither %s nor a program that it "
		    "started",
		    control->settings.follow, program);
		return tell_nothing(run);
	}
	if (!SESSION_COUNT(session, attached) && session->has_ended &&
	    control->state == CONTROL_RUNNING) {
		say("the collector was killed before %s connected to it: nothing was recorded",
		    program);
		return tell_nothing(run);
	}
	state = proc_stat(session->collector, 0, text);
	is_frozen = state && *state == 'T';
	if (is_frozen)
		say("the collector is stopped: run `kill -CONT %d`, until then the traces are "
		    "incomplete",
		    (int)session->collector);
	if (!SESSION_COUNT(session, attached) && is_frozen)
		return tell_nothing(run);
	if (!SESSION_COUNT(session, attached)) {
		say("%s ran, but the library was not loaded (did it clear its environment, or drop "
		    "its privileges?): nothing was recorded",
		    program);
		return tell_nothing(run);
	}
	if (session_wait(session, &err))
		say("%s", err.text);
	if (control->failure[0])
		say("%.*s", (int)sizeof(control->failure), control->failure);
	if (SESSION_COUNT(session, alive) && !is_frozen)
		say("%u of the run's processes still run; their traces are not complete yet",
		    SESSION_COUNT(session, alive));
	if (SESSION_COUNT(session, left_unsaid) && !run->quiet)
		say("--follow=%s left out %u more processes after the last trace had ended",
		    control->settings.follow, SESSION_COUNT(session, left_unsaid));
	if (run->html && run_over_traces(run, "--report=summary", words, STDOUT_FILENO)) {
		say("--report=%s: the page is missing or incomplete", run->html);
		page = STATUS_OWN_FAILURE;
	}
	if (is_screen)
		status = write_screen(run);
	for (size_t i = 0; !is_screen && !run->quiet && i < session->stream_count; i++)
		if (is_readable(&session->streams[i]))
			say("trace: %s", session->streams[i].path);
	return status ? status : page;
}

static int status_of(int number)
{
	return number == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE;
}

/*
 * Returns the exit status of --fail-on for a program that ran untraced: since its events were not
 * recorded, the limits are unknown, not kept.
 */
static int limits_status(const struct run *run, int found)
{
	if (!run->fail_on || !run->is_untraced)
		return found;
	say("--fail-on: the program was not traced, so the limits cannot be checked");
	return STATUS_UNKNOWN;
}

static int run_program(struct run *run, char **argv, struct error *err)
{
	cleanup_free char *path = NULL, *program = NULL;
	int status = place_program(argv[0], &path, err), found;
	struct node node = { .fd = -1 };
	bool ignores = false;
	pid_t pid;

	if (status)
		return status_of(status);
	if (run->ranks) {
		status = labels_has_rank(run->ranks, labels_rank(), err);
		if (status < 0)
			return STATUS_USAGE;
		if (!status) {
			execvp(path, argv);
			return status_of(error_system(err, errno, "%s: cannot be run", path));
		}
	}
	status = run->fail_on ? run_check_limits(run->fail_on, err) : 0;
	if (status)
		return status;
	if (inspect_program(path, &program, &ignores, err)) {
		if (run->strict)
			return STATUS_OWN_FAILURE;
		say("untraced: %s", err->text);
		*err = (struct error){ 0 };
		run->is_untraced = true;
	}
	if (run->is_untraced && !ignores) {
		/*
		 * run the program without the library: with LD_PRELOAD in the environment, neither
		 * the program nor its children would run
		 */
		signals_hold();
		pid = session_start(NULL, path, argv, err);
		if (pid < 0)
			return status_of(pid);
		signals_wait(pid, run->mark_on);
		status = wait_for_child(pid);
		found = tell_no_page(run);
		return status ? status : limits_status(run, found);
	}
	if (program && !run->is_untraced &&
	    patches_plan(&run->session.control->patches, program, run->hooks.items,
			 run->hooks.count, err))
		return STATUS_USAGE;
	if (run->node && node_enter(&node, &run->session, err))
		return STATUS_OWN_FAILURE;
	if (!run->session.joined && session_collect(&run->session, err))
		return STATUS_OWN_FAILURE;
	if (run->node)
		node_announce(&node, &run->session);
	signals_hold();
	/* a joined run has a planner already, and this process cannot write to the run's page */
	if (program && !run->is_untraced && !run->session.joined)
		patches_serve(run->session.control, run->hooks.items, run->hooks.count);
	pid = session_start(&run->session, path, argv, err);
	if (pid < 0)
		return status_of(pid);
	if (run->session.joined) {
		/* the rank that created the run reports on it */
		signals_wait(pid, NULL);
		return wait_for_child(pid);
	}
	/* report the status to the collector before wait_for_child() reaps the program */
	session_tell(&run->session, pid, signals_wait(pid, run->mark_on));
	status = wait_for_child(pid);
	if (run->node)
		node_leave(&node, &run->session);
	found = run_tell(run, argv[0]);
	return status ? status : limits_status(run, found);
}

static int run_command(int argc, char **argv, bool is_shown, struct error *err)
{
	struct run run = { .command = is_shown ? "run" : "record", .is_shown = is_shown };
	int status = session_create(&run.session, err) ? STATUS_OWN_FAILURE : 0;
	int first;

	if (!status) {
		first = run_read_options(&run, argc, argv, err);
		if (first < 0)
			status = STATUS_USAGE;
		else if (first > 0)
			status = run_program(&run, argv + first, err);
	}
	session_destroy(&run.session);
	return status;
}

int command_run(int argc, char **argv, struct error *err)
{
	return run_command(argc, argv, true, err);
}

int command_record(int argc, char **argv, struct error *err)
{
	return run_command(argc, argv, false, err);
}
