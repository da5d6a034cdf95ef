/* SPDX-License-Identifier: MIT */
#include "postproc/window.h"

#include "account/ledger.h"
#include "notes.h"

#include <errno.h>
#include <string.h>

#define NAME_MAX_SIZE 256

/* An instant that is looked for: T, a mark's text, or the peak. */
struct landmark {
	char name[NAME_MAX_SIZE];
	bool is_time, is_peak, is_found;
	struct instant instant;
	uint64_t ns; /* in the time of the streams */
};

struct window {
	struct landmark list[2];
	unsigned count;
	struct instant_base base; /* of the run: that of its first process */
	struct ledger *ledger;	  /* of the process that is read, where the peak is wanted */
	uint64_t peak;
};

/* ---- what is wanted ---- */

static int name_landmark(struct window *window, const char *text, size_t length, struct error *err)
{
	struct landmark *landmark = &window->list[window->count++];

	if (!length || length >= sizeof(landmark->name))
		return error_set(err, EINVAL, "a window is --at=T, or --between=A,B");
	memcpy(landmark->name, text, length);
	landmark->is_peak = !strcmp(landmark->name, "peak");
	landmark->is_time =
		!landmark->is_peak && instant_parse(&landmark->instant, landmark->name, NULL) == 0;
	return 0;
}

static int name_landmarks(struct window *window, const struct options *options, struct error *err)
{
	const char *comma = options->between ? strchr(options->between, ',') : NULL;
	int rc;

	if (options->at && options->between)
		return error_set(err, EINVAL, "--at or --between, not both");
	if (options->since || options->until)
		return error_set(err, EINVAL,
				 "--at and --between are windows already: leave --since and "
				 "--until out");
	if (options->at)
		return name_landmark(window, options->at, strlen(options->at), err);
	if (!comma)
		return error_set(err, EINVAL, "--between=%s: two instants are needed, as 1.5,peak",
				 options->between);
	rc = name_landmark(window, options->between, (size_t)(comma - options->between), err);
	return rc ? rc : name_landmark(window, comma + 1, strlen(comma + 1), err);
}

static bool wants_peak(const struct window *window)
{
	for (unsigned i = 0; i < window->count; i++)
		if (window->list[i].is_peak)
			return true;
	return false;
}

/* ---- looking for it ---- */

static void find_mark(struct window *window, const struct event *event)
{
	const char *text = event_argument(event, "text");

	for (unsigned i = 0; text && i < window->count; i++) {
		struct landmark *landmark = &window->list[i];
		bool is_first = !landmark->is_found || event->time_ns < landmark->ns;

		if (landmark->is_time || landmark->is_peak || strcmp(landmark->name, text) != 0 ||
		    !is_first)
			continue;
		landmark->ns = event->time_ns;
		landmark->is_found = true;
	}
}

static int on_begin(void *user, const struct event *event, struct error *err)
{
	struct window *window = user;

	(void)event;
	return wants_peak(window) ? ledger_create(&window->ledger, false, err) : 0;
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct window *window = user;

	if (event->kind == EVENT_NOTE && !strcmp(event->function->name, NOTE_MARK))
		find_mark(window, event);
	return window->ledger && event_is_call(event) ? ledger_event(window->ledger, event, err)
						      : 0;
}

static void find_peak(struct window *window, const struct ledger_sum *sum)
{
	if (sum->peak <= window->peak)
		return;
	window->peak = sum->peak;
	for (unsigned i = 0; i < window->count; i++)
		if (window->list[i].is_peak) {
			window->list[i].ns = sum->peak_ns;
			window->list[i].is_found = true;
		}
}

static int on_end(void *user, struct error *err)
{
	struct window *window = user;
	int rc = window->ledger ? ledger_settle(window->ledger, err) : 0;

	for (uint32_t i = 0; window->ledger && i < ledger_class_count(window->ledger); i++)
		if (ledger_class(window->ledger, i)->known == RESOURCE_MEMORY)
			find_peak(window, ledger_sum(window->ledger, i));
	if (window->ledger)
		ledger_destroy(window->ledger);
	window->ledger = NULL;
	return rc;
}

static int on_open(void *user, const struct trace *trace, const char *path, struct error *err)
{
	(void)user;
	(void)trace;
	if (path && !strcmp(path, "-"))
		return error_set(err, EINVAL, "--at and --between read a trace twice: name a file");
	return 0;
}

static int look(struct window *window, const struct engine_options *reading,
		const char *const *paths, size_t count, struct error *err)
{
	const struct engine_listener listener = {
		.user = window,
		.open = on_open,
		.begin = on_begin,
		.event = on_event,
		.end = on_end,
	};
	struct engine_options quiet = *reading;
	struct engine_result result = { 0 };
	int rc;

	/* what there is to say is said when it is read for good */
	quiet.read = NULL;
	quiet.select.tally = NULL;
	quiet.trace.progress = NULL;
	quiet.trace.failed = NULL;
	rc = engine_read(paths, count, &quiet, &listener, &result, err);
	window->base = result.run;
	return rc;
}

/* ---- the result ---- */

static int place(const struct window *window, struct landmark *landmark, struct error *err)
{
	if (landmark->is_time) {
		landmark->ns = instant_at(&landmark->instant, &window->base);
		landmark->is_found = true;
	}
	if (landmark->is_found)
		return 0;
	return error_set(err, EINVAL,
			 landmark->is_peak
				 ? "%s: no memory was recorded, so there is no peak"
				 : "%s: the run has no such mark, nor is it a time (1.5, 250ms, "
				   "19:20:31)",
			 landmark->name);
}

/* What happens at the beginning of a window is the one's before it, so that windows add up. */
static int narrow(struct window *window, struct trace_options *trace, struct error *err)
{
	int rc = place(window, &window->list[0], err);

	if (rc == 0 && window->count == 2)
		rc = place(window, &window->list[1], err);
	if (rc)
		return rc;
	trace->until_ns = window->list[window->count - 1].ns;
	trace->until_ns += !trace->until_ns; /* 0 would be no end */
	if (window->count < 2)
		return 0;
	trace->since_ns = window->list[0].ns > window->base.start_ns ? window->list[0].ns + 1 : 0;
	if (trace->since_ns > trace->until_ns)
		return error_set(err, EINVAL, "--between: %s comes behind %s", window->list[0].name,
				 window->list[1].name);
	return 0;
}

int window_plan(struct engine_options *reading, const char *const *paths, size_t count,
		const struct options *options, struct error *err)
{
	struct window window = { 0 };
	int rc;

	if (!options->at && !options->between)
		return 0;
	rc = name_landmarks(&window, options, err);
	if (rc == 0)
		rc = look(&window, reading, paths, count, err);
	return rc ? rc : narrow(&window, &reading->trace, err);
}
