/* SPDX-License-Identifier: MIT */
#ifndef REGISTRY_H
#define REGISTRY_H

/*
 * Stores each thing that a trace names repeatedly once: texts, functions, classes of resources,
 * backtraces, mappings. The returned objects live as long as the registry and do not change.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "trace/event.h"

#define CONTESTS_MAX   128u
#define REGISTRY_SMALL 33u /* valid streams have smaller ordinals */

struct mapping_range {
	uint64_t from, to;
	const struct trace_mapping *mapping;
};

/* A mapping replaced another one: from then on those addresses are of other code. */
struct contest {
	const struct trace_mapping *before, *after;
	uint32_t epoch; /* of later backtraces, unless another contest follows */
};

struct registry {
	struct pool pool;
	struct hash_table texts, functions;
	struct trace_nodes nodes;
	ARRAY_OF(uint32_t) by_node;  /* id + 1 of the plain backtrace of a node */
	struct hash_table not_plain; /* backtraces with texts or an epoch */
	struct hash_table by_frames; /* backtraces that were added by their frames */
	ARRAY_OF(struct function *) function_list;
	ARRAY_OF(struct backtrace *) backtrace_list;
	ARRAY_OF(struct trace_mapping *) mapping_list;
	uint32_t resource_count; /* next id */

	/* of the stream that is being read */
	struct hash_table resources;		      /* by ordinal */
	struct resource_class *small[REGISTRY_SMALL]; /* of small ordinals, without a search */
	ARRAY_OF(struct mapping_range) ranges; /* of code, ordered by address, without overlaps */
	ARRAY_OF(struct contest) contests;     /* in order of appearance, at most CONTESTS_MAX */
	struct {
		uint64_t from, to; /* covers all of them */
		uint32_t epoch;	   /* of the last one */
	} forgotten;		   /* older contests */
	uint32_t epoch;		   /* number of contests, in all streams */
};

/* limit: maximum number of bytes for names and backtraces. */
void registry_init(struct registry *registry, uint64_t limit);
void registry_free(struct registry *registry);

/* A new stream starts: forgets classes and mappings; returned objects remain valid. */
void registry_begin_stream(struct registry *registry);

/* The following functions return NULL for no memory, or over the limit. */
const char *registry_text(struct registry *registry, const char *text, size_t length);
const struct function *registry_function(struct registry *registry, const char *name,
					 size_t length);

/* texts: NULL, or count items that are NULL or from registry_text(). */
const struct backtrace *registry_backtrace(struct registry *registry, const uint64_t *frames,
					   const char *const *texts, uint32_t count);

/* The same for a node of registry->nodes. */
const struct backtrace *registry_node_backtrace(struct registry *registry,
						const struct trace_node *node);

/* Adds another trace's backtrace under a new id; shares its frames. */
const struct backtrace *registry_adopt_backtrace(struct registry *registry,
						 const struct backtrace *other);

/* Likewise for a mapping; the address ranges of the stream do not change. */
struct trace_mapping *registry_adopt_mapping(struct registry *registry,
					     const struct trace_mapping *other);

/* The slow path of registry_resource(): the ordinal is large or new. */
const struct resource_class *registry_search_resource(struct registry *registry, uint32_t ordinal);

/*
 * The class with that ordinal; an unknown ordinal makes an unregistered class. On the fast path of
 * each call.
 */
static inline const struct resource_class *registry_resource(struct registry *registry,
							     uint32_t ordinal)
{
	if (ordinal < REGISTRY_SMALL && registry->small[ordinal])
		return registry->small[ordinal];
	return registry_search_resource(registry, ordinal);
}

/* Registers a class. *is_new: it differs from the one known before. */
const struct resource_class *
registry_add_resource(struct registry *registry, const struct wire_resource *packet, bool *is_new);

/* Adds a mapping; since: see struct trace_mapping. *is_new: it was not known yet. */
const struct trace_mapping *registry_add_mapping(struct registry *registry,
						 const struct wire_mapping *packet, bool has_tail,
						 uint64_t since, bool *is_new);

const struct trace_mapping *registry_mapping_at(const struct registry *registry, uint64_t address);

/* As registry_mapping_at(), but at the time of the backtrace; of the current stream. */
const struct trace_mapping *registry_mapping_of(const struct registry *registry,
						const struct backtrace *backtrace,
						uint64_t address);

#endif
