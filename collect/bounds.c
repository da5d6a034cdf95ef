/* SPDX-License-Identifier: MIT */
#include "collect/bounds.h"

/*
 * a stream whose definitions use at most this many bytes begins no new section, since that would
 * save little memory
 */
#define KNOWN_LEAST (128u << 10)

const struct bound_limits bounds[BOUND_COUNT] = {
#define BOUND(name, of_user, of_others, in_all, what) { of_user, of_others, in_all },
#include "collect/bounds.def"
#undef BOUND
};

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
