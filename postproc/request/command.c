/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "control/control.h"
#include "postproc/report/report.h"

/* Commands that print fixed reports, or some tables of them. */
static const struct {
	const char *command, *report, *tables;
} commands[] = {
	{ "diff", "diff", NULL },
	{ "check", "check,summary", NULL },
	{ "info", "info", "processes,not_followed,traces" },
	{ "view", "summary", NULL },
};

/* Whether each word of a list ("leaks,peak") is a name that `holdtrace report` accepts. */
static bool are_reports(const char *what)
{
	for (size_t length; *what; what += length + (what[length] == ',')) {
		length = strcspn(what, ",");
		if (!report_find(what, length) || report_renamed(what, length))
			return false;
	}
	return true;
}

/*
 * Finds the first name that is a list of reports; else the first name that may be a misspelt report
 * because no file has this name; else returns NULL. To read a file that has the name of a report,
 * the user writes ./leaks.
 */
static char **find_what(char **names)
{
	char **maybe = NULL;

	for (; *names; names++) {
		const char *word = *names;

		if (!*word || strchr("-,", *word) ||
		    word[strspn(word, "abcdefghijklmnopqrstuvwxyz-,")])
			continue;
		if (are_reports(word))
			return names;
		if (!maybe && access(word, F_OK))
			maybe = names;
	}
	return maybe;
}

/* Sets options->report to the requested report, and removes it from the names. */
static int take_what(struct options *options, char **names, struct error *err)
{
	char **place = find_what(names), **other;

	options->report = place ? *place : options->tables ? "" : "summary";
	if (!place)
		return 0;
	for (size_t at = 0, length; (*place)[at]; at += length + ((*place)[at + length] == ',')) {
		length = strcspn(*place + at, ",");
		if (report_renamed(*place + at, length))
			return error_set(err, EINVAL, "report %.*s: use %s instead", (int)length,
					 *place + at, report_renamed(*place + at, length));
	}
	memmove(place, place + 1, (options_count(place + 1) + 1) * sizeof(*place));
	other = find_what(place);
	if (!other || !are_reports(*other) || access(*other, F_OK) == 0)
		return 0;
	return error_set(err, EINVAL,
			 "report: join several reports by commas: holdtrace report %s,%s",
			 options->report, *other);
}

static int check_view(const struct options *options, struct error *err)
{
	if (options->format)
		return error_set(
			err, EINVAL,
			"view: --format cannot be used here: `holdtrace report --format=NAME -o "
			"FILE` writes a file, and `holdtrace help view` lists the viewers");
	if (options->directory)
		return error_set(err, EINVAL,
				 "view: -o cannot be used here: `holdtrace report --format=NAME -o "
				 "FILE` writes a file");
	return 0;
}

/* Adds the names to the inputs. Replaces the name of a process by the traces of its run so far. */
static int add_inputs(struct options *options, char **names, struct error *err)
{
	char **process = names;

	while (*process && !ctl_is_process(*process))
		process++;
	process = *process ? process : NULL;
	if (options->scan && !process)
		return error_set(
			err, EINVAL,
			"--scan needs the pid of a running process: report leaks --scan 4711");
	if (options->resident && !process)
		return error_set(err, EINVAL,
				 "--resident needs the pid of a running process: "
				 "report resident --resident 4711");
	if ((options->scan || options->resident) && ctl_scan(atoi(*process), !options->scan, err))
		return -err->number;
	options->now |= process != NULL;
	for (; *names; names++)
		if (names != process)
			*ARRAY_ADD(&options->inputs) = *names;
	if (!process)
		return 0;
	if (ctl_snapshot(atoi(*process), &options->paths, err))
		return -err->number;
	for (char *save = NULL, *path = strtok_r(options->paths, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		*ARRAY_ADD(&options->inputs) = path;
	return 0;
}

int command_take(const char *command, struct options *options, char **names, struct error *err)
{
	int rc = 0;

	if (options->report)
		return error_set(
			err, EINVAL,
			"--report=%s: not an option of this command; write: holdtrace report %s",
			options->report, options->report);
	options->newest = true;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(commands[i].command, command)) {
			options->report = commands[i].report;
			options->tables = options->tables ?: commands[i].tables;
		}
	if (!options->report)
		rc = take_what(options, names, err);
	if (!strcmp(command, "view"))
		rc = check_view(options, err);
	return rc ? rc : add_inputs(options, names, err);
}
