/* SPDX-License-Identifier: MIT */
/*
 * Verdicts as lines that editors and forges read: messages as gcc prints them (FILE:LINE: error:
 * TEXT [CHECK]), and workflow commands of GitHub (::error file=FILE,line=LINE,title=TITLE::TEXT).
 */
#include <stdio.h>
#include <string.h>

#include "postproc/print/tables.h"
#include "verdicts.h"

#define TEXT_MAX  1536
#define NOTES_MAX 8 /* maximum number of callers that follow a message in gcc's format */

struct message {
	const struct tables_job *job;
	const struct limit_verdict *verdict;
	const struct verdict_site *site; /* NULL: the message is about the limit */
	struct verdict_place place;
	char text[TEXT_MAX];
};

typedef void print_message_as(const struct message *message);

/*
 * Prints a message for each site of a broken limit, up to --top of them. Prints a message about the
 * limit itself if its result is unknown, or if a broken limit has no sites or more than --top
 * sites.
 */
static void print_verdict(struct message *message, print_message_as *print)
{
	const struct limit_verdict *verdict = message->verdict;
	const struct tables_job *job = message->job;
	size_t top = job->run->options->top, count = verdict->sites.count;
	size_t shown = top && top < count ? top : count;
	size_t used;

	if (verdict->verdict == VERDICT_KEPT)
		return;
	for (size_t i = 0; verdict->verdict == VERDICT_BROKEN && i < shown; i++) {
		message->site = &verdict->sites.items[i];
		verdict_find(job->naming, job->style->source, message->site, &message->place);
		verdict_say(verdict, message->site, message->text, TEXT_MAX);
		verdict_say_site(job->naming, message->site, message->text, TEXT_MAX);
		print(message);
	}
	if (verdict->verdict == VERDICT_BROKEN && count && shown == count)
		return;
	message->site = NULL;
	message->place.has_line = false;
	verdict_say(verdict, NULL, message->text, TEXT_MAX);
	used = strlen(message->text);
	if (shown < count)
		snprintf(message->text + used, TEXT_MAX - used, "; %zu more call sites",
			 count - shown);
	print(message);
}

static void print_all(const struct tables_job *job, print_message_as *print)
{
	struct message message = { .job = job };

	for (size_t i = 0; i < job->style->verdicts->count; i++) {
		message.verdict = &job->style->verdicts->items[i];
		print_verdict(&message, print);
	}
}

/* ---- gcc ---- */

static void print_note(const struct message *message, const struct source_line *line,
		       const struct naming_symbol *symbol)
{
	struct out *out = message->job->out;

	out_name(out, line->path, strlen(line->path), ESCAPE_ALL);
	out_format(out, ":%u: note: called from ", line->line);
	if (symbol->function)
		out_name(out, symbol->function, strlen(symbol->function), ESCAPE_ALL);
	out_char(out, '\n');
}

static void print_gcc(const struct message *message)
{
	const struct verdict_place *place = &message->place;
	struct out *out = message->job->out;
	struct source_line caller;
	unsigned notes = 0;

	if (place->has_line) {
		out_name(out, place->line.path, strlen(place->line.path), ESCAPE_ALL);
		out_format(out, ":%u", place->line.line);
	} else {
		out_text(out, "holdtrace");
	}
	out_text(out, ": error: ");
	out_name(out, message->text, strlen(message->text), ESCAPE_ALL);
	out_format(out, " [holdtrace-%s]\n", message->verdict->limit->row->name);
	for (size_t i = place->line.frame + 1;
	     place->has_line && i < place->count && notes < NOTES_MAX; i++)
		if (source_line(message->job->style->source, &place->symbols[i], &caller)) {
			print_note(message, &caller, &place->symbols[i]);
			notes++;
		}
}

void tables_print_gcc(const struct tables_job *job)
{
	print_all(job, print_gcc);
}

/* ---- GitHub ---- */

/*
 * Replaces the characters in `encoded` by percent codes. GitHub's runner decodes %25 everywhere,
 * but %3A and %2C only in properties.
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

static void print_github(const struct message *message)
{
	const struct limit_verdict *verdict = message->verdict;
	struct out *out = message->job->out;
	char title[200];

	out_text(out, "::error ");
	if (message->place.has_line) {
		out_text(out, "file=");
		put_encoded(out, message->place.line.path, "%:,");
		out_format(out, ",line=%u,", message->place.line.line);
	}
	snprintf(title, sizeof(title), "holdtrace: %.*s is %s", (int)verdict->limit->length,
		 verdict->limit->text, verdict->verdict == VERDICT_BROKEN ? "broken" : "unknown");
	out_text(out, "title=");
	put_encoded(out, title, "%:,");
	out_text(out, "::");
	put_encoded(out, message->text, "%");
	out_char(out, '\n');
}

void tables_print_github(const struct tables_job *job)
{
	print_all(job, print_github);
}
