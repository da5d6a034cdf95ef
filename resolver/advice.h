/* SPDX-License-Identifier: MIT */
#ifndef ADVICE_H
#define ADVICE_H

/* What a user can do about a module without names. */

#include "resolver/workers.h"

/* The next step for the user, to be freed, or NULL. */
char *advice_for(const struct entry *entry, enum resolve_reason reason,
		 const struct resolve_options *options);

#endif
