/* SPDX-License-Identifier: MIT */
#include "launch/command.h"
#include "launch/place.h"

#include "base/cleanup.h"
#include "base/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_PAGER "less -FRX"

/* "leaks", "leaks,peak": what is no option and no file. A file of such a name is given as ./leaks.
 */
static bool is_what(const char *word)
{
	return *word && *word != '-' && *word != ',' &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyz-,")] == '\0';
}

static const char *const reports[] = {
#define REPORT(name, question, next) #name,
#include "postproc/reports.def"
#undef REPORT
#define SET(name, reports, question) #name,
#include "postproc/report_sets.def"
#undef SET
};

/* "leaks,peak": all words of it are reports. */
static bool are_reports(const char *what)
{
	for (size_t length; *what; what += length + (what[length] == ',')) {
		size_t i = 0;

		length = strcspn(what, ",");
		while (i < sizeof(reports) / sizeof(*reports) &&
		       (strlen(reports[i]) != length || strncmp(reports[i], what, length) != 0))
			i++;
		if (i == sizeof(reports) / sizeof(*reports))
			return false;
	}
	return true;
}

bool report_has_what(int argc, char **argv)
{
	return argc > 1 && is_what(argv[1]);
}

/* ---- the pager ---- */

/* A command for the shell, or NULL: nobody is there to read page by page, or wants to. */
static const char *find_pager(void)
{
	static const char *const names[] = { "HOLDTRACE_PAGER", "PAGER" };
	const char *terminal = getenv("TERM");
	cleanup_free char *less = NULL;

	if (!isatty(STDOUT_FILENO) || !terminal || !strcmp(terminal, "dumb"))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *pager = getenv(names[i]);

		if (pager)
			return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
	}
	return place_program("less", &less, NULL) ? NULL : DEFAULT_PAGER;
}

/* Starts it with the reading end as its standard input. */
static pid_t start_pager(const char *command, const int *ends)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(STATUS_NOT_FOUND);
}

static pid_t start_program(const char *path, char **argv, const int *ends)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	execv(path, argv);
	_exit(STATUS_NOT_RUNNABLE);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Ctrl-C ends the program, and is the pager's to understand. */
static int run_paged(const char *pager, const char *path, char **argv, struct error *err)
{
	pid_t reader, writer;
	int ends[2], status;

	if (pipe(ends)) {
		error_system(err, errno, "pager");
		return STATUS_OWN_FAILURE;
	}
	writer = start_program(path, argv, ends);
	reader = writer > 0 ? start_pager(pager, ends) : -1;
	signal(SIGINT, SIG_IGN);
	close(ends[0]);
	close(ends[1]);
	if (writer < 0) {
		error_system(err, errno, "cannot start %s", path);
		return STATUS_OWN_FAILURE;
	}
	status = wait_for(writer);
	if (reader > 0)
		wait_for(reader);
	return status;
}

/* ---- the post-processor ---- */

struct words {
	char what[256], width[32];
	char **argv;
	size_t count;
};

static void add(struct words *words, const char *word)
{
	words->argv[words->count++] = (char *)word;
}

/* Behind a pager stdout is no terminal: width and colour are passed on. */
static void add_terminal(struct words *words)
{
	snprintf(words->width, sizeof(words->width), "--width=%u", terminal_width(STDOUT_FILENO));
	add(words, words->width);
	add(words, terminal_has_colour(STDOUT_FILENO) ? "--color=always" : "--color=never");
}

/* Options of the post-processor, and second words for them, by their names. */
static const struct option {
	const char *name, *word, *argument; /* NULL: it has none */
	int letter;
} options[] = {
#define OPTION(kind, name, word, letter, argument, with, description) \
	{ #name, word, argument, letter },
#define ALIAS(name, word)
#include "postproc/options.def"
#undef ALIAS
#undef OPTION
};
static const struct alias {
	const char *name, *word;
} aliases[] = {
#define OPTION(kind, name, word, letter, argument, with, description)
#define ALIAS(name, word) { #name, word },
#include "postproc/options.def"
#undef ALIAS
#undef OPTION
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* "-vb": the letter behind which its argument stands in the next word. */
static bool letters_want_next(const char *letters)
{
	for (; *letters; letters++)
		for (size_t i = 0; i < COUNT(options); i++)
			if (options[i].letter == *letters && options[i].argument)
				return !letters[1];
	return false;
}

/* The option that a word means, which may be cut where that is plain, as getopt's. */
static const struct option *find_option(const char *word)
{
	const struct option *found = NULL;

	for (size_t i = 0; i < COUNT(aliases); i++)
		for (size_t k = 0; k < COUNT(options) && !strcmp(aliases[i].word, word); k++)
			if (!strcmp(options[k].name, aliases[i].name))
				return &options[k];
	for (size_t i = 0; i < COUNT(options); i++) {
		if (!strcmp(options[i].word, word))
			return &options[i];
		if (!strncmp(options[i].word, word, strlen(word)))
			found = &options[i];
	}
	return found;
}

/* Whether a word is an option whose argument is the next one. */
static bool wants_next(const char *word)
{
	const struct option *option;

	if (word[0] != '-' || word[1] != '-')
		return word[0] == '-' && letters_want_next(word + 1);
	option = strchr(word, '=') ? NULL : find_option(word + 2);
	return option && option->argument;
}

/* "-vo": whether -o is among letters, none of which before it has an argument. */
static bool letters_have_output(const char *letters)
{
	for (; *letters && *letters != 'o'; letters++)
		for (size_t i = 0; i < COUNT(options); i++)
			if (options[i].letter == *letters && options[i].argument)
				return false;
	return *letters == 'o';
}

/* "--now", "--format=json": whether it is the option of that name, which may be cut. */
static bool is_long(const char *word, const char *name)
{
	const struct option *option;
	char text[32];

	if (word[0] != '-' || word[1] != '-' || !word[2])
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	option = *text ? find_option(text) : NULL;
	return option && !strcmp(option->name, name);
}

static bool is_output(const char *word)
{
	return is_long(word, "directory") ||
	       (word[0] == '-' && word[1] != '-' && letters_have_output(word + 1));
}

bool report_has_output(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (is_output(argv[i]) && (!i || !wants_next(argv[i - 1])))
			return true;
	return false;
}

bool report_has_format(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (is_long(argv[i], "format") && (!i || !wants_next(argv[i - 1])))
			return true;
	return false;
}

/* Under our name, so that it speaks as we do, and what it is called with. */
static int run_report(const char *what, int argc, char **argv, struct error *err)
{
	const char *pager = report_has_output(argc, argv) ? NULL : find_pager();
	cleanup_free char **list = calloc((size_t)argc + 8, sizeof(*list));
	cleanup_free char *path = NULL;
	struct words words = { .argv = list };

	if (!list) {
		error_system(err, ENOMEM, "report");
		return STATUS_OWN_FAILURE;
	}
	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	snprintf(words.what, sizeof(words.what), "--report=%s", what);
	add(&words, program_invocation_name);
	add(&words, words.what);
	add(&words, "--newest");
	if (pager)
		add_terminal(&words);
	for (int i = 0; i < argc; i++)
		add(&words, argv[i]);
	if (pager)
		return run_paged(pager, path, list, err);
	execv(path, list);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}

/* A process in the place of a trace. A file of such a name is given as ./4711. */
static bool is_process(const char *word)
{
	size_t length = strlen(word);

	return length && length < 10 && word[strspn(word, "0123456789")] == '\0';
}

/* The place of a process among the words from a first one on; -1: there is none. */
static int find_process(int argc, char **argv, int first)
{
	for (int i = first; i < argc; i++)
		if (is_process(argv[i]) && (i == first || !wants_next(argv[i - 1])))
			return i;
	return -1;
}

/* Whether a run is asked about as it is by now: --now, or --so-far, which judges it so. */
static bool has_now(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (is_long(argv[i], "now") || is_long(argv[i], "so_far"))
			return true;
	return false;
}

/* What the run of a process has by now, in the place of a word: the names of its traces. */
static int report_now(const char *what, int argc, char **argv, int place, int pid,
		      struct error *err)
{
	cleanup_free char *paths = NULL;
	cleanup_free char **words = NULL;
	size_t lines = 0, count = 0;

	if (ctl_snapshot(pid, &paths, err))
		return STATUS_OWN_FAILURE;
	for (const char *at = paths; *at; at++)
		lines += *at == '\n';
	words = calloc((size_t)argc + lines + 1, sizeof(*words));
	if (!words) {
		error_system(err, ENOMEM, "report");
		return STATUS_OWN_FAILURE;
	}
	for (int i = 0; i < argc; i++)
		if (i != place)
			words[count++] = argv[i];
	for (char *save = NULL, *path = strtok_r(paths, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		words[count++] = path;
	return run_report(what, (int)count, words, err);
}

/* Of a trace, or of a process in its place. */
static int report_on(const char *what, int argc, char **argv, struct error *err)
{
	int place = has_now(argc, argv) ? find_process(argc, argv, 0) : -1;

	return place < 0 ? run_report(what, argc, argv, err)
			 : report_now(what, argc, argv, place, atoi(argv[place]), err);
}

/*
 * The place of what is asked among options and files, behind the command: a report, or else the
 * first word that may be one and is no file. argc: there is none.
 */
static int find_what(int argc, char **argv, int first)
{
	int maybe = argc;

	for (int i = first; i < argc; i++) {
		if (!is_what(argv[i]) || (i > 1 && wants_next(argv[i - 1])))
			continue;
		if (are_reports(argv[i]))
			return i;
		if (maybe == argc && access(argv[i], F_OK))
			maybe = i;
	}
	return maybe;
}

int command_report(int argc, char **argv, struct error *err)
{
	int place = find_what(argc, argv, 1), other;
	const char *what = place < argc ? argv[place] : "summary";

	if (place == argc)
		return report_on(what, argc - 1, argv + 1, err);
	other = find_what(argc, argv, place + 1);
	if (other < argc && are_reports(argv[other]) && access(argv[other], F_OK)) {
		say("report: several reports are joined by commas: holdtrace report %s,%s", what,
		    argv[other]);
		return STATUS_USAGE;
	}
	memmove(argv + 2, argv + 1, (size_t)(place - 1) * sizeof(*argv));
	return report_on(what, argc - 2, argv + 2, err);
}

/* The process may stand before its options, or behind them. */
int command_leaks(int argc, char **argv, struct error *err)
{
	static char now[] = "--now";
	int place = find_process(argc, argv, 1), pid;

	if (place < 0) {
		say("leaks: a process id is needed; `holdtrace report leaks` tells of a trace");
		return STATUS_USAGE;
	}
	pid = atoi(argv[place]);
	argv[place] = now;
	if (ctl_scan(pid, err))
		return STATUS_OWN_FAILURE;
	return report_now("leaks", argc - 1, argv + 1, -1, pid, err);
}

/* report --format=html, in one word. */
int command_html(int argc, char **argv, struct error *err)
{
	cleanup_free char **words = calloc((size_t)argc + 2, sizeof(*words));
	size_t count = 0;

	if (!words) {
		error_system(err, ENOMEM, "html");
		return STATUS_OWN_FAILURE;
	}
	words[count++] = argv[0];
	words[count++] = (char *)"--format=html";
	for (int i = 1; i < argc; i++)
		words[count++] = argv[i];
	return command_report((int)count, words, err);
}

/* report history --object=OBJECT, of a process that runs or of a trace. */
int command_who(int argc, char **argv, struct error *err)
{
	cleanup_free char *object = NULL;
	char *words[] = { argv[0], (char *)"history", NULL, NULL, NULL, NULL };
	int count = 2;

	if (argc != 3) {
		say("who: a process or a trace, and an object are needed: holdtrace who 4711 fd:7, "
		    "holdtrace who run.htr 0x55d0c3a2");
		return STATUS_USAGE;
	}
	if (asprintf(&object, "--object=%s", argv[2]) < 0) {
		error_system(err, ENOMEM, "who");
		return STATUS_OWN_FAILURE;
	}
	words[count++] = object;
	if (is_process(argv[1]))
		words[count++] = (char *)"--now";
	words[count++] = argv[1];
	return command_report(count, words, err);
}

int command_list(int argc, char **argv, struct error *err)
{
	return run_report("traces", argc - 1, argv + 1, err);
}

int command_diff(int argc, char **argv, struct error *err)
{
	return run_report("diff", argc - 1, argv + 1, err);
}

/* Without limits the post-processor says that it needs some. */
int command_check(int argc, char **argv, struct error *err)
{
	return report_on("check,summary", argc - 1, argv + 1, err);
}

int command_info(int argc, char **argv, struct error *err)
{
	return report_on("info", argc - 1, argv + 1, err);
}

int report_print_help(const char *what, struct error *err)
{
	cleanup_free char *path = NULL, *option = NULL;

	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	if (asprintf(&option, "--report=%s", what) < 0) {
		error_system(err, ENOMEM, "help");
		return STATUS_OWN_FAILURE;
	}
	putchar('\n');
	fflush(stdout);
	execl(path, program_invocation_name, option, "--help", (char *)NULL);
	error_system(err, errno, "cannot start %s", path);
	return STATUS_OWN_FAILURE;
}
