/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace with libholdtrace-trace: prints how often each function acquired and released an
 * object, and the backtrace of the largest block.
 *
 *   cc -o read-trace examples/read-trace.c $(pkg-config --cflags --libs holdtrace-trace)
 *   holdtrace record -o run.htr PROGRAM
 *   ./read-trace run.htr
 */
#include <holdtrace/trace.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS_MAX 1024

struct sum {
	uint64_t calls, acquired, lost;
};

static struct sum sums[FUNCTIONS_MAX];

static void add(const struct holdtrace_event *event)
{
	struct sum *sum = &sums[event->function % FUNCTIONS_MAX];

	sum->calls++;
	sum->acquired += event->effect == HOLDTRACE_ACQUIRES;
	sum->lost += event->effect == HOLDTRACE_RELEASES;
}

static void print_sums(const struct holdtrace_trace *trace)
{
	for (uint32_t i = 0; i < FUNCTIONS_MAX && holdtrace_trace_function(trace, i); i++)
		if (sums[i].calls)
			printf("%s: calls %" PRIu64 ", gains %" PRIu64 ", losses %" PRIu64 "\n",
			       holdtrace_trace_function(trace, i), sums[i].calls, sums[i].acquired,
			       sums[i].lost);
}

static void print_names(struct holdtrace_trace *trace, uint32_t backtrace)
{
	struct holdtrace_frame frames[64];
	long count = holdtrace_trace_names(trace, backtrace, frames, 64, NULL);

	for (long i = 0; i < count; i++)
		printf("  %s %s:%" PRIu32 "\n", frames[i].function ? frames[i].function : "?",
		       frames[i].file ? frames[i].file : "?", frames[i].line);
}

int main(int argc, char **argv)
{
	struct holdtrace_error error;
	struct holdtrace_trace *trace;
	const struct holdtrace_event *event;
	struct holdtrace_event largest = { .backtrace = HOLDTRACE_NO_ID };
	struct holdtrace_tally tally;
	int ret;

	if (argc < 2 || holdtrace_trace_open(&trace, (const char *const *)argv + 1,
					     (size_t)argc - 1, NULL, &error) < 0) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: read-trace TRACE..." : error.text);
		return 1;
	}
	while ((ret = holdtrace_trace_next(trace, &event, &error)) > 0) {
		const char *resource = holdtrace_trace_resource(trace, event->resource);

		add(event);
		if (event->effect == HOLDTRACE_ACQUIRES && !strcmp(resource, "memory") &&
		    event->bytes > largest.bytes)
			largest = *event;
	}
	if (ret < 0)
		fprintf(stderr, "%s\n", error.text);
	print_sums(trace);
	printf("largest block: %" PRIu64 " bytes\n", largest.bytes);
	print_names(trace, largest.backtrace);
	holdtrace_trace_tally(trace, &tally);
	printf("events %" PRIu64 ", dropped %" PRIu64 ", complete: %s\n", tally.events,
	       tally.dropped, tally.is_complete ? "yes" : "no");
	holdtrace_trace_close(trace);
	return ret < 0;
}
