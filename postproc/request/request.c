/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invocation.h"
#include "formats/writer.h"
#include "command.h"
#include "postproc/report/report.h"

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

_Static_assert(ROWS <= OPTIONS_MAX, "option_values has a place for each row");

static const struct option_table table = { .rows = rows, .count = ROWS };

static void say_filters(struct options *options)
{
	size_t used = 0, size = sizeof(options->filters);

	for (size_t i = 0; i < ROWS && used < size; i++)
		if (options->values.given[i] && rows[i].is_filter)
			used += (size_t)snprintf(options->filters + used, size - used, "%s--%s=%s",
						 used ? " " : "", rows[i].option,
						 options->values.given[i]);
}

/* Sets the reports from --table, if no report was named. */
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

/*
 * Splits the format NAME:WORD,WORD. The words `names` and `no-args` set the options of the letters
 * r and a.
 */
static void split_format(struct options *options)
{
	size_t length = options->format ? strcspn(options->format, ":") : 0;

	if (options->format && options->format[length] && length < sizeof(options->format_name)) {
		options->words = options->format + length + 1;
		memcpy(options->format_name, options->format, length);
		options->format = options->format_name;
	}
	options->resolve |= format_has_word(options->words, "names");
	options->remove_args |= format_has_word(options->words, "no-args");
}

/* Refuses a --max-memory that is too small for any trace: most likely the unit was forgotten. */
static int check_memory(struct options *options, struct error *err)
{
	const option_size *most = &options->max_memory;

	if (!most->is_set || most->value >= MEMORY_MIN)
		return 0;
	return error_set(err, EINVAL,
			 "--max-memory=%s: the minimum is 1MiB. A number without a unit is in "
			 "bytes: write 512MiB or 2GiB",
			 *options_given(&table, options, "max-memory", strlen("max-memory")));
}

/*
 * Checks the combination of options. If a command of holdtrace started this program, errors say
 * "report NAME" instead of "--report=NAME".
 */
static int check_use(struct options *options, struct error *err)
{
	static const char option[] = "--report=", word[] = "report ";
	int rc = options_check(&table, options, err);

	for (char *at = err->text; rc && options->command && (at = strstr(at, option));) {
		memmove(at + strlen(word), at + strlen(option), strlen(at + strlen(option)) + 1);
		memcpy(at, word, strlen(word));
	}
	return rc;
}

int request_read(struct options *options, int argc, char **argv, struct error *err)
{
	size_t prefix = strlen(INVOCATION_COMMAND);
	const char *format = NULL;
	int at, rc = 0;

	if (argc > 1 && !strncmp(argv[1], INVOCATION_COMMAND, prefix)) {
		options->command = argv[1] + prefix;
		argc--;
		argv++;
	}
	/* started by the launcher at the end of a run: only options and files follow */
	if (options->command && !strcmp(options->command, "run")) {
		options->command = NULL;
		options->newest = options->is_screen = true;
	}
	/* the first argument is the name of the viewer */
	if (options->command && !strcmp(options->command, "view") && argc > 1) {
		format = argv[1];
		argc--;
		argv++;
	}
	at = options_read(&table, options, argc, argv, err);
	split_format(options);
	options->are_tables_named = options->tables != NULL;
	if (at > 0 && options->command)
		rc = command_take(options->command, options, argv + at, err);
	for (; at > 0 && !options->command && argv[at]; at++)
		*ARRAY_ADD(&options->inputs) = argv[at];
	if (format)
		options->format = format;
	if (at < 0 || rc || options->help || options->version)
		return at < 0 ? at : rc;
	say_filters(options);
	if (options->tables && (!options->report || !*options->report))
		name_reports(options);
	*options_given(&table, options, "report", strlen("report")) = options->report;
	/* for options_check(): the format of streams, which a report does not have */
	*options_given(&table, options, "format", strlen("format")) = options->report ? NULL
								      : options->format
									      ? options->format
									      : "text";
	rc = check_memory(options, err);
	return rc ? rc : check_use(options, err);
}

void request_print_help(FILE *file, enum option_form form)
{
	options_print(file, &table, form);
}

/*
 * Whether the help for a report lists the option. asked: options in which only this report is set.
 */
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
	free(options->suppress.items);
	free(options->maps.items);
	free(options->paths);
}
