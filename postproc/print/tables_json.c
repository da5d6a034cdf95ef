/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"

#define FRAMES_MAX 256
#define KEPT	   1024u /* number of frames whose JSON is cached */
#define KEPT_MAX   504u	 /* maximum size of a cached frame in bytes */

/*
 * The cached JSON of a frame. Most frames occur in many backtraces, always at the same level of
 * nesting, so their JSON is always the same.
 */
struct kept_frame {
	uint32_t id, length;
	char text[KEPT_MAX];
};

struct printer {
	const struct tables_job *job;
	struct json json;
	struct kept_frame *kept; /* indexed by the frame's id modulo KEPT */
	struct out aside;	 /* a buffer in which keep_frame() writes a frame */
};

/* Caches the JSON of a frame, unless it is too long. */
static bool keep_frame(struct printer *printer, struct kept_frame *kept,
		       const struct naming_symbol *frame)
{
	struct json json = printer->json;
	struct out *aside = &printer->aside;

	aside->used = 0;
	aside->error = 0;
	json.out = aside;
	json.has_key = true; /* suppresses the comma before the frame */
	report_add_frame(&json, frame);
	if (out_error(aside) || aside->used > sizeof(kept->text))
		return false;
	kept->id = frame->id;
	kept->length = (uint32_t)aside->used;
	memcpy(kept->text, aside->buffer, aside->used);
	return true;
}

static void print_backtrace(struct printer *printer, const struct trace_node *backtrace)
{
	struct naming_symbol frames[FRAMES_MAX];
	size_t count = naming_symbols(printer->job->naming, backtrace, frames, FRAMES_MAX);

	json_begin(&printer->json, '[');
	for (size_t i = 0; i < count; i++) {
		struct kept_frame *kept = &printer->kept[frames[i].id % KEPT];

		if (frames[i].id &&
		    (kept->id == frames[i].id || keep_frame(printer, kept, &frames[i])))
			json_again(&printer->json, kept->text, kept->length);
		else
			report_add_frame(&printer->json, &frames[i]);
	}
	json_end(&printer->json);
}

static void print_cell(struct printer *printer, enum table_kind kind, const struct table_cell *cell)
{
	struct json *json = &printer->json;

	switch (tables_shape(kind)) {
	case SHAPE_TEXT:
		json_text(json, cell->text);
		break;
	case SHAPE_BACKTRACE:
		print_backtrace(printer, cell->backtrace);
		break;
	case SHAPE_BRANCH:
		json_begin(json, '[');
		for (uint32_t i = 0; i < cell->branch->count; i++)
			report_add_frame(json, cell->branch->frames[i]);
		json_end(json);
		break;
	case SHAPE_SIGNED:
		json_signed(json, (int64_t)cell->number);
		break;
	case SHAPE_HEX:
		json_hex(json, cell->number);
		break;
	case SHAPE_HUNDREDTHS:
		json_real(json, (double)cell->number / 100);
		break;
	case SHAPE_STEPS:
		json_begin(json, '[');
		for (uint64_t i = 0; i < cell->weight; i++)
			json_unsigned(json, cell->steps[i]);
		json_end(json);
		break;
	case SHAPE_UNSIGNED:
		json_unsigned(json, cell->number);
		break;
	}
}

static void print_row(struct printer *printer, const struct table *table,
		      const struct table_key *keys, const struct table_cell *row)
{
	int unit = table_unit_column(&table->facts);
	struct json *json = &printer->json;

	json_begin(json, '{');
	for (unsigned i = 0; i < table->facts.column_count; i++) {
		if ((int)i == unit) {
			const char *word = table_unit(&table->facts, row);

			json_key(json, "unit");
			if (word)
				json_text(json, word);
			else
				json_null(json);
		}
		json_key(json, keys[i].text);
		if (row[i].is_set)
			print_cell(printer, table->facts.columns[i].kind, &row[i]);
		else
			json_null(json);
	}
	json_end(json);
}

void tables_print_json(const struct tables_job *job)
{
	struct printer printer = { .job = job };
	struct json *json = &printer.json;
	const struct rises_axis *axis = &job->run->windows;

	out_open(&printer.aside, -1);
	printer.kept = memory_zalloc(KEPT, sizeof(*printer.kept));
	json_start(json, job->out, true);
	json_begin(json, '{');
	json_add_unsigned(json, "schema", REPORT_SCHEMA);
	if (job->run->summary->processes.count) {
		json_open(json, "run", '{');
		report_add_run(json, job->run);
		/* if there are curves (--growing), print the times at which their windows end */
		if (axis->shift) {
			json_open(json, "windows_ns", '[');
			for (unsigned i = 0; i <= axis->last - axis->first; i++)
				json_unsigned(json, report_time(job->run, rises_end(axis, i)));
			json_end(json);
		}
		json_end(json);
	}
	for (unsigned i = 0; i < job->tables->count; i++) {
		const struct table *table = &job->tables->list[i];
		cleanup_free struct table_key *keys =
			memory_alloc(table->facts.column_count * sizeof(*keys));
		struct table_at at = { 0 };
		const struct table_cell *row;

		for (unsigned c = 0; c < table->facts.column_count; c++)
			keys[c] = table_key(&table->facts.columns[c]);
		json_open(json, table->facts.name, '[');
		while ((row = table_next(table, &at)) != NULL)
			print_row(&printer, table, keys, row);
		json_end(json);
	}
	if (job->style->learned)
		tables_add_baseline(json, job->style->learned);
	json_end(json);
	json_finish(json);
	free(printer.kept);
	free(printer.aside.buffer);
}
