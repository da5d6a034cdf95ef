/* SPDX-License-Identifier: MIT */
#ifndef ADVICE_H
#define ADVICE_H

/* Advises the user about a module without names. */

#include "resolver/workers.h"

/* Returns what the user can do next, or NULL. The caller frees it. */
char *advice_for(const struct entry *entry, enum resolve_reason reason,
		 const struct resolve_options *options);

#endif
