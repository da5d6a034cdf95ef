/* SPDX-License-Identifier: MIT */
/*
 * Reads the definitions in the blocks of an .htr: functions, names, threads, shapes of events,
 * nodes of backtraces and packets. Definitions are numbered across blocks, and each block states
 * its first numbers. Definitions in lost blocks stay empty.
 */
#include "trace/htr_container.h"

#include <string.h>

#include "base/array.h"
#include "hook_table.h"

#define NAMES_GAP (1u << 16) /* maximum number of names or shapes in lost blocks */
#define NODES_GAP (1u << 22) /* maximum number of nodes or threads in lost blocks */

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

enum got container_add_definitions(struct trace *trace)
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

enum got container_fill_gaps(struct trace *trace)
{
	struct container *container = trace->container;
	const struct htr_block *block = &container->block;
	/* what the lists use for the definitions in all earlier blocks, including lost ones */
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
