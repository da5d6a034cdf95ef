/* SPDX-License-Identifier: MIT */
#ifndef MERGE_IDS_H
#define MERGE_IDS_H

/*
 * Maps what one trace of a merge calls a thing to what the merged trace calls it. Each thing is
 * looked up once. Only merge.c includes this.
 */

#include "trace/state.h"

struct merge_list {
	const void **items; /* the merged thing by the part's id; NULL: not looked up yet */
	size_t count, capacity;
};

struct merge_ids {
	struct merge_list functions, backtraces, resources, mappings;
};

/* The classes of the merged trace so far. */
struct merge_classes {
	const struct resource_class **items;
	size_t count, capacity;
};

/* Each returns NULL for no memory. */
const struct function *merge_function(struct merge_ids *ids, struct registry *registry,
				      const struct function *function);
const struct backtrace *merge_backtrace(struct merge_ids *ids, struct registry *registry,
					const struct backtrace *backtrace);
/* *is_new: the part names it for the first time. */
const struct resource_class *merge_resource(struct merge_ids *ids, struct merge_classes *classes,
					    struct registry *registry,
					    const struct resource_class *resource, bool *is_new);

/* since: index of the last call. */
const struct trace_mapping *merge_add_mapping(struct merge_ids *ids, struct registry *registry,
					      const struct trace_mapping *mapping, uint64_t since);

/* NULL: the mapping was not added. */
const struct trace_mapping *merge_find_mapping(const struct merge_ids *ids,
					       const struct trace_mapping *mapping);

void merge_ids_free(struct merge_ids *ids);

#endif
