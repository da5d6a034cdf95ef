/* SPDX-License-Identifier: MIT */
#include "choice.h"

#include <errno.h>
#include <string.h>

#include "base/invocation.h"
#include "base/suggest.h"
#include "postproc/viewers/viewers.h"

/* The name of the default report, which is about the whole run. */
static const char report_whole[] = "summary";

static bool has_fold(const struct choice *choice, const struct report *fold)
{
	for (unsigned i = 0; i < choice->count; i++)
		if (choice->folds[i] == fold)
			return true;
	return false;
}

static bool is_asked(const struct choice *choice, const struct report_row *row)
{
	for (unsigned i = 0; i < choice->row_count; i++)
		if (choice->rows[i] == row)
			return true;
	return false;
}

/* Adds a fold to the list, unless an earlier report has added it. */
static int add_fold(struct choice *choice, const struct report *fold, struct error *err)
{
	if (has_fold(choice, fold))
		return 0;
	if (choice->count == CHOICE_MAX)
		return error_set(err, EINVAL, "--report: too many reports: ask for fewer at once");
	choice->folds[choice->count++] = fold;
	choice->wants_ledger |= fold->wants_ledger;
	choice->wants_summary |= fold->wants_summary;
	choice->wants_directories |= fold->wants_directories;
	choice->skips_calls = fold->skips_calls && (choice->skips_calls || choice->count == 1);
	choice->wants_base |= fold->wants_base;
	choice->takes_by |= fold->takes_by;
	return 0;
}

static int add_words(struct choice *choice, const char *words, struct error *err)
{
	for (size_t length; *words; words += length + (words[length] == ',')) {
		const struct report_row *row;

		length = strcspn(words, ",");
		row = report_find(words, length);
		if (!row) {
			const char *instead = report_renamed(words, length);
			struct suggest suggest;

			if (instead)
				return error_set(err, EINVAL, "report %.*s: use %s instead",
						 (int)length, words, instead);
			suggest_begin(&suggest, words, length);
			for (unsigned i = 0; report_at(i); i++)
				suggest_try(&suggest, report_at(i)->name);
			if (invocation_is_launcher())
				return error_set(
					err, EINVAL,
					"report %.*s: no such report%s; `holdtrace report list` "
					"lists all reports. For a file with that name write ./%.*s",
					(int)length, words, suggest_text(&suggest), (int)length,
					words);
			return error_set(
				err, EINVAL,
				"--report=%.*s: no such report%s; --report=list lists all reports",
				(int)length, words, suggest_text(&suggest));
		}
		if (is_asked(choice, row))
			continue;
		if (choice->row_count == CHOICE_MAX)
			return error_set(err, EINVAL,
					 "--report: too many reports: ask for fewer at once");
		choice->rows[choice->row_count++] = row;
	}
	return 0;
}

static int refuse_table(const struct choice *choice, const char *name, size_t length,
			struct error *err)
{
	enum table_id id = report_table(name, length);
	struct suggest suggest;

	if (id < TABLE_ID_COUNT)
		return error_set(err, EINVAL,
				 "--table=%.*s: this table belongs to the report %s, not to %s",
				 (int)length, name, report_of(id)->name, choice->rows[0]->name);
	suggest_begin(&suggest, name, length);
	for (id = 0; id < TABLE_ID_COUNT; id++)
		if (!choice->row_count || is_asked(choice, report_of(id)))
			suggest_try(&suggest, table_facts(id).name);
	return error_set(err, EINVAL,
			 "--table=%.*s: no such table%s; holdtrace-report(5) lists all tables",
			 (int)length, name, suggest_text(&suggest));
}

static int take_tables(struct choice *choice, const char *names, struct error *err)
{
	choice->is_of_tables = names != NULL;
	for (unsigned id = 0; id < TABLE_ID_COUNT; id++)
		choice->tables[id] = !names || id == TABLE_limits;
	for (size_t length; names && *names; names += length + (names[length] == ',')) {
		enum table_id id;

		length = strcspn(names, ",");
		id = report_table(names, length);
		if (id == TABLE_ID_COUNT || !is_asked(choice, report_of(id)))
			return refuse_table(choice, names, length, err);
		choice->tables[id] = true;
	}
	return 0;
}

/*
 * Whether a fold applies to the input. If the report has a fold for directories, that fold applies
 * only to directories, and the other folds only to traces. If the report has a fold for one object,
 * that fold applies only with --object, and the other folds only without --object.
 */
static bool is_due(const struct report *fold, const struct report_row *row,
		   const struct choice_request *request)
{
	bool has_of_directories = false, has_of_object = false;

	for (unsigned id = 0; id < TABLE_ID_COUNT; id++)
		if (report_of(id) == row) {
			has_of_directories |= report_fold(id)->wants_directories;
			has_of_object |= report_fold(id)->wants_object;
		}
	return (!has_of_directories || fold->wants_directories == request->are_directories) &&
	       (!has_of_object || fold->wants_object == request->has_object);
}

/* Adds the folds that fill the requested tables; if `always`, even folds that is_due() refuses. */
static int add_folds(struct choice *choice, const struct choice_request *request, bool always,
		     struct error *err)
{
	int rc = 0;

	for (unsigned i = 0; i < choice->row_count; i++)
		for (unsigned id = 0; rc == 0 && id < TABLE_ID_COUNT; id++)
			if (choice->tables[id] && report_of(id) == choice->rows[i] &&
			    (always || is_due(report_fold(id), choice->rows[i], request)))
				rc = add_fold(choice, report_fold(id), err);
	return rc;
}

/* Refuses a table of --table if none of the chosen folds fills it. */
static int check_named(const struct choice *choice, const struct choice_request *request,
		       struct error *err)
{
	for (unsigned id = 0; request->are_tables_named && id < TABLE_ID_COUNT; id++) {
		const struct report *fold = report_fold(id);

		if (!choice->tables[id] || !is_asked(choice, report_of(id)) ||
		    has_fold(choice, fold))
			continue;
		return error_set(
			err, EINVAL, "--table=%s: %s", table_facts(id).name,
			fold->wants_directories ? "this table is about a directory of traces: name "
						  "a directory, and request no other table"
			: fold->wants_object
				? "this table is about one object: add --object=ADDRESS"
			: request->has_object ? "this table is about all objects: remove --object "
						"and the tables about one object"
					      : "this table is about a trace, not about a "
						"directory: remove the tables about directories");
	}
	return 0;
}

/*
 * Adds the folds of the PAGE rows of reports.def. Rows with SCREEN apply only if the page shows
 * nothing but the default report; rows with EVERY always apply.
 */
static int add_for_page(struct choice *choice, struct error *err)
{
	enum { EVERY, SCREEN };
	static const struct {
		int of;
		const struct report *fold;
	} rows[] = {
#define PAGE(of, fold) { of, &report_##fold },
#include "reports.def"
	};
	bool is_of_screen = choice->count == 1 && choice->folds[0]->is_screen;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].of == EVERY || is_of_screen)
			rc = add_fold(choice, rows[i].fold, err);
	for (unsigned id = 0; id < TABLE_ID_COUNT; id++)
		choice->tables[id] |= !is_asked(choice, report_of(id));
	return rc;
}

static int add_tables(struct choice *choice, const struct choice_request *request,
		      struct error *err)
{
	bool is_whole = !strcmp(request->words, report_whole) && !request->tables;
	/* If no report was named, some formats have a default report of their own. */
	const char *words = is_whole && request->format->flags & FORMAT_TREES	? "tree"
			    : is_whole && request->format->flags & FORMAT_MODEL ? "model"
										: request->words;
	int rc = add_words(choice, words, err);

	if (rc == 0)
		rc = take_tables(choice, request->tables, err);
	if (rc == 0)
		rc = add_folds(choice, request, false, err);
	/*
	 * only tables of directories or of one object were requested: add their folds anyway, so
	 * that the error of check_named() names the table
	 */
	if (rc == 0 && !choice->count && request->tables)
		rc = add_folds(choice, request, true, err);
	if (rc == 0 && !choice->count)
		rc = error_set(err, EINVAL, "no report is named; %s lists all reports",
			       invocation_is_launcher() ? "`holdtrace report list`"
							: "--report=list");
	if (rc == 0 && choice->wants_directories && choice->count > 1)
		rc = error_set(err, EINVAL,
			       "--table=traces is about directories: remove the other tables");
	if (rc == 0)
		rc = check_named(choice, request, err);
	if (rc == 0 && request->format->flags & FORMAT_PAGE && !choice->wants_directories)
		rc = add_for_page(choice, err);
	return rc;
}

int choice_make(struct choice *choice, const struct choice_request *request, struct error *err)
{
	bool is_whole = !strcmp(request->words, report_whole) && !request->tables;
	int rc;

	*choice = (struct choice){ .count = 0 };
	/* `model` and the formats of viewers always show the whole run */
	if (!is_whole &&
	    (request->format->kind == FORMAT_VIEWER || request->format->flags & FORMAT_MODEL))
		return error_set(err, EINVAL,
				 "--format=%s shows a whole run, not the report %s: %s",
				 request->format->name, request->words,
				 invocation_is_launcher() ? "leave out the name of the report"
							  : "use --report=summary");
	rc = request->format->kind == FORMAT_VIEWER
		     ? add_fold(choice, viewer_find(request->format->name), err)
		     : add_tables(choice, request, err);
	choice->shown = choice->count;
	/* limits are checked against tables, so add the folds that fill these tables */
	for (size_t i = 0; rc == 0 && request->limits && i < request->limits->count; i++) {
		const struct limit_row *row = request->limits->items[i].row;
		const char *also;

		rc = add_fold(choice, report_fold(report_table(row->table, strlen(row->table))),
			      err);
		for (size_t at = 0; rc == 0 && (also = limit_also(row, &at)) != NULL;)
			rc = add_fold(choice, report_fold(report_table(also, strlen(also))), err);
	}
	return rc;
}
