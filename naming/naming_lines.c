/* SPDX-License-Identifier: MIT */
/* Frames as text. */
#include "naming/naming_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/out.h"
#include "naming/shorten.h"

#define LOOK_MAX 192 /* limit of frames of a backtrace, from the innermost */
#define SITE_FRAMES \
	3 /* frames of the program in a call site; a wrapper of malloc alone says little */

/* ---- one frame ---- */

static void write_address(char *text, const struct naming_frame *frame)
{
	if (frame->module)
		snprintf(text, NAMING_TEXT_MAX, "%.100s+0x%" PRIx64,
			 naming_base_name(frame->module->path),
			 frame->symbol.address - frame->module->from);
	else
		snprintf(text, NAMING_TEXT_MAX, "0x%" PRIx64, frame->symbol.address);
}

/* Functions of the program itself are shown without the module. */
static void write_frame(const struct naming *naming, char *text, const struct naming_frame *frame)
{
	const struct naming_symbol *symbol = &frame->symbol;
	cleanup_free char *name = symbol->function ? memory_text(symbol->function) : NULL;

	if (!name) {
		write_address(text, frame);
		return;
	}
	shorten_name(name);
	if (symbol->file && symbol->line && !symbol->is_runtime)
		snprintf(text, NAMING_TEXT_MAX, "%.*s %.60s:%u", SHORTEN_MAX, name,
			 naming_base_name(symbol->file), symbol->line);
	else if (!frame->module || symbol->is_runtime ||
		 space_is_program(naming->space, frame->module->path))
		snprintf(text, NAMING_TEXT_MAX, "%.*s", SHORTEN_MAX, name);
	else
		snprintf(text, NAMING_TEXT_MAX, "%.*s (%.60s)", SHORTEN_MAX, name,
			 naming_base_name(frame->module->path));
}

void naming_text(struct naming *naming, const struct naming_symbol *symbol, char *text)
{
	struct naming_frame frame = {
		.symbol = *symbol,
		.module = space_module_at(naming->space, symbol->address - 1),
	};
	char name[SHORTEN_MAX];

	naming_classify(naming, &frame);
	naming_count(naming, &frame);
	write_frame(naming, text, &frame);
	if (!symbol->function || !frame.is_c_library)
		return;
	snprintf(name, sizeof(name), "%s", symbol->function);
	shorten_public(name);
	snprintf(text, NAMING_TEXT_MAX, "%s", name);
}

/* ---- a backtrace ---- */

struct shown {
	struct naming_line *lines;
	size_t count, max;
};

static void show(struct naming *naming, struct shown *shown, const struct naming_frame *frame,
		 const char *known)
{
	char text[NAMING_TEXT_MAX];

	if (known)
		snprintf(text, sizeof(text), "%s", known);
	else
		write_frame(naming, text, frame);
	if (!known)
		naming_count(naming, frame);
	if (shown->count && !strcmp(shown->lines[shown->count - 1].text, text)) {
		shown->lines[shown->count - 1].times++;
		return;
	}
	if (shown->count == shown->max)
		return;
	memcpy(shown->lines[shown->count].text, text, sizeof(text));
	shown->lines[shown->count].is_called = false;
	shown->lines[shown->count++].times = 1;
}

/*
 * Adds the function of the runtime or of a library that the program called, unless its name is
 * internal. A library without names is shown by its own name.
 */
static void show_called(struct naming *naming, struct shown *shown,
			const struct naming_frame *frame)
{
	char name[SHORTEN_MAX], module[NAMING_TEXT_MAX];

	if (!frame->symbol.is_runtime) {
		snprintf(module, sizeof(module), "(%.100s)", naming_base_name(frame->module->path));
		show(naming, shown, frame, frame->symbol.function ? NULL : module);
		shown->lines[0].is_called = true;
		return;
	}
	if (!frame->symbol.function)
		return;
	snprintf(name, sizeof(name), "%s", frame->symbol.function);
	if (frame->is_c_library)
		shorten_public(name);
	if (name[0] == '_')
		return;
	show(naming, shown, frame, frame->is_c_library ? name : NULL);
	shown->lines[0].is_called = true;
}

/*
 * Adds a line for a backtrace without frames of the program: the runtime acts for itself, mostly at
 * its start.
 */
static void show_runtime(struct naming *naming, struct shown *shown,
			 const struct naming_frame *frame)
{
	char text[NAMING_TEXT_MAX];
	const char *module = frame->module ? naming_base_name(frame->module->path) : "runtime";
	cleanup_free char *name =
		frame->symbol.function ? memory_text(frame->symbol.function) : NULL;

	if (name && name[0] != '_') {
		shorten_name(name);
		snprintf(text, sizeof(text), "%.*s (%.60s itself)", SHORTEN_MAX, name, module);
	} else
		snprintf(text, sizeof(text), "(%.60s itself)", module);
	show(naming, shown, frame, text);
}

/* Index of the first frame outside of the language's runtime and, if asked for, of libraries. */
static size_t skip_runtime(const struct naming_frame *const *frames, size_t end,
			   bool skips_libraries)
{
	size_t first = 0;

	while (first < end &&
	       (frames[first]->symbol.is_runtime || (skips_libraries && frames[first]->is_library)))
		first++;
	return first;
}

static size_t write_lines(struct naming *naming, const struct trace_node *backtrace,
			  bool skips_libraries, struct naming_line *lines, size_t max)
{
	const struct naming_frame *frames[LOOK_MAX];
	struct shown shown = { .lines = lines, .max = max };
	size_t first, end, main, called;

	naming_look_up(naming, backtrace, frames, LOOK_MAX, &end, &main);
	first = skip_runtime(frames, end, skips_libraries);
	/* A thread that a library started for itself has no frame of the program. */
	if (first == end)
		first = skip_runtime(frames, end, false);
	if (end && first == end) {
		show_runtime(naming, &shown, frames[end - 1]);
		return shown.count;
	}
	called = first;
	while (called > 1 && !frames[called - 1]->symbol.function && frames[called - 1]->is_own)
		called--;
	if (called)
		show_called(naming, &shown, frames[called - 1]);
	for (size_t i = first; i < end && shown.count < max; i++)
		if (i == first || !frames[i]->symbol.is_runtime)
			show(naming, &shown, frames[i], i == main ? "main" : NULL);
	return shown.count;
}

size_t naming_lines(struct naming *naming, const struct trace_node *backtrace,
		    struct naming_line *lines, size_t max)
{
	return write_lines(naming, backtrace, false, lines, max);
}

size_t naming_site(struct naming *naming, const struct trace_node *backtrace,
		   struct naming_line *lines, size_t max, size_t *length)
{
	size_t count = write_lines(naming, backtrace, true, lines, max);
	size_t most = SITE_FRAMES + (count && lines[0].is_called);

	*length = count < most ? count : most;
	return count;
}

bool naming_read_site(struct naming *naming, const struct trace_node *backtrace, char *text,
		      size_t size)
{
	struct naming_line lines[SITE_FRAMES + 1];
	size_t length, used = 0;

	naming_site(naming, backtrace, lines, SITE_FRAMES + 1, &length);
	*text = '\0';
	for (size_t i = 0; i < length && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s\n", lines[i].text);
	return used < size;
}

/* Is the byte inside a UTF-8 character? */
static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Keeps the start of the function's name and the line number after it, but not the module. */
void naming_cut(char *text, size_t columns)
{
	static const char dots[] = "...";
	const char *blank = strrchr(text, ' ');
	size_t length = strlen(text), from, to, room;

	if (columns < 4 * strlen(dots) || name_columns(text, length) <= columns)
		return;
	to = blank && blank[1] != '(' ? (size_t)(blank - text) : length;
	while (is_inside(text[to]) || name_columns(text + to, length - to) > columns / 2)
		to++;
	/* An escaped character is shorter in the text than on the terminal. */
	if (to < strlen(dots))
		return;
	room = columns - strlen(dots) - name_columns(text + to, length - to);
	from = to - strlen(dots);
	while (from && (is_inside(text[from]) || name_columns(text, from) > room))
		from--;
	memmove(text + from + strlen(dots), text + to, length - to + 1);
	memcpy(text + from, dots, strlen(dots));
}

void naming_fit(struct naming_line *line, bool has_times, size_t columns)
{
	char times[16] = "";
	size_t length;

	if (has_times && line->times > 1)
		snprintf(times, sizeof(times), " (%" PRIu32 "x)", line->times);
	naming_cut(line->text, columns - strlen(times));
	length = strlen(line->text);
	snprintf(line->text + length, NAMING_TEXT_MAX - length, "%s", times);
}
