/* SPDX-License-Identifier: MIT */
#ifndef REGISTRY_H
#define REGISTRY_H

/*
 * What a trace names again and again, each once: texts, functions, classes of resource,
 * backtraces, mappings. Everything handed out lives as long as the registry and never changes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"
#include "trace/event.h"

#define CONTESTS_MAX   128u
#define REGISTRY_SMALL 33u /* the ordinals of good streams are below it */

struct mapping_range {
	uint64_t from, to;
	const struct trace_mapping *mapping;
};

/* A mapping came where another one had been, whose addresses are of other code from then on. */
struct contest {
	const struct trace_mapping *before, *after;
	uint32_t epoch; /* of the backtraces that were taken since, if it is the last one there */
};

struct registry {
	struct pool pool;
	struct table texts, functions;
	struct trace_nodes nodes;
	ARRAY_OF(uint32_t) by_node; /* id + 1 of the backtrace, if it is a plain one */
	struct table not_plain;	    /* those with texts, or of an epoch */
	struct table by_frames;	    /* those that were made of frames */
	ARRAY_OF(struct function *) function_list;
	ARRAY_OF(struct backtrace *) backtrace_list;
	ARRAY_OF(struct trace_mapping *) mapping_list;
	uint32_t resource_count; /* for ids */

	/* of the stream that is being read */
	struct table resources;			      /* by ordinal */
	struct resource_class *small[REGISTRY_SMALL]; /* small ordinals', without a search */
	ARRAY_OF(struct mapping_range) ranges;	      /* of code, by address, without overlaps */
	ARRAY_OF(struct contest) contests; /* in order of their coming, at most CONTESTS_MAX */
	struct {
		uint64_t from, to; /* all of them were there */
		uint32_t epoch;	   /* of the last one */
	} forgotten;		   /* older contests */
	uint32_t epoch;		   /* how many there were, in all streams */
};

/* limit: most bytes of names and backtraces. */
void registry_init(struct registry *registry, uint64_t limit);
void registry_free(struct registry *registry);

/* A new stream begins: classes and mappings are forgotten (what was handed out stays). */
void registry_begin_stream(struct registry *registry);

/* All of the following return NULL for no memory (or over the limit). */
const char *registry_text(struct registry *registry, const char *text, size_t length);
const struct function *registry_function(struct registry *registry, const char *name,
					 size_t length);

/* texts: NULL, or count texts from registry_text() or NULL. */
const struct backtrace *registry_backtrace(struct registry *registry, const uint64_t *frames,
					   const char *const *texts, uint32_t count);

/* The same of a node of registry->nodes. */
const struct backtrace *registry_node_backtrace(struct registry *registry,
						const struct trace_node *node);

/* Another trace's backtrace under an id of this one; its frames stay where they are. */
const struct backtrace *registry_adopt_backtrace(struct registry *registry,
						 const struct backtrace *other);

/* Likewise of a mapping; the ranges of the stream do not change. */
struct trace_mapping *registry_adopt_mapping(struct registry *registry,
					     const struct trace_mapping *other);

/* registry_resource() where the ordinal is unusual or new. */
const struct resource_class *registry_search_resource(struct registry *registry, uint32_t ordinal);

/* The class with that ordinal; an unregistered one is made if there is none. Of each call. */
static inline const struct resource_class *registry_resource(struct registry *registry,
							     uint32_t ordinal)
{
	if (ordinal < REGISTRY_SMALL && registry->small[ordinal])
		return registry->small[ordinal];
	return registry_search_resource(registry, ordinal);
}

/* Registers a class. *is_new: it is not the one that was known before. */
const struct resource_class *
registry_add_resource(struct registry *registry, const struct wire_resource *packet, bool *is_new);

/* Adds a mapping; since: see struct trace_mapping. *is_new: it was not known to be there. */
const struct trace_mapping *registry_add_mapping(struct registry *registry,
						 const struct wire_mapping *packet, bool has_tail,
						 uint64_t since, bool *is_new);

const struct trace_mapping *registry_mapping_at(const struct registry *registry, uint64_t address);

/* As registry_mapping_at(), but when the backtrace was taken; of the stream that is being read. */
const struct trace_mapping *registry_mapping_of(const struct registry *registry,
						const struct backtrace *backtrace,
						uint64_t address);

#endif
