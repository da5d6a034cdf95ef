/* SPDX-License-Identifier: MIT */
#include "checker.h"

#include <errno.h>
#include <math.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define KEY_MAX 16384u

enum limit_how { LIMIT_SUM, LIMIT_LARGEST, LIMIT_ROWS, LIMIT_GROUPS };
enum limit_when { LIMIT_END, LIMIT_EVER, LIMIT_COUNT, LIMIT_STATE, LIMIT_SCAN, LIMIT_WHENS };

/* For a row of limits.def: the table and column with the limited value, and how to compute it. */
struct source {
	enum table_id table;
	int column;
	enum limit_how how;
	enum limit_when when;
	unsigned kinds; /* kinds of events that the value depends on: a mask of enum report_kind */
};

static const struct source *source_of(const struct limit_row *row)
{
	static const struct source sources[] = {
#define RENAMED(name, instead)
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning)       \
	{ TABLE_##table, COLUMN_##table##_##column - FIRST_##table, LIMIT_##how, LIMIT_##when, \
	  kinds },
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
	};

	return &sources[row - limit_rows];
}

/* The rows of a table that count towards a limit. */
struct part {
	const struct limit_row *row; /* set by measure() */
	enum table_id table;
	int column;
	const char *class; /* only rows of this class count; "": all rows */
};

static const struct {
	const char *name;
	struct part part;
} also[] = {
#define RENAMED(name, instead)
#define LIMIT(name, unit, report, table, column, class, how, when, kinds, live, meaning)
#define ALSO(name, table, column, class) \
	{ #name, { NULL, TABLE_##table, COLUMN_##table##_##column - FIRST_##table, class } },
#include "account/limits.def"
#undef LIMIT
#undef RENAMED
};

/* ---- rows ---- */

static const struct table *table_of(const struct tables *tables, enum table_id id)
{
	for (unsigned i = 0; i < tables->count; i++)
		if (tables->list[i].id == id)
			return &tables->list[i];
	return NULL;
}

static const char *text_of(const struct table_cell *cell)
{
	return cell->is_set && cell->text ? cell->text : "";
}

/*
 * Returns the class of a row: the text of its first column without number and details, such as
 * "closed twice" in "1. closed twice: descriptor 5".
 */
static const char *class_of(const struct table_cell *cell, size_t *length)
{
	const char *text = text_of(cell);
	size_t digits = strspn(text, "0123456789");

	if (digits && !strncmp(text + digits, ". ", 2)) {
		text += digits + 2;
		*length = strcspn(text, ":");
	} else {
		*length = strlen(text);
	}
	return text;
}

static bool has_text(const struct table *table)
{
	enum table_kind kind = table->facts.columns[0].kind;

	return kind == TABLE_GROUP || kind == TABLE_TEXT;
}

static bool is_of_class(const struct part *part, const struct table_cell *cells)
{
	size_t length;
	const char *class;

	if (!*part->class)
		return true;
	class = class_of(&cells[0], &length);
	return strlen(part->class) == length && !strncmp(part->class, class, length);
}

/* Whether the row is the first row of its group. The rows of a group are adjacent. */
static bool begins_group(const struct table *table, size_t index)
{
	return !index || strcmp(text_of(&table->rows.items[index - 1][0]),
				text_of(&table->rows.items[index][0])) != 0;
}

/* ---- keys of call sites ---- */

struct key {
	char text[KEY_MAX];
	size_t length;
};

/*
 * Appends a text to a key. Replaces control characters, which would break lines or columns: names
 * come from files that are not trusted.
 */
static void key_add(struct key *key, const char *text, size_t length)
{
	for (size_t i = 0; i < length && key->length + 1 < KEY_MAX; i++)
		key->text[key->length++] = (unsigned char)text[i] < ' ' ? '?' : text[i];
	key->text[key->length] = '\0';
}

static void key_put(struct key *key, const char *text)
{
	key_add(key, text, strlen(text));
}

/*
 * Appends the functions of a backtrace: " main < run < strdup". Leaves out addresses and line
 * numbers, which differ in other builds.
 */
static void key_backtrace(struct key *key, struct paths *paths, const struct trace_node *backtrace)
{
	size_t count = paths_make(paths, backtrace, "?");

	for (size_t i = 0; i < count; i++) {
		const struct path_function *function = paths->path[i];
		char number[32];

		snprintf(number, sizeof(number), "+0x%" PRIx64, function->symbol.offset);
		key_put(key, i ? " < " : " ");
		key_put(key, function->symbol.function ? function->symbol.function : number);
		if (*function->program) {
			key_put(key, "@");
			key_put(key, function->program);
		}
	}
}

/*
 * Makes the key of a row, which is the same in other runs: the limit, the class, the functions and,
 * if the table has this column, the program.
 */
static void key_of(struct key *key, struct paths *paths, const struct part *part,
		   const struct table *table, const struct table_cell *cells)
{
	const struct table_facts *facts = &table->facts;
	size_t length = 0;
	const char *class = has_text(table) ? class_of(&cells[0], &length) : "";
	int program = table_column(facts, "program");

	key->length = 0;
	key_put(key, part->row->name);
	key_put(key, ".");
	key_put(key, facts->columns[part->column].name);
	key->text[key->length++] = '\t';
	key_add(key, class, length);
	for (unsigned i = 0; i < facts->column_count; i++)
		if (facts->columns[i].kind == TABLE_BACKTRACE && cells[i].is_set)
			key_backtrace(key, paths, cells[i].backtrace);
	if (program > 0 && cells[program].is_set) {
		key_put(key, " ");
		key_put(key, cells[program].text);
	}
}

/* ---- values ---- */

struct value {
	uint64_t counts; /* the value without `known`, which is compared with the limit */
	uint64_t known;	 /* the part of the value that the baseline covers */
	uint64_t base;	 /* the value in the baseline */
	double square;	 /* square of the error of an estimate */
	/*
	 * error of the excess over a baseline: the sum of the errors of the call sites, because
	 * each excess may be due to chance
	 */
	double slack;
	/* the value is certainly not 0: a part of it is exact, or it has a sample */
	bool is_seen;
	uint64_t most;		       /* the largest value of any row */
	const struct trace_node *site; /* call site of the row with `most`; NULL: it has none */
};

static uint64_t error_of(const struct value *value)
{
	return (uint64_t)ceil(value->slack + sqrt(value->square));
}

/*
 * Returns the part of a call site's number that exceeds the baseline's entry for the same path.
 * Subtracts the rest of the number from the entry, so that no other row uses it again. For
 * LIMIT_LARGEST: returns the whole number if it exceeds the baseline's number, otherwise 0.
 */
static uint64_t newer(const struct judge *judge, const struct part *part, const char *key,
		      uint64_t number)
{
	struct baseline_entry *entry = baseline_find(judge->baseline, key);
	uint64_t passes;

	if (!entry)
		return number;
	if (source_of(part->row)->how == LIMIT_LARGEST)
		return number > entry->number ? number : 0;
	passes = number < entry->left ? number : entry->left;
	entry->left -= passes;
	return number - passes;
}

/*
 * Adds the error of a call site's number to the value. An excess over a baseline has the errors of
 * both runs. If the older run was sampled, a call site that the baseline lacks may have existed in
 * that run without a sample. error: the error of this run's number. key NULL: there is no baseline.
 */
static void doubt(const struct judge *judge, bool is_memory, const char *key, uint64_t counts,
		  uint64_t error, struct value *value)
{
	const struct baseline_entry *entry = key ? baseline_find(judge->baseline, key) : NULL;
	uint64_t sample = key && is_memory ? judge->baseline->sample : 0, then = 0;

	if (sample)
		then = entry ? estimate_error_most(sample, entry->number) : estimate_unseen(sample);
	if (is_memory && (entry || sample)) {
		value->slack += hypot((double)error, (double)then);
		return;
	}
	value->is_seen |= counts != 0;
	value->square += (double)error * (double)error;
}

static void add(struct value *value, enum limit_how how, uint64_t counts, uint64_t all)
{
	if (how != LIMIT_LARGEST) {
		value->counts += counts;
		value->known += all - counts;
		return;
	}
	if (counts > value->counts)
		value->counts = counts;
	if (all > counts && all > value->known)
		value->known = all;
}

/*
 * Returns the row's number of bytes (has_bytes) or of objects, from the first cell that has it.
 * Returns 0 if no cell has it.
 */
static uint64_t amount_of(const struct table *table, const struct table_cell *cells, bool has_bytes)
{
	for (unsigned i = 0; i < table->facts.column_count; i++) {
		enum table_kind kind = table->facts.columns[i].kind;
		bool is_bytes = kind == TABLE_BYTES || (kind == TABLE_AMOUNT && cells[i].has_bytes);

		if (cells[i].is_set && (has_bytes ? is_bytes : kind == TABLE_COUNT))
			return cells[i].number;
	}
	return 0;
}

static bool is_of_memory(const struct table *table, const struct table_cell *cells)
{
	return has_text(table) && !strcmp(text_of(&cells[0]), "memory");
}

/* A row and its number. */
struct counted {
	const struct table_cell *cells; /* NULL: the row does not count towards the limit */
	uint64_t all, counts;		/* the number, and its part that the baseline lacks */
	const char *key;		/* NULL: not needed */
};

/* Adds a row that counts towards the current limit to the call sites of the limit's verdict. */
static void add_site(const struct judge *judge, const struct table *table,
		     const struct counted *row)
{
	int last = (int)table->facts.column_count - 1, fd = table_column(&table->facts, "fd");
	struct limit_verdict *verdict = &judge->verdicts->items[judge->verdicts->count];
	struct verdict_site *site = ARRAY_ADD(&verdict->sites);
	const struct table_cell *cells = row->cells;
	bool is_memory = is_of_memory(table, cells);

	*site = (struct verdict_site){
		.key = pool_copy(&judge->verdicts->pool, row->key),
		.number = row->counts,
		.known = row->all - row->counts,
		.fd = fd > 0 && cells[fd].is_set ? (int64_t)cells[fd].number : -1,
	};
	if (table->facts.columns[last].kind == TABLE_BACKTRACE && cells[last].is_set)
		site->backtrace = cells[last].backtrace;
	if (is_memory && table->id == TABLE_unit_growth)
		site->bytes = amount_of(table, cells, true);
	if ((is_memory && table->id == TABLE_leaks) || table->id == TABLE_unreachable) {
		site->blocks = amount_of(table, cells, false);
		site->bytes = amount_of(table, cells, true);
	}
}

/*
 * Returns the number of each row, and the part of it that exceeds the baseline's number for the
 * same path. Adds the numbers to the new baseline (judge->learned). pool: memory for the keys.
 */
static struct counted *count_rows(const struct judge *judge, struct paths *paths,
				  const struct part *part, const struct table *table,
				  struct pool *pool)
{
	struct counted *rows = memory_zalloc(table->rows.count + 1, sizeof(*rows));
	enum limit_how how = source_of(part->row)->how;
	cleanup_free struct key *key = memory_alloc(sizeof(*key));

	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_cell *cells = table->rows.items[i];
		struct counted *row = &rows[i];

		/*
		 * for LIMIT_GROUPS, measure_part() counts a group of rows once, if at least one of
		 * the rows is not in the baseline
		 */
		if (how == LIMIT_GROUPS || how == LIMIT_ROWS)
			row->all = how == LIMIT_GROUPS || cells[part->column].is_set;
		else
			row->all = cells[part->column].is_set ? cells[part->column].number : 0;
		row->counts = row->all;
		if (!row->all || !is_of_class(part, cells))
			continue;
		row->cells = cells;
		if (!judge->baseline && !judge->learned && !judge->verdicts)
			continue;
		key_of(key, paths, part, table, cells);
		row->key = pool_text(pool, key->text, key->length);
		if (judge->baseline)
			row->counts = newer(judge, part, row->key, row->all);
		if (judge->learned)
			baseline_add(judge->learned, row->key, row->all, how == LIMIT_LARGEST);
	}
	return rows;
}

static void measure_part(const struct judge *judge, struct paths *paths, const struct part *part,
			 struct value *value)
{
	enum limit_how how = source_of(part->row)->how;
	const struct table *one = table_of(judge->one, part->table);
	const struct table *table = one ? one : table_of(judge->other, part->table);
	cleanup_free struct counted *rows = NULL;
	cleanup_free char *start = NULL;
	struct pool pool = { 0 };
	bool group_counts = false, has_error;
	int last;

	if (!table)
		return;
	last = (int)table->facts.column_count - 1;
	has_error =
		part->column < last && table->facts.columns[part->column + 1].kind == TABLE_ERROR;
	/* add up the numbers of the baseline for this limit and column */
	start = memory_format("%s.%s\t", part->row->name, table->facts.columns[part->column].name);
	for (size_t i = 0; judge->baseline && i < judge->baseline->entries.count; i++) {
		const struct baseline_entry *entry = judge->baseline->entries.items[i];

		if (strncmp(entry->key, start, strlen(start)) != 0)
			continue;
		if (how != LIMIT_LARGEST)
			value->base += entry->number;
		else if (entry->number > value->base)
			value->base = entry->number;
	}
	rows = count_rows(judge, paths, part, table, &pool);
	for (size_t i = 0; i < table->rows.count; i++) {
		struct counted *row = &rows[i];
		const struct table_cell *cells = row->cells, *error;

		if (!cells)
			continue;
		error = has_error ? &cells[part->column + 1] : NULL;
		if (judge->baseline && how != LIMIT_LARGEST)
			row->counts -=
				baseline_take_similar(judge->baseline, row->key, row->counts);
		doubt(judge, is_of_memory(table, cells), judge->baseline ? row->key : NULL,
		      row->counts, error && error->is_set ? error->number : 0, value);
		if (judge->verdicts && row->counts)
			add_site(judge, table, row);
		if (row->counts > value->most &&
		    table->facts.columns[last].kind == TABLE_BACKTRACE) {
			value->most = row->counts;
			value->site = cells[last].is_set ? cells[last].backtrace : NULL;
		}
		if (how != LIMIT_GROUPS) {
			add(value, how, row->counts, row->all);
			continue;
		}
		group_counts = row->counts || (group_counts && !begins_group(table, i));
		if (i + 1 == table->rows.count || begins_group(table, i + 1))
			add(value, how, group_counts, 1);
	}
	pool_free(&pool);
}

static void measure(const struct judge *judge, struct paths *paths, const struct limit_row *row,
		    struct value *value)
{
	struct part part = { row, source_of(row)->table, source_of(row)->column, row->class };

	for (size_t i = 0; judge->baseline && i < judge->baseline->entries.count; i++)
		judge->baseline->entries.items[i]->left = judge->baseline->entries.items[i]->number;
	measure_part(judge, paths, &part, value);
	for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
		if (strcmp(also[i].name, row->name) != 0)
			continue;
		part = also[i].part;
		part.row = row;
		measure_part(judge, paths, &part, value);
	}
}

/* ---- reasons ---- */

/*
 * How missing events could have changed a value: not at all, only upwards, or in both directions.
 */
enum unseen { NONE, MORE, EITHER };

enum reason_part {
	REASON_SOME,
	REASON_LATER,
	REASON_EARLIER,
	REASON_RELEASED,
	REASON_WHOLE,
	REASON_SAMPLED,
};

/*
 * How missing events affect a value. First index: which part of the events is missing
 * (reasons.def). Second index: when the value is taken (enum limit_when).
 */
static const enum unseen effects[][LIMIT_WHENS] = {
	/*		     END     EVER    COUNT STATE SCAN */
	[REASON_SOME] = { EITHER, EITHER, MORE, EITHER, EITHER },
	[REASON_LATER] = { EITHER, MORE, MORE, EITHER, NONE },
	[REASON_EARLIER] = { MORE, MORE, MORE, MORE, MORE },
	[REASON_RELEASED] = { NONE, MORE, MORE, NONE, NONE },
	[REASON_WHOLE] = { MORE, MORE, MORE, MORE, MORE },
	[REASON_SAMPLED] = { NONE, NONE, MORE, MORE, MORE }, /* is_within_error() decides */
};

static const struct reason {
	size_t count; /* offset of the count in struct report_gaps */
	enum reason_part part;
	const char *noun, *what;
} reasons[] = {
#define REASON(name, of, count, part, kinds, noun, what) \
	{ offsetof(struct report_gaps, name), REASON_##part, noun, what },
#include "postproc/reasons.def"
#undef REASON
};

/*
 * Returns the time of those waits for semaphores and conditions that are known to be waits for
 * locks and conditions of Python, or for the GIL.
 */
static uint64_t find_explained_ns(const struct judge *judge)
{
	const struct table *one = table_of(judge->one, TABLE_sem_waits);
	const struct table *table = one ? one : table_of(judge->other, TABLE_sem_waits);
	const struct summary *summary = judge->run->summary;
	uint64_t ns = 0;

	for (size_t i = 0; table && i < table->rows.count; i++) {
		const struct table_cell *cells = table->rows.items[i];

		if (strcmp(text_of(CELL(cells, sem_waits, kind)), "semaphore") != 0)
			ns += CELL(cells, sem_waits, wait_time)->number;
	}
	for (size_t i = 1; i < summary->gil_waits.count; i++)
		ns += summary->gil_waits.items[i].sum.ns;
	return ns;
}

/*
 * Returns the worst effect that missing events can have on the value. Writes the first reason with
 * this effect to `text`.
 */
static enum unseen find_unseen(const struct judge *judge, const struct limit *limit, char *text,
			       size_t size)
{
	const struct limit_row *row = limit->row;
	struct report_gaps gaps;
	enum unseen worst = NONE;

	report_find_gaps(judge->run, source_of(row)->kinds,
			 row->unit == LIMIT_NS ? limit->value : 0, &gaps);
	gaps.empty = judge->is_empty;
	if (gaps.language && row->unit == LIMIT_NS)
		gaps.language = report_indirect_ns(judge->run->summary) >
				limit->value + find_explained_ns(judge);
	/*
	 * if is_so_far is set, the present state counts as the end, so running processes lack no
	 * events. But a waiting thread may still continue, so a LIMIT_STATE remains unknown
	 */
	if (judge->is_so_far && source_of(row)->when != LIMIT_STATE)
		gaps.incomplete = gaps.left = 0;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		const struct reason *reason = &reasons[i];
		const char *at = (const char *)&gaps + reason->count;
		uint64_t count = *(const uint64_t *)(const void *)at;
		enum unseen effect = count ? effects[reason->part][source_of(row)->when] : NONE;
		const char *plural = count == 1				? ""
				     : !strcmp(reason->noun, "process") ? "es"
									: "s";

		if (effect <= worst)
			continue;
		worst = effect;
		if (*reason->noun)
			snprintf(text, size, "%" PRIu64 " %s%s %s", count, reason->noun, plural,
				 reason->what);
		else
			snprintf(text, size, "%s", reason->what);
	}
	return worst;
}

/* ---- the result ---- */

struct sentence {
	enum verdict verdict;
	struct value value;
	bool is_empty;
	char why[160];
};

static void put(struct table *table, const struct limit *limit, const struct sentence *sentence)
{
	static const char *const words[] = { "broken", "unknown", "kept" };
	bool has_bytes = limit->row->unit == LIMIT_BYTES;
	struct table_cell *row = table_add(table);

	table_format(table, CELL(row, limits, limit), "%.*s", (int)limit->length, limit->text);
	table_text(table, CELL(row, limits, result), words[sentence->verdict]);
	table_text(table, CELL(row, limits, meaning), limit->row->meaning);
	table_text(table, CELL(row, limits, why), sentence->why);
	if (sentence->verdict == VERDICT_BROKEN && sentence->value.site)
		table_backtrace(CELL(row, limits, backtrace), sentence->value.site);
	/* if the filters removed all events, there is no value */
	if (sentence->is_empty)
		return;
	table_amount(CELL(row, limits, value), sentence->value.counts, has_bytes);
	CELL(row, limits, value)->has_ns = limit->row->unit == LIMIT_NS;
	if (error_of(&sentence->value))
		table_amount(CELL(row, limits, value_error), error_of(&sentence->value), has_bytes);
	if (!sentence->value.known)
		return;
	table_amount(CELL(row, limits, baseline), sentence->value.known, has_bytes);
	CELL(row, limits, baseline)->has_ns = limit->row->unit == LIMIT_NS;
}

/*
 * Whether the error of sampling makes the result uncertain. If there is a sample, the value is
 * certainly not 0. Without a sample, up to three sampling intervals may have been allocated (with
 * 95 % confidence).
 */
static bool is_within_error(const struct judge *judge, const struct limit *limit,
			    const struct value *value)
{
	uint64_t run = judge->run->summary->sample;
	uint64_t baseline = judge->baseline ? judge->baseline->sample : 0;
	uint64_t sample = run > baseline ? run : baseline;
	double error = fmax((double)error_of(value), (double)estimate_unseen(sample));

	if (!sample || !(source_of(limit->row)->kinds & KIND_MEMORY))
		return false;
	return fabs((double)value->counts - (double)limit->value) <= error &&
	       !(value->is_seen && !limit->value);
}

static void judge_one(struct judge *judge, struct paths *paths, const struct limit *written,
		      struct sentence *sentence)
{
	struct limit absolute = *written, *limit = &absolute;
	const struct value *value = &sentence->value;
	enum unseen effect;

	measure(judge, paths, limit->row, &sentence->value);
	/* for LIMIT_LARGEST, the value is the whole number, not its excess over the baseline */
	if (limit->is_percent)
		limit->value = (uint64_t)((double)value->base * (double)limit->value / 10000) +
			       (source_of(limit->row)->how == LIMIT_LARGEST ? value->base : 0);
	/* for LIMIT_LARGEST, each call site is compared with the limit: remove those within it */
	if (judge->verdicts && source_of(limit->row)->how == LIMIT_LARGEST) {
		struct limit_verdict *verdict = &judge->verdicts->items[judge->verdicts->count];
		size_t kept = 0;

		for (size_t i = 0; i < verdict->sites.count; i++)
			if (limit_is_broken(limit, verdict->sites.items[i].number))
				verdict->sites.items[kept++] = verdict->sites.items[i];
		verdict->sites.count = kept;
	}
	effect = find_unseen(judge, limit, sentence->why, sizeof(sentence->why));
	if (effect == NONE && is_within_error(judge, limit, value)) {
		effect = EITHER;
		snprintf(sentence->why, sizeof(sentence->why),
			 "memory was sampled, and the value is too close to the limit");
	}
	sentence->is_empty = judge->is_empty;
	/*
	 * if missing events can only increase the value, a broken limit is broken anyway. In all
	 * other cases, missing events make the result unknown
	 */
	sentence->verdict = limit_is_broken(limit, value->counts) ? VERDICT_BROKEN : VERDICT_KEPT;
	if (effect == EITHER || (effect == MORE && sentence->verdict == VERDICT_KEPT))
		sentence->verdict = VERDICT_UNKNOWN;
	if (sentence->verdict != VERDICT_UNKNOWN)
		sentence->why[0] = '\0';
	judge->broken += sentence->verdict == VERDICT_BROKEN;
	judge->unknown += sentence->verdict == VERDICT_UNKNOWN;
}

static uint64_t count_suppressed(const struct tables *tables)
{
	const struct table *table = table_of(tables, TABLE_suppressed);
	uint64_t sites = 0;

	for (size_t i = 0; table && i < table->rows.count; i++)
		sites += CELL(table->rows.items[i], suppressed, sites)->number;
	return sites;
}

void judge_limits(struct judge *judge, const struct tables *one, const struct tables *other,
		  struct table *table)
{
	const struct limits *limits = judge->limits;
	cleanup_free struct sentence *sentences =
		memory_zalloc(limits->count + 1, sizeof(*sentences));
	struct paths paths;

	paths_init(&paths, judge->run->naming);
	judge->broken = judge->unknown = 0;
	if (judge->verdicts)
		judge->verdicts->suppressed = count_suppressed(one) + count_suppressed(other);
	if (judge->learned)
		judge->learned->sample = judge->run->summary->sample;
	judge->one = one;
	judge->other = other;
	for (size_t i = 0; i < limits->count; i++) {
		enum limit_how how = source_of(limits->items[i].row)->how;
		struct verdicts *verdicts = judge->verdicts;
		struct limit_verdict *verdict;

		judge_one(judge, &paths, &limits->items[i], &sentences[i]);
		if (!verdicts)
			continue;
		/* add_site() has already added the call sites of the verdict */
		verdict = &verdicts->items[verdicts->count++];
		verdict->limit = &limits->items[i];
		verdict->join = how == LIMIT_LARGEST  ? JOIN_LARGEST
				: how == LIMIT_GROUPS ? JOIN_NONE
						      : JOIN_SUM;
		verdict->verdict = sentences[i].verdict;
		verdict->value = sentences[i].value.counts;
		verdict->error = error_of(&sentences[i].value);
		verdict->known = sentences[i].value.known;
		verdict->why = pool_copy(&verdicts->pool, sentences[i].why);
	}
	for (enum verdict verdict = VERDICT_BROKEN; verdict < VERDICTS; verdict++)
		for (size_t i = 0; i < limits->count; i++)
			if (sentences[i].verdict == verdict)
				put(table, &limits->items[i], &sentences[i]);
	paths_free(&paths);
}
