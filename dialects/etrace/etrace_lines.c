/* SPDX-License-Identifier: MIT */
#include "dialects/etrace/etrace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define BUFFER_MAX (1u << 20)
#define FORMAT_MAX 300 /* maximum size in bytes of a line of keys and numbers */
#define PART_MAX   900 /* a text of at least this many bytes is split into several lines */

void etrace_lines_init(struct etrace_lines *lines)
{
	memset(lines, 0, sizeof(*lines));
	spill_init(&lines->spill, SPILL_TMPDIR);
}

void etrace_lines_free(struct etrace_lines *lines)
{
	spill_close(&lines->spill);
	free(lines->buffer.items);
}

/* Reserves `size` bytes, and returns their address. */
static char *lines_reserve(struct etrace_lines *lines, size_t size)
{
	while (lines->buffer.capacity - lines->buffer.count < size)
		array_grow(&lines->buffer.items, &lines->buffer.capacity, 1);
	return lines->buffer.items + lines->buffer.count;
}

static void lines_add(struct etrace_lines *lines, const char *bytes, size_t size)
{
	memcpy(lines_reserve(lines, size), bytes, size);
	lines->buffer.count += size;
}

static void end_block(struct etrace_lines *lines)
{
	struct etrace_block block;
	char *head;

	if (lines->buffer.count < lines->block + sizeof(block))
		return;
	head = lines->buffer.items + lines->block;
	memcpy(&block, head, sizeof(block));
	block.length = (uint32_t)(lines->buffer.count - lines->block - sizeof(block));
	memcpy(head, &block, sizeof(block));
	lines->block = lines->buffer.count;
}

static void lines_spill(struct etrace_lines *lines)
{
	spill_append(&lines->spill, lines->buffer.items, lines->buffer.count);
	lines->buffer.count = lines->block = 0;
}

void etrace_block(struct etrace_lines *lines, const struct task *task, uint64_t time_ns,
		  uint32_t cpu)
{
	struct etrace_block block = { .time_ns = time_ns, .task = task->number, .cpu = cpu };

	end_block(lines);
	if (lines->buffer.count >= BUFFER_MAX)
		lines_spill(lines);
	lines_add(lines, (const char *)&block, sizeof(block));
}

void etrace_line(struct etrace_lines *lines, const char *format, ...)
{
	char *place = lines_reserve(lines, FORMAT_MAX);
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(place, FORMAT_MAX - 1, format, list);
	va_end(list);
	place[length] = '\n';
	lines->buffer.count += (size_t)length + 1;
}

/* Writes the end marker if a "Cont" line was written. */
static void end_continuation(struct etrace_lines *lines, bool *is_continued)
{
	if (*is_continued)
		lines_add(lines, "Cont_end|\n", 10);
	*is_continued = false;
}

/*
 * Adds a text, which is split at newlines and into parts of at most PART_MAX bytes. index: the
 * number of the first part. is_counting: each further part gets the next number; otherwise all
 * parts get the same number.
 */
static void put_parts(struct etrace_lines *lines, const char *tag, unsigned index, bool is_counting,
		      const char *text, size_t length)
{
	bool is_continued = false, is_line_start = false;
	const char *end = text + length;
	char head[32];

	do {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((stop ? stop : end) - text);

		if (size > PART_MAX)
			size = PART_MAX;
		if (is_line_start) {
			lines_add(lines, "Cont|", 5);
			is_continued = true;
		} else {
			end_continuation(lines, &is_continued);
			lines_add(lines, head,
				  (size_t)snprintf(head, sizeof(head), "%s[%u]", tag, index));
			index += is_counting;
		}
		lines_add(lines, text, size);
		lines_add(lines, "\n", 1);
		text += size;
		is_line_start = text < end && *text == '\n';
		text += is_line_start;
	} while (text < end || is_line_start);
	end_continuation(lines, &is_continued);
}

void etrace_text(struct etrace_lines *lines, const char *tag, const char *text, size_t length)
{
	const char *end = text + length, *stop;
	bool is_continued = false;

	if (length >= PART_MAX) {
		put_parts(lines, tag, 0, true, text, length);
		lines_add(lines, tag, strlen(tag));
		lines_add(lines, "_end|\n", 6);
		return;
	}
	lines_add(lines, tag, strlen(tag));
	lines_add(lines, "|", 1);
	while ((stop = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		lines_add(lines, text, (size_t)(stop - text));
		lines_add(lines, "\nCont|", 6);
		text = stop + 1;
		is_continued = true;
	}
	lines_add(lines, text, (size_t)(end - text));
	lines_add(lines, "\n", 1);
	end_continuation(lines, &is_continued);
}

void etrace_argument(struct etrace_lines *lines, unsigned number, const char *text, size_t length)
{
	put_parts(lines, "A", number, false, text, length);
}

/* ---- printing ---- */

struct printer {
	struct tasks *tasks;
	struct out *out;
	const char *prefix;
	uint64_t last_ns;     /* time of the previous line */
	uint64_t serial;      /* serial number in the most recently assigned name */
	uint64_t *names;      /* upids, indexed by task; 0: not assigned yet */
	size_t births, exits; /* numbers of births and exits printed so far */
	uint64_t head_name, head_second;
	uint32_t head_cpu;
	size_t head_length;
	char head[96]; /* start of the previous line, up to its nanoseconds */
};

/*
 * Returns the name (upid) of a task in the tracer's form: a serial number, shifted by 22 bits, and
 * the pid.
 */
static uint64_t name_of(struct printer *printer, uint32_t number)
{
	const struct task *task = tasks_true(printer->tasks, number);
	uint64_t *name = &printer->names[task->number];

	if (!*name)
		*name = (++printer->serial << 22 | (task->tid & 0x3fffff)) & INT64_MAX;
	return *name;
}

static void print_head(struct printer *printer, uint64_t name, uint32_t cpu, uint64_t time_ns)
{
	struct out *out = printer->out;

	if (time_ns <= printer->last_ns)
		time_ns = printer->last_ns + 1;
	printer->last_ns = time_ns;
	if (name != printer->head_name || cpu != printer->head_cpu ||
	    time_ns / 1000000000 != printer->head_second) {
		printer->head_name = name;
		printer->head_cpu = cpu;
		printer->head_second = time_ns / 1000000000;
		printer->head_length =
			(size_t)snprintf(printer->head, sizeof(printer->head),
					 "%s%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",", printer->prefix,
					 name, cpu == UINT32_MAX ? 0 : cpu, printer->head_second);
	}
	out_bytes(out, printer->head, printer->head_length);
	out_unsigned(out, time_ns % 1000000000);
	out_char(out, '!');
}

/*
 * Prints the births up to and including time_ns, and the exits before time_ns. So among lines with
 * the same time, births come first and exits last.
 */
static void print_lives(struct printer *printer, uint64_t time_ns)
{
	const struct tasks *tasks = printer->tasks;

	for (;;) {
		const struct task_birth *birth = printer->births < tasks->births.count
							 ? &tasks->births.items[printer->births]
							 : NULL;
		const struct task_exit *exit = printer->exits < tasks->exits.count
						       ? &tasks->exits.items[printer->exits]
						       : NULL;

		if (birth && birth->time_ns <= time_ns &&
		    (!exit || birth->time_ns <= exit->time_ns)) {
			uint64_t name = name_of(printer, birth->parent);

			if (birth->has_flags) {
				print_head(printer, name, birth->cpu, birth->time_ns);
				out_text(printer->out, "SysClone|flags=");
				out_unsigned(printer->out, birth->flags);
				out_char(printer->out, '\n');
			}
			print_head(printer, name, birth->cpu, birth->time_ns);
			if (birth->has_failed) {
				out_text(printer->out, "SysCloneFailed|\n");
			} else {
				out_text(printer->out, "SchedFork|pid=");
				out_unsigned(printer->out, name_of(printer, birth->child));
				out_char(printer->out, '\n');
			}
			printer->births++;
		} else if (exit && (exit->time_ns < time_ns || time_ns == UINT64_MAX)) {
			print_head(printer, name_of(printer, exit->task), exit->cpu, exit->time_ns);
			out_text(printer->out, "Exit|status=");
			out_unsigned(printer->out, exit->status & 255);
			out_char(printer->out, '\n');
			printer->exits++;
		} else {
			return;
		}
	}
}

/*
 * Prints the complete blocks at the start of a piece of the spill file, and before each block the
 * births and exits that precede it. Returns the total length of these blocks.
 */
static size_t print_piece(struct printer *printer, const char *text, size_t size)
{
	struct etrace_block block;
	size_t at = 0;

	while (size - at >= sizeof(block)) {
		uint64_t name;

		memcpy(&block, text + at, sizeof(block));
		if (block.length > size - at - sizeof(block))
			break;
		at += sizeof(block);
		print_lives(printer, block.time_ns);
		name = name_of(printer, block.task);
		for (const char *line = text + at, *next; line < text + at + block.length;
		     line = next) {
			next = (const char *)memchr(line, '\n',
						    (size_t)(text + at + block.length - line)) +
			       1;
			print_head(printer, name, block.cpu, block.time_ns);
			out_bytes(printer->out, line, (size_t)(next - line));
		}
		at += block.length;
	}
	return at;
}

int etrace_lines_print(struct etrace_lines *lines, struct tasks *tasks, struct out *out,
		       const char *prefix, struct error *err)
{
	struct printer printer = {
		.tasks = tasks,
		.out = out,
		.prefix = prefix,
		.names = memory_zalloc(tasks->list.count + 1, sizeof(*printer.names)),
	};
	size_t size;
	int rc;

	end_block(lines);
	if (lines->spill.size)
		lines_spill(lines);
	rc = spill_error(&lines->spill, err);
	if (rc == 0 && !lines->spill.size)
		print_piece(&printer, lines->buffer.items, lines->buffer.count);
	/*
	 * reads each piece of the spill file into lines->buffer, which new lines no longer need;
	 * every block was built in this buffer, so the longest block fits
	 */
	for (uint64_t at = 0; rc == 0 && at < lines->spill.size;) {
		size = lines->spill.size - at < lines->buffer.capacity
			       ? (size_t)(lines->spill.size - at)
			       : lines->buffer.capacity;
		rc = spill_read(&lines->spill, at, lines->buffer.items, size, err);
		if (rc == 0)
			at += print_piece(&printer, lines->buffer.items, size);
	}
	if (rc == 0)
		print_lives(&printer, UINT64_MAX);
	free(printer.names);
	return rc;
}
