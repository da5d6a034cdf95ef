/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BOUNDS_H
#define COLLECT_BOUNDS_H

enum bound {
#define BOUND(name, of_user, in_all, what) BOUND_##name,
#include "collect/bounds.def"
#undef BOUND
	BOUND_COUNT
};

/* The bounds come first, each with the number of its own. */
enum refusal {
#define BOUND(name, of_user, in_all, what) REFUSED_##name,
#define REFUSAL(name, why)		   REFUSED_##name,
#include "collect/bounds.def"
#undef BOUND
#undef REFUSAL
	REFUSAL_COUNT
};

#endif
