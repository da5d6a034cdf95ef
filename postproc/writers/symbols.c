/* SPDX-License-Identifier: MIT */
#include "postproc/writers/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "postproc/writers/names.h"

size_t symbols_find(void *names, const struct atlas_backtrace *backtrace,
		    struct report_symbol *symbols, size_t max)
{
	cleanup_free struct names_raw *frames = calloc(max, sizeof(*frames));
	size_t count = frames ? names_raw(names, backtrace, frames, max) : 0;
	size_t starts;
	bool is_main;

	for (size_t i = 0; i < count; i++)
		symbols[i] = (struct report_symbol){
			.function = frames[i].function,
			.file = frames[i].file,
			.module = frames[i].module,
			.line = frames[i].line,
			.address = frames[i].address,
			.offset = frames[i].offset,
			.is_runtime = frames[i].is_runtime,
		};
	if (count == max)
		return count;
	starts = names_starts(names, backtrace, &is_main);
	if (starts >= count)
		return count;
	for (size_t i = count - starts; i < count; i++)
		symbols[i].is_start = true;
	if (is_main)
		symbols[count - starts - 1].function = "main";
	return count;
}

bool symbols_unnamed(void *names, size_t index, struct report_unnamed *unnamed)
{
	struct names_missing missing;

	if (!names_missing(names, index, &missing))
		return false;
	*unnamed = (struct report_unnamed){
		.path = missing.path,
		.shown = missing.shown,
		.unnamed = missing.unnamed,
		.text = missing.text,
		.advice = missing.advice,
	};
	memcpy(unnamed->build_id, missing.build_id, sizeof(unnamed->build_id));
	return true;
}
