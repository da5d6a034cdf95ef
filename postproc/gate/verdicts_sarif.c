/* SPDX-License-Identifier: MIT */
/*
 * Prints verdicts as SARIF 2.1.0 (OASIS): a rule for each limit, and a result for each call site
 * that breaks the limit. An unknown limit is a result, too, and the invocation then counts as
 * unsuccessful.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "postproc/print/tables.h"
#include "verdicts.h"

#define SCHEMA                                                                \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" \
	"sarif-schema-2.1.0.json"

/* Writes a path as a URI reference (RFC 3986). */
static void add_uri(struct json *json, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/";
	char uri[3 * sizeof(((struct source_line *)NULL)->path) + 8];
	size_t used = 0;

	if (*path == '/')
		used = (size_t)snprintf(uri, sizeof(uri), "file://");
	for (; *path && used + 4 < sizeof(uri); path++)
		if (strchr(plain, *path))
			uri[used++] = *path;
		else
			used += (size_t)snprintf(uri + used, sizeof(uri) - used, "%%%02X",
						 (unsigned char)*path);
	uri[used] = '\0';
	json_add_text(json, "uri", uri);
}

static void add_place(struct json *json, const char *path, unsigned line)
{
	json_open(json, "physicalLocation", '{');
	json_open(json, "artifactLocation", '{');
	add_uri(json, path);
	if (*path != '/')
		json_add_text(json, "uriBaseId", "%SRCROOT%");
	json_end(json);
	json_open(json, "region", '{');
	json_add_unsigned(json, "startLine", line);
	json_ends(json, 2);
}

static void add_location(struct json *json, const struct source_line *line, const char *function)
{
	add_place(json, line->path, line->line);
	if (!function)
		return;
	json_open(json, "logicalLocations", '[');
	json_begin(json, '{');
	json_add_text(json, "fullyQualifiedName", function);
	json_add_text(json, "kind", "function");
	json_ends(json, 2);
}

/* Writes a message, which SARIF wraps in an object. */
static void add_message(struct json *json, const char *key, const char *text)
{
	json_open(json, key, '{');
	json_add_text(json, "text", text);
	json_end(json);
}

static void add_stack(struct json *json, const struct verdict_error *error)
{
	struct source_line line;

	json_open(json, "stacks", '[');
	json_begin(json, '{');
	json_open(json, "frames", '[');
	for (size_t i = 0; i < error->count; i++) {
		const struct naming_symbol *symbol = &error->symbols[i];

		json_begin(json, '{');
		if (symbol->module)
			json_add_text(json, "module", symbol->module);
		json_open(json, "location", '{');
		if (source_line(error->job->style->source, symbol, &line))
			add_location(json, &line, symbol->function);
		add_message(json, "message", symbol->function ? symbol->function : "?");
		json_ends(json, 2);
	}
	json_ends(json, 3);
}

static void add_result(void *writer, const struct verdict_error *error)
{
	const struct summary_process *process = verdict_process(error->job);
	struct json *json = writer;
	char number[24];

	json_begin(json, '{');
	json_add_text(json, "ruleId", error->verdict->limit->row->name);
	json_add_text(json, "level", "error");
	add_message(json, "message", error->text);
	json_open(json, "locations", '[');
	json_begin(json, '{');
	if (error->has_line)
		add_location(json, &error->line, error->symbols[error->line.frame].function);
	else
		/* GitHub refuses a result without a location, so use the program's name */
		add_place(json, process->executable ?: process->name ?: "unknown", 1);
	json_ends(json, 2);
	if (error->count)
		add_stack(json, error);
	if (error->site) {
		snprintf(number, sizeof(number), "%016" PRIx64, verdict_fingerprint(error->site));
		json_open(json, "partialFingerprints", '{');
		json_add_text(json, "holdtraceSite/v1", number);
		json_end(json);
	}
	json_end(json);
}

/* Writes the rules: one rule for each name of a limit, even if --fail-on repeats the name. */
static void add_rules(struct json *json, const struct verdicts *verdicts)
{
	char text[VERDICT_TEXT_MAX];

	json_open(json, "rules", '[');
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct limit_row *row = verdicts->items[i].limit->row;
		bool is_new = true;

		for (size_t k = 0; is_new && k < i; k++)
			is_new = strcmp(verdicts->items[k].limit->row->name, row->name) != 0;
		if (!is_new)
			continue;
		json_begin(json, '{');
		json_add_text(json, "id", row->name);
		add_message(json, "shortDescription", row->meaning);
		/* GitHub's code scanning also requires a full description and a help text */
		snprintf(text, sizeof(text), "The limit %s of holdtrace: %s.", row->name,
			 row->meaning);
		add_message(json, "fullDescription", text);
		snprintf(text, sizeof(text), "`holdtrace report --table=%s` shows more.",
			 row->table);
		add_message(json, "help", text);
		json_end(json);
	}
	json_end(json);
}

static void add_invocation(struct json *json, const struct verdicts *verdicts)
{
	bool is_known = true;
	char text[VERDICT_TEXT_MAX];

	for (size_t i = 0; i < verdicts->count; i++)
		is_known &= verdicts->items[i].verdict != VERDICT_UNKNOWN;
	json_open(json, "invocations", '[');
	json_begin(json, '{');
	json_add_bool(json, "executionSuccessful", is_known);
	json_open(json, "toolExecutionNotifications", '[');
	for (size_t i = 0; i < verdicts->count; i++) {
		if (verdicts->items[i].verdict != VERDICT_UNKNOWN)
			continue;
		verdict_say(&verdicts->items[i], NULL, text, sizeof(text));
		json_begin(json, '{');
		json_add_text(json, "level", "error");
		add_message(json, "message", text);
		json_end(json);
	}
	json_ends(json, 3);
}

void tables_print_sarif(const struct tables_job *job)
{
	const struct verdicts *verdicts = job->style->verdicts;
	struct json json;

	json_start(&json, job->out, true);
	json_begin(&json, '{');
	json_add_text(&json, "$schema", SCHEMA);
	json_add_text(&json, "version", "2.1.0");
	json_open(&json, "runs", '[');
	json_begin(&json, '{');
	json_open(&json, "tool", '{');
	json_open(&json, "driver", '{');
	json_add_text(&json, "name", "holdtrace");
	json_add_text(&json, "version", PACKAGE_VERSION);
	add_rules(&json, verdicts);
	json_ends(&json, 2);
	add_invocation(&json, verdicts);
	json_open(&json, "results", '[');
	verdicts_errors(job, NULL, add_result, &json);
	json_ends(&json, 4);
	json_finish(&json);
}
