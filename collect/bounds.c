/* SPDX-License-Identifier: MIT */
#include "collect/bounds.h"

/*
 * a stream whose definitions use at most this many bytes begins no new section, since that would
 * save little memory
 */
#define KNOWN_LEAST (128u << 10)
/* memory of the collector for a thread: its reader with entries, and a page of its slot and ring */
#define THREAD_BYTES (24u << 10)

struct bound_limits bounds[BOUND_COUNT] = {
#define BOUND(name, of_user, of_others, in_all, what) { of_user, of_others, in_all },
#include "collect/bounds.def"
#undef BOUND
};

static void fit(enum bound bound, uint64_t of_others)
{
	struct bound_limits *limits = &bounds[bound];

	if (of_others < limits->of_others)
		limits->of_others = (uint32_t)of_others;
	if (of_others / 2 < limits->of_user)
		limits->of_user = (uint32_t)of_others / 2;
}

void bounds_fit(uint64_t memory, uint64_t descriptors)
{
	fit(BOUND_THREADS, memory / 8 / THREAD_BYTES);
	fit(BOUND_MEMBERS, descriptors / 3);
}

bool bounds_allow(const struct bounds_used *used, const struct bounds_user *user, enum bound bound,
		  uint32_t count)
{
	const struct bound_limits *limits = &bounds[bound];

	return used->by_all[bound] + count <= limits->in_all &&
	       (user->is_owner || (user->used[bound] + count <= limits->of_user &&
				   used->by_others[bound] + count <= limits->of_others));
}

void bounds_use(struct bounds_used *used, struct bounds_user *user, enum bound bound, int32_t count)
{
	used->by_all[bound] += (uint32_t)count;
	if (!user->is_owner)
		used->by_others[bound] += (uint32_t)count;
	user->used[bound] += (uint32_t)count;
}

void bounds_know(struct bounds_known *known, int32_t streams, int64_t bytes)
{
	for (; known; known = known->above) {
		known->streams += (uint32_t)streams;
		known->bytes += (uint64_t)bytes;
	}
}

bool bounds_knows_too_much(const struct bounds_known *known, uint64_t bytes)
{
	for (; known && bytes > KNOWN_LEAST; known = known->above)
		if (known->bytes > known->most && bytes >= known->bytes / known->streams)
			return true;
	return false;
}
