/* SPDX-License-Identifier: MIT */
#include "collect/bounds.h"

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
