/* SPDX-License-Identifier: MIT */
/*
 * Prints verdicts as test results in JUnit's XML, as errors in memcheck's XML (--xml=yes;
 * valgrind's docs/internals/xml-output-protocol4.txt), and as errors in memcheck's text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/writer.h"
#include "postproc/print/tables.h"
#include "verdicts.h"

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

/* ---- JUnit ---- */

/* Writes a line for each error: "FILE:LINE: the sentence; the functions". */
static void put_line(void *writer, const struct verdict_error *error)
{
	struct out *out = writer;

	if (error->has_line) {
		put(out, error->line.path);
		out_format(out, ":%u: ", error->line.line);
	}
	put(out, error->text);
	out_char(out, '\n');
}

static void put_case(const struct tables_job *job, const struct limit_verdict *verdict)
{
	static const char *const tags[] = { "failure", "error" };
	const struct limit *limit = verdict->limit;
	struct out *out = job->out;
	char text[VERDICT_TEXT_MAX];

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
	verdicts_errors(job, verdict, put_line, out);
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
	snprintf(text, sizeof(text), "holdtrace %s", verdict_process(job)->name ?: "?");
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
 * Returns the kind of an error. Readers accept only memcheck's kinds and, before protocol 5, only
 * kinds about memory. So any other error gets the kind ClientCheck: an error that the program
 * itself reports.
 */
static const char *kind_of(const struct verdict_error *error, unsigned protocol)
{
	const struct limit_row *row = error->verdict->limit->row;
	bool is_leak = !strcmp(row->table, "leaks");

	if (error->verdict->verdict != VERDICT_BROKEN)
		return "ClientCheck";
	if (!strcmp(row->name, "unreachable"))
		return "Leak_DefinitelyLost";
	if (is_leak && !strcmp(row->class, "memory"))
		return "Leak_PossiblyLost";
	if (protocol < 5)
		return "ClientCheck";
	if (!strcmp(row->table, "fd_misuses"))
		return *row->class ? "FdBadClose" : "FdBadUse";
	return is_leak && (!strcmp(row->class, "fd") || !strcmp(row->class, "fp")) ? "FdNotClosed"
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

static void put_stack(struct out *out, const struct verdict_error *error)
{
	out_text(out, "<stack>\n");
	for (size_t i = 0; i < error->count; i++) {
		const struct naming_symbol *symbol = &error->symbols[i];

		out_format(out, "<frame>\n<ip>0x%" PRIX64 "</ip>\n", symbol->offset);
		if (symbol->module)
			put_element(out, "obj", symbol->module);
		if (symbol->function)
			put_element(out, "fn", symbol->function);
		put_file(out, symbol);
		out_text(out, "</frame>\n");
	}
	/* the format requires at least one frame */
	if (!error->count)
		out_text(out, "<frame>\n<ip>0x0</ip>\n</frame>\n");
	out_text(out, "</stack>\n");
}

static unsigned protocol_of(const struct tables_job *job)
{
	const char *words = job->style->words;

	return format_has_word(words, "6") ? 6 : format_has_word(words, "5") ? 5 : 4;
}

static void put_xml_error(void *writer, const struct verdict_error *error)
{
	const char *kind = kind_of(error, protocol_of(error->job));
	bool is_leak = !strncmp(kind, "Leak_", 5) && error->site;
	struct out *out = writer;

	out_format(out, "<error>\n<unique>0x%zx</unique>\n<tid>1</tid>\n<kind>%s</kind>\n",
		   error->index, kind);
	if (!strncmp(kind, "Fd", 2) && error->site && error->site->fd >= 0)
		out_format(out, "<fd>%" PRId64 "</fd>\n", error->site->fd);
	out_text(out, is_leak ? "<xwhat>\n<text>" : "<what>");
	out_xml(out, error->text, error->sentence);
	if (is_leak)
		out_format(out,
			   "</text>\n<leakedbytes>%" PRIu64 "</leakedbytes>\n<leakedblocks>%" PRIu64
			   "</leakedblocks>\n</xwhat>\n",
			   error->site->bytes, error->site->blocks);
	else
		out_text(out, "</what>\n");
	put_stack(out, error);
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

void tables_print_memcheck(const struct tables_job *job)
{
	const struct summary_process *process = verdict_process(job);
	const struct summary *run = job->run->summary;
	uint64_t suppressed = job->style->verdicts->suppressed;
	struct out *out = job->out;
	size_t count;

	out_format(out,
		   "<?xml version=\"1.0\"?>\n<valgrindoutput>\n"
		   "<protocolversion>%u</protocolversion>\n"
		   "<protocoltool>memcheck</protocoltool>\n<preamble>\n",
		   protocol_of(job));
	put_element(out, "line", "holdtrace " PACKAGE_VERSION ", in the format of memcheck");
	out_format(out, "</preamble>\n<pid>%u</pid>\n<ppid>%u</ppid>\n<tool>memcheck</tool>\n",
		   process->pid, process->parent_pid);
	out_text(out, "<args>\n<vargv>\n<exe>holdtrace</exe>\n</vargv>\n<argv>\n");
	put_element(out, "exe", process->executable ?: process->name ?: "?");
	out_text(out, "</argv>\n</args>\n");
	put_status(job, "RUNNING", 0);
	count = verdicts_errors(job, NULL, put_xml_error, out);
	put_status(job, "FINISHED", run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	out_text(out, "<errorcounts>\n</errorcounts>\n<suppcounts>\n</suppcounts>\n");
	if (protocol_of(job) >= 6)
		out_format(out,
			   "<error_summary>\n<errors>%zu</errors>\n<error_contexts>%zu"
			   "</error_contexts>\n<suppressed>%" PRIu64
			   "</suppressed>\n<suppressed_contexts>%" PRIu64
			   "</suppressed_contexts>\n</error_summary>\n",
			   count, count, suppressed, suppressed);
	out_text(out, "</valgrindoutput>\n");
}

/* ---- memcheck's text ---- */

/* Begins a line with the PID of the process, as in valgrind's output. */
static void put_prefix(const struct tables_job *job)
{
	out_format(job->out, "==%u== ", (unsigned)verdict_process(job)->pid);
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

static void put_text_error(void *writer, const struct verdict_error *error)
{
	const struct tables_job *job = error->job;
	const char *kind = kind_of(error, 4);
	struct out *out = writer;

	put_prefix(job);
	/* ctest recognises a leak by this sentence */
	if (error->site && error->site->blocks && !strncmp(kind, "Leak_", 5))
		out_format(out,
			   "%" PRIu64 " bytes in %" PRIu64
			   " blocks are %s lost in loss record %zu of %zu",
			   error->site->bytes, error->site->blocks,
			   !strcmp(kind, "Leak_DefinitelyLost") ? "definitely" : "possibly",
			   error->index + 1, error->total);
	else
		out_name(out, error->text, error->sentence, ESCAPE_ALL);
	out_char(out, '\n');
	for (size_t i = 0; i < error->count; i++)
		put_frame(job, &error->symbols[i], i ? "by" : "at");
	put_prefix(job);
	out_char(out, '\n');
}

void tables_print_valgrind(const struct tables_job *job)
{
	uint64_t suppressed = job->style->verdicts->suppressed;
	size_t count = verdicts_errors(job, NULL, put_text_error, job->out);

	put_prefix(job);
	out_format(job->out,
		   "ERROR SUMMARY: %zu errors from %zu contexts (suppressed: %" PRIu64
		   " from %" PRIu64 ")\n",
		   count, count, suppressed, suppressed);
}
