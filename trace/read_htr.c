/* SPDX-License-Identifier: MIT */
/*
 * The .htr container (htr.def) as events. A block is read whole and checked before a byte of it is
 * believed; then its columns are walked without a look at their ends, which are checked after each
 * event: behind them lies room enough for one more. Backtraces are made once for each node.
 */
#include "trace/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "htr_table.h"
#include "trace/decode.h"

#define SLACK	  256u	     /* bytes behind the columns: all values of an event */
#define GAP_MAX	  (1u << 22) /* definitions that lost blocks may have had */
#define INDEX_MAX (1u << 24) /* entries of an index that are believed */

_Static_assert(SLACK >= (HTR_VALUE_COUNT + 3) * HTR_VARINT_MAX, "one event fits");

struct thread {
	uint32_t id;
	uint64_t pthread;
	uint64_t block; /* number of the block in which model is its own */
	uint32_t model;
};

/* What the events of a shape have in common. */
struct shape {
	bool is_known;
	uint32_t resource, values, rules, depth;
	bool is_entry;
	struct event event;
};

/* A backtrace: a frame and what is under it. Those of lost blocks have no frame. */
struct node {
	uint64_t address;
	uint32_t parent, depth;
	const struct backtrace *backtrace; /* NULL: not yet made */
};

/* Where the packets of the block stand. */
struct packet {
	uint64_t place;
	const uint8_t *bytes;
	size_t size;
};

#define LIST(type)                      \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

struct container {
	ZSTD_DCtx *zstd;
	uint64_t section; /* offset of the stream's start */
	LIST(const struct function *) functions;
	LIST(struct thread) threads;
	LIST(const char *) names;
	LIST(struct shape) shapes;
	LIST(struct node) nodes; /* number 1 is the first */

	/* the block that is being read */
	struct htr_block block;
	uint64_t number;
	LIST(struct packet) packets;
	size_t next_packet;
	uint32_t next_event;
	bool has_events; /* and they are wanted */
	uint64_t calls;	 /* that stood before */
	uint8_t *definitions, *events;
	const uint8_t *columns[HTR_COLUMN_COUNT], *ends[HTR_COLUMN_COUNT];
	struct htr_model *models[HTR_MODELS], *model;
	uint32_t model_count;
	const struct thread *thread;
	uint64_t last_ns;
	struct htr_stamp stamp;

	LIST(struct htr_entry) index; /* if a part of the time is wanted and there is one */
	size_t place;		      /* in it */
	struct wire_value arguments[DECODE_ARGUMENTS_MAX];
	uint64_t frames[DECODE_FRAMES_MAX];
};

/* definitions */

struct bytes {
	const uint8_t *at, *end;
	bool has_failed;
};

static uint64_t take_number(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (bytes->at == bytes->end)
			break;
		byte = *bytes->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	bytes->has_failed = true;
	return 0;
}

static uint64_t take_difference(struct bytes *bytes)
{
	return htr_unzigzag(take_number(bytes));
}

static const char *take_text(struct bytes *bytes)
{
	const char *text = (const char *)bytes->at;
	const uint8_t *nul = memchr(bytes->at, 0, (size_t)(bytes->end - bytes->at));

	if (!nul) {
		bytes->has_failed = true;
		bytes->at = bytes->end;
		return "";
	}
	bytes->at = nul + 1;
	return text;
}

static struct htr_bytes take_bytes(struct bytes *bytes)
{
	uint64_t size = take_number(bytes);
	struct htr_bytes found = { bytes->at, 0 };

	if (size > (size_t)(bytes->end - bytes->at)) {
		bytes->has_failed = true;
		return found;
	}
	found.size = (size_t)size;
	bytes->at += size;
	return found;
}

#define DEFINITION(name, description)                             \
	static struct htr_##name take_##name(struct bytes *bytes) \
	{                                                         \
		struct htr_##name fields;
#define FIELD(kind, name, description) fields.name = take_##kind(bytes);
#define DEFINITION_END(name) \
	return fields;       \
	}
#include "htr.def"

/* What reading something came to. */
enum got { GOT_IT, GOT_DAMAGE, GOT_NO_MEMORY };

static enum got got(const void *place)
{
	return place ? GOT_IT : GOT_NO_MEMORY;
}

static enum got add_function(struct trace *trace, const char *name)
{
	struct container *container = trace->container;
	const struct function **place = ARRAY_ADD(&container->functions);

	if (!place)
		return GOT_NO_MEMORY;
	*place = registry_function(&trace->registry, name, strlen(name));
	return got(*place);
}

static enum got add_name(struct trace *trace, const char *name)
{
	struct container *container = trace->container;
	const char **place = ARRAY_ADD(&container->names);

	if (!place)
		return GOT_NO_MEMORY;
	*place = registry_text(&trace->registry, name, strlen(name));
	return got(*place);
}

static enum got add_thread(struct container *container, uint64_t id, uint64_t pthread)
{
	struct thread *thread = ARRAY_ADD(&container->threads);

	if (thread)
		*thread = (struct thread){ .id = (uint32_t)id, .pthread = pthread };
	return got(thread);
}

static enum got add_node(struct container *container, uint64_t parent, uint64_t address)
{
	struct node *node;
	uint32_t depth = 1;

	if (parent > container->nodes.count)
		return GOT_DAMAGE;
	if (parent)
		depth = container->nodes.items[parent - 1].depth + 1;
	if (depth > DECODE_FRAMES_MAX)
		return GOT_DAMAGE;
	node = ARRAY_ADD(&container->nodes);
	if (node)
		*node = (struct node){ address, (uint32_t)parent, depth, NULL };
	return got(node);
}

static enum got add_shape(struct trace *trace, const struct htr_shape *fields)
{
	struct container *container = trace->container;
	struct shape *shape;
	struct event *event;

	if (fields->function >= container->functions.count || fields->values >> HTR_VALUE_COUNT ||
	    fields->rules >> HTR_RULE_COUNT || fields->depth > HTR_DEPTH_MAX)
		return GOT_DAMAGE;
	shape = ARRAY_ADD(&container->shapes);
	if (!shape)
		return GOT_NO_MEMORY;
	memset(shape, 0, sizeof(*shape));
	shape->is_known = true;
	shape->resource = (uint32_t)fields->resource;
	shape->values = (uint32_t)fields->values;
	shape->rules = (uint32_t)fields->rules;
	shape->depth = (uint32_t)fields->depth;
	shape->is_entry = fields->moment == MOMENT_ENTER || fields->moment == MOMENT_HALF;
	event = &shape->event;
	event->kind = EVENT_CALL;
	event->function = container->functions.items[fields->function];
	event->context = (uint32_t)fields->context;
	event->type =
		fields->type <= CALL_TYPE_ALLOC ? (enum call_type)fields->type : CALL_TYPE_NONE;
	event->operation = fields->operation < OPERATION_COUNT ? (enum operation)fields->operation
							       : OPERATION_NONE;
	event->has_tail = true;
	event->moment = (uint8_t)fields->moment;
	event->part = (uint8_t)fields->part;
	event->flags = (uint8_t)fields->bits;
	event->error = (uint32_t)fields->error;
	event->arguments = container->arguments;
	return GOT_IT;
}

static enum got add_packet(struct container *container, const struct htr_packet *fields)
{
	struct packet *packet = ARRAY_ADD(&container->packets);

	if (packet)
		*packet =
			(struct packet){ fields->place, fields->packets.at, fields->packets.size };
	return got(packet);
}

static enum got add_definition(struct trace *trace, struct bytes *bytes, uint64_t *address)
{
	struct container *container = trace->container;
	struct htr_thread thread;
	struct htr_shape shape;
	struct htr_packet packet;
	struct htr_node node;

	switch ((enum htr_definition) * bytes->at++) {
	case HTR_DEFINITION_function:
		return add_function(trace, take_function(bytes).name);
	case HTR_DEFINITION_name:
		return add_name(trace, take_name(bytes).name);
	case HTR_DEFINITION_thread:
		thread = take_thread(bytes);
		return add_thread(container, thread.id, thread.pthread);
	case HTR_DEFINITION_node:
		node = take_node(bytes);
		*address += node.address;
		return bytes->has_failed ? GOT_DAMAGE : add_node(container, node.parent, *address);
	case HTR_DEFINITION_shape:
		shape = take_shape(bytes);
		return bytes->has_failed ? GOT_DAMAGE : add_shape(trace, &shape);
	case HTR_DEFINITION_packet:
		packet = take_packet(bytes);
		return add_packet(container, &packet);
	case HTR_DEFINITION_COUNT:
		break;
	}
	return GOT_DAMAGE;
}

static uint64_t memory_of(const struct container *container)
{
	return container->nodes.capacity * sizeof(struct node) +
	       container->shapes.capacity * sizeof(struct shape) +
	       container->threads.capacity * sizeof(struct thread) +
	       (container->functions.capacity + container->names.capacity) * sizeof(void *) +
	       container->index.capacity * sizeof(struct htr_entry);
}

static enum got add_definitions(struct trace *trace)
{
	struct container *container = trace->container;
	struct bytes bytes = { .at = container->definitions };
	uint64_t address = 0;

	bytes.end = bytes.at + container->block.definitions_size;
	while (bytes.at < bytes.end) {
		enum got got = add_definition(trace, &bytes, &address);

		if (bytes.has_failed)
			got = GOT_DAMAGE;
		if (got == GOT_IT && memory_of(container) > trace->registry.pool.limit)
			got = GOT_NO_MEMORY;
		if (got != GOT_IT)
			return got;
	}
	return GOT_IT;
}

/* Brings the numbers to where the block's begin: places of lost blocks are filled with nothing. */
static enum got fill_gaps(struct trace *trace)
{
	struct container *container = trace->container;
	const struct htr_block *block = &container->block;
	enum got got = GOT_IT;

#define IS_STRANGE(list, first) \
	((first) < container->list.count || (first)-container->list.count > GAP_MAX)
	if (IS_STRANGE(functions, block->first_function) ||
	    IS_STRANGE(threads, block->first_thread) || IS_STRANGE(names, block->first_name) ||
	    IS_STRANGE(shapes, block->first_shape) || IS_STRANGE(nodes, block->first_node))
		return GOT_DAMAGE;
#undef IS_STRANGE
	while (got == GOT_IT && container->functions.count < block->first_function)
		got = add_function(trace, "?");
	while (got == GOT_IT && container->threads.count < block->first_thread)
		got = add_thread(container, 0, 0);
	while (got == GOT_IT && container->names.count < block->first_name)
		got = add_name(trace, "?");
	while (got == GOT_IT && container->shapes.count < block->first_shape) {
		struct shape *shape = ARRAY_ADD(&container->shapes);

		if (shape)
			memset(shape, 0, sizeof(*shape));
		got = shape ? GOT_IT : GOT_NO_MEMORY;
	}
	while (got == GOT_IT && container->nodes.count < block->first_node) {
		struct node *node = ARRAY_ADD(&container->nodes);

		if (node)
			*node = (struct node){ 0 };
		got = node ? GOT_IT : GOT_NO_MEMORY;
	}
	return got;
}

/* events */

static inline uint64_t column_number(const uint8_t **at)
{
	const uint8_t *from = *at;
	uint64_t value = *from++;

	if (__builtin_expect(value >= 0x80, 0)) {
		unsigned shift = 7;

		value &= 0x7f;
		do
			value |= (uint64_t)(*from & 0x7f) << shift;
		while (*from++ >= 0x80 && (shift += 7) < 70);
	}
	*at = from;
	return value;
}

static inline uint64_t column_difference(const uint8_t **at)
{
	return htr_unzigzag(column_number(at));
}

static const struct backtrace *make_backtrace(struct trace *trace, uint32_t number)
{
	struct container *container = trace->container;
	struct node *node = number ? &container->nodes.items[number - 1] : NULL;
	const struct backtrace *backtrace;
	uint32_t count = 0;

	/* a lost node has no depth, and ends it */
	for (uint32_t i = number; i && container->nodes.items[i - 1].depth;
	     i = container->nodes.items[i - 1].parent)
		container->frames[count++] = container->nodes.items[i - 1].address;
	backtrace = registry_backtrace(&trace->registry, container->frames, NULL, count);
	if (node)
		node->backtrace = backtrace;
	return backtrace;
}

static struct htr_model *begin_model(struct container *container, struct thread *thread)
{
	struct htr_model **model;

	if (container->model_count == HTR_MODELS)
		return NULL;
	model = &container->models[container->model_count];
	if (!*model)
		*model = malloc(sizeof(**model));
	if (!*model)
		return NULL;
	htr_model_begin(*model);
	thread->block = container->number;
	thread->model = container->model_count++;
	return *model;
}

static bool change_thread(struct container *container)
{
	uint64_t number = column_number(&container->columns[HTR_COLUMN_shapes]);
	struct thread *thread;

	if (number >= container->threads.count)
		return false;
	thread = &container->threads.items[number];
	container->thread = thread;
	container->model = thread->block == container->number ? container->models[thread->model]
							      : begin_model(container, thread);
	return container->model != NULL;
}

static bool take_arguments(struct container *container, struct event *event)
{
	struct bytes bytes = { .at = container->columns[HTR_COLUMN_others],
			       .end = container->ends[HTR_COLUMN_others] };
	uint64_t name;

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

static inline void set_times(struct container *container, const struct shape *shape,
			     const struct htr_values *values, struct event *event)
{
	uint64_t time =
		container->last_ns + (shape->rules & HTR_BACK ? 0 - values->time : values->time);

	container->last_ns = time;
	event->enter_ns = shape->is_entry ? time : time - values->lasted;
	event->leave_ns = shape->is_entry ? time + values->lasted : time;
	event->time_ms = (uint32_t)(htr_stamp_at(&container->stamp, time) + values->stamp);
}

static inline void set_objects(struct htr_model *model, struct htr_site *site,
			       const struct shape *shape, const struct htr_values *values,
			       struct event *event)
{
	uint64_t *last = htr_model_object(model, shape->resource);
	uint64_t step = values->object;

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
}

/* Fills the trace's event but for its backtrace. */
static inline void set_event(struct trace *trace, struct htr_site *site, const struct shape *shape,
			     const struct htr_values *values)
{
	struct container *container = trace->container;
	struct htr_model *model = container->model;
	struct event *event = &trace->event;

	*event = shape->event;
	event->process = trace->process;
	set_times(container, shape, values, event);
	set_objects(model, site, shape, values, event);
	event->call = model->call + (shape->rules & HTR_CALL_SAME ? 0 : 1) + values->call;
	model->call = event->call;
	if (shape->values & HTR_HAS_cpu)
		model->cpu = (uint32_t)(values->cpu - 1);
	event->cpu = model->cpu;
	event->depth = (uint32_t)(shape->depth + values->depth);
	event->thread = container->thread->id;
	event->pthread = container->thread->pthread;
}

static bool is_inside(const struct container *container)
{
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		if (container->columns[i] > container->ends[i])
			return false;
	return true;
}

static enum got take_event(struct trace *trace)
{
	struct container *container = trace->container;
	const uint8_t **columns = container->columns;
	struct htr_values values = { 0 };
	struct event *event = &trace->event;
	struct htr_site *before, *site;
	const struct shape *shape;
	uint64_t number = column_number(&columns[HTR_COLUMN_shapes]);
	uint32_t node;

	if (number == 0) {
		if (!change_thread(container))
			return GOT_DAMAGE;
		number = column_number(&columns[HTR_COLUMN_shapes]);
	}
	if (number - 1 >= container->shapes.count || !container->model)
		return GOT_DAMAGE;
	shape = &container->shapes.items[number - 1];
	if (!shape->is_known)
		return GOT_DAMAGE;
#define VALUE(column, sign, name, description) \
	if (shape->values & HTR_HAS_##name)    \
		values.name = column_##sign(&columns[HTR_COLUMN_##column]);
#include "htr.def"
	if (!is_inside(container))
		return GOT_DAMAGE;
	before = &container->model->sites[container->model->last];
	node = shape->values & HTR_HAS_node ? (uint32_t)values.node : before->next;
	if (values.node > container->nodes.count)
		return GOT_DAMAGE;
	before->next = node;
	container->model->last = node % HTR_SITES;
	site = htr_model_site(container->model, node);
	set_event(trace, site, shape, &values);
	if (shape->rules & HTR_ARGUMENTS && !take_arguments(container, event))
		return GOT_DAMAGE;
	event->resource = registry_resource(&trace->registry, shape->resource);
	event->backtrace = node ? container->nodes.items[node - 1].backtrace : NULL;
	if (!event->backtrace)
		event->backtrace = make_backtrace(trace, node);
	if (!event->resource || !event->backtrace)
		return GOT_NO_MEMORY;
	event->index = ++container->calls;
	container->next_event++;
	trace->tally.packets++;
	trace_finish_call(trace, event);
	return GOT_IT;
}

/* blocks */

static bool unpack(struct container *container, uint8_t *to, const uint8_t *bytes, size_t packed,
		   size_t size)
{
	return ZSTD_decompressDCtx(container->zstd, to, size, bytes, packed) == size;
}

static bool find_columns(struct container *container)
{
	struct bytes bytes = { .at = container->events,
			       .end = container->events + container->block.events_size };
	uint64_t sizes[HTR_COLUMN_COUNT];

	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		sizes[i] = take_number(&bytes);
	for (int i = 0; i < HTR_COLUMN_COUNT; i++) {
		if (bytes.has_failed || sizes[i] > (size_t)(bytes.end - bytes.at))
			return false;
		container->columns[i] = bytes.at;
		bytes.at += sizes[i];
		container->ends[i] = bytes.at;
	}
	return bytes.at == bytes.end && container->block.events <= sizes[HTR_COLUMN_shapes];
}

static bool is_wanted(const struct trace *trace, uint64_t first_ns, uint64_t last_ns)
{
	return first_ns <= trace->until_ns && last_ns >= trace->since_ns;
}

/* The definitions at bytes, whole. */
static enum got open_definitions(struct trace *trace, const uint8_t *bytes)
{
	struct container *container = trace->container;
	const struct htr_block *block = &container->block;
	enum got got = fill_gaps(trace);

	if (got != GOT_IT || !block->definitions_size)
		return got;
	if (checksum(0, bytes, block->definitions_packed) != block->definitions_check ||
	    !unpack(container, container->definitions, bytes, block->definitions_packed,
		    block->definitions_size))
		return GOT_DAMAGE;
	return add_definitions(trace);
}

static bool open_events(struct container *container, const uint8_t *bytes)
{
	const struct htr_block *block = &container->block;

	if (checksum(0, bytes, block->events_packed) != block->events_check ||
	    !unpack(container, container->events, bytes, block->events_packed,
		    block->events_size) ||
	    !find_columns(container))
		return false;
	memset(container->events + block->events_size, 0, SLACK);
	container->model = NULL;
	container->model_count = 0;
	container->last_ns = 0;
	container->stamp = (struct htr_stamp){ 0 };
	return true;
}

/* The header of a block, if the bytes are one. */
static bool get_block(const uint8_t *bytes, struct htr_block *block)
{
	htr_get_block(bytes, block);
	return block->magic == HTR_MAGIC_BLOCK &&
	       block->check == checksum(0, bytes + 8, HTR_SIZE_block - 8) &&
	       block->definitions_packed <= HTR_PACKED_MAX &&
	       block->definitions_size <= HTR_PART_MAX && block->events_packed <= HTR_PACKED_MAX &&
	       block->events_size <= HTR_PART_MAX;
}

static int end_early(struct trace *trace, const char *what, struct error *err)
{
	uint64_t offset = trace->source.offset;
	int rc = source_skip_far(&trace->source, UINT64_MAX, err);

	trace_add_damage(trace, offset, trace->source.offset - offset, "%s", what);
	trace->tally.is_truncated = true;
	return rc;
}

/* The block at the source's place. */
static int read_block(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	struct source *source = &trace->source;
	const struct htr_block *block = &container->block;
	bool wanted = block->events && is_wanted(trace, block->first_ns, block->last_ns);
	size_t size = HTR_SIZE_block + block->definitions_packed;
	size_t whole = size + (wanted ? block->events_packed : 0);
	int rc = source_need(source, whole, err);
	enum got got;

	if (rc)
		return rc;
	if (source_left(source) < whole)
		return end_early(trace, "a block is cut", err);
	container->number++;
	container->packets.count = container->next_packet = 0;
	container->next_event = 0;
	container->calls = block->first_call;
	got = open_definitions(trace, source_at(source) + HTR_SIZE_block);
	if (got == GOT_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (got == GOT_DAMAGE)
		trace_add_damage(trace, source->offset, block->definitions_packed,
				 "definitions of a block are damaged");
	container->has_events = wanted && open_events(container, source_at(source) + size);
	if (wanted && !container->has_events)
		trace_add_damage(trace, source->offset + size, block->events_packed,
				 "events of a block are damaged");
	source_skip(source, whole);
	return wanted ? 0 : source_skip_far(source, block->events_packed, err);
}

/* Where the next block begins behind what cannot be read. */
static int resynchronise(struct trace *trace, struct error *err)
{
	static const uint8_t magic[] = { 'H', 'T', 'R', 'B' };
	struct source *source = &trace->source;
	uint64_t start = source->offset;
	struct htr_block block;
	bool found = false;

	do {
		const uint8_t *at;
		int rc = source_need(source, HTR_SIZE_block + 1, err);

		if (rc)
			return rc;
		if (source_left(source) <= HTR_SIZE_block) {
			source_skip(source, source_left(source));
			trace->tally.is_truncated = true;
			break;
		}
		source_skip(source, 1);
		at = memchr(source_at(source), magic[0],
			    source_left(source) - (HTR_SIZE_block - 1));
		source_skip(source, at ? (size_t)(at - source_at(source))
				       : source_left(source) - (HTR_SIZE_block - 1));
		found = at && !memcmp(source_at(source), magic, sizeof(magic)) &&
			get_block(source_at(source), &block);
	} while (!found);
	trace_add_damage(trace, start, source->offset - start, "no block begins there");
	return 0;
}

static int step_over_index(struct trace *trace, struct error *err)
{
	struct source *source = &trace->source;
	uint64_t start = source->offset, size = HTR_SIZE_index + HTR_SIZE_end;
	struct htr_index index;
	int rc = source_need(source, HTR_SIZE_index, err);

	if (rc)
		return rc;
	if (source_left(source) < HTR_SIZE_index)
		return end_early(trace, "the index is cut", err);
	htr_get_index(source_at(source), &index);
	size += (uint64_t)index.entries * HTR_SIZE_entry;
	rc = source_skip_far(source, size, err);
	if (rc == 0 && source->offset - start < size) {
		trace_add_damage(trace, start, source->offset - start, "the index is cut");
		trace->tally.is_truncated = true;
	}
	return rc;
}

/* Forgets all numbers: another stream begins. */
static int begin_section(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	struct htr_file file;
	int rc = source_need(&trace->source, HTR_SIZE_file, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) < HTR_SIZE_file)
		return end_early(trace, "the start of a stream is cut", err);
	htr_get_file(source_at(&trace->source), &file);
	if (file.version != HTR_VERSION)
		return error_set(err, EPROTO,
				 "is an .htr of version %u, and version %u is known: "
				 "use the holdtrace-postproc of what wrote it",
				 file.version, HTR_VERSION);
	container->section = trace->source.offset;
	container->functions.count = container->threads.count = container->names.count = 0;
	container->shapes.count = container->nodes.count = 0;
	source_skip(&trace->source, HTR_SIZE_file);
	return 0;
}

/* With an index, goes to the next block that is wanted. */
static int go_on(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	uint64_t here = trace->source.offset;
	const struct htr_entry *entry;

	while (container->place < container->index.count &&
	       container->index.items[container->place].offset < here)
		container->place++;
	if (container->section || container->place >= container->index.count ||
	    container->index.items[container->place].offset != here)
		return 0;
	do {
		entry = &container->index.items[container->place];
		if (entry->definitions_size ||
		    (entry->events && is_wanted(trace, entry->first_ns, entry->last_ns)))
			break;
	} while (++container->place < container->index.count);
	return source_skip_far(&trace->source, entry->offset - here, err);
}

/* Returns 0 with the next block's insides, -ENODATA at the end, or another negative errno. */
static int next_block(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	struct source *source = &trace->source;

	for (;;) {
		const uint8_t *at;
		uint64_t magic = 0;
		int rc = go_on(trace, err);

		if (rc == 0)
			rc = source_need(source, HTR_SIZE_block, err);
		if (rc)
			return rc;
		at = source_at(source);
		if (source_left(source) == 0)
			return -ENODATA;
		if (source_left(source) >= 8)
			magic = htr_get_qword(&at);
		if (magic == HTR_MAGIC)
			rc = begin_section(trace, err);
		else if ((uint32_t)magic == HTR_MAGIC_INDEX)
			rc = step_over_index(trace, err);
		else if (source_left(source) < HTR_SIZE_block)
			rc = end_early(trace, "a block is cut", err);
		else if (get_block(source_at(source), &container->block))
			return read_block(trace, err);
		else
			rc = resynchronise(trace, err);
		if (rc)
			return rc;
	}
}

/* The packets of a block that no event was read of stand one behind the other. */
static int next_packets(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	const struct packet *packet = &container->packets.items[container->next_packet++];
	int rc;

	if (!container->has_events && packet->place > container->next_event) {
		container->calls += packet->place - container->next_event;
		container->next_event = (uint32_t)packet->place;
	}
	rc = read_binary_piece(trace, packet->bytes, packet->size, container->calls, err);
	if (rc == 1 && event_is_call(&trace->event))
		container->calls++;
	return rc;
}

static int next_htr(struct trace *trace, const struct event **result, struct error *err)
{
	struct container *container = trace->container;
	int rc = 0;

	*result = &trace->event;
	while (rc == 0) {
		enum got got;

		if (container->next_packet < container->packets.count &&
		    (!container->has_events ||
		     container->packets.items[container->next_packet].place <=
			     container->next_event)) {
			rc = next_packets(trace, err);
			continue;
		}
		if (!container->has_events || container->next_event >= container->block.events) {
			container->has_events = false;
			if (container->next_packet == container->packets.count)
				rc = next_block(trace, err);
			continue;
		}
		got = trace->process ? take_event(trace) : GOT_DAMAGE;
		if (got == GOT_IT)
			return 1;
		if (got == GOT_NO_MEMORY)
			return trace_no_memory(trace, err);
		container->has_events = false;
		trace_add_damage(trace, trace->source.offset - container->block.events_packed,
				 container->block.events_packed,
				 "an event of a block makes no sense");
	}
	return rc == -ENODATA ? 0 : rc;
}

/* opening */

bool read_htr_recognises(const unsigned char *bytes, size_t size)
{
	uint64_t magic = 0;

	if (size >= 8)
		magic = htr_get_qword(&bytes);
	return magic == HTR_MAGIC;
}

/* The index, if there is one and the input lets us look: a help, and never needed. */
static void read_index(struct trace *trace)
{
	struct container *container = trace->container;
	uint8_t bytes[HTR_SIZE_end], *entries;
	struct htr_index index;
	struct htr_end end;
	size_t size;

	if (source_peek(&trace->source, -HTR_SIZE_end, bytes, HTR_SIZE_end) != HTR_SIZE_end)
		return;
	htr_get_end(bytes, &end);
	if (end.magic != HTR_MAGIC_END || end.check != checksum(0, bytes, 8) ||
	    end.back < HTR_SIZE_index + HTR_SIZE_end ||
	    end.back > (uint64_t)INDEX_MAX * HTR_SIZE_entry)
		return;
	size = (size_t)end.back - HTR_SIZE_end;
	entries = malloc(size);
	if (!entries)
		return;
	if (source_peek(&trace->source, -(int64_t)end.back, entries, size) == size) {
		htr_get_index(entries, &index);
		if (index.magic == HTR_MAGIC_INDEX &&
		    index.entries * (uint64_t)HTR_SIZE_entry == size - HTR_SIZE_index &&
		    index.check == checksum(0, entries + HTR_SIZE_index, size - HTR_SIZE_index))
			container->index.items = calloc(index.entries, sizeof(struct htr_entry));
		if (container->index.items)
			container->index.count = container->index.capacity = index.entries;
		for (size_t i = 0; i < container->index.count; i++)
			htr_get_entry(entries + HTR_SIZE_index + i * HTR_SIZE_entry,
				      &container->index.items[i]);
	}
	free(entries);
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
	free(container->packets.items);
	free(container->index.items);
	free(container->definitions);
	free(container->events);
	free(container);
}

int read_htr_open(struct trace *trace, struct error *err)
{
	struct container *container = calloc(1, sizeof(*container));
	int rc = read_binary_begin(trace, err);

	trace->container = container;
	trace->next = next_htr;
	trace->close = close_htr;
	if (container) {
		container->zstd = ZSTD_createDCtx();
		container->definitions = malloc(HTR_PART_MAX);
		container->events = malloc(HTR_PART_MAX + SLACK);
	}
	if (rc || !container || !container->zstd || !container->definitions || !container->events)
		return error_system(err, ENOMEM, "reader of .htr");
	if (trace->since_ns || trace->until_ns != UINT64_MAX)
		read_index(trace);
	rc = source_need(&trace->source, HTR_SIZE_file + HTR_SIZE_block, err);
	if (rc == 0)
		rc = begin_section(trace, err);
	if (rc == 0 && !source_left(&trace->source))
		return error_set(err, EBADMSG, "ends before its first block: nothing was recorded");
	return rc;
}
