/* SPDX-License-Identifier: MIT */
#include "warnings.h"

#include <inttypes.h>
#include <limits.h>

#include "base/out.h"

static void say(const struct warnings *warnings, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(const struct warnings *warnings, const char *path, const char *format, ...)
{
	char before[PATH_MAX + 64];
	va_list list;

	snprintf(before, sizeof(before), "%s: %s: ", warnings->program, path);
	va_start(list, format);
	print_message_list(warnings->to, before, format, list);
	va_end(list);
}

static void say_damage(const struct warnings *warnings, const char *path,
		       const struct trace_tally *tally)
{
	bool is_at_end = tally->is_truncated && tally->damages == 1;

	if (tally->damages && !is_at_end)
		say(warnings, path,
		    "damaged at byte %" PRIu64 ": %s; %" PRIu64 " bytes skipped in %" PRIu64
		    " places: the rest was used",
		    tally->damage_offset, tally->damage_text, tally->damaged_bytes, tally->damages);
	if (is_at_end)
		say(warnings, path,
		    "ends early, at byte %" PRIu64 " (%s): what is before it was used; "
		    "was the recording killed, or the disk full?",
		    tally->damage_offset, tally->damage_text);
	else if (tally->is_truncated)
		say(warnings, path, "ends early, too");
}

static void say_unread(const struct warnings *warnings, const char *path,
		       const struct trace_tally *tally)
{
	if (tally->unknown_packets)
		say(warnings, path,
		    "%" PRIu64 " packets of unknown kinds skipped, first %s: "
		    "a newer %s may know them",
		    tally->unknown_packets, tally->unknown_tag, warnings->program);
	if (tally->misplaced)
		say(warnings, path, "%" PRIu64 " backtraces or arguments without a call ignored",
		    tally->misplaced);
}

void warnings_print(const struct warnings *warnings, const char *path, const struct trace *trace)
{
	const struct trace_tally *tally = trace_tally(trace);
	const struct trace_process *process = trace_process(trace);

	say_damage(warnings, path, tally);
	say_unread(warnings, path, tally);
	if (tally->lost)
		say(warnings, path,
		    "%" PRIu64 " events were dropped while recording, so leaks may be "
		    "reported that are none; `holdtrace report info` says why",
		    tally->lost);
	if (tally->lost_notes)
		say(warnings, path,
		    "%" PRIu64 " notes were dropped while recording: names, or how threads ended",
		    tally->lost_notes);
	if (process && process->has_tails && !tally->has_ended && !trace_is_damaged(trace))
		say(warnings, path, "has no end: the recording was killed, or is still going on");
	if (tally->calls == 0 && !trace_is_damaged(trace) && !warnings->has_filters)
		say(warnings, path,
		    "no events: the program called nothing that is hooked, or tracing never began");
}

void warnings_print_missing(const struct warnings *warnings, const char *path,
			    const struct trace *trace, const struct writer *writer)
{
	const struct trace_process *process = trace_process(trace);
	if (*writer->missing && process && !process->has_tails)
		say(warnings, path, "not recorded by holdtrace: %s", writer->missing);
}
