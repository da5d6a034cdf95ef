/* SPDX-License-Identifier: MIT */
#include "reorder.h"

#include <stdlib.h>

#include "account/keep.h"
#include "base/memory.h"
#include "base/spill_sort.h"
#include "kept_bytes.h"

struct reorder {
	bool with_arguments;
	struct spill_sort sort;
};

struct reorder *reorder_create(bool with_arguments)
{
	struct reorder *reorder = memory_zalloc(1, sizeof(*reorder));

	reorder->with_arguments = with_arguments;
	spill_sort_init(&reorder->sort, SPILL_TMPDIR, 0);
	return reorder;
}

/* Neighbouring packets of one thread may differ by some ns: they keep the order of the stream. */
static uint64_t key_of(const struct event *event)
{
	uint64_t index = event->index < UINT32_MAX ? event->index : UINT32_MAX;

	return event->process->is_text ? (uint64_t)event->time_ms << 32 | index : 0;
}

void reorder_event(struct reorder *reorder, const struct event *event)
{
	size_t size = kept_size(event, reorder->with_arguments);

	kept_put((unsigned char *)spill_sort_reserve(&reorder->sort, size), event,
		 reorder->with_arguments);
	spill_sort_commit(&reorder->sort, (struct spill_key){ .first = key_of(event) }, size);
}

static int tell_piece(const struct spill_piece *piece, const struct trace *trace,
		      int (*tell)(void *user, const struct event *event, struct error *err),
		      void *user, struct error *err)
{
	struct kept kept;
	struct event event;
	size_t size;
	int rc;

	kept_get((const unsigned char *)piece->bytes, &kept, &size);
	keep_event(&kept, trace_section(trace, kept.section), &event);
	rc = tell(user, &event, err);
	free(kept.arguments);
	return rc;
}

int reorder_finish(struct reorder *reorder, const struct trace *trace,
		   int (*tell)(void *user, const struct event *event, struct error *err),
		   void *user, struct error *err)
{
	struct spill_piece piece;
	int rc = spill_sort_finish(&reorder->sort, err);

	while (rc == 0) {
		rc = spill_sort_next(&reorder->sort, &piece, err);
		if (rc <= 0)
			return rc;
		rc = tell_piece(&piece, trace, tell, user, err);
	}
	return rc;
}

void reorder_destroy(struct reorder *reorder)
{
	if (!reorder)
		return;
	spill_sort_free(&reorder->sort);
	free(reorder);
}
