/* SPDX-License-Identifier: MIT */
#include "progress.h"

void progress_begin(struct progress *progress, FILE *to, const char *program)
{
	*progress = (struct progress){ .to = to, .program = program };
	clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

static unsigned tenths_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)((now.tv_sec - start->tv_sec) * 10 +
			  (now.tv_nsec - start->tv_nsec) / 100000000);
}

void progress_show(struct progress *progress, const struct trace *trace)
{
	unsigned tenths;
	int done;

	if (!trace) {
		fputs(progress->shown ? "\r\033[K" : "", progress->to);
		progress->shown = 0;
		return;
	}
	progress->events += TRACE_PROGRESS_EVENTS;
	tenths = tenths_since(&progress->start);
	if (tenths < 10 || tenths < progress->shown + 2)
		return;
	progress->shown = tenths;
	done = trace_progress(trace);
	fprintf(progress->to, "\r%s: %.1f million events", progress->program,
		(double)progress->events / 1e6);
	if (done >= 0)
		fprintf(progress->to, ", %d %%", done / 10);
	fputs("\033[K", progress->to);
}
