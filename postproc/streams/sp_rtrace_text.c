/* SPDX-License-Identifier: MIT */
/*
 * Writes sp-rtrace text, byte for byte as sp-rtrace 1.8 prints it. Events before the first call are
 * stored: all of them must be known to order their lines, and to decide whether calls get a <type>.
 * Later events are printed where they occur. With --format=text:sp-rtrace, all other events except
 * comments precede the first call.
 */
#include "formats/writers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/memory.h"
#include "postproc/engine/compress.h"
#include "postproc/engine/heap_range.h"
#include "postproc/memory/leaks.h"
#include "trace/text.h"

struct text_writer {
	struct writer_options options;
	struct out *out;
	const struct trace *trace;
	const struct trace_process *process; /* the process of the first stream */
	bool has_begun;			     /* the lines before the first call have been printed */
	ARRAY_OF(struct event) gathered;
	size_t comment_at; /* comments in `gathered` before this index have been printed */
	/* the classes of resources that the trace registered and the filters select */
	ARRAY_OF(const struct resource_class *) classes;
	/* mappings that were printed a second time, the latest last */
	ARRAY_OF(const struct trace_mapping *) again;
};

int write_sp_rtrace_text_begin(void **state, const struct trace *trace,
			       const struct writer_options *options, struct error *err)
{
	struct text_writer *writer = memory_zalloc(1, sizeof(*writer));

	(void)err;
	writer->trace = trace;
	writer->options = *options;
	writer->out = options->out;
	*state = writer;
	return 0;
}

/* ---- the header ---- */

struct header_words {
	struct text_header header;
	char time[40], pid[16], depth[24], filter[256], name[1024];
};

static void add_pair(struct text_header *header, const char *key, const char *value)
{
	if (header->count < TEXT_HEADERS_MAX)
		header->pairs[header->count++] =
			(struct text_pair){ slice_of(key), slice_of(value) };
}

static void header_of_packets(const struct trace_process *process, struct header_words *words)
{
	struct text_header *header = &words->header;
	time_t seconds = process->seconds;
	size_t used = 0;
	struct tm tm;

	add_pair(header, "version", "2.0");
	if (process->arch)
		add_pair(header, "arch", process->arch);
	/* like sp-rtrace, print month and day without leading zeros, in local time */
	if (seconds && localtime_r(&seconds, &tm)) {
		snprintf(words->time, sizeof(words->time), "%d.%d.%d %02d:%02d:%02d",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			 tm.tm_sec);
		add_pair(header, "timestamp", words->time);
	}
	if (process->name) {
		/* escape commas, because they separate the pairs of the header */
		for (const char *at = process->name; *at && used < sizeof(words->name) - 5; at++)
			if (*at == ',')
				used += (size_t)sprintf(words->name + used, "\\x2c");
			else
				words->name[used++] = *at;
		add_pair(header, "process", words->name);
	}
	if (process->has_process) {
		snprintf(words->pid, sizeof(words->pid), "%" PRIu32, process->pid);
		add_pair(header, "pid", words->pid);
	}
	if (*words->filter)
		add_pair(header, "filter", words->filter + 1);
	if (*words->depth)
		add_pair(header, "backtrace depth", words->depth);
	add_pair(header, "origin", "holdtrace " PACKAGE_VERSION);
}

/* Makes the header from the pairs in the input's header, changed according to the options. */
static void header_of_text(const struct trace_process *process, struct header_words *words)
{
	struct text_header *header = &words->header;
	bool has_filter = !*words->filter, has_depth = !*words->depth;

	for (size_t i = 0; i < process->header_count; i++)
		has_depth |= !strcmp(process->headers[i].name, "backtrace depth");
	for (size_t i = 0; i < process->header_count; i++) {
		const struct wire_value *pair = &process->headers[i];
		bool is_filter = !strcmp(pair->name, "filter");
		bool is_depth = !strcmp(pair->name, "backtrace depth");
		bool is_origin = !strcmp(pair->name, "origin");

		if (!has_filter && (is_filter || is_depth || is_origin)) {
			add_pair(header, "filter", words->filter + 1);
			has_filter = true;
		}
		if (!has_depth && is_origin) {
			add_pair(header, "backtrace depth", words->depth);
			has_depth = true;
		}
		if (!is_filter)
			add_pair(header, pair->name, is_depth ? words->depth : pair->value);
	}
	if (!has_filter)
		add_pair(header, "filter", words->filter + 1);
	if (!has_depth)
		add_pair(header, "backtrace depth", words->depth);
}

static void print_header(struct text_writer *writer)
{
	const struct trace_process *process = writer->process;
	int64_t depth = writer->options.depth >= 0 ? writer->options.depth : process->depth;
	const struct writer_views *views = writer->options.views;
	struct header_words words = { 0 };
	const char *old = "";

	for (size_t i = 0; i < process->header_count; i++)
		if (!strcmp(process->headers[i].name, "filter"))
			old = process->headers[i].value;
	/*
	 * list the filters in the order leaks, compress, resolve. Omit a `compress` of the input,
	 * because its groups are not preserved
	 */
	snprintf(words.filter, sizeof(words.filter), "%s%s%s",
		 views->leaks || strstr(old, "leaks") ? "|leaks" : "",
		 views->compress ? "|compress" : "", strstr(old, "resolve") ? "|resolve" : "");
	if (depth >= 0)
		snprintf(words.depth, sizeof(words.depth), "%" PRId64, depth);
	if (process->header_count)
		header_of_text(process, &words);
	else
		header_of_packets(process, &words);
	text_print_header(writer->out, &words.header);
}

/* ---- lines other than calls ---- */

static void print_mapping(struct text_writer *writer, const struct trace_mapping *mapping)
{
	struct text_mapping line = { .path = slice_of(mapping->path),
				     .from = mapping->from,
				     .to = mapping->to,
				     .build_id = slice_of(mapping->build_id) };

	text_print_mapping(writer->out, &line);
}

static void print_other(struct text_writer *writer, const struct event *event)
{
	struct text_context context;
	struct text_attachment attachment;
	bool is_renumbered;

	switch (event->kind) {
	case EVENT_TRACER:
		text_print_tracer(writer->out, event->tracer->id, event->tracer->version,
				  event->tracer->name);
		break;
	case EVENT_MAPPING:
		print_mapping(writer, event->mapping);
		break;
	case EVENT_CONTEXT:
		context.bit = event->call_context->bit;
		context.name = slice_of(event->call_context->name);
		text_print_context(writer->out, &context);
		break;
	case EVENT_RESOURCE:
		is_renumbered = writer->options.is_single_renumbered && writer->classes.count == 1;
		text_print_resource(
			writer->out,
			&(struct text_resource){
				.ordinal = is_renumbered ? 1 : event->resource->ordinal,
				.is_counted = event->resource->flags & 1,
				.type = slice_of(event->resource->type),
				.description = slice_of(event->resource->description) });
		break;
	case EVENT_ATTACHMENT:
		attachment.name = slice_of(event->attachment->name);
		attachment.path = slice_of(event->attachment->path);
		text_print_attachment(writer->out, &attachment);
		break;
	case EVENT_HEAP:
		text_print_heap(writer->out, &event->heap->state,
				writer->options.views->heap->lowest,
				writer->options.views->heap->highest);
		break;
	case EVENT_COMMENT:
		text_print_comment(writer->out, slice_of(event->comment));
		break;
	case EVENT_STREAM:
	case EVENT_PROCESS:
	case EVENT_CALL:
	case EVENT_NOTE:
		break;
	}
}

/* Prints the comments before the call with this index that were not printed yet. */
static void print_comments(struct text_writer *writer, uint64_t index)
{
	for (; writer->comment_at < writer->gathered.count; writer->comment_at++) {
		const struct event *event = &writer->gathered.items[writer->comment_at];

		if (event->kind != EVENT_COMMENT)
			continue;
		if (event->index >= index)
			return;
		print_other(writer, event);
	}
}

/*
 * Prints the header and the stored events, section by section in sp-rtrace's order: in text files
 * of other programs, the events may have another order.
 */
static void print_gathered(struct text_writer *writer)
{
	static const enum event_kind sections[] = {
		EVENT_ATTACHMENT, EVENT_HEAP,	  EVENT_TRACER,
		EVENT_CONTEXT,	  EVENT_RESOURCE, EVENT_MAPPING
	};

	if (writer->has_begun)
		return;
	writer->has_begun = true;
	print_header(writer);
	for (size_t section = 0; section < sizeof(sections) / sizeof(*sections); section++)
		for (size_t i = 0; i < writer->gathered.count; i++)
			if (writer->gathered.items[i].kind == sections[section])
				print_other(writer, &writer->gathered.items[i]);
	if (!writer->options.is_reordered)
		print_comments(writer, UINT64_MAX);
}

/* ---- calls ---- */

static void print_line(struct text_writer *writer, const struct event *event)
{
	char pid[16];
	struct text_call line = {
		.index = event->index,
		.context = event->context,
		.time_ms = event->time_ms,
		.name = slice(event->function->name, event->function->length),
		.type = slice(NULL, 0),
		.is_alloc = event->type == CALL_TYPE_ALLOC,
		.size = event->size,
		.object = event->object,
	};

	if (writer->options.is_reordered)
		print_comments(writer, event->index);
	/*
	 * name the class of the call, unless there is only one class. In traces of holdtrace, name
	 * the class always, because more classes may be registered later
	 */
	if (writer->classes.count > 1 ||
	    (writer->process->has_tails && !writer->options.is_single_renumbered))
		line.type = slice_of(event->resource->type);
	text_print_call(writer->out, &line);
	/* the format has no field for the process, so a merged trace names it in an argument */
	if (writer->options.is_merged) {
		int length = snprintf(pid, sizeof(pid), "%" PRIu32, event->process->pid);

		text_print_argument(
			writer->out,
			&(struct text_argument){ slice_of("pid"), slice(pid, (size_t)length) });
	}
	for (uint32_t i = 0; i < event->argument_count; i++) {
		struct text_argument argument = { slice_of(event->arguments[i].name),
						  slice_of(event->arguments[i].value) };

		text_print_argument(writer->out, &argument);
	}
}

/*
 * Prints the frames of a call and an empty line. A call without frames needs the empty line, too:
 * without it, programs that read the text would assign the next call's frames to this call.
 */
static void print_backtrace(struct text_writer *writer, const struct backtrace *backtrace)
{
	const struct trace_node *at = backtrace ? backtrace->node : &trace_no_node;

	for (uint32_t i = 0; at->count; i++, at = at->caller) {
		struct text_frame frame = { .address = at->address };

		if (backtrace->texts && backtrace->texts[i]) {
			frame.has_text = true;
			frame.text = slice_of(backtrace->texts[i]);
		}
		text_print_frame(writer->out, &frame);
	}
	out_char(writer->out, '\n');
}

/* ---- mappings that are printed a second time ---- */

/* Returns the mapping that programs use for the address if they have read the text so far. */
static const struct trace_mapping *last_printed(const struct text_writer *writer, uint64_t address)
{
	for (size_t i = writer->again.count; i-- > 0;)
		if (address >= writer->again.items[i]->from && address < writer->again.items[i]->to)
			return writer->again.items[i];
	return trace_mapping_at(writer->trace, address);
}

/*
 * Prints mappings of a backtrace a second time if necessary. Programs that read the text use the
 * last printed mapping of an address. If this is not the mapping that was there when the backtrace
 * was taken, prints the right mapping again.
 */
static void print_mappings_of(struct text_writer *writer, const struct backtrace *backtrace)
{
	const struct trace_node *at = backtrace ? backtrace->node : &trace_no_node;

	if (!trace_has_contests(writer->trace))
		return;
	for (; at->count; at = at->caller) {
		const struct trace_mapping *mapping =
			trace_mapping_of(writer->trace, backtrace, at->address);

		size_t kept = 0;

		if (!mapping || mapping == last_printed(writer, at->address - 1))
			continue;
		/* remove the mappings that this mapping covers, to keep the list short */
		for (size_t i = 0; i < writer->again.count; i++)
			if (writer->again.items[i]->from < mapping->from ||
			    writer->again.items[i]->to > mapping->to)
				writer->again.items[kept++] = writer->again.items[i];
		writer->again.count = kept;
		*ARRAY_ADD(&writer->again) = mapping;
		print_mapping(writer, mapping);
	}
}

int write_sp_rtrace_text_event(void *state, const struct event *event, struct error *err)
{
	struct text_writer *writer = state;
	const struct resource_class *resource = event->resource, **place = NULL;
	bool is_resource = event->kind == EVENT_RESOURCE;
	struct event *kept;

	(void)err;
	if (!writer->process)
		writer->process = event->process;
	for (size_t i = 0; is_resource && i < writer->classes.count && !place; i++) {
		/* all processes of a merged trace register the same classes: print each once */
		if (writer->options.is_merged && writer->classes.items[i] == resource)
			return 0;
		if (writer->classes.items[i]->ordinal == resource->ordinal)
			place = &writer->classes.items[i];
	}
	if (is_resource && !place)
		place = ARRAY_ADD(&writer->classes);
	if (is_resource)
		*place = resource;
	if (event_is_call(event)) {
		print_gathered(writer);
		if (writer->options.is_reordered)
			print_mappings_of(writer, event->backtrace);
		print_line(writer, event);
		print_backtrace(writer, event->backtrace);
	} else if (writer->has_begun) {
		print_other(writer, event);
	} else {
		kept = ARRAY_ADD(&writer->gathered);
		*kept = *event;
		if (event->kind == EVENT_COMMENT)
			kept->comment = memory_text(event->comment);
	}
	return 0;
}

/* ---- the end of the stream ---- */

static int print_kept(void *user, struct kept_call *kept)
{
	struct text_writer *writer = user;
	struct event event;

	keep_event(kept, trace_section(writer->trace, kept->section), &event);
	print_line(writer, &event);
	return out_error(writer->out);
}

static int print_groups(struct text_writer *writer, const struct compress *compress,
			struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < compress_count(compress); i++) {
		const struct compress_group *group = compress_at(compress, i);

		print_mappings_of(writer, group->backtrace);
		rc = compress_each(compress, group, print_kept, writer, err);
		text_print_group(writer->out, group->count, group->bytes);
		print_backtrace(writer, group->backtrace);
	}
	/* output_close() reports errors of the output, so do not return them here */
	return rc == out_error(writer->out) ? 0 : rc;
}

/*
 * Prints the sums of each class in the order of registration. A class that was not registered has
 * only a number.
 */
static void print_leak_summary(struct text_writer *writer, const struct leaks *leaks)
{
	const struct leaks_total *total;

	for (size_t i = 0; i < writer->classes.count; i++) {
		const struct resource_class *resource = writer->classes.items[i];
		struct leaks_total sum = leaks_total_of(leaks, resource);

		if (resource->known == RESOURCE_EVENT)
			continue;
		text_print_leaks(writer->out, resource->type, resource->description, sum.count,
				 sum.bytes);
		/* the previous line counts only the samples */
		if (sum.is_estimate)
			out_format(writer->out,
				   "# memory was sampled: about %" PRIu64
				   " block(s) with total size of %" PRIu64 " +- %" PRIu64
				   " bytes\n",
				   sum.all_count, sum.all_bytes, sum.error);
	}
	for (size_t i = 0; (total = leaks_total(leaks, i)) != NULL; i++) {
		char name[16];

		snprintf(name, sizeof(name), "#%" PRIu32, total->resource->ordinal);
		if (!total->resource->is_registered)
			text_print_leaks(writer->out, name, "not registered in the trace",
					 total->count, total->bytes);
	}
}

int write_sp_rtrace_text_end(void *state, struct error *err)
{
	struct text_writer *writer = state;
	const struct writer_views *views = writer->options.views;
	int rc = 0;

	if (!writer->process)
		return 0;
	print_gathered(writer);
	if (views->compress)
		rc = print_groups(writer, views->compress, err);
	for (size_t i = 0; !views->compress && views->leaks && i < leaks_count(views->leaks); i++) {
		struct kept_call kept;

		leaks_at(views->leaks, i, &kept);
		print_mappings_of(writer, kept.backtrace);
		print_kept(writer, &kept);
		print_backtrace(writer, kept.backtrace);
	}
	print_comments(writer, UINT64_MAX);
	if (rc == 0 && views->leaks)
		print_leak_summary(writer, views->leaks);
	return rc;
}

void write_sp_rtrace_text_destroy(void *state)
{
	struct text_writer *writer = state;

	for (size_t i = 0; i < writer->gathered.count; i++)
		if (writer->gathered.items[i].kind == EVENT_COMMENT)
			free((char *)writer->gathered.items[i].comment);
	free(writer->gathered.items);
	free(writer->again.items);
	free(writer->classes.items);
	free(writer);
}
