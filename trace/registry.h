/* SPDX-License-Identifier: MIT */
#ifndef REGISTRY_H
#define REGISTRY_H

/*
 * Stores one copy of each text, function, class of resources, backtrace and mapping of a trace. The
 * returned objects live as long as the registry and do not change.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

#define CONTESTS_MAX   128u
#define REGISTRY_SMALL 33u /* in valid streams, the ordinals of classes are smaller */

struct mapping_range {
	uint64_t from, to;
	const struct trace_mapping *mapping;
};

/* A change of mappings: `after` replaced `before`, so some addresses now belong to other code. */
struct contest {
	const struct trace_mapping *before, *after;
	uint32_t epoch; /* epoch of the backtraces between this contest and the next one */
};

struct registry {
	struct pool pool;
	struct hash_table texts, functions;
	struct trace_nodes nodes;
	/* by node number: id + 1 of the backtrace without texts and with epoch 0; 0: none */
	ARRAY_OF(uint32_t) by_node;
	struct hash_table not_plain; /* backtraces that have texts or a non-zero epoch */
	struct hash_table by_frames; /* backtraces added by registry_backtrace() */
	ARRAY_OF(struct function *) function_list;
	ARRAY_OF(struct backtrace *) backtrace_list;
	ARRAY_OF(struct trace_mapping *) mapping_list;
	uint32_t resource_count; /* id of the next new class */

	/* tables of the current stream */
	struct hash_table resources;		      /* the classes, by ordinal */
	struct resource_class *small[REGISTRY_SMALL]; /* indexed by ordinal, to avoid a search */
	/* ranges of code, sorted by address, without overlaps */
	ARRAY_OF(struct mapping_range) ranges;
	/* contests in order of appearance, at most CONTESTS_MAX */
	ARRAY_OF(struct contest) contests;
	struct {
		uint64_t from, to; /* addresses that cover all mappings of these contests */
		uint32_t epoch;	   /* epoch of the newest of these contests */
	} forgotten;		   /* summary of old contests that were dropped from the list */
	uint32_t epoch;		   /* number of contests so far, in all streams */
};

/* limit: maximum number of bytes for names and backtraces. */
void registry_init(struct registry *registry, uint64_t limit);
void registry_free(struct registry *registry);

/* Starts a new stream without classes and mappings. Objects returned before remain valid. */
void registry_begin_stream(struct registry *registry);

/* The following functions return NULL if no memory is left or the limit is exceeded. */
const char *registry_text(struct registry *registry, const char *text, size_t length);
const struct function *registry_function(struct registry *registry, const char *name,
					 size_t length);

/* texts: NULL, or `count` items, each NULL or from registry_text(). */
const struct backtrace *registry_backtrace(struct registry *registry, const uint64_t *frames,
					   const char *const *texts, uint32_t count);

/* Returns the backtrace whose innermost frame is this node of registry->nodes. */
const struct backtrace *registry_node_backtrace(struct registry *registry,
						const struct trace_node *node);

/* Adds a backtrace of another trace under a new id. The frames are shared with the other trace. */
const struct backtrace *registry_adopt_backtrace(struct registry *registry,
						 const struct backtrace *other);

/* Adds another trace's mapping under a new id. Does not change the ranges of the current stream. */
struct trace_mapping *registry_adopt_mapping(struct registry *registry,
					     const struct trace_mapping *other);

/* The slow path of registry_resource(), for ordinals that are large or new. */
const struct resource_class *registry_search_resource(struct registry *registry, uint32_t ordinal);

/*
 * Returns the class with this ordinal; if there is none, adds an unregistered class. Inline because
 * every call needs it.
 */
static inline const struct resource_class *registry_resource(struct registry *registry,
							     uint32_t ordinal)
{
	if (ordinal < REGISTRY_SMALL && registry->small[ordinal])
		return registry->small[ordinal];
	return registry_search_resource(registry, ordinal);
}

/* Registers a class. Sets *is_new to false if the same class is already known. */
const struct resource_class *
registry_add_resource(struct registry *registry, const struct wire_resource *packet, bool *is_new);

/* Adds a mapping (since: see struct trace_mapping). *is_new: the mapping was not known before. */
const struct trace_mapping *registry_add_mapping(struct registry *registry,
						 const struct wire_mapping *packet, bool has_tail,
						 uint64_t since, bool *is_new);

const struct trace_mapping *registry_mapping_at(const struct registry *registry, uint64_t address);

/* The mapping that contained the address at the time of a backtrace of the current stream. */
const struct trace_mapping *registry_mapping_of(const struct registry *registry,
						const struct backtrace *backtrace,
						uint64_t address);

#endif
