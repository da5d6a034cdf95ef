/* SPDX-License-Identifier: MIT */
#include "touched.h"

#include <stdlib.h>

#include "base/array.h"

/*
 * Maximum number of examined frames of a backtrace. Deeper backtraces are recursive, so further
 * frames add no modules.
 */
#define FRAMES_MAX 256

void touched_free(struct touched *touched)
{
	free(touched->backtraces.items);
	free(touched->met.items);
	free(touched->modules.items);
}

void touched_event(struct touched *touched, const struct event *event)
{
	const struct backtrace *backtrace = event->backtrace;
	struct touched_backtrace *item;

	if (!backtrace)
		return;
	item = ARRAY_AT(&touched->backtraces, backtrace->id);
	if (item->events++)
		return;
	*ARRAY_ADD(&touched->met) = backtrace->id;
	item->backtrace = backtrace;
	item->index = event->index;
}

void touched_process(struct touched *touched, const struct address_space *space)
{
	while (touched->modules.count < space->module_list.count)
		*ARRAY_ADD(&touched->modules) = (struct touched_module){ 0 };
	for (size_t i = touched->met.count; i; i--) {
		struct touched_backtrace *item =
			&touched->backtraces.items[touched->met.items[i - 1]];
		const struct trace_node *at = item->backtrace->node;

		touched->looked++;
		for (unsigned k = 0; at->count && k < FRAMES_MAX; k++, at = at->caller) {
			const struct space_module *found =
				space_module_of(space, at->address, item->index);
			struct touched_module *module =
				found ? &touched->modules.items[found->id] : NULL;

			if (!module || module->last == touched->looked)
				continue;
			module->last = touched->looked;
			module->events += item->events;
		}
		item->events = 0;
	}
	/* clear the array only if most of it was used; the next process has new backtrace ids */
	if (touched->met.count > touched->backtraces.count / 2)
		ARRAY_CLEAR(&touched->backtraces);
	ARRAY_CLEAR(&touched->met);
}

uint64_t touched_events(const struct touched *touched, const struct space_module *module)
{
	return module->id < touched->modules.count ? touched->modules.items[module->id].events : 0;
}

double touched_percent(const struct touched *touched, const struct space_module *module,
		       uint64_t all)
{
	return all ? 100 * (double)touched_events(touched, module) / (double)all : 0;
}
