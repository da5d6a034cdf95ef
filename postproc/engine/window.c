/* SPDX-License-Identifier: MIT */
#include "window.h"

#include "account/ledger.h"
#include "notes.h"

#include <errno.h>
#include <string.h>

#define NAME_MAX_SIZE 256

/* The start or end of a window: a time, the text of a mark, or "peak". */
struct landmark {
	char name[NAME_MAX_SIZE];
	bool is_time, is_peak, is_found;
	struct instant instant;
	uint64_t ns; /* the instant in ns, on the clock of the traces */
};

enum { SINCE, UNTIL, LANDMARKS };

struct window {
	struct landmark list[LANDMARKS]; /* the name is "" if the option is not given */
	/* whether the traces must first be read once to find a mark or the peak */
	bool wants_mark, wants_peak;
	struct instant_base base; /* start of the run's first process */
	/* ledger of the current process; NULL if no landmark refers to the peak */
	struct ledger *ledger;
	uint64_t peak;
};

/* ---- options ---- */

static int name_landmark(struct window *window, int which, const char *option, const char *text,
			 struct error *err)
{
	struct landmark *landmark = &window->list[which];
	size_t length = text ? strlen(text) : 0;

	if (!text)
		return 0;
	if (!length || length >= sizeof(landmark->name))
		return error_set(err, EINVAL,
				 "--%s=%s: expected a time (1.5, 250ms, 19:20:31), the text of a "
				 "mark, or peak",
				 option, text);
	memcpy(landmark->name, text, length);
	landmark->is_peak = !strcmp(landmark->name, "peak");
	landmark->is_time =
		!landmark->is_peak && instant_parse(&landmark->instant, landmark->name, NULL) == 0;
	window->wants_peak |= landmark->is_peak;
	window->wants_mark |= !landmark->is_peak && !landmark->is_time;
	return 0;
}

/* ---- the first reading ---- */

static int on_begin(void *user, const struct event *event, struct error *err)
{
	struct window *window = user;

	(void)event;
	(void)err;
	if (window->wants_peak)
		window->ledger = ledger_create(false);
	return 0;
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct window *window = user;

	(void)err;
	if (event->kind == EVENT_NOTE && !strcmp(event->function->name, NOTE_MARK)) {
		const char *text = event_argument(event, "text");

		for (unsigned i = 0; text && i < LANDMARKS; i++) {
			struct landmark *landmark = &window->list[i];
			bool is_first = !landmark->is_found || event->time_ns < landmark->ns;

			if (landmark->is_time || landmark->is_peak ||
			    strcmp(landmark->name, text) != 0 || !is_first)
				continue;
			landmark->ns = event->time_ns;
			landmark->is_found = true;
		}
	}
	if (window->ledger && event_is_call(event))
		ledger_event(window->ledger, event);
	return 0;
}

static int on_end(void *user, struct error *err)
{
	struct window *window = user;

	(void)err;
	if (!window->ledger)
		return 0;
	for (uint32_t i = 0; i < ledger_class_count(window->ledger); i++) {
		const struct ledger_sum *sum = ledger_sum(window->ledger, i);

		if (ledger_class(window->ledger, i)->known != RESOURCE_MEMORY ||
		    sum->peak <= window->peak)
			continue;
		window->peak = sum->peak;
		for (unsigned k = 0; k < LANDMARKS; k++)
			if (window->list[k].is_peak) {
				window->list[k].ns = sum->peak_ns;
				window->list[k].is_found = true;
			}
	}
	ledger_destroy(window->ledger);
	window->ledger = NULL;
	return 0;
}

static int on_open(void *user, const struct trace *trace, const char *path, struct error *err)
{
	(void)user;
	(void)trace;
	if (path && !strcmp(path, "-"))
		return error_set(err, EINVAL,
				 "to find a mark or the peak, --since and --until read a trace "
				 "twice: name a file");
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

	/* report no progress and no problems here: the second reading reports them */
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
	if (landmark->is_found || !*landmark->name)
		return 0;
	return error_set(err, EINVAL,
			 landmark->is_peak ? "%s: no memory was recorded, so there is no peak"
					   : "%s: the run has no mark with this text, and it is "
					     "not a time (1.5, 250ms, 19:20:31)",
			 landmark->name);
}

static int refuse_order(const struct window *window, struct error *err)
{
	return error_set(err, EINVAL, "--since=%s is later than --until=%s",
			 window->list[SINCE].name, window->list[UNTIL].name);
}

/*
 * Sets the time limits for the second reading. The window excludes its start and includes its end,
 * so that an event on the boundary of two windows is only in the earlier window.
 */
static int narrow(struct window *window, struct trace_options *trace, struct error *err)
{
	const struct landmark *since = &window->list[SINCE], *until = &window->list[UNTIL];
	int rc = place(window, &window->list[SINCE], err);

	if (rc == 0)
		rc = place(window, &window->list[UNTIL], err);
	if (rc)
		return rc;
	if (until->is_found)
		/* an end at time 0 becomes 1: until_ns 0 would mean no end */
		trace->until_ns = until->ns + !until->ns;
	if (since->is_found && since->ns > window->base.start_ns)
		trace->since_ns = since->ns + 1;
	return until->is_found && trace->since_ns > trace->until_ns ? refuse_order(window, err) : 0;
}

int window_plan(struct engine_options *reading, const char *const *paths, size_t count,
		const struct options *options, struct error *err)
{
	static const char *const standard_input[] = { "-" };
	struct window window = { 0 };
	const struct instant *since = &window.list[SINCE].instant;
	const struct instant *until = &window.list[UNTIL].instant;
	int rc = name_landmark(&window, SINCE, "since", options->since, err);

	if (rc == 0)
		rc = name_landmark(&window, UNTIL, "until", options->until, err);
	if (rc)
		return rc;
	if (!window.wants_mark && !window.wants_peak) {
		reading->trace.since = *since;
		reading->trace.until = *until;
		return since->kind && since->kind == until->kind && since->ns > until->ns
			       ? refuse_order(&window, err)
			       : 0;
	}
	rc = look(&window, reading, count ? paths : standard_input, count ? count : 1, err);
	return rc ? rc : narrow(&window, &reading->trace, err);
}
