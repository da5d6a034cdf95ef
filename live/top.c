/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/memory.h"
#include "base/options.h"
#include "hook_table.h"
#include "live/run_files.h"
#include "live/screen.h"
#include "live/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS_DEFAULT	    20u
#define PAGE_ROWS	    10
#define LOOKS_MAX	    16u /* maximum number of processes whose threads are examined */
#define PUMP_MS		    200 /* ms between two reads of the files */
#define INTERVAL_DEFAULT_NS 1000000000u
#define INTERVAL_LEAST_NS   100000000u
#define INTERVAL_MOST_NS    86400000000000u

enum top_form { TOP_TEXT, TOP_JSON, TOP_METRICS };

struct top {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#define RENAMED(word, instead)
#include "live/top.def"
#undef OPTION
#undef RENAMED
	struct run run;
	struct sample_options options;
	struct top_picture picture;
	struct screen screen;
	bool is_batch;
	uint64_t ticked_ns;
};

/* ---- waits ---- */

static void add_wait(struct top_picture *picture, const struct look *look, size_t i)
{
	struct top_wait *wait = &picture->waits[picture->wait_count];
	struct out text;

	if (picture->wait_count == TOP_WAITS_MAX)
		return;
	out_open(&text, -1);
	look_put_thread(&text, look, i);
	*wait = (struct top_wait){
		.pid = look->process.subject.pid,
		.is_in_ring = look->is_in_ring[i],
		.is_inferred = look->is_inferred[i],
		.is_orphaned = look_is_orphaned(&look->awaits[i]),
	};
	snprintf(wait->text, sizeof(wait->text), "%.*s", (int)(text.used ? text.used - 1 : 0),
		 text.buffer);
	text.used = 0; /* do not write the text */
	out_close(&text);
	picture->wait_count++;
}

static void look_at(struct top_picture *picture, int pid)
{
	struct look look;

	if (look_take(&look, pid, false, NULL) == 0 && look_is_traced(&look)) {
		picture->held_up += look_count(&look, look_is_held_up);
		picture->rings += look.rings;
		picture->inferred += look.inferred;
		for (size_t i = 0; i < look.process.thread_count; i++)
			if (look.is_in_ring[i] || look.is_inferred[i])
				add_wait(picture, &look, i);
		for (size_t i = 0; i < look.process.thread_count; i++)
			if (!look.is_in_ring[i] && !look.is_inferred[i] &&
			    look_is_held_up(&look.awaits[i]))
				add_wait(picture, &look, i);
	}
	look_free(&look);
}

/* ---- pictures ---- */

static void tick_picture(struct top *top)
{
	struct top_picture *picture = &top->picture;
	uint64_t now = clock_ns();
	size_t looks = 0;

	sample_tick(top->run.processes.items, top->run.processes.count,
		    top->ticked_ns ? (double)(now - top->ticked_ns) / 1e9 : 0);
	top->ticked_ns = now;
	picture->wait_count = picture->held_up = picture->rings = picture->inferred = 0;
	picture->has_waits = !top->no_waits;
	for (size_t i = 0; picture->has_waits && i < top->run.processes.count; i++) {
		struct watched *watched = top->run.processes.items[i];
		bool runs;

		watched_lock(watched);
		runs = watched->pid && !watched->has_ended && !watched->is_finished &&
		       !watched->is_unproven;
		watched_unlock(watched);
		if (runs && looks++ < LOOKS_MAX)
			look_at(picture, (int)watched->pid);
	}
}

/* Moves the selection by a number of rows. */
static void select_row(struct top_picture *picture, long by)
{
	long last = (long)picture->sample.row_count - 1, row = (long)picture->selected + by;

	row = row > last ? last : row;
	picture->selected = row < 0 ? 0 : (size_t)row;
	if (picture->first > picture->selected)
		picture->first = picture->selected;
}

static void take_picture(struct top *top)
{
	sample_free(&top->picture.sample);
	top->picture.options = &top->options;
	top->picture.left_out = run_left_out(&top->run);
	sample_take(&top->picture.sample, top->run.processes.items, top->run.processes.count,
		    &top->options);
	select_row(&top->picture, 0);
}

/* Draws the picture line by line until the screen is full, and then the lines with the keys. */
static void draw_picture(struct top *top, struct out *out)
{
	struct top_picture *picture = &top->picture;
	const struct screen *screen = &top->screen;
	size_t marked, key_lines = 1;
	struct out text, keys;

	out_open(&text, -1);
	out_open(&keys, -1);
	top_put_keys(&keys, screen);
	out_char(&keys, 0);
	for (const char *at = keys.buffer; (at = strchr(at, '\n')) != NULL; at++)
		key_lines++;
	if (key_lines > screen->height / 2)
		key_lines = screen->height / 2;
	top_put_text(&text, picture, screen, &marked);
	/* scrolls down to the selected row, which may have two lines */
	while (marked == SIZE_MAX || marked + 2 + key_lines > screen->height) {
		if (picture->first >= picture->selected)
			break;
		picture->first++;
		text.used = 0;
		top_put_text(&text, picture, screen, &marked);
	}
	out_char(&text, 0);
	screen_draw(screen, out, text.buffer, marked, keys.buffer, key_lines);
	text.used = keys.used = 0;
	out_close(&text);
	out_close(&keys);
}

/* ---- without a terminal ---- */

static int run_batch(struct top *top, struct out *out, struct error *err)
{
	/*
	 * if rows are sorted by rate, the first picture is skipped: rates are known only from the
	 * second tick on
	 */
	bool is_blind = top->options.order == SAMPLE_GROWTH || top->options.order == SAMPLE_RATE;
	bool is_complete = false;

	for (uint64_t i = 0; !is_complete && (!top->pictures.value || i < top->pictures.value);) {
		/* read the files for the interval, or until they are complete */
		uint64_t end = clock_ns() + (top->ticked_ns ? top->interval.value : 0);
		int status = run_pump(&top->run, err);

		while (!status && clock_ns() < end && !run_is_complete(&top->run)) {
			uint64_t left = end - clock_ns();

			if (left > PUMP_MS * 1000000ull)
				left = PUMP_MS * 1000000ull;
			nanosleep(&(struct timespec){ .tv_nsec = (long)left }, NULL);
			status = run_pump(&top->run, err);
		}
		is_complete = run_is_complete(&top->run);
		run_settle(&top->run);
		tick_picture(top);
		if (!status && is_blind && !is_complete) {
			is_blind = false;
			continue;
		}
		if (status)
			return status;
		take_picture(top);
		if (i++ && top->format.value == TOP_TEXT)
			out_char(out, '\n');
		if (top->format.value == TOP_JSON)
			top_put_json(out, &top->picture);
		else if (top->format.value == TOP_METRICS)
			top_put_metrics(out, &top->picture);
		else
			top_put_text(out, &top->picture, NULL, NULL);
		out_flush(out);
		if (out_error(out))
			return out_error(out) == -EPIPE ? 0 : out_error(out);
	}
	return 0;
}

/* ---- with a terminal ---- */

/* Handles a key. Returns false if the key ends the program. */
static bool take_key(struct top *top, int key)
{
	struct top_picture *picture = &top->picture;
	const struct sample *sample = &picture->sample;
	size_t at = 0;

	switch (key) {
	case 'q':
	case KEY_END:
		return false;
	case 's':
		top->options.order = (top->options.order + 1) % SAMPLE_ORDERS;
		break;
	case 'c':
		/* select the next class that has objects; after the last class, all classes */
		while (at < sample->class_count && top->options.class &&
		       strcmp(sample->classes[at].type, top->options.class) != 0)
			at++;
		at = top->options.class && at < sample->class_count ? at + 1 : 0;
		top->options.class = at < sample->class_count ? sample->classes[at].type : NULL;
		break;
	case 'f':
	case ' ':
		picture->is_frozen = !picture->is_frozen;
		break;
	case 'b':
		top->options.since_base = !top->options.since_base;
		if (top->options.since_base)
			sample_set_base(top->run.processes.items, top->run.processes.count);
		break;
	case KEY_UP:
		select_row(picture, -1);
		break;
	case KEY_DOWN:
		select_row(picture, 1);
		break;
	case KEY_PAGE_UP:
		select_row(picture, -PAGE_ROWS);
		break;
	case KEY_PAGE_DOWN:
		select_row(picture, PAGE_ROWS);
		break;
	case '\n':
	case '\r':
		picture->shows_backtrace = !picture->shows_backtrace;
		break;
	default:
		break;
	}
	return true;
}

static int run_screen(struct top *top, struct out *out, struct error *err)
{
	uint64_t next = 0, restarts = 0;
	int status = 0, key = KEY_NONE;
	bool has_rows = top->options.rows != 0;

	while (!status) {
		bool is_due = clock_ns() >= next && !top->picture.is_frozen;

		status = run_pump(&top->run, err);
		/*
		 * if a file was replaced, even a frozen picture is drawn again, because the
		 * processes in the picture no longer exist
		 */
		is_due |= top->run.restarts != restarts;
		restarts = top->run.restarts;
		if (is_due) {
			tick_picture(top);
			next = clock_ns() + top->interval.value;
		}
		if (!has_rows) {
			size_t rows = top->picture.first + top->screen.height + PAGE_ROWS;

			top->options.rows = rows < SAMPLE_ROWS_MAX ? rows : SAMPLE_ROWS_MAX;
		}
		if (!status &&
		    (is_due || key == 's' || key == 'c' || key == 'b' || key == KEY_RESIZE))
			take_picture(top);
		if (!status && (is_due || key != KEY_NONE))
			draw_picture(top, out);
		key = screen_key(&top->screen, PUMP_MS);
		if (!take_key(top, key))
			break;
	}
	return status;
}

/* ---- the command ---- */

static const struct option_row rows[] = {
#define OPTION(...)  { OPTION_FIELDS(struct top, __VA_ARGS__) },
#define RENAMED(...) { OPTION_RENAMED_FIELDS(__VA_ARGS__) },
#include "live/top.def"
#undef OPTION
#undef RENAMED
};

const struct option_table live_top_options = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.help = "holdtrace help top",
};

static int take_options(struct top *top, int argc, char **argv, struct error *err)
{
	int first = options_read(&live_top_options, top, argc, argv, err);

	if (first < 0)
		return first;
	if (!top->interval.is_set)
		top->interval.value = INTERVAL_DEFAULT_NS;
	if (top->interval.value < INTERVAL_LEAST_NS || top->interval.value > INTERVAL_MOST_NS)
		return error_set(err, EINVAL, "--interval: expected 0.1 to 86400 seconds");
	if (top->rows.value > SAMPLE_ROWS_MAX)
		return error_set(err, EINVAL, "--top: expected 1 to %u", SAMPLE_ROWS_MAX);
	if (!argv[first])
		return error_set(err, EINVAL,
				 "expected a process id or a trace: holdtrace top PID or FILE");
	top->options.order = (enum sample_order)top->order.value;
	top->options.class = top->class && strcmp(top->class, "all") != 0 ? top->class : NULL;
	top->options.rows = (size_t)top->rows.value;
	top->is_batch = top->batch || top->pictures.is_set || top->format.value != TOP_TEXT;
	return first;
}

/*
 * Checks that the class of --class is built into holdtrace or was defined by a program of the run
 * (holdtrace.h).
 */
static int check_class(struct top *top, struct error *err)
{
	const char *word = top->options.class;
	char list[512] = "all";
	size_t used = strlen(list);
	int status = word ? run_pump(&top->run, err) : 0;

	for (unsigned i = 1; !status && word && i < RESOURCE_COUNT; i++) {
		if (!strcmp(resource_table[i].type, word))
			return 0;
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s",
						 resource_table[i].type);
	}
	if (status || !word)
		return status;
	run_settle(&top->run);
	for (size_t i = 0; i < top->run.processes.count; i++) {
		struct watched *watched = top->run.processes.items[i];
		bool is_there = false;

		watched_lock(watched);
		for (uint32_t k = 0; k < ledger_class_count(watched->ledger); k++)
			is_there |= !strcmp(ledger_class(watched->ledger, k)->type, word);
		watched_unlock(watched);
		if (is_there)
			return 0;
	}
	return error_set(
		err, EINVAL,
		"--class=%s: neither a class of the run nor of holdtrace, whose classes are %s",
		word, list);
}

int live_top(int argc, char **argv, struct error *err)
{
	struct top *top = memory_zalloc(1, sizeof(*top));
	struct out out;
	int first, status;

	first = take_options(top, argc, argv, err);
	if (first < 0) {
		free(top);
		return LIVE_USAGE;
	}
	status = run_open(&top->run, argv + first, err);
	if (!status && check_class(top, err)) {
		run_free(&top->run);
		free(top);
		return LIVE_USAGE;
	}
	out_open(&out, STDOUT_FILENO);
	if (!status && !top->is_batch && screen_begin(&top->screen) == 0) {
		status = run_screen(top, &out, err);
		screen_restore();
	} else if (!status) {
		top->options.rows = top->options.rows ? top->options.rows : ROWS_DEFAULT;
		status = run_batch(top, &out, err);
	}
	sample_free(&top->picture.sample);
	out_close(&out);
	run_free(&top->run);
	free(top);
	return status ? LIVE_FAILURE : 0;
}
