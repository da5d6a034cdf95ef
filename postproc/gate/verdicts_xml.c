/* SPDX-License-Identifier: MIT */
/*
 * Verdicts in three formats: test results in JUnit's XML, errors in memcheck's XML (--xml=yes;
 * docs/internals/xml-output-protocol4.txt in valgrind's sources), and errors in memcheck's text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "postproc/print/tables.h"
#include "verdicts.h"

#define TEXT_MAX 1536

static void put(struct out *out, const char *text)
{
	out_xml(out, text, strlen(text));
}

static void put_element(struct out *out, const char *name, const char *text)
{
	out_format(out, "<%s>", name);
	put(out, text);
	out_format(out, "</%s>\n", name);
}

static const char *program_of(const struct tables_job *job)
{
	const struct summary *run = job->run->summary;

	return run->processes.count && run->processes.items[0].name ? run->processes.items[0].name
								    : "?";
}

/* ---- JUnit ---- */

/* Writes a line for each site: "FILE:LINE: the sentence; the functions". */
static void put_sites(const struct tables_job *job, const struct limit_verdict *verdict)
{
	struct verdict_place place;
	char text[TEXT_MAX];

	for (size_t i = 0; i < verdict->sites.count; i++) {
		const struct verdict_site *site = &verdict->sites.items[i];

		verdict_find(job->naming, job->style->source, site, &place);
		if (place.has_line) {
			put(job->out, place.line.path);
			out_format(job->out, ":%u: ", place.line.line);
		}
		verdict_say(verdict, site, text, sizeof(text));
		verdict_say_site(job->naming, site, text, sizeof(text));
		put(job->out, text);
		out_char(job->out, '\n');
	}
}

static void put_case(const struct tables_job *job, const struct limit_verdict *verdict)
{
	static const char *const tags[] = { "failure", "error" };
	const struct limit *limit = verdict->limit;
	struct out *out = job->out;
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "%.*s (%s)", (int)limit->length, limit->text,
		 limit->row->meaning);
	out_text(out, "<testcase classname=\"holdtrace\" name=\"");
	put(out, text);
	if (verdict->verdict == VERDICT_KEPT) {
		out_text(out, "\" time=\"0\"/>\n");
		return;
	}
	verdict_say(verdict, NULL, text, sizeof(text));
	out_format(out, "\" time=\"0\"><%s type=\"%s\" message=\"", tags[verdict->verdict],
		   limit->row->name);
	put(out, text);
	out_text(out, "\">");
	if (verdict->verdict == VERDICT_BROKEN)
		put_sites(job, verdict);
	out_format(out, "</%s></testcase>\n", tags[verdict->verdict]);
}

void tables_print_junit(const struct tables_job *job)
{
	const struct verdicts *verdicts = job->style->verdicts;
	const struct summary *run = job->run->summary;
	uint64_t ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	size_t counts[VERDICTS] = { 0 };
	struct out *out = job->out;
	char text[200];

	for (size_t i = 0; i < verdicts->count; i++)
		counts[verdicts->items[i].verdict]++;
	snprintf(text, sizeof(text), "holdtrace %s", program_of(job));
	out_text(out,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");
	put(out, text);
	out_format(out,
		   "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"%" PRIu64
		   ".%03" PRIu64 "\">\n",
		   verdicts->count, counts[VERDICT_BROKEN], counts[VERDICT_UNKNOWN],
		   ns / 1000000000, ns / 1000000 % 1000);
	for (size_t i = 0; i < verdicts->count; i++)
		put_case(job, &verdicts->items[i]);
	out_text(out, "</testsuite>\n</testsuites>\n");
}

/* ---- memcheck ---- */

/*
 * The kind of an error. Readers accept only kinds that memcheck has, so an error that is not about
 * memory gets the kind ClientCheck: errors that the program itself reports.
 */
static const char *kind_of(const struct limit_verdict *verdict)
{
	const struct limit_row *row = verdict->limit->row;

	if (verdict->verdict != VERDICT_BROKEN)
		return "ClientCheck";
	if (!strcmp(row->name, "unreachable"))
		return "Leak_DefinitelyLost";
	return !strcmp(row->class, "memory") && !strcmp(row->table, "leaks") ? "Leak_PossiblyLost"
									     : "ClientCheck";
}

/* Writes the directory and the name of a symbol's file, if the file is known, and the line. */
static void put_file(struct out *out, const struct naming_symbol *symbol)
{
	const char *slash = symbol->file ? strrchr(symbol->file, '/') : NULL;

	if (!symbol->file)
		return;
	if (slash) {
		out_text(out, "<dir>");
		out_xml(out, symbol->file, (size_t)(slash - symbol->file));
		out_text(out, "</dir>\n");
	}
	put_element(out, "file", slash ? slash + 1 : symbol->file);
	if (symbol->line)
		out_format(out, "<line>%u</line>\n", symbol->line);
}

static void put_stack(struct out *out, const struct verdict_place *place)
{
	out_text(out, "<stack>\n");
	for (size_t i = 0; i < place->count; i++) {
		const struct naming_symbol *symbol = &place->symbols[i];

		out_format(out, "<frame>\n<ip>0x%" PRIX64 "</ip>\n", symbol->offset);
		if (symbol->module)
			put_element(out, "obj", symbol->module);
		if (symbol->function)
			put_element(out, "fn", symbol->function);
		put_file(out, symbol);
		out_text(out, "</frame>\n");
	}
	/* the format requires at least one frame */
	if (!place->count)
		out_text(out, "<frame>\n<ip>0x0</ip>\n</frame>\n");
	out_text(out, "</stack>\n");
}

/* Prints error number `index` of `count`. site NULL: the error is about the limit. */
typedef void put_error(const struct tables_job *job, const struct limit_verdict *verdict,
		       const struct verdict_site *site, size_t index, size_t count);

static void put_xml_error(const struct tables_job *job, const struct limit_verdict *verdict,
			  const struct verdict_site *site, size_t index, size_t count)
{
	const char *kind = kind_of(verdict);
	struct verdict_place place;
	struct out *out = job->out;
	char text[TEXT_MAX];

	(void)count;
	verdict_find(job->naming, job->style->source, site, &place);
	verdict_say(verdict, site, text, sizeof(text));
	out_format(out, "<error>\n<unique>0x%zx</unique>\n<tid>1</tid>\n<kind>%s</kind>\n", index,
		   kind);
	if (!strncmp(kind, "Leak_", 5) && site) {
		out_text(out, "<xwhat>\n");
		put_element(out, "text", text);
		out_format(out,
			   "<leakedbytes>%" PRIu64 "</leakedbytes>\n<leakedblocks>%" PRIu64
			   "</leakedblocks>\n</xwhat>\n",
			   site->bytes, site->blocks);
	} else {
		put_element(out, "what", text);
	}
	put_stack(out, &place);
	out_text(out, "</error>\n");
}

static void put_status(const struct tables_job *job, const char *state, uint64_t ns)
{
	out_format(job->out,
		   "<status>\n<state>%s</state>\n<time>%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64
		   ":%02" PRIu64 ".%03" PRIu64 " </time>\n</status>\n",
		   state, ns / 86400000000000, ns / 3600000000000 % 24, ns / 60000000000 % 60,
		   ns / 1000000000 % 60, ns / 1000000 % 1000);
}

static void put_head(const struct tables_job *job)
{
	const struct summary *run = job->run->summary;
	const struct summary_process *process =
		run->processes.count ? &run->processes.items[0] : NULL;
	struct out *out = job->out;

	out_text(out, "<?xml version=\"1.0\"?>\n<valgrindoutput>\n"
		      "<protocolversion>4</protocolversion>\n"
		      "<protocoltool>memcheck</protocoltool>\n<preamble>\n");
	put_element(out, "line", "holdtrace " PACKAGE_VERSION ", in the format of memcheck");
	out_format(out, "</preamble>\n<pid>%u</pid>\n<ppid>%u</ppid>\n<tool>memcheck</tool>\n",
		   process ? process->pid : 0, process ? process->parent_pid : 0);
	out_text(out, "<args>\n<vargv>\n");
	put_element(out, "exe", "holdtrace");
	out_text(out, "</vargv>\n<argv>\n");
	put_element(out, "exe",
		    process && process->executable ? process->executable : program_of(job));
	out_text(out, "</argv>\n</args>\n");
}

/*
 * Prints an error for each call site that breaks a limit, for each broken limit without call sites,
 * and for each unknown limit. print NULL: only counts the errors. Returns their number.
 */
static size_t put_errors(const struct tables_job *job, put_error *print, size_t total)
{
	const struct verdicts *verdicts = job->style->verdicts;
	size_t count = 0;

	for (size_t i = 0; i < verdicts->count; i++) {
		const struct limit_verdict *verdict = &verdicts->items[i];
		size_t sites = verdict->verdict == VERDICT_BROKEN ? verdict->sites.count : 0;

		if (verdict->verdict == VERDICT_KEPT)
			continue;
		for (size_t s = 0; print && s < sites; s++)
			print(job, verdict, &verdict->sites.items[s], count + s, total);
		if (print && !sites)
			print(job, verdict, NULL, count, total);
		count += sites ? sites : 1;
	}
	return count;
}

void tables_print_memcheck(const struct tables_job *job)
{
	const struct summary *run = job->run->summary;

	put_head(job);
	put_status(job, "RUNNING", 0);
	put_errors(job, put_xml_error, 0);
	put_status(job, "FINISHED", run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	out_text(job->out, "<errorcounts>\n</errorcounts>\n<suppcounts>\n</suppcounts>\n"
			   "</valgrindoutput>\n");
}

/* ---- memcheck's text ---- */

/* Begins a line, which in valgrind's output has the PID of the process. */
static void put_prefix(const struct tables_job *job)
{
	const struct summary *run = job->run->summary;

	out_format(job->out,
		   "==%u== ", run->processes.count ? (unsigned)run->processes.items[0].pid : 0);
}

static void put_frame(const struct tables_job *job, const struct naming_symbol *symbol,
		      const char *word)
{
	const char *function = symbol->function ? symbol->function : "???";
	const char *where = symbol->file ? symbol->file : symbol->module ? symbol->module : "?";
	const char *slash = symbol->file ? strrchr(where, '/') : NULL;
	struct out *out = job->out;

	put_prefix(job);
	out_format(out, "   %s 0x%" PRIX64 ": ", word, symbol->offset);
	out_name(out, function, strlen(function), ESCAPE_ALL);
	out_text(out, symbol->file ? " (" : " (in ");
	where = slash ? slash + 1 : where;
	out_name(out, where, strlen(where), ESCAPE_ALL);
	if (symbol->file && symbol->line)
		out_format(out, ":%u", symbol->line);
	out_text(out, ")\n");
}

static void put_text_error(const struct tables_job *job, const struct limit_verdict *verdict,
			   const struct verdict_site *site, size_t index, size_t count)
{
	const char *kind = kind_of(verdict);
	struct verdict_place place;
	struct out *out = job->out;
	char text[TEXT_MAX];

	verdict_find(job->naming, job->style->source, site, &place);
	verdict_say(verdict, site, text, sizeof(text));
	put_prefix(job);
	/* ctest recognises a leak by this sentence */
	if (site && site->blocks && !strncmp(kind, "Leak_", 5))
		out_format(out,
			   "%" PRIu64 " bytes in %" PRIu64
			   " blocks are %s lost in loss record %zu of %zu",
			   site->bytes, site->blocks,
			   !strcmp(kind, "Leak_DefinitelyLost") ? "definitely" : "possibly",
			   index + 1, count);
	else
		out_name(out, text, strlen(text), ESCAPE_ALL);
	out_char(out, '\n');
	for (size_t i = 0; i < place.count; i++)
		put_frame(job, &place.symbols[i], i ? "by" : "at");
	put_prefix(job);
	out_char(out, '\n');
}

void tables_print_valgrind(const struct tables_job *job)
{
	size_t count = put_errors(job, NULL, 0);

	put_errors(job, put_text_error, count);
	put_prefix(job);
	out_format(job->out, "ERROR SUMMARY: %zu errors from %zu contexts (suppressed: 0 from 0)\n",
		   count, count);
}
