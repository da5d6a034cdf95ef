/* SPDX-License-Identifier: MIT */
#include "sets.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/estimate.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/spill_sort.h"
#include "postproc/print/screen.h"

#define COLUMNS_MAX  32
#define VALUES_BYTES (256u << 10) /* values that are sorted in memory, each counted as a byte */

/* Numbers of the columns that are added to a table. The table's own columns have numbers from 0. */
enum { RUNS = -4, MEDIAN, LARGEST, RUN };

/* A row of the result: joins the rows of several runs that have the same key. */
struct set_row {
	enum table_id id;
	const char *key; /* the texts and call sites of the row */
	uint32_t number, runs;
	/* the largest and the median value of a run; worst: the first run with the largest value */
	uint64_t largest, median;
	size_t worst;
	/* the value in the run that is being read; run: number of this run, from 1 */
	uint64_t value;
	size_t run;
	struct table_cell cells[];
};

/* A rank (process of a parallel job), and the row in which it waited longest. */
struct set_rank {
	uint64_t rank, duration_ns, wait_ns, longest_ns;
	const char *job, *host;
	const struct set_row *longest;
};

struct set {
	const struct runs *runs;
	const struct report_options *options;
	bool takes_by;
	struct pool pool;
	struct hash_table table;
	ARRAY_OF(struct set_row *) rows, touched;
	struct spill_sort values; /* the value of each row in each run */
	const char **names;	  /* indexed by run; NULL: not needed so far */
	char *key;
	size_t key_size;
	ARRAY_OF(struct set_rank) ranks; /* all, or only those that waited least */
	struct set_rank rank;		 /* the run that is being read */
	/*
	 * indexed by table. has: a run has the table; is_unknown: the table is incomplete in a run;
	 * is_single: it has rows, but can only be printed for one run
	 */
	bool has[TABLE_ID_COUNT], is_unknown[TABLE_ID_COUNT], is_single[TABLE_ID_COUNT];
	/* sums over the runs that were read */
	uint64_t read, sample, dropped, incomplete, damaged, empty;
};

/* ---- columns ---- */

/* Returns the column with the value by which runs are compared. */
static int value_column(const struct set *set, enum table_id id)
{
	struct table_facts facts = table_facts(id);
	int by = !set->takes_by && set->options->by ? table_column(&facts, set->options->by) : -1;
	struct table_facts asked = facts;

	if (by >= 0)
		asked.by = facts.columns[by].name;
	if (id == TABLE_limits || id == TABLE_ranks)
		return table_column(&facts, id == TABLE_limits ? "value" : "longest_sum");
	return table_column(&facts, by >= 0 && tables_can_join(&asked) ? asked.by : facts.by);
}

/* How the cells of a column are joined. */
enum set_join { SET_NOT, SET_KEY, SET_SUM, SET_SQUARES, SET_MOST, SET_MEAN, SET_TYPE, SET_WORST };

#define BIT(kind) (1ull << TABLE_##kind)
#define KEYS	  (BIT(GROUP) | BIT(TEXT) | BIT(BACKTRACE))
#define SUMS	  (BIT(AMOUNT) | BIT(COUNT) | BIT(BYTES) | BIT(CHANGE) | BIT(NS))
#define MEANS	  (BIT(MEAN) | BIT(SIZE) | BIT(PERCENT))

static enum set_join join_of(enum table_id id, const struct table_column *column)
{
	uint64_t kind = 1ull << column->kind;
	bool is_limits = id == TABLE_limits;
	bool is_key =
		!is_limits || !strcmp(column->name, "limit") || !strcmp(column->name, "result");

	/* no key: the object of a wait may be a child process, whose pid differs between runs */
	if (kind & KEYS && is_key && strcmp(column->name, "object") != 0)
		return SET_KEY;
	if (kind & (KEYS | BIT(NOTE)) || (is_limits && kind & (BIT(AMOUNT) | BIT(ERROR))))
		return SET_WORST;
	return kind & SUMS	     ? SET_SUM
	       : kind & MEANS	     ? SET_MEAN
	       : kind & BIT(ERROR)   ? SET_SQUARES
	       : kind & BIT(LONGEST) ? SET_MOST
	       : kind & BIT(TYPE)    ? SET_TYPE
				     : SET_NOT;
}

/* ---- reading cells ---- */

static char *set_text(struct set *set, const char *text)
{
	return pool_text(&set->pool, text, strlen(text));
}

static void read_cell(struct set *set, enum table_kind kind, const char *text,
		      struct table_cell *cell)
{
	enum tables_shape shape = tables_shape(kind);
	char *end;

	*cell = (struct table_cell){ .is_set = true, .weight = 1 };
	if (shape == SHAPE_BACKTRACE) {
		struct table_branch *branch;
		uint32_t count = 0;
		/* parse a call site that put_site() of tables_lines.c has written */
		char *copy = set_text(set, text), *lines = strchr(copy, '\3');

		if (lines)
			*lines++ = '\0';
		for (const char *at = copy; *at; at++)
			count += *at == '\1';
		branch = pool_zalloc(&set->pool, sizeof(*branch) + count * sizeof(*branch->frames));
		branch->is_outwards = true;
		branch->site = lines ? (uint32_t)strtoul(lines, &lines, 10) : 0;
		branch->lines = lines && *lines ? lines + 1 : "";
		for (char *at = *copy ? copy + 1 : NULL, *frame;
		     (frame = strsep(&at, "\1")) != NULL;) {
			struct naming_symbol *symbol = pool_zalloc(&set->pool, sizeof(*symbol));
			char *module = strchr(frame, '\2');

			if (module)
				*module++ = '\0';
			symbol->function = frame;
			symbol->module = module && *module ? module : NULL;
			branch->frames[branch->count++] = symbol;
		}
		cell->branch = branch;
	} else if (shape == SHAPE_TEXT) {
		cell->weight = strtoull(text, &end, 10);
		cell->text = set_text(set, end + (*end == ':'));
	} else {
		cell->has_bytes = *text == 'b';
		cell->has_ns = *text == 't';
		cell->number = strtoull(text + 1, &end, 10);
		cell->weight = *end ? strtoull(end + 1, NULL, 10) : 0;
	}
}

/* A sum of squares or of weighted numbers is a double, stored in the bytes of cell->number. */
static double real_of(const struct table_cell *cell)
{
	double real;

	memcpy(&real, &cell->number, sizeof(real));
	return real;
}

static void set_real(struct table_cell *cell, double real)
{
	memcpy(&cell->number, &real, sizeof(real));
}

/* Adds a run's cell (text) to the row's cell. is_worst: the run has the row's largest value. */
static void join_cell(struct set *set, enum set_join join, enum table_kind kind, const char *text,
		      bool is_worst, struct table_cell *cell)
{
	struct table_cell other = { .is_set = false };
	bool is_first = !cell->is_set;

	if (join == SET_WORST ? !is_worst : !*text)
		return;
	if (join == SET_TYPE && !is_first) {
		if (strcmp(cell->text, text + strcspn(text, ":") + 1) != 0)
			cell->text = "several types";
		return;
	}
	if (*text)
		read_cell(set, kind, text, &other);
	if (join == SET_SQUARES)
		set_real(&other, (double)other.number * (double)other.number +
					 (is_first ? 0 : real_of(cell)));
	else if (join == SET_MEAN)
		set_real(&other, (double)other.number * (double)other.weight +
					 (is_first ? 0 : real_of(cell)));
	else if (join == SET_SUM && !is_first)
		other.number += cell->number;
	else if (join == SET_MOST && !is_first && cell->number > other.number)
		other.number = cell->number;
	if (join == SET_MEAN && !is_first)
		other.weight += cell->weight;
	*cell = other;
}

/* ---- rows ---- */

static bool is_row(const void *item, const void *key)
{
	return !strcmp(((const struct set_row *)item)->key, key);
}

/* Returns the row with these texts and call sites. Adds the row if there is none. */
static struct set_row *row_of(struct set *set, enum table_id id, const struct table_facts *facts,
			      char *const *texts, size_t length)
{
	size_t used = 0, size = length + COLUMNS_MAX + 16;
	struct set_row *row;
	uint64_t hash;

	if (size > set->key_size) {
		set->key = memory_resize(set->key, size);
		set->key_size = size;
	}
	used += (size_t)snprintf(set->key, size, "%u", (unsigned)id);
	for (unsigned i = 0; i < facts->column_count; i++) {
		/* ignore the part after \3: its line numbers may differ between runs */
		size_t part = strcspn(texts[i], "\3");

		if (join_of(id, &facts->columns[i]) != SET_KEY)
			continue;
		set->key[used++] = '\t';
		memcpy(set->key + used, texts[i], part);
		used += part;
	}
	set->key[used] = '\0';
	hash = hash_bytes(set->table.seed, set->key, used);
	row = hash_table_find(&set->table, hash, is_row, set->key);
	if (row)
		return row;
	row = pool_zalloc(&set->pool, sizeof(*row) + facts->column_count * sizeof(*row->cells));
	row->id = id;
	row->key = pool_text(&set->pool, set->key, used);
	row->number = (uint32_t)set->rows.count;
	row->worst = SIZE_MAX;
	hash_table_add(&set->table, hash, row);
	*ARRAY_ADD(&set->rows) = row;
	return row;
}

/* Adds a row of the run. line: its cells, each after a tab. */
static void take_row(struct set *set, enum table_id id, size_t run, char *line)
{
	struct table_facts facts = table_facts(id);
	int by = value_column(set, id);
	size_t length = strlen(line);
	char nothing[] = "", *texts[COLUMNS_MAX];
	struct set_row *row;
	uint64_t value;

	strsep(&line, "\t");
	for (unsigned i = 0; i < facts.column_count; i++)
		texts[i] = line ? strsep(&line, "\t") : nothing;
	row = row_of(set, id, &facts, texts, length);
	value = *texts[by] ? strtoull(texts[by] + 1, NULL, 10) : 0;
	if (row->run != run + 1) {
		*ARRAY_ADD(&set->touched) = row;
		row->run = run + 1;
		row->value = 0;
	}
	if (facts.columns[by].kind != TABLE_LONGEST)
		row->value += value;
	else if (value > row->value)
		row->value = value;
	for (unsigned i = 0; i < facts.column_count; i++) {
		enum set_join join = join_of(id, &facts.columns[i]);
		/* of several runs with the largest value, the first one decides what is shown */
		bool is_worst = row->worst == SIZE_MAX || row->value > row->largest ||
				(row->value == row->largest && run < row->worst);

		if (join == SET_KEY && !row->cells[i].is_set && *texts[i])
			read_cell(set, facts.columns[i].kind, texts[i], &row->cells[i]);
		else if (join != SET_KEY && join != SET_NOT)
			join_cell(set, join, facts.columns[i].kind, texts[i], is_worst,
				  &row->cells[i]);
	}
	if (id != TABLE_ranks)
		return;
	set->rank.wait_ns += value;
	if (value > set->rank.longest_ns) {
		set->rank.longest_ns = value;
		set->rank.longest = row;
	}
}

/* ---- runs ---- */

ORDER_FUNCTION(compare_ranks, struct set_rank,
	       ORDER(a->wait_ns, b->wait_ns)
		       ?: strcmp(a->job, b->job)
		       ?: ORDER(a->rank, b->rank))

/* Reads the facts about a run. Returns whether its rank is known. */
static bool take_facts(struct set *set, size_t run, char *line)
{
	uint64_t numbers[6];
	const char *rank, *job, *host;

	strsep(&line, "\t");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		numbers[i] = line ? strtoull(strsep(&line, "\t"), NULL, 10) : 0;
	set->read++;
	set->sample = numbers[0] > set->sample ? numbers[0] : set->sample;
	set->dropped += numbers[1];
	set->incomplete += numbers[2];
	set->damaged += numbers[3];
	set->empty += numbers[4];
	rank = line ? strsep(&line, "\t") : "";
	job = line ? strsep(&line, "\t") : "";
	host = line ? line : "";
	set->names[run] = *rank ? set_text(set, rank) : NULL;
	set->rank =
		(struct set_rank){ .rank = strtoull(rank, NULL, 10), .duration_ns = numbers[5] };
	if (!*rank || rank[strspn(rank, "0123456789")])
		return false;
	set->rank.job = set_text(set, job);
	set->rank.host = set_text(set, host);
	return true;
}

/* Reads the line before the rows of a table. Returns the table's number. */
static enum table_id take_table(struct set *set, char *line)
{
	const char kind = *line;
	char *end;
	unsigned long id = strtoul(line + 2, &end, 10);

	if (id >= TABLE_ID_COUNT)
		return TABLE_ID_COUNT;
	set->is_single[id] |= kind == 'N';
	set->has[id] |= kind == 'T';
	set->is_unknown[id] |= kind == 'T' && strtoul(end, NULL, 10);
	return (enum table_id)id;
}

static void take_run(void *user, size_t run, enum parallel_end end, char *output, size_t length)
{
	struct set *set = user;
	enum table_id id = TABLE_ID_COUNT;
	bool has_rank = false;
	char *line;

	(void)length;
	if (end == PARALLEL_FAILED)
		return;
	while ((line = strsep(&output, "\n")) != NULL) {
		if (*line == 'R')
			has_rank = take_facts(set, run, line);
		else if (*line == 'T' || *line == 'N')
			id = take_table(set, line);
		else if (*line == 'C' && id < TABLE_ID_COUNT)
			take_row(set, id, run, line);
	}
	for (size_t i = 0; i < set->touched.count; i++) {
		struct set_row *row = set->touched.items[i];
		struct spill_key key = { row->number, row->value, 0 };

		row->runs++;
		*spill_sort_reserve(&set->values, 1) = 0;
		spill_sort_commit(&set->values, key, 1);
		if (row->worst == SIZE_MAX || row->value > row->largest ||
		    (row->value == row->largest && run < row->worst)) {
			row->largest = row->value;
			row->worst = run;
		}
	}
	set->touched.count = 0;
	if (has_rank) {
		/*
		 * keep only as many ranks as are shown, so that memory does not grow with their
		 * number
		 */
		size_t most = set->options->top;

		*ARRAY_ADD(&set->ranks) = set->rank;
		if (!most || set->ranks.count < 2 * most + 100)
			return;
		ARRAY_SORT(&set->ranks, compare_ranks);
		set->ranks.count = most;
	}
}

/* Sets the median of each row, from the sorted values. */
static int find_medians(struct set *set, struct error *err)
{
	struct spill_piece piece;
	uint64_t number = UINT64_MAX, at = 0;
	int rc = spill_sort_finish(&set->values, err);

	while (rc == 0 && (rc = spill_sort_next(&set->values, &piece, err)) == 1) {
		struct set_row *row = set->rows.items[piece.key.first];

		at = number == piece.key.first ? at + 1 : 0;
		number = piece.key.first;
		/* of an even number of values, the mean of the two in the middle */
		if (at == (row->runs - 1) / 2)
			row->median = piece.key.second;
		if (at == row->runs / 2)
			row->median += (piece.key.second - row->median) / 2;
		rc = 0;
	}
	return rc;
}

static int set_read(struct set *set, const struct report_plan *plan, const struct runs *runs,
		    struct error *err)
{
	static const struct writer lines = { .name = "lines",
					     .kind = FORMAT_TABLES,
					     .print = tables_print_lines };
	struct reporting_options how = plan->how;
	int rc;

	*set = (struct set){ .runs = runs,
			     .options = &plan->how.report,
			     .takes_by = how.choice.takes_by,
			     .names = memory_zalloc(runs->count, sizeof(*set->names)) };
	hash_table_init(&set->table);
	spill_sort_init(&set->values, SPILL_TMPDIR, VALUES_BYTES);
	how.style = (struct tables_style){ .format = &lines };
	how.base_count = 0;
	how.report.top = 0;
	how.report.is_of_set = true;
	if (!set->takes_by)
		how.report.by = NULL;
	rc = runs_read(runs, &how, take_run, set, err);
	if (rc == 0 && how.reading.stop && *how.reading.stop)
		rc = error_set(err, EINTR, "interrupted");
	return rc ? rc : find_medians(set, err);
}

/* ---- tables ---- */

/* Begins a table whose call sites have no addresses. The caller may replace its columns. */
static struct table *begin_table(struct tables *tables, enum table_id id,
				 struct table_column columns[COLUMNS_MAX])
{
	struct table *table = tables_begin(tables, id);

	for (unsigned i = 0; i < table->facts.column_count; i++) {
		columns[i] = table->facts.columns[i];
		if (columns[i].kind == TABLE_BACKTRACE)
			columns[i].kind = TABLE_BRANCH;
	}
	return table;
}

static void keep_columns(struct table *table, const struct table_column *columns, size_t count)
{
	struct table_column *copy = table_alloc(table, count * sizeof(*copy));

	memcpy(copy, columns, count * sizeof(*copy));
	table->facts.columns = copy;
	table->facts.column_count = (unsigned)count;
}

/*
 * Sets the columns of the table: the columns of a table about one run and, before the last call
 * site, the added ones (RUNS to RUN). map: receives, for each column, its number in a run's table,
 * or RUNS to RUN. Returns the number of columns.
 */
static size_t plan_columns(const struct set *set, struct table *table, int map[COLUMNS_MAX])
{
	struct table_column all[COLUMNS_MAX], kept[COLUMNS_MAX];
	unsigned count = table->facts.column_count, used = 0;
	enum table_id id = table->id;
	enum table_kind kind = table->facts.columns[value_column(set, id)].kind;
	/* choose a kind without sums: medians and largest values cannot be added up */
	enum table_kind value = kind == TABLE_AMOUNT || kind == TABLE_CHANGE ? TABLE_PART
				: kind == TABLE_COUNT			     ? TABLE_PART_COUNT
				: kind == TABLE_BYTES			     ? TABLE_SIZE
									     : TABLE_NS;
	const struct table_column own[] = {
		{ "runs", TABLE_NUMBER, "runs", "" },
		{ "median", value, "median", "" },
		{ "largest", value, "largest", "" },
		{ "largest_run", TABLE_TEXT, "in run", "" },
	};
	bool is_added = false;

	begin_table(table->tables, id, all);
	for (unsigned i = 0; i <= count; i++) {
		if (!is_added && (i == count || (i + 1 == count && all[i].kind == TABLE_BRANCH)))
			for (int k = RUNS; k <= RUN; k++, is_added = true) {
				/* the value of a limit is already the largest one */
				if (id == TABLE_limits && k == LARGEST)
					continue;
				map[used] = k;
				kept[used++] = own[k - RUNS];
			}
		if (i == count)
			continue;
		map[used] = (int)i;
		kept[used++] = all[i];
	}
	keep_columns(table, kept, used);
	return used;
}

/* Sets the cell to the name of a run: its rank, if it is known, and its first trace. */
static void put_name(const struct set *set, struct table *table, struct table_cell *cell,
		     size_t run)
{
	const char *path = run < set->runs->count ? set->runs->items[run]->paths.items[0] : NULL;

	if (path && set->names[run])
		table_format(table, cell, "rank %s, %s", set->names[run], path);
	else
		table_text(table, cell, path);
}

/* Sets a cell to a value of one run, in the unit (bytes, ns or objects) of `like`. */
static void put_value(struct table_cell *cell, uint64_t value, const struct table_cell *like)
{
	table_amount(cell, value, like->has_bytes);
	cell->has_ns = like->has_ns;
}

static void put_row(const struct set *set, struct table *table, const struct set_row *row,
		    const int *map, size_t count)
{
	struct table_facts facts = table_facts(row->id);
	const struct table_cell *value = &row->cells[value_column(set, row->id)];
	struct table_cell *cells = table_add(table);

	for (size_t i = 0; i < count; i++) {
		enum set_join join =
			map[i] < 0 ? SET_NOT : join_of(row->id, &facts.columns[map[i]]);

		if (map[i] == RUNS)
			table_number(&cells[i], row->runs);
		else if (map[i] == MEDIAN || map[i] == LARGEST)
			put_value(&cells[i], map[i] == MEDIAN ? row->median : row->largest, value);
		else if (map[i] == RUN)
			put_name(set, table, &cells[i], row->worst);
		else
			cells[i] = row->cells[map[i]];
		if (!cells[i].is_set)
			continue;
		if (join == SET_SQUARES)
			cells[i].number = (uint64_t)ceil(sqrt(real_of(&cells[i])));
		else if (join == SET_MEAN)
			cells[i].number =
				cells[i].weight
					? (uint64_t)(real_of(&cells[i]) / (double)cells[i].weight)
					: 0;
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct set_row *const *one = a, *const *two = b;

	return ORDER((*one)->id, (*two)->id) ?: strcmp((*one)->key, (*two)->key);
}

static void put_ranks(struct set *set, struct tables *tables)
{
	struct table_column columns[COLUMNS_MAX];
	struct table *table = begin_table(tables, TABLE_ranks, columns);
	size_t most = set->options->top;

	keep_columns(table, columns, table->facts.column_count);
	ARRAY_SORT(&set->ranks, compare_ranks);
	for (size_t i = 0; i < set->ranks.count && (!most || i < most); i++) {
		const struct set_rank *rank = &set->ranks.items[i];
		const struct set_row *longest = rank->longest;
		struct table_cell *row = table_add(table);

		table_number(CELL(row, ranks, rank), rank->rank);
		table_text(table, CELL(row, ranks, job), rank->job);
		table_text(table, CELL(row, ranks, host), rank->host);
		table_number(CELL(row, ranks, duration), rank->duration_ns);
		table_number(CELL(row, ranks, wait_time), rank->wait_ns);
		if (!longest)
			continue;
		table_number(CELL(row, ranks, longest_sum), rank->longest_ns);
		*CELL(row, ranks, function) = *CELL(longest->cells, ranks, function);
		*CELL(row, ranks, waker_backtrace) = *CELL(longest->cells, ranks, waker_backtrace);
		*CELL(row, ranks, backtrace) = *CELL(longest->cells, ranks, backtrace);
	}
}

/* Adds the rows of a table. Broken limits come before other limits. limits: may be NULL. */
static void put_table(struct set *set, struct tables *tables, enum table_id id,
		      const struct limits *limits, struct reporting_result *result)
{
	static const char *const results[] = { "broken", "unknown", "kept" };
	struct table *table = tables_begin(tables, id);
	int map[COLUMNS_MAX];
	size_t count = plan_columns(set, table, map);

	table->is_unknown = set->is_unknown[id];
	for (size_t pass = 0; pass < (id == TABLE_limits ? 3 : 1); pass++) {
		for (size_t i = 0; i < set->rows.count; i++) {
			const struct set_row *row = set->rows.items[i];

			if (row->id != id)
				continue;
			if (id == TABLE_limits &&
			    strcmp(CELL(row->cells, limits, result)->text, results[pass]) != 0)
				continue;
			put_row(set, table, row, map, count);
			if (id != TABLE_limits)
				continue;
			result->broken += pass == 0;
			result->unknown += pass == 1;
		}
		if (id != TABLE_limits || pass != 1 || !result->reading.unread)
			continue;
		/* add a row for each limit, because runs that could not be read may break it */
		for (size_t i = 0; i < limits->count; i++) {
			const struct limit *limit = &limits->items[i];
			/* the added columns (RUNS to RUN) follow the columns that are set here */
			struct table_cell *row = table_add(table);

			table_format(table, CELL(row, limits, limit), "%.*s", (int)limit->length,
				     limit->text);
			table_text(table, CELL(row, limits, result), "unknown");
			table_text(table, CELL(row, limits, meaning), limit->row->meaning);
			table_text(table, CELL(row, limits, why), "these runs could not be read");
			table_number(&row[table_column(&table->facts, "runs")],
				     result->reading.unread);
			result->unknown++;
		}
	}
}

/* ---- the difference between two sets ---- */

/* Returns the error of a call site's mean amount. row NULL: it had no samples, but maybe blocks. */
static double mean_error(const struct set *set, const struct set_row *row)
{
	double error = row ? sqrt(real_of(CELL(row->cells, diff, change_error)))
			   : (double)estimate_unseen(set->sample);

	if (row && !CELL(row->cells, diff, change_error)->is_set)
		error = 0;
	return set->read ? error / (double)set->read : 0;
}

/* Adds a row for a call site. row: its rows in the new set and the old set; NULL: it has none. */
static void put_change(const struct set *sets, struct table *table, const struct set_row *row[2],
		       size_t *left_out)
{
	const struct set_row *shown = row[0] ? row[0] : row[1];
	const struct set *largest = row[0] ? &sets[0] : &sets[1];
	const struct table_cell *like = CELL(shown->cells, diff, change);
	/* only memory is sampled; all objects of other classes are recorded */
	bool is_memory = !strcmp(shown->cells[0].text, "memory");
	double errors[2] = { is_memory ? mean_error(&sets[0], row[0]) : 0,
			     is_memory ? mean_error(&sets[1], row[1]) : 0 };
	double error = sqrt(errors[0] * errors[0] + errors[1] * errors[1]), mean[2];
	uint64_t amount[2];
	struct table_cell *cells;

	for (int i = 0; i < 2; i++) {
		amount[i] = row[i] ? CELL(row[i]->cells, diff, change)->number : 0;
		mean[i] = sets[i].read ? (double)amount[i] / (double)sets[i].read : 0;
	}
	if (like->has_ns ? mean[0] / 2 <= mean[1] && mean[1] / 2 <= mean[0] : mean[0] == mean[1])
		return;
	/* as in the comparison of two runs: twice the error, because there are many call sites */
	if (error > 0 && fabs(mean[0] - mean[1]) <= 2 * error) {
		++*left_out;
		return;
	}
	cells = table_add(table);
	cells[0] = shown->cells[0];
	table_text(table, CELL(cells, diff_runs, state),
		   !row[1] && !(is_memory && sets[1].sample)   ? "new"
		   : !row[0] && !(is_memory && sets[0].sample) ? "gone"
		   : mean[0] > mean[1]			       ? "more"
							       : "less");
	put_value(CELL(cells, diff_runs, change), (uint64_t)(int64_t)round(mean[0] - mean[1]),
		  like);
	if (error > 0)
		put_value(CELL(cells, diff_runs, change_error), (uint64_t)ceil(error), like);
	put_value(CELL(cells, diff_runs, old), amount[1], like);
	put_value(CELL(cells, diff_runs, new), amount[0], like);
	table_number(CELL(cells, diff_runs, old_runs), row[1] ? row[1]->runs : 0);
	table_number(CELL(cells, diff_runs, new_runs), row[0] ? row[0]->runs : 0);
	if (row[1])
		put_value(CELL(cells, diff_runs, old_median), row[1]->median, like);
	if (row[0])
		put_value(CELL(cells, diff_runs, new_median), row[0]->median, like);
	put_value(CELL(cells, diff_runs, largest), shown->largest, like);
	put_name(largest, table, CELL(cells, diff_runs, largest_run), shown->worst);
	*CELL(cells, diff_runs, backtrace) = *CELL(shown->cells, diff, backtrace);
}

static void put_diff(const struct set *sets, struct tables *tables)
{
	struct table_column columns[COLUMNS_MAX];
	struct table *table = begin_table(tables, TABLE_diff_runs, columns);
	size_t left_out = 0;

	keep_columns(table, columns, table->facts.column_count);
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < sets[i].rows.count; k++) {
			const struct set_row *row = sets[i].rows.items[k], *pair[2];

			pair[i] = row;
			pair[!i] = hash_table_find(
				&sets[!i].table,
				hash_bytes(sets[!i].table.seed, row->key, strlen(row->key)), is_row,
				row->key);
			if (row->id == TABLE_diff && (i == 0 || !pair[0]))
				put_change(sets, table, pair, &left_out);
		}
	table_note(table,
		   "of %" PRIu64 " old and %" PRIu64
		   " new runs%s; change: between the means of a run",
		   sets[1].read, sets[0].read,
		   sets[0].read + sets[1].read < sets[0].runs->count + sets[1].runs->count
			   ? " that could be read"
			   : "");
	if (left_out)
		table_note(table,
			   "%s; %zu more call site%s may have changed, but by less than twice the "
			   "error",
			   table->note, left_out, left_out == 1 ? "" : "s");
	if (sets[0].sample | sets[1].sample)
		table->is_unknown = true;
}

/* ---- reports ---- */

static bool is_asked(const struct choice *choice, enum table_id id)
{
	bool is_asked = false;

	for (unsigned i = 0; i < choice->row_count; i++)
		is_asked |= report_of(id) == choice->rows[i];
	return is_asked && choice->tables[id];
}

bool sets_can_report(const struct report_plan *plan, const struct options *options)
{
	const struct choice *choice = &plan->how.choice;
	const struct writer *format = plan->how.style.format;
	bool has_check = false;

	for (unsigned i = 0; i < choice->row_count; i++)
		has_check |= !strcmp(choice->rows[i]->name, "check");
	if (format->kind != FORMAT_TABLES || format->flags & ~FORMAT_PEOPLE || options->merge ||
	    options->growth || options->since || options->until || options->core ||
	    options->write_baseline || options->is_screen)
		return false;
	for (unsigned i = 0; i < choice->row_count; i++) {
		bool can_join = false;

		for (unsigned id = 0; id < TABLE_ID_COUNT; id++) {
			struct table_facts facts = table_facts(id);

			can_join |= report_of(id) == choice->rows[i] && choice->tables[id] &&
				    tables_can_join(&facts);
		}
		/* check prints the screen, too, which is about one run */
		if (!can_join && (!has_check || strcmp(choice->rows[i]->name, "summary") != 0))
			return false;
	}
	for (size_t i = 0; i < plan->count; i++)
		if (!strcmp(plan->paths[i], "-"))
			return false;
	return choice->row_count != 0;
}

int sets_find(struct report_plan *plan, struct error *err)
{
	const struct reporting_options *how = &plan->how;
	int rc = runs_find(&plan->runs, plan->paths, plan->count, &how->reading.trace, err);

	if (rc == 0 && how->choice.wants_base)
		rc = runs_find(&plan->old_runs, how->base, how->base_count, &how->reading.trace,
			       err);
	return rc;
}

static int print_set(const struct report_plan *plan, struct set *sets, struct out *out,
		     struct reporting_result *result, struct error *err)
{
	const struct choice *choice = &plan->how.choice;
	struct report_run run = { .options = &plan->how.report, .summary = summary_begin() };
	struct tables tables;
	int rc = naming_create(&run.naming, &run.summary->space, NULL, err);

	tables_init(&tables);
	run.summary->sample = sets[0].sample > sets[1].sample ? sets[0].sample : sets[1].sample;
	run.summary->unread = result->reading.unread;
	for (unsigned id = 0; !choice->wants_base && id < TABLE_ID_COUNT; id++)
		/* skip tables that were read only for limits */
		if (is_asked(choice, id) && sets[0].has[id] && id != TABLE_ranks)
			put_table(&sets[0], &tables, id, plan->how.limits, result);
	if (choice->wants_base)
		put_diff(sets, &tables);
	else if (sets[0].ranks.count && is_asked(choice, TABLE_ranks))
		put_ranks(&sets[0], &tables);
	if (!choice->wants_base) {
		struct line names = { .length = 0 };
		const struct set *set = &sets[0];
		struct table *table = tables_begin(&tables, TABLE_runs_read);
		struct table_cell *row = table_add(table);

		table_number(CELL(row, runs_read, runs), set->read);
		table_number(CELL(row, runs_read, not_read), set->runs->count - set->read);
		table_number(CELL(row, runs_read, damaged), set->damaged);
		table_number(CELL(row, runs_read, incomplete), set->incomplete);
		if (set->read == set->runs->count)
			table_number(CELL(row, runs_read, dropped), set->dropped);
		table_number(CELL(row, runs_read, empty), set->empty);
		/* name the requested tables that have rows, but only about one run */
		for (unsigned id = 0; id < TABLE_ID_COUNT; id++)
			if (set->is_single[id] && is_asked(choice, id))
				line_add(&names, "%s%s", names.length ? ", " : "",
					 table_facts(id).name);
		if (names.length)
			table_note(table, "to be read for one run: %s", names.text);
	}
	if (rc == 0)
		rc = tables_finish(&tables, choice->takes_by ? NULL : plan->how.report.by,
				   plan->how.report.top, err);
	if (rc == 0 && out)
		tables_print(&tables, &run, run.naming, choice->rows, choice->row_count,
			     &plan->how.style, out);
	tables_free(&tables);
	naming_destroy(run.naming);
	summary_free(run.summary);
	return rc;
}

int sets_report(const struct report_plan *plan, struct out *out, struct reporting_result *result,
		struct error *err)
{
	struct set sets[2] = { { .runs = NULL }, { .runs = NULL } };
	int rc = set_read(&sets[0], plan, &plan->runs, err);

	*result = (struct reporting_result){ 0 };
	if (rc == 0 && plan->how.choice.wants_base)
		rc = set_read(&sets[1], plan, &plan->old_runs, err);
	for (int i = 0; i < 2; i++) {
		ARRAY_SORT(&sets[i].rows, compare_rows);
		result->damaged += sets[i].damaged;
		result->incomplete += sets[i].incomplete;
		result->reading.unread +=
			(sets[i].runs ? sets[i].runs->count : 0) - (size_t)sets[i].read;
		result->reading.is_damaged |= sets[i].damaged || sets[i].dropped ||
					      sets[i].incomplete || result->reading.unread;
	}
	if (rc == 0)
		rc = print_set(plan, sets, out, result, err);
	for (int i = 0; i < 2; i++)
		if (sets[i].runs) {
			struct set *set = &sets[i];

			free(set->rows.items);
			free(set->touched.items);
			free(set->ranks.items);
			free(set->names);
			free(set->key);
			hash_table_free(&set->table);
			spill_sort_free(&set->values);
			pool_free(&set->pool);
		}
	return rc;
}
