/* SPDX-License-Identifier: MIT */
#ifndef WRITERS_SYMBOLS_H
#define WRITERS_SYMBOLS_H

/* Names as reports ask for them: the callbacks of struct report_run, whose user is struct names. */

#include "postproc/views/report.h"

size_t symbols_find(void *names, const struct atlas_backtrace *backtrace,
		    struct report_symbol *symbols, size_t max);

bool symbols_unnamed(void *names, size_t index, struct report_unnamed *unnamed);

#endif
