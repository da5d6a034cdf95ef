/* SPDX-License-Identifier: MIT */
/*
 * Prints tables as one HTML file that needs no other file: page.html with its style and script, and
 * the tables, column by column, as JSON packed by gzip. Each text, function and node of the call
 * tree is written once, and the tables refer to it by number.
 */
#include "postproc/print/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/pool.h"
#include "postproc/totals/selection.h"
#include "base/human.h"

#define FRAMES_MAX 1024
#define WORDS_MAX  3 /* maximum number of functions of a backtrace that a row shows */
#define NONE	   UINT32_MAX

/* the contents of page.html, page.css and the files of the script */
/* clang-format off */
#define SCRIPT(name) ".incbin \"postproc/page/" name ".js\"\n"
extern const char html_page[], html_style[], html_script[];
__asm__(".section .rodata\n"
	".global html_page, html_style, html_script\n"
	".hidden html_page, html_style, html_script\n"
	"html_page: .incbin \"postproc/page/page.html\"\n.byte 0\n"
	"html_style: .incbin \"postproc/page/page.css\"\n.byte 0\n"
	"html_script:\n"
	SCRIPT("model") SCRIPT("state") SCRIPT("sums") SCRIPT("parts") SCRIPT("timeline")
	SCRIPT("flames") SCRIPT("sites") SCRIPT("waits") SCRIPT("processes") SCRIPT("resident")
	SCRIPT("tables")
	SCRIPT("main")
	".byte 0\n"
	".previous\n");
/* clang-format on */

struct text {
	const char *text;
	uint32_t number;
};

struct frame {
	uint32_t function, file, module; /* numbers of texts, or NONE */
	uint32_t line, is_own;
	uint32_t number; /* of the frame; must be the last member: is_frame() ignores it */
};

struct node {
	uint32_t parent, frame, words;
};

/* The page: its numbered texts, frames and nodes. */
struct page {
	const struct tables_job *job;
	struct json json;
	struct pool pool;
	struct hash_table text_index, frame_index;
	struct map node_index; /* key: parent and frame; value: number of the node + 1 */
	ARRAY_OF(const char *) texts;
	ARRAY_OF(const struct frame *) frames;
	ARRAY_OF(struct node) nodes;
	struct map backtraces; /* key: address of a backtrace; value: its node + 2; 1: no frames */
	struct naming_symbol *symbols;
};

/* ---- numbers of texts, frames and nodes ---- */

static bool is_text(const void *item, const void *key)
{
	return strcmp(((const struct text *)item)->text, key) == 0;
}

/* Returns the number of a text, or NONE if `words` is NULL. */
static uint32_t text_number(struct page *page, const char *words)
{
	uint64_t hash;
	struct text *text;
	const char **item;

	if (!words)
		return NONE;
	hash = hash_bytes(page->text_index.seed, words, strlen(words));
	text = hash_table_find(&page->text_index, hash, is_text, words);
	if (text)
		return text->number;
	text = pool_alloc(&page->pool, sizeof(*text));
	item = ARRAY_ADD(&page->texts);
	text->text = *item = pool_text(&page->pool, words, strlen(words));
	text->number = (uint32_t)page->texts.count - 1;
	hash_table_add(&page->text_index, hash, text);
	return text->number;
}

static bool is_frame(const void *item, const void *key)
{
	return memcmp(item, key, offsetof(struct frame, number)) == 0;
}

static uint32_t frame_number(struct page *page, const struct naming_symbol *symbol)
{
	const char *module = symbol->module ? strrchr(symbol->module, '/') : NULL;
	char unnamed[128];
	struct frame frame = { .file = text_number(page, symbol->file),
			       .module = text_number(page, symbol->module),
			       .line = symbol->line,
			       .is_own = !symbol->is_runtime && !symbol->is_start &&
					 symbol->function && symbol->file };
	const struct frame **item;
	struct frame *kept;
	uint64_t hash;

	module = module ? module + 1 : symbol->module ? symbol->module : "";
	snprintf(unnamed, sizeof(unnamed), "%.100s%s0x%" PRIx64, module, *module ? "+" : "",
		 symbol->offset);
	frame.function = text_number(page, symbol->function ? symbol->function : unnamed);
	hash = hash_bytes(page->frame_index.seed, &frame, offsetof(struct frame, number));
	kept = hash_table_find(&page->frame_index, hash, is_frame, &frame);
	if (kept)
		return kept->number;
	kept = pool_alloc(&page->pool, sizeof(*kept));
	item = ARRAY_ADD(&page->frames);
	*item = kept;
	*kept = frame;
	kept->number = (uint32_t)page->frames.count - 1;
	hash_table_add(&page->frame_index, hash, kept);
	return kept->number;
}

static uint32_t node_number(struct page *page, uint32_t parent, uint32_t frame)
{
	struct map_entry *entry = map_put(&page->node_index, parent, frame);
	struct node *node;

	if (entry->value)
		return entry->value - 1;
	node = ARRAY_ADD(&page->nodes);
	*node = (struct node){ parent, frame, NONE };
	entry->value = (uint32_t)page->nodes.count;
	return entry->value - 1;
}

/*
 * Returns the node of a backtrace, or NONE if it has no frames. Looks up backtraces by address:
 * equal backtraces of an address map have the same address.
 */
static uint32_t backtrace_number(struct page *page, const struct trace_node *backtrace)
{
	uint64_t key = (uint64_t)(uintptr_t)backtrace;
	uint32_t known = map_get(&page->backtraces, 0, key), node = NONE;
	size_t count;

	if (known)
		return known == 1 ? NONE : known - 2;
	count = naming_symbols(page->job->naming, backtrace, page->symbols, FRAMES_MAX);
	while (count)
		node = node_number(page, node, frame_number(page, &page->symbols[--count]));
	if (node != NONE && page->nodes.items[node].words == NONE) {
		struct naming_line lines[WORDS_MAX];
		size_t shown = naming_lines(page->job->naming, backtrace, lines, WORDS_MAX),
		       used = 0;
		char words[WORDS_MAX * (NAMING_TEXT_MAX + 4)] = "";

		for (size_t i = 0; i < shown; i++)
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
						 i ? " <- " : "", lines[i].text);
		page->nodes.items[node].words = text_number(page, words);
	}
	map_set(&page->backtraces, 0, key, node == NONE ? 1 : node + 2);
	return node;
}

/* ---- JSON ---- */

static void print_number(struct page *page, uint32_t number)
{
	if (number == NONE)
		json_null(&page->json);
	else
		json_unsigned(&page->json, number);
}

/* Returns the kind of a column, which tells the page's script how to print the numbers. */
static const char *kind_word(enum table_kind kind, const struct table_cell *cell)
{
	switch (tables_shape(kind)) {
	case SHAPE_TEXT:
		return "text";
	case SHAPE_BACKTRACE:
	case SHAPE_BRANCH:
		return "backtrace";
	case SHAPE_SIGNED:
		return "signed";
	case SHAPE_HEX:
		return "hex";
	case SHAPE_HUNDREDTHS:
		return "percent";
	case SHAPE_STEPS: /* skip these: the page draws better curves itself */
		return "key";
	case SHAPE_UNSIGNED:
		break;
	}
	if (kind == TABLE_BYTES || kind == TABLE_SIZE || (cell && cell->has_bytes))
		return "bytes";
	if (kind == TABLE_NS || kind == TABLE_LONGEST || kind == TABLE_MEAN || kind == TABLE_TIME ||
	    (cell && cell->has_ns))
		return "ns";
	if (kind == TABLE_KEY)
		return "key";
	return kind == TABLE_NUMBER ? "number" : "count";
}

/* Returns the first cell of a column that is set, which determines the unit, or NULL. */
static const struct table_cell *first_set(const struct table *table, unsigned column)
{
	for (size_t i = 0; i < table->rows.count; i++)
		if (table->rows.items[i][column].is_set)
			return &table->rows.items[i][column];
	return NULL;
}

/* Returns the unit of a cell as a number for the page's script: 0 objects, 1 bytes, 2 ns. */
static unsigned unit_of(const struct table_cell *cell)
{
	return cell->has_bytes ? 1 : cell->has_ns ? 2 : 0;
}

static bool is_mixed(const struct table *table, unsigned column)
{
	const struct table_cell *first = first_set(table, column);

	for (size_t i = 0; first && i < table->rows.count; i++) {
		const struct table_cell *cell = &table->rows.items[i][column];

		if (cell->is_set && unit_of(cell) != unit_of(first))
			return true;
	}
	return false;
}

static void print_cell(struct page *page, enum table_kind kind, const struct table_cell *cell)
{
	uint32_t node = NONE;
	char text[20];

	if (!cell->is_set) {
		json_null(&page->json);
		return;
	}
	switch (tables_shape(kind)) {
	case SHAPE_TEXT:
		print_number(page, text_number(page, cell->text));
		break;
	case SHAPE_BACKTRACE:
		print_number(page, backtrace_number(page, cell->backtrace));
		break;
	case SHAPE_BRANCH:
		for (uint32_t i = 0; i < cell->branch->count; i++)
			node = node_number(page, node, frame_number(page, cell->branch->frames[i]));
		print_number(page, node);
		break;
	case SHAPE_SIGNED:
		json_signed(&page->json, (int64_t)cell->number);
		break;
	case SHAPE_STEPS:
		json_null(&page->json);
		break;
	case SHAPE_HEX: /* a text, because numbers of JavaScript are exact only up to 2^53 */
		snprintf(text, sizeof(text), "0x%" PRIx64, cell->number);
		json_text(&page->json, text);
		break;
	case SHAPE_HUNDREDTHS:
	case SHAPE_UNSIGNED:
		json_unsigned(&page->json, cell->number);
		break;
	}
}

static void print_key(struct page *page, const char *key, const char *text)
{
	json_add_text(&page->json, key, text);
}

static void print_table(struct page *page, const struct table *table)
{
	json_begin(&page->json, '{');
	print_key(page, "name", table->facts.name);
	print_key(page, "report", report_of(table->id)->name);
	print_key(page, "title", table->facts.title);
	json_key(&page->json, "note");
	print_number(page, text_number(page, table->note));
	json_open(&page->json, "columns", '[');
	for (unsigned i = 0; i < table->facts.column_count; i++) {
		const struct table_column *column = &table->facts.columns[i];

		json_begin(&page->json, '{');
		print_key(page, "name", column->name);
		print_key(page, "kind", kind_word(column->kind, first_set(table, i)));
		print_key(page, "heading", column->heading);
		print_key(page, "meaning", column->meaning);
		if (is_mixed(table, i)) {
			struct table_at at = { 0 };
			const struct table_cell *row;

			json_open(&page->json, "units", '[');
			while ((row = table_next(table, &at)) != NULL)
				json_unsigned(&page->json, unit_of(&row[i]));
			json_end(&page->json);
		}
		json_end(&page->json);
	}
	json_end(&page->json);
	json_open(&page->json, "values", '[');
	for (unsigned i = 0; i < table->facts.column_count; i++) {
		struct table_at at = { 0 };
		const struct table_cell *row;

		/* table_next() skips the rows that --top removes */
		json_begin(&page->json, '[');
		while ((row = table_next(table, &at)) != NULL)
			print_cell(page, table->facts.columns[i].kind, &row[i]);
		json_end(&page->json);
	}
	json_end(&page->json);
	json_end(&page->json);
}

static void print_frames(struct page *page)
{
#define FRAME_COLUMN(key, value)                                   \
	json_key(&page->json, key);                                \
	json_begin(&page->json, '[');                              \
	for (size_t i = 0; i < page->frames.count; i++) {          \
		const struct frame *frame = page->frames.items[i]; \
		value;                                             \
	}                                                          \
	json_end(&page->json)

	json_open(&page->json, "frames", '{');
	FRAME_COLUMN("function", print_number(page, frame->function));
	FRAME_COLUMN("file", print_number(page, frame->file));
	FRAME_COLUMN("module", print_number(page, frame->module));
	FRAME_COLUMN("line", json_unsigned(&page->json, frame->line));
	FRAME_COLUMN("own", json_unsigned(&page->json, frame->is_own));
	json_end(&page->json);
#undef FRAME_COLUMN
}

static void print_about(struct page *page)
{
	const struct summary *run = page->job->run->summary;
	const struct summary_process *first = summary_process_at(run, 0);
	const char *filters = run->selection ? run->selection->filters : NULL;
	struct human length, events, processes, kept;
	uint64_t kept_ns = 0;
	char about[512 + SUMMARY_SAMPLES_MAX], samples[SUMMARY_SAMPLES_MAX];

	human_time(&length, run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	human_count(&events, run->events);
	human_count(&processes, run->processes.count);
	for (size_t i = 0; i < run->processes.count; i++)
		if (run->processes.items[i].kept_ns > kept_ns)
			kept_ns = run->processes.items[i].kept_ns;
	human_time(&kept, kept_ns > run->start_ns ? kept_ns - run->start_ns : 0);
	summary_say_samples(run, samples);
	snprintf(about, sizeof(about),
		 "%s process%s, %s, %s events, %" PRIu64 " dropped; holdtrace %s%s%s%s%s%s%s",
		 processes.text, run->processes.count == 1 ? "" : "es", length.text, events.text,
		 run->lost, PACKAGE_VERSION, *samples ? "; " : "", samples,
		 kept_ns ? "; all calls are recorded only after " : "", kept_ns ? kept.text : "",
		 filters ? "; only what these options select: " : "", filters ? filters : "");
	print_key(page, "title",
		  !first			      ? "no process"
		  : first->command && *first->command ? first->command
						      : first->name);
	print_key(page, "about", about);
	print_key(page, "files", page->job->style->behind_next);
	print_key(page, "filters", filters);
}

static void print_model(struct page *page, struct out *out)
{
	json_start(&page->json, out, false);
	json_begin(&page->json, '{');
	print_about(page);
	json_open(&page->json, "sheets", '[');
	for (unsigned i = 0; i < page->job->tables->count; i++)
		print_table(page, &page->job->tables->list[i]);
	json_end(&page->json);
	print_frames(page);
	json_open(&page->json, "nodes", '{');
	json_open(&page->json, "parent", '[');
	for (size_t i = 0; i < page->nodes.count; i++)
		json_signed(&page->json, (int32_t)page->nodes.items[i].parent);
	json_end(&page->json);
	json_open(&page->json, "frame", '[');
	for (size_t i = 0; i < page->nodes.count; i++)
		json_unsigned(&page->json, page->nodes.items[i].frame);
	json_end(&page->json);
	json_end(&page->json);
	json_open(&page->json, "words", '[');
	for (size_t i = 0; i < page->nodes.count; i++)
		print_number(page, page->nodes.items[i].words);
	json_end(&page->json);
	json_open(&page->json, "strings", '[');
	for (size_t i = 0; i < page->texts.count; i++)
		json_text(&page->json, page->texts.items[i]);
	json_end(&page->json);
	json_end(&page->json);
	json_finish(&page->json);
}

/* ---- gzip and base64 ---- */

/* size of a piece of output in bytes: a multiple of 3, as base64 requires */
#define PACK_SIZE (3u * 16384u)

/* Prints a piece in base64. The sizes of all pieces but the last are multiples of 3 bytes. */
static void print_compressed(z_stream *stream, unsigned char *packed, struct out *out)
{
	size_t size = PACK_SIZE - stream->avail_out;
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)packed[i] << 16;

		three |= i + 1 < size ? (uint32_t)packed[i + 1] << 8 : 0;
		three |= i + 2 < size ? packed[i + 2] : 0;
		out_char(out, digits[three >> 18]);
		out_char(out, digits[three >> 12 & 63]);
		out_char(out, i + 1 < size ? digits[three >> 6 & 63] : '=');
		out_char(out, i + 2 < size ? digits[three & 63] : '=');
	}
	stream->next_out = packed;
	stream->avail_out = PACK_SIZE;
}

static int print_gzip(int fd, struct out *out)
{
	z_stream stream = { 0 };
	cleanup_free unsigned char *plain = memory_alloc(PACK_SIZE),
				   *packed = memory_alloc(PACK_SIZE);
	int state = Z_OK;

	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		memory_none();
	stream.next_out = packed;
	stream.avail_out = PACK_SIZE;
	while (state == Z_OK) {
		if (!stream.avail_in) {
			ssize_t size = read(fd, plain, PACK_SIZE);

			stream.next_in = plain;
			stream.avail_in = size > 0 ? (unsigned)size : 0;
		}
		state = deflate(&stream, stream.avail_in ? Z_NO_FLUSH : Z_FINISH);
		if (!stream.avail_out)
			print_compressed(&stream, packed, out);
	}
	print_compressed(&stream, packed, out);
	deflateEnd(&stream);
	return state == Z_STREAM_END ? 0 : -EIO;
}

/* ---- the page ---- */

/*
 * Prints the model (the data of the page): writes it as JSON to a memfd, then compresses the memfd.
 */
static int print_packed(struct page *page, struct out *out)
{
	cleanup_fd int fd = memfd_create("holdtrace-page", MFD_CLOEXEC);
	struct out model;
	int ret;

	if (fd < 0)
		return -errno;
	out_open(&model, fd);
	print_model(page, &model);
	ret = out_close(&model);
	if (ret == 0 && lseek(fd, 0, SEEK_SET) < 0)
		ret = -errno;
	return ret ? ret : print_gzip(fd, out);
}

/* Prints a template up to a mark (@STYLE@, @MODEL@ or @SCRIPT@). Returns what follows the mark. */
static const char *print_until(struct out *out, const char *template, const char *mark)
{
	const char *found = strstr(template, mark);

	out_bytes(out, template, (size_t)(found - template));
	return found + strlen(mark);
}

void tables_print_html(const struct tables_job *job)
{
	const char *rest = html_page;
	struct page page = { .job = job };
	int ret;

	hash_table_init(&page.text_index);
	hash_table_init(&page.frame_index);
	map_init(&page.node_index);
	map_init(&page.backtraces);
	page.symbols = memory_zalloc(FRAMES_MAX, sizeof(*page.symbols));
	rest = print_until(job->out, rest, "@STYLE@");
	out_text(job->out, html_style);
	rest = print_until(job->out, rest, "@MODEL@");
	ret = print_packed(&page, job->out);
	if (ret < 0 && !job->out->error)
		job->out->error = ret;
	rest = print_until(job->out, rest, "@SCRIPT@");
	out_text(job->out, html_script);
	out_text(job->out, rest);
	free(page.symbols);
	free(page.nodes.items);
	free(page.frames.items);
	free(page.texts.items);
	map_clear(&page.backtraces);
	map_clear(&page.node_index);
	hash_table_free(&page.frame_index);
	hash_table_free(&page.text_index);
	pool_free(&page.pool);
}
