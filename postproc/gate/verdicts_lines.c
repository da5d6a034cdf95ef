/* SPDX-License-Identifier: MIT */
/*
 * Prints verdicts as lines for editors and forges: messages like those of gcc (FILE:LINE: error:
 * TEXT [CHECK]), and workflow commands of GitHub (::error file=FILE,line=LINE,title=TITLE::TEXT).
 */
#include <stdio.h>
#include <string.h>

#include "postproc/print/tables.h"
#include "verdicts.h"

#define NOTES_MAX 8 /* maximum number of callers listed after a message in gcc's format */

/* ---- gcc ---- */

static void put_place(struct out *out, const struct source_line *line)
{
	out_name(out, line->path, strlen(line->path), ESCAPE_ALL);
	out_format(out, ":%u", line->line);
}

static void print_gcc(void *writer, const struct verdict_error *error)
{
	struct out *out = writer;
	struct source_line caller;
	unsigned notes = 0;

	if (error->has_line)
		put_place(out, &error->line);
	else
		out_text(out, "holdtrace");
	out_text(out, ": error: ");
	out_name(out, error->text, strlen(error->text), ESCAPE_ALL);
	out_format(out, " [holdtrace-%s]\n", error->verdict->limit->row->name);
	for (size_t i = error->line.frame + 1;
	     error->has_line && i < error->count && notes < NOTES_MAX; i++) {
		const char *function = error->symbols[i].function;

		if (!source_line(error->job->style->source, &error->symbols[i], &caller))
			continue;
		notes++;
		put_place(out, &caller);
		out_text(out, ": note: called from ");
		if (function)
			out_name(out, function, strlen(function), ESCAPE_ALL);
		out_char(out, '\n');
	}
}

void tables_print_gcc(const struct tables_job *job)
{
	verdicts_errors(job, NULL, print_gcc, job->out);
}

/* ---- GitHub ---- */

/*
 * Writes the text. Percent-encodes the characters that are in `encoded`. GitHub's runner decodes
 * %25 everywhere, but %3A and %2C only in properties.
 */
static void put_encoded(struct out *out, const char *text, const char *encoded)
{
	while (*text) {
		size_t plain = strcspn(text, encoded);

		out_name(out, text, plain, ESCAPE_ALL);
		text += plain;
		if (*text)
			out_format(out, "%%%02X", (unsigned char)*text++);
	}
}

static void print_github(void *writer, const struct verdict_error *error)
{
	const struct limit *limit = error->verdict->limit;
	bool is_broken = error->verdict->verdict == VERDICT_BROKEN;
	struct out *out = writer;
	char title[200];

	out_text(out, "::error ");
	if (error->has_line) {
		out_text(out, "file=");
		put_encoded(out, error->line.path, "%:,");
		out_format(out, ",line=%u,", error->line.line);
	}
	snprintf(title, sizeof(title), "holdtrace: %.*s is %s", (int)limit->length, limit->text,
		 is_broken ? "broken" : "unknown");
	out_text(out, "title=");
	put_encoded(out, title, "%:,");
	out_text(out, "::");
	put_encoded(out, error->text, "%");
	out_char(out, '\n');
}

void tables_print_github(const struct tables_job *job)
{
	verdicts_errors(job, NULL, print_github, job->out);
}
