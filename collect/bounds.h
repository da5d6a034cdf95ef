/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BOUNDS_H
#define COLLECT_BOUNDS_H

enum bound {
#define BOUND(name, of_user, in_all, what) BOUND_##name,
#include "collect/bounds.def"
#undef BOUND
	BOUND_COUNT
};

enum {
#define KNOWN(of_user, in_all) KNOWN_OF_USER = of_user, KNOWN_IN_ALL = in_all
#include "collect/bounds.def"
#undef KNOWN
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
