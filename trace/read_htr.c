/* SPDX-License-Identifier: MIT */
/*
 * Makes events from an .htr container (htr.def). The columns of a checked block are read without
 * bounds checks: an event may be read beyond the end of a column, and after each event the position
 * in each column is compared with its end. Each node's backtrace is created once.
 */
#include "trace/htr_container.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

/* Positions in a block's columns. left: negative if a column was read beyond its end. */
struct columns {
	const uint8_t **at;
	const uint8_t *const *ends;
	int64_t left;
};

/*
 * Decodes a varint. Adds each byte including its continuation bit; when the next byte is added,
 * this bit is subtracted again.
 */
static inline const uint8_t *step_number(const uint8_t *at, uint64_t *value)
{
	*value = *at++;
	if (__builtin_expect(*value >= 0x80, 0)) {
		unsigned shift = 7;

		do {
			*value += ((uint64_t)*at - 1) << shift;
			shift += 7;
		} while (*at++ >= 0x80 && shift < 70);
	}
	return at;
}

/*
 * Decodes a varint without a branch between one and two bytes. Both lengths are equally likely for
 * times, so the branch would often be mispredicted. Three to eight bytes are decoded together, by
 * joining groups of 7 bits to groups of 14, 28 and then 56.
 */
static inline const uint8_t *jump_number(const uint8_t *at, uint64_t *value)
{
	uint64_t bytes, ends, two;

	memcpy(&bytes, at, sizeof(bytes));
	bytes = le64toh(bytes);
	if (__builtin_expect((bytes & 0x8080u) != 0x8080u, 1)) {
		two = bytes >> 7 & 1;
		*value = (bytes & 0x7f) | (bytes >> 1 & 0x3f80 & (0 - two));
		return at + 1 + two;
	}
	ends = ~bytes & 0x8080808080808080u;
	if (__builtin_expect(!ends, 0))
		return step_number(at, value);
	bytes &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7fu;
	bytes = (bytes & 0x007f007f007f007fu) | (bytes & 0x7f007f007f007f00u) >> 1;
	bytes = (bytes & 0x00003fff00003fffu) | (bytes & 0x3fff00003fff0000u) >> 2;
	*value = (uint32_t)bytes | bytes >> 32 << 28;
	return at + __builtin_ctzll(ends) / 8 + 1;
}

static inline uint64_t column_number(struct columns *columns, enum htr_column column)
{
	const uint8_t *at = columns->at[column];
	uint64_t value;

	at = column == HTR_COLUMN_times ? jump_number(at, &value) : step_number(at, &value);
	columns->at[column] = at;
	columns->left |= columns->ends[column] - at;
	return value;
}

static inline uint64_t column_difference(struct columns *columns, enum htr_column column)
{
	return htr_unzigzag(column_number(columns, column));
}

/* Switches to the thread that the block names, and to the thread's model, which may be new. */
static bool change_thread(struct container *container, struct columns *columns)
{
	uint64_t number = column_number(columns, HTR_COLUMN_shapes);
	struct htr_model **model;
	struct thread *thread;

	if (number >= container->threads.count)
		return false;
	thread = &container->threads.items[number];
	container->thread = thread;
	container->model = NULL;
	if (thread->block != container->number) {
		if (container->model_count == HTR_MODELS)
			return false;
		model = &container->models[container->model_count];
		if (!*model)
			*model = memory_alloc(sizeof(**model));
		if (!*model)
			return false;
		htr_model_begin(*model);
		thread->block = container->number;
		thread->model = container->model_count++;
	}
	container->model = container->models[thread->model];
	return true;
}

static bool take_arguments(struct container *container, struct event *event)
{
	struct bytes bytes = { .at = container->columns[HTR_COLUMN_others],
			       .end = container->ends[HTR_COLUMN_others] };
	uint64_t name;

	event->argument_count = 0;
	while (bytes.at < bytes.end && (name = take_number(&bytes)) != 0) {
		struct wire_value *value = &container->arguments[event->argument_count];

		if (name > container->names.count || event->argument_count == DECODE_ARGUMENTS_MAX)
			return false;
		value->name = container->names.items[name - 1];
		value->value = take_text(&bytes);
		event->argument_count++;
	}
	container->columns[HTR_COLUMN_others] = bytes.at;
	return !bytes.has_failed;
}

/* Sets the members in which events of one shape differ, except the backtrace. */
static inline void set_event(struct trace *trace, struct htr_site *site, struct shape *shape,
			     const struct htr_values *values)
{
	struct container *container = trace->container;
	struct htr_model *model = container->model;
	struct event *event = &shape->event;
	uint64_t time, *last;
	uint64_t step = values->object;

	event->process = trace->process;
	time = container->last_ns + (shape->rules & HTR_BACK ? 0 - values->time : values->time);
	container->last_ns = event->time_ns = time;
	event->enter_ns = shape->is_entry ? time : time - values->lasted;
	event->leave_ns = shape->is_entry ? time + values->lasted : time;
	event->time_ms = (uint32_t)(htr_stamp_at(&container->stamp, time) + values->stamp);
	last = htr_model_object(model, shape->resource);
	if (shape->rules & HTR_OBJECT_BY_16)
		step <<= 4;
	event->object = (shape->rules & HTR_OBJECT_AT_SITE ? site->object : *last) + step;
	*last = site->object = event->object;
	event->size = shape->rules & HTR_SIZE_AT_SITE ? site->size : values->size;
	site->size = event->size;
	step = values->frame;
	if (shape->rules & HTR_FRAME_BY_8)
		step <<= 3;
	event->frame = site->frame + step;
	model->frame = site->frame = event->frame;
	event->related = values->related + (shape->rules & HTR_RELATED_NEAR ? event->object : 0);
	event->result = values->result + (shape->rules & HTR_RESULT_NEAR ? event->object : 0);
	event->call = model->call + (shape->rules & HTR_CALL_SAME ? 0 : 1) + values->call;
	model->call = event->call;
	if (shape->values & HTR_HAS_cpu)
		model->cpu = (uint32_t)(values->cpu - 1);
	event->cpu = model->cpu;
	event->depth = (uint32_t)(shape->depth + values->depth);
	event->thread = container->thread->id;
	event->pthread = container->thread->pthread;
}

/*
 * Reads the shape of the next event, and the event's own values. If the block names another thread
 * before this event, switches to that thread.
 */
static inline enum got take_values(struct container *container, struct shape **shape,
				   struct htr_values *values)
{
	struct columns columns = { container->columns, container->ends, 0 };
	uint64_t number = column_number(&columns, HTR_COLUMN_shapes);

	if (number == 0) {
		if (!change_thread(container, &columns))
			return GOT_DAMAGE;
		number = column_number(&columns, HTR_COLUMN_shapes);
	}
	if (number - 1 >= container->shapes.count || !container->model ||
	    !container->shapes.items[number - 1].is_known)
		return GOT_DAMAGE;
	*shape = &container->shapes.items[number - 1];
#define VALUE(column, sign, name, description) \
	if ((*shape)->values & HTR_HAS_##name) \
		values->name = column_##sign(&columns, HTR_COLUMN_##column);
#include "htr.def"
	return columns.left < 0 || values->node > container->nodes.count ? GOT_DAMAGE : GOT_IT;
}

/* Reads the next event into shape->event, whose common members are already set. */
static enum got take_event(struct trace *trace, const struct event **result)
{
	struct container *container = trace->container;
	struct htr_values values = { 0 };
	struct shape *shape;
	struct event *event;
	uint32_t node;
	struct htr_site *before;

	if (take_values(container, &shape, &values) != GOT_IT)
		return GOT_DAMAGE;
	before = &container->model->sites[container->model->last];
	if (shape->values & HTR_HAS_node)
		before->next = (uint32_t)values.node;
	container->model->last = before->next % HTR_SITES;
	node = before->next;
	set_event(trace, htr_model_site(container->model, node), shape, &values);
	event = &shape->event;
	if (shape->rules & HTR_ARGUMENTS && !take_arguments(container, event))
		return GOT_DAMAGE;
	event->resource = registry_resource(&trace->registry, shape->resource);
	event->backtrace = node ? container->nodes.items[node - 1].backtrace : NULL;
	if (!event->backtrace) {
		struct node *of = node ? &container->nodes.items[node - 1] : NULL;
		uint32_t *made = of ? ARRAY_ADD(&container->made) : NULL;

		event->backtrace =
			registry_node_backtrace(&trace->registry, of ? of->node : &trace_no_node);
		if (made) {
			*made = node;
			of->backtrace = event->backtrace;
		}
	}
	if (!event->resource || !event->backtrace)
		return GOT_NO_MEMORY;
	event->index = ++container->calls;
	container->next_event++;
	trace->tally.packets++;
	if (event->kind == EVENT_NOTE)
		trace_count_note(trace, event);
	else
		trace->tally.calls++;
	*result = event;
	return GOT_IT;
}

/* Sets container->stop: the event before which packets or the next block must be read. */
static void set_stop(struct trace *trace)
{
	struct container *container = trace->container;

	container->stop = container->has_events && trace->process ? container->block.events : 0;
	if (container->next_packet < container->packets.count &&
	    container->packets.items[container->next_packet].place < container->stop)
		container->stop = (uint32_t)container->packets.items[container->next_packet].place;
}

static int drop_events(struct trace *trace)
{
	struct container *container = trace->container;

	container->has_events = false;
	trace_add_damage(trace, trace->source.offset - container->block.events_packed,
			 container->block.events_packed, "an event of a block is invalid");
	return 0;
}

/*
 * Reads the packet or the block that precedes the next event. Returns the same as
 * read_binary_piece(), or -ENODATA at the end.
 */
static int go_on(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	bool is_done = !container->has_events || container->next_event >= container->block.events;
	int rc = 0;

	if (container->next_packet < container->packets.count &&
	    (!container->has_events ||
	     container->packets.items[container->next_packet].place <= container->next_event)) {
		const struct packet *packet = &container->packets.items[container->next_packet++];

		/* skips the unwanted events before the packet */
		if (!container->has_events && packet->place > container->next_event) {
			container->calls += packet->place - container->next_event;
			container->next_event = (uint32_t)packet->place;
		}
		rc = read_binary_piece(trace, packet->bytes, packet->size, container->calls, err);
		container->calls += rc == 1 && event_is_call(&trace->event);
		/* if the mapping of some addresses changed, backtraces must be created anew */
		for (; container->epoch != trace->registry.epoch && container->made.count;)
			container->nodes.items[container->made.items[--container->made.count] - 1]
				.backtrace = NULL;
		container->epoch = trace->registry.epoch;
	} else if (!is_done) {
		/* drops the events, because their stream has not named its process */
		rc = drop_events(trace);
	} else {
		container->has_events = false;
		if (container->next_packet == container->packets.count)
			rc = container_next_block(trace, err);
	}
	set_stop(trace);
	return rc;
}

static int next_htr(struct trace *trace, const struct event **result, struct error *err)
{
	struct container *container = trace->container;
	int rc = 0;

	while (rc == 0) {
		enum got got = GOT_IT;

		if (container->next_event >= container->stop) {
			*result = &trace->event;
			rc = go_on(trace, err);
			continue;
		}
		got = take_event(trace, result);
		if (got == GOT_IT)
			return 1;
		if (got == GOT_NO_MEMORY)
			return trace_no_memory(trace, err);
		rc = drop_events(trace);
		set_stop(trace);
	}
	return rc == -ENODATA ? 0 : rc;
}

/* ---- opening ---- */

bool read_htr_recognises(const unsigned char *bytes, size_t size)
{
	uint64_t magic = 0;

	if (size >= 8)
		magic = htr_get_qword(&bytes);
	return magic == HTR_MAGIC;
}

static void close_htr(struct trace *trace)
{
	struct container *container = trace->container;

	free(trace->reader);
	if (!container)
		return;
	ZSTD_freeDCtx(container->zstd);
	for (uint32_t i = 0; i < HTR_MODELS; i++)
		free(container->models[i]);
	free(container->functions.items);
	free(container->threads.items);
	free(container->names.items);
	free(container->shapes.items);
	free(container->nodes.items);
	free(container->made.items);
	free(container->packets.items);
	free(container->index.items);
	free(container->definitions.bytes);
	free(container->events.bytes);
	free(container);
}

int read_htr_open(struct trace *trace, struct error *err)
{
	struct container *container = memory_zalloc(1, sizeof(*container));
	int rc = read_binary_begin(trace, err);

	trace->container = container;
	trace->next = next_htr;
	trace->close = close_htr;
	if (container)
		container->zstd = ZSTD_createDCtx();
	if (rc || !container || !container->zstd)
		return error_system(err, ENOMEM, "cannot create the reader of .htr files");
	if (trace->has_window || trace->skips_calls)
		container_read_index(trace);
	rc = source_need(&trace->source, HTR_SIZE_file + HTR_SIZE_block, err);
	if (rc == 0)
		rc = container_begin_section(trace, err);
	if (rc == 0 && !source_left(&trace->source))
		return error_set(err, EBADMSG, "ends before its first block: nothing was recorded");
	return rc;
}
