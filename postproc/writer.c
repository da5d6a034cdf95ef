/* SPDX-License-Identifier: MIT */
#include "postproc/writer.h"

#include <string.h>

#include "postproc/writers/writers.h"

static const struct writer writers[] = {
#define WRITER(function, word, is_directory, description) \
	{ word,                                           \
	  description,                                    \
	  is_directory,                                   \
	  write_##function##_begin,                       \
	  write_##function##_event,                       \
	  write_##function##_end,                         \
	  write_##function##_destroy },
#include "postproc/writers.def"
#undef WRITER
};

const struct writer *writer_at(unsigned index)
{
	return index < sizeof(writers) / sizeof(*writers) ? &writers[index] : NULL;
}

bool writer_is_stream(const struct writer *writer)
{
	return writer->event == write_sp_rtrace_binary_event || writer->event == write_htr_event;
}

const char *writer_suffix(const struct writer *writer)
{
	if (writer->event == write_sp_rtrace_text_event)
		return "rtrace.txt";
	return writer->event == write_sp_rtrace_binary_event ? "rtrace" : writer->name;
}

const char *writer_missing(const struct writer *writer)
{
	return writer->event == write_etrace_event ? "there are no threads, programs and ends, "
						     "times are in ms, and paths are as "
						     "the program said them"
						   : NULL;
}

bool writer_takes_merged(const struct writer *writer)
{
	return writer->event == write_sp_rtrace_text_event ||
	       writer->event == write_summary_event || writer->event == write_etrace_event ||
	       writer->event == write_swap_event;
}

const struct writer *writer_find(const char *name)
{
	for (unsigned i = 0; writer_at(i); i++)
		if (!strcmp(writers[i].name, name))
			return &writers[i];
	return NULL;
}
