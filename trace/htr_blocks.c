/* SPDX-License-Identifier: MIT */
/*
 * Finds, checks and decompresses the blocks of an .htr file, and reads the definitions in them:
 * functions, names, threads, shapes of events, nodes of backtraces and packets. A block is read and
 * checked as a whole before its bytes are used. After damage, reading continues at the next block.
 * The index is only used to skip unwanted blocks. Definitions are numbered across blocks, and each
 * block states the numbers of its first definitions. So later blocks stay readable if a block is
 * lost; the definitions of the lost block are empty.
 */
#include "trace/htr_container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "hook_table.h"

#define INDEX_MAX (1u << 24) /* maximum number of entries; a larger index is ignored */
#define NAMES_GAP (1u << 16) /* maximum number of names or shapes in lost blocks */
#define NODES_GAP (1u << 22) /* maximum number of nodes or threads in lost blocks */

/* ---- definitions ---- */

#define DEFINITION(name, description)                             \
	static struct htr_##name take_##name(struct bytes *bytes) \
	{                                                         \
		struct htr_##name fields;
#define FIELD(kind, name, description) fields.name = take_##kind(bytes);
#define DEFINITION_END(name) \
	return fields;       \
	}
#include "htr.def"

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

static enum got add_node(struct trace *trace, uint64_t parent, uint64_t address)
{
	struct container *container = trace->container;
	const struct trace_node *caller = &trace_no_node;
	struct node *node;

	if (parent > container->nodes.count)
		return GOT_DAMAGE;
	if (parent)
		caller = container->nodes.items[parent - 1].node;
	if (caller->count >= DECODE_FRAMES_MAX)
		return GOT_DAMAGE;
	node = ARRAY_ADD(&container->nodes);
	if (!node)
		return GOT_NO_MEMORY;
	*node = (struct node){ trace_nodes_add(&trace->registry.nodes, caller, address), NULL };
	return got(node->node);
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
	event->function = container->functions.items[fields->function];
	event->kind = event->function->name[0] == WIRE_NOTE_PREFIX ? EVENT_NOTE : EVENT_CALL;
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
	event->is_simple = event->kind == EVENT_CALL && event->type != CALL_TYPE_NONE &&
			   !event->part && event->moment != MOMENT_HALF &&
			   !(event->flags & CALL_FAILED) && !(shape->rules & HTR_ARGUMENTS);
	return GOT_IT;
}

static enum got add_definition(struct trace *trace, struct bytes *bytes, uint64_t *address)
{
	struct container *container = trace->container;
	struct htr_thread thread;
	struct htr_shape shape;
	struct htr_packet fields;
	struct packet *packet;
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
		return bytes->has_failed ? GOT_DAMAGE : add_node(trace, node.parent, *address);
	case HTR_DEFINITION_shape:
		shape = take_shape(bytes);
		return bytes->has_failed ? GOT_DAMAGE : add_shape(trace, &shape);
	case HTR_DEFINITION_packet:
		fields = take_packet(bytes);
		packet = ARRAY_ADD(&container->packets);
		if (packet)
			*packet = (struct packet){ fields.place, fields.packets.at,
						   fields.packets.size };
		return got(packet);
	case HTR_DEFINITION_COUNT:
		break;
	}
	return GOT_DAMAGE;
}

static enum got add_definitions(struct trace *trace)
{
	struct container *container = trace->container;
	struct bytes bytes = { .at = container->definitions.bytes };
	uint64_t address = 0;

	bytes.end = bytes.at + container->block.definitions_size;
	while (bytes.at < bytes.end) {
		enum got got = add_definition(trace, &bytes, &address);

		uint64_t memory = container->nodes.capacity * sizeof(struct node) +
				  container->made.capacity * sizeof(uint32_t) +
				  container->shapes.capacity * sizeof(struct shape) +
				  container->threads.capacity * sizeof(struct thread) +
				  (container->functions.capacity + container->names.capacity) *
					  sizeof(void *) +
				  container->index.capacity * sizeof(struct htr_entry);

		if (bytes.has_failed)
			got = GOT_DAMAGE;
		if (got == GOT_IT && memory > trace->registry.pool.limit)
			got = GOT_NO_MEMORY;
		if (got != GOT_IT)
			return got;
	}
	if (!trace->tally.skipped)
		return GOT_IT;
	trace->tally.skipped_threads = (uint32_t)container->threads.count;
	for (size_t i = 0; i < container->functions.count; i++) {
		const struct hook *hook = container->functions.items[i]->hook;

		trace->tally.skipped_makers |= !hook || hook->resource == RESOURCE_THREAD;
	}
	return GOT_IT;
}

/*
 * Extends each list of definitions up to the first number that the block defines. The added
 * definitions were in lost blocks and stay empty.
 */
static enum got fill_gaps(struct trace *trace)
{
	struct container *container = trace->container;
	const struct htr_block *block = &container->block;
	/* bytes that the lists need for the definitions of all earlier blocks, even lost blocks */
	uint64_t before = block->first_node * (uint64_t)sizeof(struct node) +
			  block->first_shape * (uint64_t)sizeof(struct shape) +
			  block->first_thread * (uint64_t)sizeof(struct thread) +
			  ((uint64_t)block->first_function + block->first_name) * sizeof(void *);
	enum got got = GOT_IT;

#define IS_STRANGE(list, first, most) \
	((first) < container->list.count || (first)-container->list.count > (most))
	if (IS_STRANGE(functions, block->first_function, NAMES_GAP) ||
	    IS_STRANGE(names, block->first_name, NAMES_GAP) ||
	    IS_STRANGE(shapes, block->first_shape, NAMES_GAP) ||
	    IS_STRANGE(threads, block->first_thread, NODES_GAP) ||
	    IS_STRANGE(nodes, block->first_node, NODES_GAP))
		return GOT_DAMAGE;
#undef IS_STRANGE
	if (before > trace->registry.pool.limit)
		return GOT_NO_MEMORY;
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
			*node = (struct node){ .node = &trace_no_node };
		got = node ? GOT_IT : GOT_NO_MEMORY;
	}
	return got;
}

/* ---- blocks ---- */

/*
 * Decompresses a part of a block, and adds zeros after the part in the buffer. The part is damaged
 * if it does not have exactly `size` bytes.
 */
static enum got unpack_part(struct container *container, struct part *part, const uint8_t *bytes,
			    size_t packed, size_t size)
{
	if (size + COLUMNS_SLACK > part->room) {
		free(part->bytes);
		part->room = 2 * size + COLUMNS_SLACK;
		part->bytes = memory_alloc(part->room);
		if (!part->bytes) {
			part->room = 0;
			return GOT_NO_MEMORY;
		}
	}
	memset(part->bytes + size, 0, COLUMNS_SLACK);
	return ZSTD_decompressDCtx(container->zstd, part->bytes, size, bytes, packed) == size
		       ? GOT_IT
		       : GOT_DAMAGE;
}

static bool is_wanted(const struct trace *trace, uint64_t first_ns, uint64_t last_ns)
{
	return !(trace->skips_calls && trace->tally.skipped) && first_ns <= trace->until_ns &&
	       last_ns >= trace->since_ns;
}

/* Checks, decompresses and reads the definitions of a block. bytes: the compressed definitions. */
static enum got open_definitions(struct trace *trace, const uint8_t *bytes)
{
	struct container *container = trace->container;
	const struct htr_block *block = &container->block;
	enum got got = fill_gaps(trace);

	if (got != GOT_IT || !block->definitions_size)
		return got;
	if (checksum(0, bytes, block->definitions_packed) != block->definitions_check)
		return GOT_DAMAGE;
	got = unpack_part(container, &container->definitions, bytes, block->definitions_packed,
			  block->definitions_size);
	return got == GOT_IT ? add_definitions(trace) : got;
}

static enum got open_events(struct container *container, const uint8_t *packed)
{
	const struct htr_block *block = &container->block;
	uint64_t sizes[HTR_COLUMN_COUNT];
	struct bytes bytes = { 0 };
	enum got got;

	if (checksum(0, packed, block->events_packed) != block->events_check)
		return GOT_DAMAGE;
	got = unpack_part(container, &container->events, packed, block->events_packed,
			  block->events_size);
	if (got != GOT_IT)
		return got;
	bytes.at = container->events.bytes;
	bytes.end = bytes.at + block->events_size;
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		sizes[i] = take_number(&bytes);
	for (int i = 0; i < HTR_COLUMN_COUNT; i++) {
		if (bytes.has_failed || sizes[i] > (size_t)(bytes.end - bytes.at))
			return GOT_DAMAGE;
		container->columns[i] = bytes.at;
		bytes.at += sizes[i];
		container->ends[i] = bytes.at;
	}
	if (bytes.at != bytes.end || block->events > sizes[HTR_COLUMN_shapes])
		return GOT_DAMAGE;
	container->model = NULL;
	container->model_count = 0;
	container->last_ns = 0;
	container->stamp = (struct htr_stamp){ 0 };
	return GOT_IT;
}

/* Reads the header of a block. Returns false if the bytes are not a valid header. */
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

/* Reads the block at the source's position. */
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
		return end_early(trace, "a block is incomplete", err);
	container->number++;
	container->packets.count = container->next_packet = 0;
	container->next_event = 0;
	container->calls = block->first_call;
	got = open_definitions(trace, source_at(source) + HTR_SIZE_block);
	if (got == GOT_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (got == GOT_DAMAGE)
		trace_add_damage(trace, source->offset, block->definitions_packed,
				 "the definitions of a block are damaged");
	got = wanted ? open_events(container, source_at(source) + size) : GOT_DAMAGE;
	if (got == GOT_NO_MEMORY)
		return trace_no_memory(trace, err);
	container->has_events = got == GOT_IT;
	if (wanted && !container->has_events)
		trace_add_damage(trace, source->offset + size, block->events_packed,
				 "the events of a block are damaged");
	source_skip(source, whole);
	return wanted ? 0 : source_skip_far(source, block->events_packed, err);
}

/* Skips damaged bytes up to the next block. */
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
	trace_add_damage(trace, start, source->offset - start, "no block starts there");
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
		return end_early(trace, "the index is incomplete", err);
	((struct container *)trace->container)->is_open = false;
	htr_get_index(source_at(source), &index);
	size += (uint64_t)index.entries * HTR_SIZE_entry;
	rc = source_skip_far(source, size, err);
	if (rc == 0 && source->offset - start < size) {
		trace_add_damage(trace, start, source->offset - start, "the index is incomplete");
		trace->tally.is_truncated = true;
	}
	return rc;
}

/*
 * Ends a stream. A missing index counts as damage: the index comes last, so the writer was stopped
 * before it had written the whole stream.
 */
static void end_section(struct trace *trace)
{
	struct container *container = trace->container;

	if (container->is_open && !trace->tally.is_truncated) {
		trace_add_damage(trace, trace->source.offset, 0, "its index is missing");
		trace->tally.is_truncated = true;
	}
	container->is_open = false;
}

int container_begin_section(struct trace *trace, struct error *err)
{
	struct container *container = trace->container;
	struct htr_file file;
	int rc = source_need(&trace->source, HTR_SIZE_file, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) < HTR_SIZE_file)
		return end_early(trace, "the start of a stream is incomplete", err);
	htr_get_file(source_at(&trace->source), &file);
	if (file.version != HTR_VERSION)
		return error_set(err, EPROTO,
				 "is an .htr of version %u, but only version %u is supported: use "
				 "the holdtrace-postproc of the version that wrote it",
				 file.version, HTR_VERSION);
	end_section(trace);
	container->is_open = true;
	container->section = trace->source.offset;
	trace_forget_window(trace);
	container->functions.count = container->threads.count = container->names.count = 0;
	container->shapes.count = container->nodes.count = container->made.count = 0;
	source_skip(&trace->source, HTR_SIZE_file);
	return 0;
}

/* If there is an index, skips blocks that have neither definitions nor wanted events. */
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

int container_next_block(struct trace *trace, struct error *err)
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
		if (source_left(source) == 0) {
			end_section(trace);
			/*
			 * After the end of the input, nothing refers to the nodes, which may take
			 * much memory.
			 */
			ARRAY_CLEAR(&container->nodes);
			ARRAY_CLEAR(&container->made);
			return -ENODATA;
		}
		if (source_left(source) >= 8)
			magic = htr_get_qword(&at);
		if (magic == HTR_MAGIC)
			rc = container_begin_section(trace, err);
		else if ((uint32_t)magic == HTR_MAGIC_INDEX)
			rc = step_over_index(trace, err);
		else if (source_left(source) < HTR_SIZE_block)
			rc = end_early(trace, "a block is incomplete", err);
		else if (get_block(source_at(source), &container->block))
			return read_block(trace, err);
		else
			rc = resynchronise(trace, err);
		if (rc)
			return rc;
	}
}

/*
 * True if the index at the end of the file covers the whole file, which is the case if the file has
 * only one section. The last block in the index then ends where the index starts. back: bytes from
 * the start of the index to the end of the file.
 */
static bool is_of_all(struct trace *trace, const uint8_t *entries, uint32_t count, uint64_t back)
{
	uint64_t size = source_size(&trace->source);
	uint8_t bytes[HTR_SIZE_block];
	struct htr_entry last;
	struct htr_block block;

	if (!count)
		return false;
	htr_get_entry(entries + (count - 1ull) * HTR_SIZE_entry, &last);
	if (last.offset > size ||
	    source_peek(&trace->source, (int64_t)last.offset, bytes, sizeof(bytes)) !=
		    sizeof(bytes) ||
	    !get_block(bytes, &block))
		return false;
	return last.offset + HTR_SIZE_block + block.definitions_packed + block.events_packed +
		       back ==
	       size;
}

void container_read_index(struct trace *trace)
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
		    index.check == checksum(0, entries + HTR_SIZE_index, size - HTR_SIZE_index) &&
		    is_of_all(trace, entries + HTR_SIZE_index, index.entries, end.back))
			container->index.items = calloc(index.entries, sizeof(struct htr_entry));
		if (container->index.items)
			container->index.count = container->index.capacity = index.entries;
		for (size_t i = 0; i < container->index.count; i++)
			htr_get_entry(entries + HTR_SIZE_index + i * HTR_SIZE_entry,
				      &container->index.items[i]);
	}
	free(entries);
	for (size_t i = 0; trace->skips_calls && i < container->index.count; i++) {
		const struct htr_entry *entry = &container->index.items[i];

		trace->tally.skipped += entry->events;
		if (entry->events && entry->last_ns > trace->tally.skipped_last_ns)
			trace->tally.skipped_last_ns = entry->last_ns;
	}
}
