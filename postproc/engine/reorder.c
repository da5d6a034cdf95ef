/* SPDX-License-Identifier: MIT */
#include "reorder.h"

#include <stdlib.h>
#include <unistd.h>

#include "account/keep.h"
#include "base/memory.h"
#include "base/timesort.h"
#include "kept_bytes.h"

struct reorder {
	bool with_arguments;
	int directory;
	struct timesort sort;
};

int reorder_create(struct reorder **reorder, bool with_arguments, struct error *err)
{
	int rc;

	*reorder = memory_zalloc(1, sizeof(**reorder));
	(*reorder)->with_arguments = with_arguments;
	rc = spill_directory(&(*reorder)->directory, err);
	timesort_init(&(*reorder)->sort, (*reorder)->directory, 0);
	return rc;
}

/* Neighbouring packets of one thread may differ by some ns: they keep the order of the stream. */
static uint64_t key_of(const struct event *event)
{
	uint64_t index = event->index < UINT32_MAX ? event->index : UINT32_MAX;

	return event->process->is_text ? (uint64_t)event->time_ms << 32 | index : 0;
}

int reorder_event(struct reorder *reorder, const struct event *event, struct error *err)
{
	size_t size = kept_size(event, reorder->with_arguments);
	char *bytes = timesort_reserve(&reorder->sort, size, err);

	if (!bytes)
		return -err->number;
	kept_put((unsigned char *)bytes, event, reorder->with_arguments);
	timesort_commit(&reorder->sort, key_of(event), 0, size);
	return 0;
}

static int tell_piece(const struct timesort_piece *piece, const struct trace *trace,
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
	struct timesort_piece piece;
	int rc = timesort_finish(&reorder->sort, err);

	while (rc == 0) {
		rc = timesort_next(&reorder->sort, &piece, err);
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
	timesort_free(&reorder->sort);
	if (reorder->directory >= 0)
		close(reorder->directory);
	free(reorder);
}
