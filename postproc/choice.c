/* SPDX-License-Identifier: MIT */
#include "postproc/choice.h"

#include <errno.h>
#include <string.h>

#include "base/invocation.h"
#include "base/suggest.h"
#include "postproc/viewers/viewers.h"

/* What is asked for without the name of a report. */
static const char report_whole[] = "summary";

static int refuse(const char *word, size_t length, struct error *err)
{
	struct suggest suggest;

	suggest_begin(&suggest, word, length);
	for (unsigned i = 0; report_at(i); i++)
		suggest_try(&suggest, report_at(i)->name);
	for (unsigned i = 0; report_set_at(i); i++)
		suggest_try(&suggest, report_set_at(i)->name);
	if (invocation_is_launcher())
		return error_set(err, EINVAL,
				 "report %.*s: no such report%s; `holdtrace report list` lists "
				 "them, and a file of that name is given as ./%.*s",
				 (int)length, word, suggest_text(&suggest), (int)length, word);
	return error_set(err, EINVAL, "--report=%.*s: no such report%s; --report=list lists them",
			 (int)length, word, suggest_text(&suggest));
}

/* Once, whoever asks for it. */
static int add(struct choice *choice, const struct report_row *row, struct error *err)
{
	for (unsigned i = 0; i < choice->count; i++)
		if (choice->rows[i] == row)
			return 0;
	if (choice->count == CHOICE_MAX)
		return error_set(err, EINVAL, "--report: too many at once");
	choice->rows[choice->count++] = row;
	choice->wants_ledger |= row->report->wants_ledger;
	choice->wants_summary |= row->report->wants_summary;
	choice->wants_directories |= row->report->wants_directories;
	choice->skips_calls =
		row->report->skips_calls && (choice->skips_calls || choice->count == 1);
	choice->wants_base |= row->report->wants_base;
	choice->takes_by |= row->report->takes_by;
	return 0;
}

static int add_named(struct choice *choice, const char *name, struct error *err)
{
	return add(choice, report_find(name, strlen(name)), err);
}

/* Reports and sets of them. */
static int add_words(struct choice *choice, const char *words, struct error *err)
{
	for (size_t length; *words; words += length + (words[length] == ',')) {
		const struct report_row *row;
		const struct report_set *set;
		int rc;

		length = strcspn(words, ",");
		row = report_find(words, length);
		set = report_set_find(words, length);
		rc = row   ? add(choice, row, err)
		     : set ? add_words(choice, set->reports, err)
			   : refuse(words, length, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int check(const struct choice *choice, struct error *err)
{
	if (!choice->count)
		return error_set(err, EINVAL, "--report: which? --report=list lists them");
	if (choice->wants_directories && choice->count > 1)
		return error_set(err, EINVAL,
				 "--report=traces is of directories: ask for it alone");
	return 0;
}

/* PAGE rows of reports.def: what every page has, and what one of a screen alone has. */
static int add_for_page(struct choice *choice, struct error *err)
{
	enum { EVERY, SCREEN };
	static const struct {
		int of;
		const char *name;
	} rows[] = {
#define PAGE(of, name) { of, #name },
#include "postproc/reports.def"
	};
	bool is_of_screen = choice->count == 1 && choice->rows[0]->report->is_screen;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].of == EVERY || is_of_screen)
			rc = add_named(choice, rows[i].name, err);
	return rc;
}

/* Those whose sheets tell whether limits are kept. */
static int add_for_limits(struct choice *choice, const struct limits *limits, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && limits && i < limits->count; i++)
		rc = add_named(choice, limits->items[i].row->report, err);
	return rc;
}

/* A viewer shows the whole run. */
static int add_viewer(struct choice *choice, const char *words, const struct writer *format,
		      struct error *err)
{
	if (strcmp(words, report_whole) != 0)
		return error_set(err, EINVAL,
				 "--format=%s is of a whole run, not of the report %s: %s",
				 format->name, words,
				 invocation_is_launcher() ? "leave that word out"
							  : "ask for --report=summary");
	return add(choice, viewer_find(format->name), err);
}

/* Of a run, trees alone have the tree. */
static int add_sheets(struct choice *choice, const char *words, const struct writer *format,
		      struct error *err)
{
	bool is_tree = format->flags & FORMAT_TREES && !strcmp(words, report_whole);
	int rc = add_words(choice, is_tree ? "tree" : words, err);

	if (rc == 0)
		rc = check(choice, err);
	if (rc == 0 && format->flags & FORMAT_PAGE && !choice->wants_directories)
		rc = add_for_page(choice, err);
	return rc;
}

int choice_make(struct choice *choice, const char *words, const struct limits *limits,
		const struct writer *format, struct error *err)
{
	int rc;

	*choice = (struct choice){ .count = 0 };
	rc = format->kind == FORMAT_VIEWER ? add_viewer(choice, words, format, err)
					   : add_sheets(choice, words, format, err);
	choice->shown = choice->count;
	return rc ? rc : add_for_limits(choice, limits, err);
}
