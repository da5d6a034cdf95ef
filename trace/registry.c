/* SPDX-License-Identifier: MIT */
#include "trace/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"

/*
 * The first ROWS backtraces of at most ROW_FRAMES frames also store their frames as an array, which
 * can be compared with one memcmp().
 */
#define ROWS	   65536u
#define ROW_FRAMES 64u

void registry_init(struct registry *registry, uint64_t limit)
{
	memset(registry, 0, sizeof(*registry));
	registry->pool.limit = limit;
	hash_table_init(&registry->texts);
	hash_table_init(&registry->functions);
	hash_table_init(&registry->not_plain);
	hash_table_init(&registry->by_frames);
	trace_nodes_init(&registry->nodes, &registry->pool);
	hash_table_init(&registry->resources);
}

void registry_free(struct registry *registry)
{
	hash_table_free(&registry->texts);
	hash_table_free(&registry->functions);
	hash_table_free(&registry->not_plain);
	hash_table_free(&registry->by_frames);
	trace_nodes_free(&registry->nodes);
	hash_table_free(&registry->resources);
	free(registry->by_node.items);
	free(registry->function_list.items);
	free(registry->backtrace_list.items);
	free(registry->mapping_list.items);
	free(registry->ranges.items);
	free(registry->contests.items);
	pool_free(&registry->pool);
}

void registry_begin_stream(struct registry *registry)
{
	hash_table_free(&registry->resources);
	memset(registry->small, 0, sizeof(registry->small));
	registry->ranges.count = 0;
	registry->contests.count = 0;
	memset(&registry->forgotten, 0, sizeof(registry->forgotten));
}

/* ---- texts and functions ---- */

struct text_key {
	const char *text;
	size_t length;
};

struct text_item {
	size_t length;
	char text[];
};

static bool text_equal(const void *item, const void *key)
{
	const struct text_item *text = item;
	const struct text_key *wanted = key;

	return text->length == wanted->length && !memcmp(text->text, wanted->text, wanted->length);
}

const char *registry_text(struct registry *registry, const char *text, size_t length)
{
	struct text_key key = { text, length };
	uint64_t hash = hash_bytes(registry->texts.seed, text, length);
	struct text_item *item = hash_table_find(&registry->texts, hash, text_equal, &key);

	if (item)
		return item->text;
	item = pool_alloc(&registry->pool, sizeof(*item) + length + 1);
	if (!item)
		return NULL;
	item->length = length;
	memcpy(item->text, text, length);
	item->text[length] = '\0';
	return hash_table_add(&registry->texts, hash, item) ? NULL : item->text;
}

static bool function_equal(const void *item, const void *key)
{
	const struct function *function = item;
	const struct text_key *wanted = key;

	return function->length == wanted->length &&
	       !memcmp(function->name, wanted->text, wanted->length);
}

const struct function *registry_function(struct registry *registry, const char *name, size_t length)
{
	struct text_key key = { name, length };
	uint64_t hash = hash_bytes(registry->functions.seed, name, length);
	struct function *function =
		hash_table_find(&registry->functions, hash, function_equal, &key);
	struct function **place;

	if (function)
		return function;
	function = pool_zalloc(&registry->pool, sizeof(*function));
	if (!function)
		return NULL;
	function->name = registry_text(registry, name, length);
	if (!function->name)
		return NULL;
	function->length = (uint32_t)length;
	function->hook = hook_find(function->name);
	function->id = (uint32_t)registry->function_list.count;
	place = ARRAY_ADD(&registry->function_list);
	if (!place)
		return NULL;
	*place = function;
	return hash_table_add(&registry->functions, hash, function) ? NULL : function;
}

/* ---- backtraces ---- */

/* Two backtraces are the same if these members are equal. */
struct backtrace_key {
	const uint64_t *frames;
	const struct trace_node *node;
	const char *const *texts;
	uint32_t count, epoch;
};

static bool backtrace_equal(const void *item, const void *key)
{
	const struct backtrace *one = item;
	const struct backtrace_key *two = key;
	const uint64_t *frames = two->frames;

	if (one->count != two->count || one->epoch != two->epoch)
		return false;
	if (!one->texts != !two->texts ||
	    (one->texts && memcmp(one->texts, two->texts, one->count * sizeof(*one->texts)) != 0))
		return false;
	if (two->node)
		return one->node == two->node;
	if (one->has_row)
		return !memcmp(one + 1, frames, one->count * sizeof(*frames));
	for (const struct trace_node *at = one->node; at->count; at = at->caller)
		if (at->address != *frames++)
			return false;
	return true;
}

/* Returns the address of the file's start, or of its code if lower (in a hostile trace). */
static uint64_t start_of(const struct trace_mapping *mapping)
{
	return mapping->has_tail && mapping->code < mapping->from ? mapping->code : mapping->from;
}

static bool has_address(const struct trace_mapping *mapping, uint64_t address)
{
	return address >= start_of(mapping) && address < mapping->to;
}

/*
 * Returns the epoch of the last contest that affects a return address, or `epoch` if that is later.
 * Looks up the address minus 1, because a return address may lie just after its module.
 */
static uint32_t later_epoch(const struct registry *registry, uint64_t address, uint32_t epoch)
{
	uint32_t other = 0;

	address--;
	if (address >= registry->forgotten.from && address < registry->forgotten.to)
		other = registry->forgotten.epoch;
	for (size_t i = registry->contests.count; i-- > 0;) {
		const struct contest *contest = &registry->contests.items[i];

		if (has_address(contest->before, address) || has_address(contest->after, address)) {
			other = contest->epoch;
			break;
		}
	}
	return other > epoch ? other : epoch;
}

static struct backtrace *add_backtrace(struct registry *registry, const struct backtrace_key *key)
{
	bool has_row =
		key->frames && key->count <= ROW_FRAMES && registry->backtrace_list.count < ROWS;
	size_t row_size = has_row ? key->count * sizeof(*key->frames) : 0;
	size_t texts_size = key->texts ? key->count * sizeof(*key->texts) : 0;
	struct backtrace *backtrace =
		pool_alloc(&registry->pool, sizeof(*backtrace) + row_size + texts_size);
	struct backtrace **place = backtrace ? ARRAY_ADD(&registry->backtrace_list) : NULL;

	if (!place)
		return NULL;
	*place = backtrace;
	*backtrace = (struct backtrace){
		.id = (uint32_t)registry->backtrace_list.count - 1,
		.count = key->node->count,
		.epoch = key->epoch,
		.has_row = has_row,
		.node = key->node,
	};
	if (has_row)
		memcpy(backtrace + 1, key->frames, row_size);
	if (key->texts)
		backtrace->texts =
			memcpy((char *)(backtrace + 1) + row_size, key->texts, texts_size);
	return backtrace;
}

static const struct backtrace *keyed_backtrace(struct registry *registry,
					       const struct backtrace_key *key)
{
	uint64_t hash = hash_two(registry->not_plain.seed, key->node->number, key->epoch);
	struct backtrace *backtrace;

	if (!key->texts && !key->epoch) {
		uint32_t *place = ARRAY_AT(&registry->by_node, key->node->number);

		if (place && *place)
			return registry->backtrace_list.items[*place - 1];
		backtrace = place ? add_backtrace(registry, key) : NULL;
		if (backtrace)
			*place = backtrace->id + 1;
		return backtrace;
	}
	if (key->texts)
		hash = hash_bytes(hash, key->texts, key->count * sizeof(*key->texts));
	backtrace = hash_table_find(&registry->not_plain, hash, backtrace_equal, key);
	if (backtrace)
		return backtrace;
	backtrace = add_backtrace(registry, key);
	return backtrace && hash_table_add(&registry->not_plain, hash, backtrace) == 0 ? backtrace
										       : NULL;
}

const struct backtrace *registry_node_backtrace(struct registry *registry,
						const struct trace_node *node)
{
	struct backtrace_key key = { .node = node, .count = node->count };

	for (; registry->contests.count && node->count; node = node->caller)
		key.epoch = later_epoch(registry, node->address, key.epoch);
	return keyed_backtrace(registry, &key);
}

const struct backtrace *registry_backtrace(struct registry *registry, const uint64_t *frames,
					   const char *const *texts, uint32_t count)
{
	static const uint64_t none[1];
	struct backtrace_key key = { .count = count,
				     .frames = count ? frames : none,
				     .texts = texts };
	uint64_t hash = hash_words(registry->by_frames.seed, key.frames, count);
	const struct backtrace *found;

	for (uint32_t i = 0; registry->contests.count && i < count; i++)
		key.epoch = later_epoch(registry, frames[i], key.epoch);
	if (texts)
		hash = hash_bytes(hash, texts, count * sizeof(*texts));
	if (key.epoch)
		hash = hash_two(registry->by_frames.seed, hash, key.epoch);
	found = hash_table_find(&registry->by_frames, hash, backtrace_equal, &key);
	if (found)
		return found;
	key.node = trace_nodes_of(&registry->nodes, key.frames, count);
	found = key.node ? keyed_backtrace(registry, &key) : NULL;
	return found && hash_table_add(&registry->by_frames, hash, (void *)found) == 0 ? found
										       : NULL;
}

const struct backtrace *registry_adopt_backtrace(struct registry *registry,
						 const struct backtrace *other)
{
	struct backtrace *copy = pool_alloc(&registry->pool, sizeof(*copy));
	struct backtrace **place = copy ? ARRAY_ADD(&registry->backtrace_list) : NULL;

	if (!place)
		return NULL;
	*copy = *other;
	copy->has_row = false;
	copy->id = (uint32_t)registry->backtrace_list.count - 1;
	*place = copy;
	return copy;
}

/* ---- classes of resources ---- */

static bool resource_equal(const void *item, const void *key)
{
	const struct resource_class *resource = item;

	return resource->ordinal == *(const uint32_t *)key;
}

static struct resource_class *resource_find(const struct registry *registry, uint32_t ordinal)
{
	if (ordinal < REGISTRY_SMALL)
		return registry->small[ordinal];
	return hash_table_find(&registry->resources, hash_two(registry->resources.seed, ordinal, 0),
			       resource_equal, &ordinal);
}

static int resource_put(struct registry *registry, struct resource_class *resource)
{
	uint64_t hash = hash_two(registry->resources.seed, resource->ordinal, 0);
	struct resource_class *old = resource_find(registry, resource->ordinal);

	resource->id = registry->resource_count++;
	if (resource->ordinal < REGISTRY_SMALL) {
		registry->small[resource->ordinal] = resource;
		return 0;
	}
	if (old)
		hash_table_remove(&registry->resources, hash, old);
	return hash_table_add(&registry->resources, hash, resource);
}

const struct resource_class *registry_search_resource(struct registry *registry, uint32_t ordinal)
{
	struct resource_class *resource = resource_find(registry, ordinal);

	if (resource)
		return resource;
	resource = pool_zalloc(&registry->pool, sizeof(*resource));
	if (!resource)
		return NULL;
	resource->ordinal = ordinal;
	resource->type = resource->description = "";
	return resource_put(registry, resource) ? NULL : resource;
}

const struct resource_class *registry_add_resource(struct registry *registry,
						   const struct wire_resource *packet, bool *is_new)
{
	struct resource_class *resource = resource_find(registry, packet->id);

	*is_new = !resource || !resource->is_registered || resource->flags != packet->flags ||
		  strcmp(resource->type, packet->type) != 0 ||
		  strcmp(resource->description, packet->description) != 0;
	if (!*is_new)
		return resource;
	resource = pool_zalloc(&registry->pool, sizeof(*resource));
	if (!resource)
		return NULL;
	resource->ordinal = packet->id;
	resource->flags = packet->flags;
	resource->is_registered = true;
	resource->type = registry_text(registry, packet->type, strlen(packet->type));
	resource->description =
		registry_text(registry, packet->description, strlen(packet->description));
	if (!resource->type || !resource->description)
		return NULL;
	for (unsigned i = RESOURCE_COUNT - 1; i > RESOURCE_NONE; i--)
		if (!strcmp(resource_table[i].type, resource->type))
			resource->known = (enum resource)i;
	return resource_put(registry, resource) ? NULL : resource;
}

/* ---- mappings ---- */

/* Returns the index of the first range that ends above the address. */
static size_t range_after(const struct registry *registry, uint64_t address)
{
	return ARRAY_SEARCH(registry->ranges.count, at, registry->ranges.items[at].to <= address);
}

const struct trace_mapping *registry_mapping_at(const struct registry *registry, uint64_t address)
{
	size_t i = range_after(registry, address);

	if (i < registry->ranges.count && registry->ranges.items[i].from <= address)
		return registry->ranges.items[i].mapping;
	return NULL;
}

static bool is_same_module(const struct trace_mapping *one, const struct trace_mapping *two)
{
	return one->path == two->path && one->build_id == two->build_id && one->from == two->from;
}

static int add_contest(struct registry *registry, const struct trace_mapping *before,
		       const struct trace_mapping *after)
{
	struct contest *contest;

	if (is_same_module(before, after) &&
	    before->code - before->offset == after->code - after->offset)
		return 0;
	/*
	 * replaces the older half of the contests by a summary. The mappings of their time are then
	 * unknown, but backtraces of that time still differ from later backtraces.
	 */
	if (registry->contests.count == CONTESTS_MAX) {
		struct contest *items = registry->contests.items;

		for (size_t i = 0; i < CONTESTS_MAX / 2; i++) {
			const struct trace_mapping *both[] = { items[i].before, items[i].after };

			for (int k = 0; k < 2; k++) {
				if (!registry->forgotten.to ||
				    start_of(both[k]) < registry->forgotten.from)
					registry->forgotten.from = start_of(both[k]);
				if (both[k]->to > registry->forgotten.to)
					registry->forgotten.to = both[k]->to;
			}
			registry->forgotten.epoch = items[i].epoch;
		}
		registry->contests.count /= 2;
		memmove(items, items + CONTESTS_MAX / 2, sizeof(*items) * CONTESTS_MAX / 2);
	}
	contest = ARRAY_ADD(&registry->contests);
	if (!contest)
		return -1;
	*contest = (struct contest){ before, after, ++registry->epoch };
	return 0;
}

const struct trace_mapping *registry_mapping_of(const struct registry *registry,
						const struct backtrace *backtrace, uint64_t address)
{
	const struct trace_mapping *mapping = registry_mapping_at(registry, address - 1);

	for (size_t i = registry->contests.count; i-- > 0;) {
		const struct contest *contest = &registry->contests.items[i];
		bool was_before = has_address(contest->before, address - 1);
		bool is_after = has_address(contest->after, address - 1);

		if ((was_before || is_after) && contest->epoch <= backtrace->epoch)
			return is_after ? contest->after : mapping;
		if (was_before)
			mapping = contest->before;
	}
	return mapping;
}

/* True if `old` stays mapped beside `range`: both are parts of the same file and do not overlap. */
static bool stays_beside(const struct mapping_range *old, const struct mapping_range *range)
{
	return is_same_module(old->mapping, range->mapping) &&
	       (old->to <= range->from || old->from >= range->to);
}

/*
 * Adds a range. Removes the ranges that overlap the new file's mapping (from the start of the file
 * in memory, which may be before its code). A partly covered range is removed as a whole.
 */
static int range_put(struct registry *registry, struct mapping_range range)
{
	uint64_t start = start_of(range.mapping);
	struct mapping_range *items;
	size_t first, last;
	int rc = 0;

	if (range.from >= range.to)
		return 0;
	items = ARRAY_ADD(&registry->ranges);
	if (!items)
		return -1;
	registry->ranges.count--;
	items = registry->ranges.items;
	/* finds the ranges [first, last) that the new range replaces, and adds their contests */
	first = last = range_after(registry, range.from);
	while (rc == 0 && last < registry->ranges.count &&
	       start_of(items[last].mapping) < range.to && !stays_beside(&items[last], &range))
		rc = add_contest(registry, items[last++].mapping, range.mapping);
	while (rc == 0 && first && items[first - 1].to > start &&
	       !stays_beside(&items[first - 1], &range))
		rc = add_contest(registry, items[--first].mapping, range.mapping);
	if (rc)
		return rc;
	memmove(items + first + 1, items + last, (registry->ranges.count - last) * sizeof(*items));
	registry->ranges.count = registry->ranges.count - (last - first) + 1;
	items[first] = range;
	return 0;
}

const struct trace_mapping *registry_add_mapping(struct registry *registry,
						 const struct wire_mapping *packet, bool has_tail,
						 uint64_t since, bool *is_new)
{
	struct mapping_range range = { .from = has_tail ? packet->code : packet->from,
				       .to = packet->to };
	const struct trace_mapping *old = registry_mapping_at(registry, range.from);
	struct trace_mapping *mapping, **place;

	*is_new = !old || old->from != packet->from || old->to != packet->to ||
		  strcmp(old->path, packet->path) != 0 || old->has_tail != has_tail ||
		  strcmp(old->build_id, packet->build_id) != 0 ||
		  (has_tail && (old->code != packet->code || old->offset != packet->offset));
	if (!*is_new)
		return old;
	mapping = pool_zalloc(&registry->pool, sizeof(*mapping));
	if (!mapping)
		return NULL;
	mapping->from = packet->from;
	mapping->to = packet->to;
	mapping->since = since;
	mapping->path = registry_text(registry, packet->path, strlen(packet->path));
	mapping->id = (uint32_t)registry->mapping_list.count;
	mapping->has_tail = has_tail;
	/* A text trace can state a build-id although it has no tail. */
	mapping->build_id = registry_text(registry, packet->build_id, strlen(packet->build_id));
	if (has_tail) {
		mapping->code = packet->code;
		mapping->offset = packet->offset;
	}
	if (!mapping->path || !mapping->build_id)
		return NULL;
	range.mapping = mapping;
	place = ARRAY_ADD(&registry->mapping_list);
	if (!place || range_put(registry, range))
		return NULL;
	*place = mapping;
	return mapping;
}

struct trace_mapping *registry_adopt_mapping(struct registry *registry,
					     const struct trace_mapping *other)
{
	struct trace_mapping *copy = pool_alloc(&registry->pool, sizeof(*copy));
	struct trace_mapping **place = copy ? ARRAY_ADD(&registry->mapping_list) : NULL;

	if (!place)
		return NULL;
	*copy = *other;
	copy->id = (uint32_t)registry->mapping_list.count - 1;
	*place = copy;
	return copy;
}
