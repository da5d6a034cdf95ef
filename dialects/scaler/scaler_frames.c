/* SPDX-License-Identifier: MIT */
/*
 * --format=scaler:frames: backtraces become paths through the program's own functions, as nodes
 * between the hooked calls. These functions were neither timed nor counted, so their names end with
 * SCALER_INFERRED.
 */
#include "dialects/scaler/scaler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "naming/naming.h"

#define INLINED_MAX 8 /* functions per frame, the maximum of naming_symbols() */

bool scaler_is_inferred(const char *name)
{
	size_t length = strlen(name), mark = strlen(SCALER_INFERRED);

	return length > mark && !strcmp(name + length - mark, SCALER_INFERRED);
}

void scaler_frames_init(struct scaler_frames *frames)
{
	memset(frames, 0, sizeof(*frames));
	space_init(&frames->space);
}

void scaler_frames_free(struct scaler_frames *frames)
{
	for (size_t i = 0; frames->paths && i < frames->ways.count; i++)
		free(frames->paths[i].steps);
	free(frames->paths);
	free(frames->ways.items);
	free(frames->by_id.items);
	space_free(&frames->space);
}

/* The entry of the backtrace with that id. */
static struct scaler_seen *seen_of(struct scaler_frames *frames, uint32_t id)
{
	while (id >= frames->by_id.count) {
		struct scaler_seen *place = ARRAY_ADD(&frames->by_id);

		*place = (struct scaler_seen){ 0 };
	}
	return &frames->by_id.items[id];
}

void scaler_frames_see(struct scaler_frames *frames, const struct event *event, uint32_t *way)
{
	size_t mappings = frames->space.mappings.count;
	const struct trace_node *backtrace, **place;
	struct scaler_seen *seen;

	*way = 0;
	if (!event->backtrace || !event->backtrace->count)
		return;
	seen = seen_of(frames, event->backtrace->id);
	if (!seen->way || seen->mappings != mappings) {
		backtrace = space_backtrace(&frames->space, event->backtrace, event->index);
		/* Most new mappings do not affect this backtrace. */
		if (!seen->way || frames->ways.items[seen->way - 1] != backtrace) {
			place = ARRAY_ADD(&frames->ways);
			*place = backtrace;
			seen->way = (uint32_t)frames->ways.count;
		}
		seen->mappings = mappings;
	}
	*way = seen->way;
}

/* holdtrace's library is between a hooked call and the functions that it calls in turn. */
static bool is_own(const struct naming_symbol *frame)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;

	return slash && !strncmp(slash + 1, "libholdtrace.so", 15);
}

/* The symbol of a frame. A function without a name is named by its offset in the file. */
static uint32_t name_frame(struct callees *callees, const struct naming_symbol *frame)
{
	cleanup_free char *text =
		frame->function ? memory_format("%s" SCALER_INFERRED, frame->function)
				: memory_format("0x%" PRIx64 SCALER_INFERRED, frame->offset);

	return callees_add_path(callees, frame->module ? frame->module : "", text);
}

/* Sets the steps of one backtrace, outermost first. */
static void find_steps(struct naming *naming, struct callees *callees,
		       const struct trace_node *backtrace, struct naming_symbol *found,
		       struct calltree_path *path)
{
	size_t count =
		naming_symbols(naming, backtrace, found, (size_t)backtrace->count * INLINED_MAX);

	path->steps = memory_zalloc(count + 1, sizeof(*path->steps));
	while (count-- > 0) {
		struct calltree_step *step = &path->steps[path->count];

		if (is_own(&found[count]))
			continue;
		step->address = found[count].address;
		step->symbol = name_frame(callees, &found[count]);
		path->count++;
	}
}

static size_t most_frames(const struct scaler_frames *frames)
{
	size_t most = 0;

	for (size_t i = 0; i < frames->ways.count; i++)
		if (most < frames->ways.items[i]->count)
			most = frames->ways.items[i]->count;
	return most;
}

int scaler_frames_resolve(struct scaler_frames *frames, struct callees *callees, struct error *err)
{
	struct naming_symbol *found =
		memory_zalloc(most_frames(frames) * INLINED_MAX + 1, sizeof(*found));
	struct naming *naming = NULL;
	int rc;

	frames->paths = memory_zalloc(frames->ways.count + 1, sizeof(*frames->paths));
	rc = naming_create(&naming, &frames->space, NULL, err);
	for (size_t i = 0; rc == 0 && i < frames->ways.count; i++)
		find_steps(naming, callees, frames->ways.items[i], found, &frames->paths[i]);
	naming_destroy(naming);
	free(found);
	return rc;
}
