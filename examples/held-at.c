/* SPDX-License-Identifier: MIT */
/*
 * Prints what a program held at a time, and which calls waited, with libholdtrace-trace.
 *
 *   cc -o held-at examples/held-at.c $(pkg-config --cflags --libs holdtrace-trace)
 *   holdtrace record -o run.htr PROGRAM
 *   ./held-at run.htr 1.5
 *
 * Without a time, it prints what the program held at its end.
 */
#include <holdtrace/trace.h>
#include <inttypes.h>
#include <stdio.h>

static const char *function_of(struct holdtrace_trace *trace, uint32_t backtrace)
{
	struct holdtrace_frame frame;
	long count = holdtrace_trace_names(trace, backtrace, &frame, 1, NULL);

	return count > 0 && frame.function ? frame.function : "?";
}

static void print_places(struct holdtrace_trace *trace, const struct holdtrace_site *places,
			 long count)
{
	for (long i = 0; i < count; i++)
		printf("held: %s %" PRIu64 " objects %" PRIu64 " bytes by %s, oldest %" PRIu64
		       " ns\n",
		       holdtrace_trace_resource(trace, places[i].resource), places[i].count,
		       places[i].bytes, function_of(trace, places[i].backtrace),
		       places[i].oldest_ns);
}

static void print_waits(struct holdtrace_trace *trace, const struct holdtrace_wait *waits,
			long count)
{
	for (long i = 0; i < count; i++)
		printf("wait: %s %s %" PRIu64 " times %" PRIu64 " ns in %s for %s\n", waits[i].kind,
		       *waits[i].ended ? waits[i].ended : "held", waits[i].count, waits[i].total_ns,
		       function_of(trace, waits[i].backtrace),
		       function_of(trace, waits[i].waker_backtrace));
}

int main(int argc, char **argv)
{
	struct holdtrace_options options = { .flags = HOLDTRACE_ACCOUNT };
	const struct holdtrace_site *places;
	const struct holdtrace_wait *waits;
	struct holdtrace_error error;
	struct holdtrace_trace *trace;
	long place_count, wait_count = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: held-at TRACE [TIME]\n");
		return 2;
	}
	options.until = argc > 2 ? argv[2] : NULL;
	if (holdtrace_trace_open(&trace, (const char *const *)argv + 1, 1, &options, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	place_count = holdtrace_trace_skip(trace, &error);
	if (place_count == 0)
		place_count = holdtrace_trace_sites(trace, &places, &error);
	if (place_count >= 0)
		wait_count = holdtrace_trace_waits(trace, &waits, &error);
	if (place_count < 0 || wait_count < 0) {
		fprintf(stderr, "%s\n", error.text);
	} else {
		print_places(trace, places, place_count);
		print_waits(trace, waits, wait_count);
	}
	holdtrace_trace_close(trace);
	return place_count < 0 || wait_count < 0;
}
