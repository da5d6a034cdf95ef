/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "base/suggest.h"
#include "launch/command.h"
#include "launch/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "holdtrace"

/* an argument that requests the complete description of each option */
static const char help_all[] = "--help=all";

struct command {
	const char *name;
	int (*function)(int argc, char **argv, struct error *err);
	const char *arguments;
	const char *text;
};

static const struct command commands[] = {
#define COMMAND(name, function, arguments, text) { #name, function, arguments, text },
#define RENAMED(name, instead)
#include "launch/commands.def"
#undef COMMAND
#undef RENAMED
};

static const struct {
	const char *name, *instead;
} renamed[] = {
#define COMMAND(name, function, arguments, text)
#define RENAMED(name, instead) { #name, instead },
#include "launch/commands.def"
#undef COMMAND
#undef RENAMED
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message_list(stderr, PROGRAM ": ", format, args);
	va_end(args);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Returns the new name of a renamed command, or NULL if no command ever had this name. */
static const char *find_instead(const char *name)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (strcmp(renamed[i].name, name) == 0)
			return renamed[i].instead;
	return NULL;
}

static int refuse_renamed(const char *name)
{
	say("the command %s was renamed: write `%s`; to run a program of that name: holdtrace run "
	    "%s",
	    name, find_instead(name), name);
	return STATUS_USAGE;
}

/* Suggests the command whose name is most similar to a word that is not a command. */
static const char *suggest_command(struct suggest *suggest, const char *word)
{
	suggest_begin(suggest, word, strlen(word));
	for (size_t i = 0; i < COMMANDS; i++)
		suggest_try(suggest, commands[i].name);
	return suggest_text(suggest);
}

/* Prints help that fits on one screen. is_all: prints all options of `run` instead. */
static void print_overview(FILE *to, bool is_all)
{
	fprintf(to,
		"Usage: %s [run] [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
		"Finds what a program leaks and what it waits for.\n\nCommands:\n",
		PROGRAM);
	for (size_t i = 0; i < COMMANDS; i++) {
		const char *text = commands[i].text;
		char start[160];

		snprintf(start, sizeof(start), "%.*s", (int)strcspn(text, ";"), text);
		options_print_word(to, commands[i].name, 10, is_all ? text : start);
	}
	fputs("\nOptions of run and record:\n", to);
	run_print_options(to, is_all);
	fprintf(to,
		"\nThe exit status is the program's own, or 128 and the signal's number if a\n"
		"signal ended it. If the program succeeded: 1 if a limit of --fail-on is broken,\n"
		"3 if one is unknown. 2 if an option is wrong, 125 if %s itself failed or\n"
		"--strict refused the program, 126 if the program cannot be run, 127 if it was\n"
		"not found. `%s help COMMAND` says more about a command.\n",
		PROGRAM, PROGRAM);
}

/* ---- commands of other programs ---- */

/*
 * Executes the part of holdtrace that parses the arguments of a command. The part gets our own name
 * as argv[0], so its messages begin with that name. `first` and `second` are inserted before the
 * arguments of `argv`; `second` may be NULL.
 */
static int become_part(enum part part, const char *first, const char *second, char **argv,
		       struct error *err)
{
	size_t count = options_count(argv + 1), used = 0;
	cleanup_free char **words = memory_zalloc(count + 4, sizeof(*words));

	words[used++] = program_invocation_name;
	words[used++] = (char *)(uintptr_t)first;
	if (second)
		words[used++] = (char *)(uintptr_t)second;
	memcpy(words + used, argv + 1, count * sizeof(*words));
	return run_become(part, words, err);
}

int command_report(int argc, char **argv, struct error *err)
{
	char command[32];

	(void)argc;
	snprintf(command, sizeof(command), INVOCATION_COMMAND "%s", argv[0]);
	return become_part(PART_POSTPROC, command, NULL, argv, err);
}

int command_live(int argc, char **argv, struct error *err)
{
	(void)argc;
	return become_part(PART_LIVE, argv[0], NULL, argv, err);
}

/* passes the path of the post-processor, because holdtrace-view and holdtrace-push run it */
int command_view(int argc, char **argv, struct error *err)
{
	cleanup_free char *path = NULL;

	(void)argc;
	return place_find(PART_POSTPROC, &path, err)
		       ? STATUS_OWN_FAILURE
		       : become_part(strcmp(argv[0], "push") ? PART_VIEW : PART_PUSH, path, NULL,
				     argv, err);
}

int command_watch(int argc, char **argv, struct error *err)
{
	cleanup_free char *path = NULL, *check = NULL;

	(void)argc;
	if (place_find(PART_POSTPROC, &path, err))
		return STATUS_OWN_FAILURE;
	check = memory_format("--check=%s", path);
	return become_part(PART_LIVE, argv[0], check, argv, err);
}

/*
 * Executes the post-processor, which prints the question that a report answers and the options of
 * the report. what: name of the report, or "list" for all reports; help: "--help" or "--help=all".
 */
static int report_print_help(const char *what, const char *help, struct error *err)
{
	char option[256];
	char *words[] = { program_invocation_name, option, (char *)(uintptr_t)help, NULL };

	snprintf(option, sizeof(option), "--report=%s", what);
	putchar('\n');
	fflush(stdout);
	return run_become(PART_POSTPROC, words, err);
}

/* ---- help ---- */

int command_help(int argc, char **argv, struct error *err)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	const char *help = argc > 2 && !strcmp(argv[argc - 1], help_all) ? help_all : "--help";
	char *words[] = { program_invocation_name, NULL, (char *)"--help", NULL };
	bool is_view = command && command->function == command_view;
	struct suggest suggest;

	if (argc > 1 && !strcmp(argv[1], "all")) {
		print_overview(stdout, true);
		return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
	}
	if (argc > 1 && !command && find_instead(argv[1]))
		return refuse_renamed(argv[1]);
	if (argc > 1 && !command) {
		say("help: there is no command \"%s\"%s; `%s help` lists them", argv[1],
		    suggest_command(&suggest, argv[1]), PROGRAM);
		return STATUS_USAGE;
	}
	if (!command) {
		print_overview(stdout, false);
		return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
	}
	printf("Usage: %s %s %s\n\n", PROGRAM, command->name, command->arguments);
	options_print_word(stdout, "", 2, command->text);
	if (command->function == command_run || command->function == command_record) {
		puts("\nOptions:");
		run_print_options(stdout, true);
	}
	if (command->function == command_attach) {
		puts("\nOptions:");
		options_print(stdout, &attach_options, OPTION_FULL);
	}
	if (is_view || command->function == command_live || command->function == command_watch) {
		puts("\nOptions:");
		fflush(stdout);
		words[1] = (char *)(uintptr_t)command->name;
		return run_become(!is_view			  ? PART_LIVE
				  : strcmp(command->name, "push") ? PART_VIEW
								  : PART_PUSH,
				  words, err);
	}
	if (!strcmp(command->name, "report"))
		return report_print_help(argc > 2 && argv[2][0] != '-' ? argv[2] : "list", help,
					 err);
	if (command->function == command_report || command->function == command_check)
		return report_print_help(command->name, help, err);
	return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
	       strcmp(word, help_all) == 0;
}

/*
 * Whether the arguments request the command's help. The commands that run programs parse their own
 * options, because --help may be an argument of the program.
 */
static bool asks_help(const struct command *command, int argc, char **argv)
{
	if (command->function == command_run || command->function == command_record ||
	    command->function == command_attach)
		return false;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (is_help(argv[i]))
			return true;
	return false;
}

/* Handles "report leaks --help" as "help report leaks". */
static int help_of(const struct command *command, int argc, char **argv, struct error *err)
{
	bool is_all = false;
	char *words[] = { (char *)"help", (char *)command->name, argc > 1 ? argv[1] : NULL,
			  (char *)help_all, NULL };

	for (int i = 1; i < argc; i++)
		is_all |= !strcmp(argv[i], help_all);
	return command_help(command->function == command_help ? 1
			    : words[2]			      ? 3 + is_all
							      : 2,
			    words, err);
}

static bool is_report(const char *word)
{
	static const char *const names[] = {
#define REPORT(name, question, next) #name,
#include "postproc/reports.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], word) == 0)
			return true;
	return false;
}

static void end_without_memory(void)
{
	print_message(stderr, PROGRAM ": out of memory");
	_exit(STATUS_OWN_FAILURE);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	const struct command *command;
	struct suggest suggest;
	int used, status;

	memory_set_end(end_without_memory);
	if (argc < 2) {
		print_overview(stderr, false);
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", PROGRAM, PACKAGE_VERSION);
		return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
	}
	if (strcmp(argv[1], help_all) == 0)
		return command_help(2, (char *[]){ argv[0], (char *)"all", NULL }, &err);
	if (find_instead(argv[1]))
		return refuse_renamed(argv[1]);
	if (is_help(argv[1]))
		return command_help(1, argv, &err);
	command = find_command(argv[1]);
	used = command != NULL;
	if (!command)
		command = find_command("run");
	status = asks_help(command, argc - used, argv + used)
			 ? help_of(command, argc - used, argv + used, &err)
			 : command->function(argc - used, argv + used, &err);
	/* no program has this name, but a report has: suggest `holdtrace report NAME` */
	if (status == STATUS_NOT_FOUND && !used && is_report(argv[1]))
		say("%s: did you mean `%s report %s'?", err.text, PROGRAM, argv[1]);
	else if (err.number)
		say("%s%s", err.text,
		    status == STATUS_NOT_FOUND && !used ? suggest_command(&suggest, argv[1]) : "");
	return status;
}
