/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/invocation.h"
#include "control/control.h"
#include "formats/writer.h"
#include "postproc/report/report.h"

/*
 * Commands of holdtrace, such as `holdtrace diff`, that print fixed reports, or some of their
 * tables. For these commands, holdtrace starts this program with the command's arguments.
 */
static const struct {
	const char *command, *report, *tables;
} commands[] = {
	{ "diff", "diff", NULL },
	{ "check", "check,summary", NULL },
	{ "info", "info", "processes,not_followed,traces" },
	{ "view", "summary", NULL },
	{ "rows", "summary", NULL },
};

/* Whether each name in a list ("leaks,peak") is a report that `holdtrace report` accepts. */
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
 * Returns the first name that is a list of reports. If there is none, returns the first name that
 * may be a misspelt report, because no file has this name. Otherwise returns NULL. To read a file
 * that has the name of a report, a user writes ./leaks.
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

/* Sets options->report to the requested reports, and removes these from the names. */
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

/* Adds a file, or the files that match a pattern, to the inputs. */
static int add_files(struct options *options, const char *name, struct error *err)
{
	size_t count = options->found.gl_pathc;

	if (!name[strcspn(name, "*?[")] || access(name, F_OK) == 0) {
		*ARRAY_ADD(&options->inputs) = name;
		return 0;
	}
	if (glob(name, count ? GLOB_APPEND : 0, NULL, &options->found))
		return error_set(err, ENOENT, "%s: no file matches", name);
	for (; count < options->found.gl_pathc; count++)
		*ARRAY_ADD(&options->inputs) = options->found.gl_pathv[count];
	return 0;
}

/*
 * Adds the names to the inputs. For a name that is the pid of a running process, adds the traces
 * that the process's run has written so far. old: for diff, number of names of the old run or runs.
 */
static int add_inputs(struct options *options, char **names, size_t old, struct error *err)
{
	char **process = names, **first = names;

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
	for (; *names; names++) {
		if (names == first + old)
			options->old_count = options->inputs.count;
		if (names != process && add_files(options, *names, err))
			return -err->number;
	}
	if (!process)
		return 0;
	if (ctl_snapshot(atoi(*process), &options->paths, err))
		return -err->number;
	for (char *save = NULL, *path = strtok_r(options->paths, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		*ARRAY_ADD(&options->inputs) = path;
	return 0;
}

static const struct option_row rows[] = {
#define OPTION(...) { OPTION_FIELDS(struct options, __VA_ARGS__) },
#define FILTER(...) { OPTION_FIELDS(struct options, __VA_ARGS__), .is_filter = true },
#define LETTER(kind, name, letter, with) \
	{ OPTION_FIELDS(struct options, kind, name, "", letter, 0, with, 0) },
#define RENAMED(...) { OPTION_RENAMED_FIELDS(__VA_ARGS__) },
#include "postproc/options.def"
#undef OPTION
#undef RENAMED
};

#define MEMORY_MIN (UINT64_C(1) << 20) /* minimum of --max-memory */
#define ROWS	   (sizeof(rows) / sizeof(*rows))

_Static_assert(ROWS <= OPTIONS_MAX, "option_values needs an element for each row");

static const struct option_table table = { .rows = rows, .count = ROWS };

/*
 * Sets in `options` which reports the command prints, and which traces it reads. names: the
 * arguments that are not options, followed by NULL; the options are already in `options`. after:
 * number of names after "--". Returns 0, -EINVAL (wrong usage), or the error of a request to a
 * running process.
 */
static int command_take(const char *command, struct options *options, char **names, size_t after,
			struct error *err)
{
	size_t count = options_count(names), old = after < count ? count - after : 0;
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
	if (!strcmp(command, "check") && options->growth) {
		options->report = "check,growth";
		options->tables = options->tables ?: "limits,unit_growth";
		options->fail_on = options->fail_on ?: "growth>0";
		*options_given(&table, options, "fail-on", strlen("fail-on")) = options->fail_on;
	}
	if (!options->report)
		rc = take_what(options, names, err);
	if (!strcmp(command, "view") && options->format)
		rc = error_set(
			err, EINVAL,
			"view: --format cannot be used here: `holdtrace report --format=NAME -o "
			"FILE` writes a file, and `holdtrace help view` lists the viewers");
	else if (!strcmp(command, "view") && options->directory)
		rc = error_set(err, EINVAL,
			       "view: -o cannot be used here: `holdtrace report --format=NAME -o "
			       "FILE` writes a file");
	if (!strcmp(command, "rows") && options->format)
		rc = error_set(err, EINVAL, "rows: --format cannot be used here");
	if (strcmp(command, "rows") != 0 && options->into)
		rc = error_set(err, EINVAL, "--into is an option of `holdtrace rows`");
	if (strcmp(command, "rows") != 0 && options->zstd)
		rc = error_set(err, EINVAL, "--zstd is an option of `holdtrace rows`");
	if (rc == 0 && !strcmp(command, "diff") && count != 2 && (!after || !old))
		rc = error_set(err, EINVAL,
			       "diff needs two runs, OLD and NEW, or two sets of runs: OLD... -- "
			       "NEW...; each is a trace, or a directory with traces, whose newest "
			       "run is used");
	return rc ? rc : add_inputs(options, names, old && after ? old : 1, err);
}

/* Sets options->report to the reports that contain the tables named by --table. */
static void name_reports(struct options *options)
{
	size_t used = 0, length;

	options->report = options->reports;
	for (const char *names = options->tables; *names;
	     names += length + (names[length] == ',')) {
		enum table_id id;

		length = strcspn(names, ",");
		id = report_table(names, length);
		if (id < TABLE_ID_COUNT && used < sizeof(options->reports))
			used += (size_t)snprintf(options->reports + used,
						 sizeof(options->reports) - used, "%s%s",
						 used ? "," : "", report_of(id)->name);
	}
}

int request_read(struct options *options, int argc, char **argv, struct error *err)
{
	static const char option[] = "--report=", word[] = "report ";
	size_t prefix = strlen(INVOCATION_COMMAND);
	const char *format = NULL;
	size_t after = 0, length;
	int at, rc = 0;

	if (argc > 1 && !strncmp(argv[1], INVOCATION_COMMAND, prefix)) {
		options->command = argv[1] + prefix;
		argc--;
		argv++;
	}
	/* "run": the launcher starts this program at the end of a run, with options and files */
	if (options->command && !strcmp(options->command, "run")) {
		options->command = NULL;
		options->newest = options->is_screen = true;
	}
	/* for `view`, the first argument is the name of the viewer */
	if (options->command && !strcmp(options->command, "view") && argc > 1) {
		format = argv[1];
		argc--;
		argv++;
	}
	if (options->command && !strcmp(options->command, "rows"))
		format = "rows";
	for (int i = 1; i < argc && !after; i++)
		after = strcmp(argv[i], "--") ? 0 : (size_t)(argc - i - 1);
	at = options_read(&table, options, argc, argv, err);
	/* split NAME:WORD,WORD; `names` and `no-args` have the same effect as -r and -a */
	length = options->format ? strcspn(options->format, ":") : 0;
	if (options->format && options->format[length] && length < sizeof(options->format_name)) {
		options->words = options->format + length + 1;
		memcpy(options->format_name, options->format, length);
		options->format = options->format_name;
	}
	options->resolve |= format_has_word(options->words, "names");
	options->remove_args |= format_has_word(options->words, "no-args");
	options->are_tables_named = options->tables != NULL;
	if (at > 0 && options->command)
		rc = command_take(options->command, options, argv + at, after, err);
	for (; at > 0 && !options->command && argv[at]; at++)
		*ARRAY_ADD(&options->inputs) = argv[at];
	if (format)
		options->format = format;
	if (at < 0 || rc || options->help || options->version)
		return at < 0 ? at : rc;

	size_t used = 0, size = sizeof(options->filters);

	for (size_t i = 0; i < ROWS && used < size; i++)
		if (options->values.given[i] && rows[i].is_filter)
			used += (size_t)snprintf(options->filters + used, size - used, "%s--%s=%s",
						 used ? " " : "", rows[i].option,
						 options->values.given[i]);
	if (options->tables && (!options->report || !*options->report))
		name_reports(options);
	*options_given(&table, options, "report", strlen("report")) = options->report;
	/* with a report, hide the format: options_check() would take it for one of streams */
	*options_given(&table, options, "format", strlen("format")) = options->report ? NULL
								      : options->format
									      ? options->format
									      : "text";
	/* for so small a number, the user has probably forgotten the unit */
	if (options->max_memory.is_set && options->max_memory.value < MEMORY_MIN)
		return error_set(
			err, EINVAL,
			"--max-memory=%s: the minimum is 1MiB. A number without a unit is "
			"in bytes: write 512MiB or 2GiB",
			*options_given(&table, options, "max-memory", strlen("max-memory")));
	rc = options_check(&table, options, err);
	/* if a command started this program, say "report NAME", not "--report=NAME", in errors */
	for (char *text = err->text; rc && options->command && (text = strstr(text, option));) {
		memmove(text + strlen(word), text + strlen(option),
			strlen(text + strlen(option)) + 1);
		memcpy(text, word, strlen(word));
	}
	return rc;
}

void request_print_help(FILE *file, enum option_form form)
{
	options_print(file, &table, form);
}

/* Whether the help for a report lists the option. asked: options that request only this report. */
static bool is_of_report(const struct option_row *row, struct options *asked)
{
	static const char choices[] =
		" function module thread process since until size format output force "
		"now strict quiet ";
	bool is_positive = row->with && *row->with != '!';
	char word[32];

	snprintf(word, sizeof(word), " %s ", row->option);
	if (strstr(choices, word))
		return is_positive || options_is_of_use(&table, asked, row);
	return is_positive && options_is_of_use(&table, asked, row);
}

void request_print_report_help(FILE *file, const char *report, enum option_form form)
{
	struct options asked = { 0 };

	*options_given(&table, &asked, "report", strlen("report")) = report;
	if (!strcmp(report, "check"))
		*options_given(&table, &asked, "fail-on", strlen("fail-on")) = "";
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].text && rows[i].kind != OPTION_renamed &&
		    is_of_report(&rows[i], &asked))
			options_print_row(file, &rows[i], form);
}

void request_free(struct options *options)
{
	free(options->inputs.items);
	free(options->source_roots.items);
	free(options->baseline.items);
	free(options->suppress.items);
	free(options->maps.items);
	free(options->paths);
	globfree(&options->found);
}
