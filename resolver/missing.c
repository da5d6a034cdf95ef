/* SPDX-License-Identifier: MIT */
#include "resolver/missing.h"

#include "base/out.h"

#include <string.h>

static void put_name(struct out *out, const char *name)
{
	out_name(out, name, strlen(name), ESCAPE_ALL);
}

static void put_of(struct out *out, uint64_t part, uint64_t whole, const char *words)
{
	out_unsigned(out, part);
	out_text(out, " of ");
	out_unsigned(out, whole);
	out_text(out, words);
}

/* In tenths of a percent, but never 0 for a number above 0. */
static void put_share(struct out *out, uint64_t part, uint64_t whole)
{
	uint64_t share = (uint64_t)((double)part * 1000 / (double)whole);

	if (share == 0 && part > 0) {
		out_text(out, "less than 0.1 %");
		return;
	}
	out_unsigned(out, share / 10);
	out_char(out, '.');
	out_unsigned(out, share % 10);
	out_text(out, " %");
}

static void put_build_id(struct out *out, const struct resolve_state *state)
{
	static const char digits[] = "0123456789abcdef";

	if (state->build_id_size == 0)
		return;
	out_text(out, ", build-id ");
	for (unsigned i = 0; i < state->build_id_size; i++) {
		out_char(out, digits[state->build_id[i] >> 4]);
		out_char(out, digits[state->build_id[i] & 15]);
	}
}

static void put_frames(struct out *out, const struct resolve_state *state, uint64_t events)
{
	if (state->unresolved == 0) {
		put_of(out, state->unlined, state->asked, " frames without a line");
		return;
	}
	put_of(out, state->unresolved, state->asked, " frames without a name");
	if (events == 0)
		return;
	out_text(out, " in ");
	put_share(out, state->events, events);
	out_text(out, " of the events");
}

static void put_module(struct out *out, const char *program, const struct resolve_state *state,
		       uint64_t events)
{
	out_text(out, program);
	out_text(out, ": MISSING: ");
	put_name(out, state->module);
	if (*state->text) {
		out_text(out, ": ");
		put_name(out, state->text);
	}
	out_text(out, ": ");
	put_frames(out, state, events);
	put_build_id(out, state);
	if (state->advice) {
		out_text(out, ": ");
		put_name(out, state->advice);
	}
	out_char(out, '\n');
}

static bool is_missing(const struct resolve_state *state, bool wants_lines)
{
	if (state->reason == RESOLVE_SPECIAL)
		return false;
	return state->unresolved || state->reason == RESOLVE_BROKEN ||
	       (wants_lines && state->unlined);
}

void missing_print(struct resolve *resolve, int fd, const char *program, bool wants_lines)
{
	struct resolve_totals totals = resolve_totals(resolve);
	struct resolve_state state;
	struct out out;

	if (out_open(&out, fd, NULL) != 0)
		return;
	for (unsigned i = 0; resolve_state(resolve, i, &state); i++) {
		if (is_missing(&state, wants_lines))
			put_module(&out, program, &state, totals.events);
	}
	if (totals.unmapped) {
		out_text(&out, program);
		out_text(&out, ": ");
		out_unsigned(&out, totals.unmapped);
		out_text(&out, " frames lie in no mapping of the trace: they may be generated "
			       "code, or the backtrace went astray\n");
	}
	out_close(&out);
}
