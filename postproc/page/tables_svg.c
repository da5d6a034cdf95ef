/* SPDX-License-Identifier: MIT */
/*
 * Prints trees as flame graphs in one SVG file that needs no other file: a graph for each group,
 * callers below callees. The picture is complete without its script, which only zooms and searches.
 * In a comparison of two runs, each group has two graphs of the same scale and order, the old run's
 * first. Functions that grew or are new are red; functions that shrank or are gone are blue.
 */
#include "postproc/print/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "postproc/print/tables_compare.h"

#define WIDTH	    1200.0
#define ROW	    17u	  /* height of a function; all sizes are in px */
#define HEAD	    24u	  /* height of the title of the file or of a graph */
#define LETTER	    6.6	  /* width of a letter */
#define NARROWEST   0.1	  /* narrower bars are left out */
#define NAME_LENGTH 4096u /* maximum size of a name in bytes */

extern const char flame_script[];
__asm__(".section .rodata\n"
	".global flame_script\n"
	".hidden flame_script\n"
	"flame_script: .incbin \"postproc/page/flame.js\"\n.byte 0\n"
	".previous\n");

/*
 * A bar of the graph: one function, or several functions above each other, where each function is
 * the only callee of the previous one.
 */
struct bar {
	const struct table_branch *branch;
	uint64_t total, used; /* used: sum of those callees that already have positions */
	uint64_t other;	      /* total of the same functions in the other run */
	uint64_t from;
	uint32_t depth; /* number of callers, which are drawn below the bar */
	size_t parent;	/* index of the parent + 1; 0: none */
};

struct graph {
	const struct tables_job *job;
	const struct table_group *group;
	ARRAY_OF(struct bar) bars;
	ARRAY_OF(size_t) above; /* indexed by depth: index + 1 of the last bar at that depth */
	struct tables_steps steps;
	enum tables_run run; /* which run of a comparison is being drawn */
	bool is_comparison;
	uint64_t total, other;
	uint64_t scale;	 /* the amount that the whole width represents */
	uint32_t height; /* largest number of functions above each other */
	bool has_bytes, has_ns;
	uint64_t left_out;
};

/* ---- reading the tables ---- */

static int column_of(const struct table_facts *facts, enum table_kind kind)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (facts->columns[i].kind == kind)
			return (int)i;
	return TABLE_COLUMN_NONE;
}

static bool add_bar(struct graph *graph, const struct table_branch *branch, uint64_t self)
{
	size_t depth = branch->depth, *above;
	struct bar *bar;

	if (depth > graph->above.count)
		return false;
	graph->above.count = depth;
	bar = ARRAY_ADD(&graph->bars);
	above = ARRAY_ADD(&graph->above);
	*above = graph->bars.count;
	*bar = (struct bar){ .branch = branch, .total = self };
	bar->parent = depth ? graph->above.items[depth - 1] : 0;
	return true;
}

static void add_steps(struct graph *graph, const struct table *table)
{
	struct tables_steps *steps = &graph->steps;

	tables_compare(steps, graph->job, table, graph->group);
	graph->has_bytes = steps->has_bytes;
	graph->has_ns = steps->has_ns;
	for (size_t i = 0; i < steps->steps.count; i++) {
		const struct tables_step *step = &steps->steps.items[i];

		if (!add_bar(graph, step->branch, step->amounts[graph->run]))
			return;
		graph->bars.items[graph->bars.count - 1].other = step->amounts[!graph->run];
	}
}

/*
 * Reads the rows of a group into bars. Returns false if there is nothing to draw. In a comparison,
 * a run whose amounts are all 0 still gets a graph, which has only a title.
 */
static bool read_group(struct graph *graph, const struct table *table)
{
	graph->bars.count = graph->above.count = 0;
	graph->total = graph->other = graph->left_out = 0;
	graph->height = 0;
	if (graph->is_comparison) {
		add_steps(graph, table);
	} else {
		int branch = column_of(&table->facts, TABLE_BRANCH);
		int value = table_column(&table->facts, "self");
		bool is_fit = true;

		if (value < 0)
			value = table_column(&table->facts, "count");
		for (size_t i = 0; branch >= 0 && value >= 0 && is_fit && i < graph->group->shown;
		     i++) {
			const struct table_cell *row = table->rows.items[graph->group->first + i];

			graph->has_bytes = row[value].has_bytes;
			graph->has_ns = row[value].has_ns;
			if (row[branch].is_set)
				is_fit = add_bar(graph, row[branch].branch, row[value].number);
		}
	}
	/*
	 * add up the totals from the last bar to the first, because callees follow their caller.
	 * Then compute the position of each bar
	 */
	struct bar *bars = graph->bars.items;

	for (size_t i = graph->bars.count; i; i--)
		if (bars[i - 1].parent) {
			bars[bars[i - 1].parent - 1].total += bars[i - 1].total;
			bars[bars[i - 1].parent - 1].other += bars[i - 1].other;
		} else {
			graph->other += bars[i - 1].other;
		}
	for (size_t i = 0; i < graph->bars.count; i++) {
		struct bar *bar = &bars[i], *parent = bar->parent ? &bars[bar->parent - 1] : NULL;
		uint64_t *used = parent ? &parent->used : &graph->total;

		bar->from = parent ? parent->from + *used : *used;
		bar->depth = parent ? parent->depth + parent->branch->count : 0;
		*used += bar->total;
		if (bar->depth + bar->branch->count > graph->height)
			graph->height = bar->depth + bar->branch->count;
	}
	graph->scale = graph->total > graph->other ? graph->total : graph->other;
	if (!graph->total)
		graph->height = 0;
	return graph->scale != 0;
}

/* ---- the picture ---- */

static size_t length_of(const char *name, size_t most)
{
	size_t length = strnlen(name, most + 1);

	if (length <= most)
		return length;
	for (length = most; length && (name[length] & 0xc0) == 0x80; length--)
		;
	return length;
}

static void put_amount(struct out *out, const struct graph *graph, uint64_t amount)
{
	struct human human;

	if (graph->has_bytes)
		out_text(out, human_exact_bytes(&human, amount));
	else if (graph->has_ns)
		out_text(out, human_time(&human, amount));
	else
		out_text(out, human_count(&human, amount));
}

static void put_tip(struct out *out, const struct graph *graph, const struct bar *bar,
		    const struct naming_symbol *frame, const char *name)
{
	out_text(out, "<title>");
	out_xml(out, name, length_of(name, NAME_LENGTH));
	out_text(out, ": ");
	if (graph->is_comparison) {
		put_amount(out, graph, graph->run == TABLES_OLD ? bar->total : bar->other);
		out_text(out, " before, ");
		put_amount(out, graph, graph->run == TABLES_NEW ? bar->total : bar->other);
		out_text(out, " after");
	} else {
		put_amount(out, graph, bar->total);
		out_format(out, " (%.2f %%)", 100.0 * (double)bar->total / (double)graph->total);
	}
	if (frame->file) {
		out_text(out, " ");
		out_xml(out, frame->file, length_of(frame->file, NAME_LENGTH));
		if (frame->line)
			out_format(out, ":%u", frame->line);
	}
	out_text(out, "</title>");
}

static void put_frame(struct out *out, const struct graph *graph, const struct bar *bar,
		      uint32_t index, double top)
{
	char text[NAMING_TEXT_MAX];
	const struct naming_symbol *frame = bar->branch->frames[index];
	const char *name = frame->function ? frame->function : text;
	double from = (double)bar->from / (double)graph->scale;
	double share = (double)bar->total / (double)graph->scale;
	double y = top + (double)((graph->height - 1 - bar->depth - index) * ROW);

	if (!frame->function)
		naming_text(graph->job->naming, frame, text);
	out_format(out,
		   "<g tabindex=\"0\" data-x=\"%.9f\" data-w=\"%.9f\" data-d=\"%u\" data-name=\"",
		   from, share, bar->depth + index);
	out_xml(out, name, length_of(name, NAME_LENGTH));
	out_text(out, "\">");
	put_tip(out, graph, bar, frame, name);
	out_format(out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%u\" rx=\"2\" fill=\"",
		   from * WIDTH, y, share * WIDTH, ROW - 1);
	if (graph->is_comparison) {
		/*
		 * write a colour for the change, the same as on the HTML page: a larger change has
		 * a more saturated colour
		 */
		double now = (double)(graph->run == TABLES_NEW ? bar->total : bar->other);
		double then = (double)(graph->run == TABLES_NEW ? bar->other : bar->total);
		double part = (now - then) / (now > then ? now : then);

		out_format(out, "hsl(%d,%.0f%%,72%%)", part > 0 ? 4 : 212,
			   part > 0   ? 20 + 60 * part
			   : part < 0 ? 20 - 60 * part
				      : 0);
	} else {
		/* write a warm colour, with the same hue for all functions of a module */
		uint32_t hue = 5381, shade = 5381;

		for (const char *at = frame->module ? frame->module : ""; *at; at++)
			hue = hue * 33 + (unsigned char)*at;
		for (size_t i = 0; i < 64 && name[i]; i++)
			shade = shade * 33 + (unsigned char)name[i];
		out_format(out, "hsl(%u,%u%%,%u%%)", hue % 60, 65 + shade % 20,
			   58 + shade / 32 % 12);
	}
	out_format(out, "\"/><text x=\"%.2f\" y=\"%.0f\">", from * WIDTH + 3, y + ROW - 5);

	double room = share * WIDTH;
	size_t length = strlen(name), fits = room > 6 ? (size_t)((room - 6) / LETTER) : 0;

	if (fits >= 3) {
		out_xml(out, name, length <= fits ? length : length_of(name, fits - 2));
		if (length > fits)
			out_text(out, "..");
	}
	out_text(out, "</text></g>\n");
}

static void put_title(struct out *out, const struct graph *graph, const char *title)
{
	static const char *const runs[] = { [TABLES_OLD] = ", before", [TABLES_NEW] = ", after" };

	out_xml(out, title, strlen(title));
	if (graph->is_comparison)
		out_text(out, runs[graph->run]);
}

static void put_graph(struct out *out, struct graph *graph, const char *title, double top)
{
	out_format(out, "<text class=\"title\" x=\"3\" y=\"%.0f\">", top + HEAD - 8);
	put_title(out, graph, title);
	out_text(out, ": ");
	put_amount(out, graph, graph->total);
	out_format(out, "</text>\n<g class=\"graph\" data-w=\"%.9f\" data-title=\"",
		   (double)graph->total / (double)graph->scale);
	put_title(out, graph, title);
	out_text(out, "\">\n");
	for (size_t i = 0; i < graph->bars.count; i++) {
		const struct bar *bar = &graph->bars.items[i];

		if (WIDTH * (double)bar->total / (double)graph->scale < NARROWEST) {
			graph->left_out += bar->total != 0;
			continue;
		}
		for (uint32_t frame = 0; frame < bar->branch->count; frame++)
			put_frame(out, graph, bar, frame, top + HEAD);
	}
	out_text(out, "</g>\n");
	if (graph->left_out)
		out_format(out,
			   "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%llu too narrow to be "
			   "drawn</text>\n",
			   WIDTH - 3, top + HEAD - 8, (unsigned long long)graph->left_out);
}

/* ---- the file ---- */

static bool is_drawn(const struct table *table)
{
	return column_of(&table->facts, TABLE_BRANCH) >= 0 || tables_is_comparison(&table->facts);
}

/* Draws all graphs, or none if `out` is NULL. Returns the height of the picture. */
static double walk_graphs(struct graph *graph, struct out *out)
{
	const struct tables *tables = graph->job->tables;
	double top = HEAD;

	for (unsigned i = 0; i < tables->count; i++) {
		const struct table *table = &tables->list[i];

		graph->is_comparison = tables_is_comparison(&table->facts);
		for (size_t g = 0; is_drawn(table) && g < table->groups.count; g++) {
			const char *name = table->groups.items[g].name ?: table->facts.name;

			graph->group = &table->groups.items[g];
			for (int run = 0; run <= graph->is_comparison; run++) {
				graph->run = (enum tables_run)run;
				if (!read_group(graph, table))
					break;
				if (out)
					put_graph(out, graph, name, top);
				top += HEAD + (double)(graph->height * ROW);
			}
		}
	}
	return top + ROW;
}

static void put_head(struct out *out, const struct tables *tables, double height)
{
	bool is_second = false;

	out_format(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
		   "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" data-width=\"%.0f\">\n",
		   WIDTH, height, WIDTH, height, WIDTH);
	out_text(out, "<style>text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#111;"
		      "pointer-events:none}.title,#hits,#search{font-weight:bold}"
		      "#search{pointer-events:all;cursor:pointer;text-decoration:underline}"
		      ".graph>g{cursor:pointer}.graph>g:hover rect,.graph>g:focus rect{stroke:#111}"
		      ".hit rect{fill:#e600e6!important}</style>\n");
	out_format(out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fffef8\"/>\n", WIDTH, height);
	out_text(out, "<text class=\"title\" x=\"3\" y=\"16\">");
	for (unsigned i = 0; i < tables->count; i++) {
		const char *note = tables->list[i].note;

		if (!is_drawn(&tables->list[i]))
			continue;
		if (is_second)
			out_text(out, "; ");
		is_second = true;
		out_xml(out, tables->list[i].facts.title, strlen(tables->list[i].facts.title));
		if (note)
			out_text(out, ", ");
		if (note)
			out_xml(out, note, strlen(note));
		if (!tables->list[i].rows.count)
			out_text(out, ": nothing");
	}
	out_format(out,
		   "</text>\n<text id=\"search\" x=\"%.0f\" y=\"16\" "
		   "text-anchor=\"end\">search</text>\n"
		   "<text id=\"hits\" x=\"%.0f\" y=\"16\" text-anchor=\"end\"/>\n",
		   WIDTH - 3, WIDTH - 60);
}

void tables_print_svg(const struct tables_job *job)
{
	struct graph graph = { .job = job };

	put_head(job->out, job->tables, walk_graphs(&graph, NULL));
	walk_graphs(&graph, job->out);
	out_text(job->out, "<script><![CDATA[\n");
	out_text(job->out, flame_script);
	out_text(job->out, "]]></script>\n</svg>\n");
	free(graph.bars.items);
	free(graph.above.items);
	tables_steps_free(&graph.steps);
}
