/* SPDX-License-Identifier: MIT */
#include "trace/merge_ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const void **place_of(struct merge_list *list, uint32_t id)
{
	return ARRAY_AT(list, id);
}

const struct function *merge_function(struct merge_ids *ids, struct registry *registry,
				      const struct function *function)
{
	const void **place = place_of(&ids->functions, function->id);

	if (place && !*place)
		*place = registry_function(registry, function->name, function->length);
	return place ? *place : NULL;
}

const struct backtrace *merge_backtrace(struct merge_ids *ids, struct registry *registry,
					const struct backtrace *backtrace)
{
	const void **place = place_of(&ids->backtraces, backtrace->id);

	if (place && !*place)
		*place = registry_adopt_backtrace(registry, backtrace);
	return place ? *place : NULL;
}

const struct trace_mapping *merge_add_mapping(struct merge_ids *ids, struct registry *registry,
					      const struct trace_mapping *mapping, uint64_t since)
{
	const void **place = place_of(&ids->mappings, mapping->id);
	struct trace_mapping *copy;

	if (!place || *place)
		return place ? *place : NULL;
	copy = registry_adopt_mapping(registry, mapping);
	if (copy && copy->since)
		copy->since = since;
	*place = copy;
	return copy;
}

const struct trace_mapping *merge_find_mapping(const struct merge_ids *ids,
					       const struct trace_mapping *mapping)
{
	return mapping && mapping->id < ids->mappings.count ? ids->mappings.items[mapping->id]
							    : NULL;
}

/* classes */

static bool is_same_class(const struct resource_class *one, const struct resource_class *two)
{
	if (one->is_registered != two->is_registered)
		return false;
	if (!one->is_registered)
		return one->ordinal == two->ordinal;
	return one->flags == two->flags && !strcmp(one->type, two->type) &&
	       !strcmp(one->description, two->description);
}

static bool is_taken(const struct merge_classes *classes, uint32_t ordinal)
{
	for (size_t i = 0; i < classes->count; i++)
		if (classes->items[i]->ordinal == ordinal)
			return true;
	return false;
}

/* Adds a class for a type, with its own ordinal unless another class has that one. */
static const struct resource_class *add_class(struct merge_classes *classes,
					      struct registry *registry,
					      const struct resource_class *resource)
{
	struct wire_resource packet = { .id = resource->ordinal,
					.flags = resource->flags,
					.type = resource->type,
					.description = resource->description };
	const struct resource_class **place;
	bool is_new;

	for (uint32_t ordinal = 1; is_taken(classes, packet.id); ordinal++)
		packet.id = ordinal;
	place = ARRAY_ADD(classes);
	if (!place)
		return NULL;
	*place = resource->is_registered ? registry_add_resource(registry, &packet, &is_new)
					 : registry_resource(registry, packet.id);
	if (!*place)
		classes->count--;
	return *place;
}

const struct resource_class *merge_resource(struct merge_ids *ids, struct merge_classes *classes,
					    struct registry *registry,
					    const struct resource_class *resource, bool *is_new)
{
	const void **place = place_of(&ids->resources, resource->id);

	*is_new = place && !*place;
	if (!*is_new)
		return place ? *place : NULL;
	for (size_t i = 0; i < classes->count && !*place; i++)
		if (is_same_class(classes->items[i], resource))
			*place = classes->items[i];
	if (!*place)
		*place = add_class(classes, registry, resource);
	return *place;
}

void merge_ids_free(struct merge_ids *ids)
{
	free(ids->functions.items);
	free(ids->backtraces.items);
	free(ids->resources.items);
	free(ids->mappings.items);
	memset(ids, 0, sizeof(*ids));
}
