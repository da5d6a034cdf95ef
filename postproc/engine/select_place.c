/* SPDX-License-Identifier: MIT */
/* Which function was called, and from which module. Each id is matched once. */
#include "select_parts.h"

#include <string.h>

#include "base/array.h"

/* The answer for id; the array grows as needed. */
static uint8_t *answers_at(struct answers *answers, uint32_t id)
{
	return ARRAY_AT(answers, id);
}

bool select_function_asks(struct select_function *part, const struct function *function)
{
	uint8_t *known = answers_at(&part->known, function->id);

	if (*known == ANSWER_UNKNOWN)
		*known = globs_match(&part->globs, function->name) ? ANSWER_YES : ANSWER_NO;
	return *known == ANSWER_YES;
}

/* ---- modules ---- */

struct module_range {
	const struct trace_process *process;
	uint64_t from, to;
	bool is_wanted;
};

bool select_module_matches(const struct globs *globs, const char *path)
{
	const char *slash = strrchr(path, '/');

	return globs_match(globs, path) || (slash && globs_match(globs, slash + 1));
}

void select_module_maps(struct select_module *part, const struct event *event)
{
	const struct trace_mapping *mapping = event->mapping;
	struct module_range *range = ARRAY_ADD(&part->ranges);

	range->process = event->process;
	range->from = mapping->has_tail ? mapping->code : mapping->from;
	range->to = mapping->to;
	range->is_wanted = select_module_matches(&part->globs, mapping->path);
	/* An earlier answer may be about another module at the same addresses. */
	part->known.count = 0;
}

static bool is_in_module(const struct select_module *part, const struct event *event, uint64_t at)
{
	for (size_t i = part->ranges.count; i > 0; i--) {
		const struct module_range *range = &part->ranges.items[i - 1];

		if (range->process == event->process && range->from <= at && at < range->to)
			return range->is_wanted;
	}
	return false;
}

/* The return address of a call that ends its function is the first byte after that function. */
static bool has_frame_in_module(const struct select_module *part, const struct event *event)
{
	for (const struct trace_node *at = event->backtrace->node; at->count; at = at->caller)
		if (is_in_module(part, event, at->address - 1))
			return true;
	return false;
}

bool select_module_asks(struct select_module *part, const struct event *event)
{
	uint8_t *known;

	if (!event->backtrace)
		return false;
	known = answers_at(&part->known, event->backtrace->id);
	if (*known == ANSWER_UNKNOWN)
		*known = has_frame_in_module(part, event) ? ANSWER_YES : ANSWER_NO;
	return *known == ANSWER_YES;
}
