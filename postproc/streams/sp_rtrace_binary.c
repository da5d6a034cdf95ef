/* SPDX-License-Identifier: MIT */
/* Writes the stream as sp-rtrace packets, whatever format it was read from. */
#include "formats/writers.h"

#include <stdlib.h>

#include "base/memory.h"
#include "packets.h"

struct binary_writer {
	struct out *out;
	struct packets packets;
};

int write_sp_rtrace_binary_begin(void **state, const struct trace *trace,
				 const struct writer_options *options, struct error *err)
{
	struct binary_writer *writer = memory_zalloc(1, sizeof(*writer));

	(void)trace;
	(void)err;
	packets_open(&writer->packets, true);
	writer->out = options->out;
	*state = writer;
	return 0;
}

int write_sp_rtrace_binary_event(void *state, const struct event *event, struct error *err)
{
	struct binary_writer *writer = state;

	(void)err;
	out_bytes(writer->out, writer->packets.bytes, packets_of(&writer->packets, event));
	return 0;
}

int write_sp_rtrace_binary_end(void *state, struct error *err)
{
	(void)state;
	(void)err;
	return 0;
}

void write_sp_rtrace_binary_destroy(void *state)
{
	struct binary_writer *writer = state;

	packets_close(&writer->packets);
	free(writer);
}
