/* SPDX-License-Identifier: MIT */
#include "rises.h"

#define SHIFT_FIRST 12u /* log2 of the initial length of a window in ns: 4096 ns */

/*
 * Returns the number of the window that contains a time. As with --since and --until, a window
 * excludes its start and includes its end.
 */
static uint64_t window_of(uint64_t time_ns, unsigned shift)
{
	return (time_ns - (time_ns != 0)) >> shift;
}

void rises_reach(struct rises_axis *axis, uint64_t time_ns)
{
	uint64_t window = window_of(time_ns, axis->shift ? axis->shift : SHIFT_FIRST);

	if (!axis->shift)
		*axis = (struct rises_axis){ window, window, SHIFT_FIRST, time_ns };
	if (time_ns > axis->now_ns)
		axis->now_ns = time_ns;
	if (window < axis->first)
		axis->first = window;
	if (window > axis->last)
		axis->last = window;
	while (axis->last - axis->first >= RISES_WINDOWS) {
		axis->first >>= 1;
		axis->last >>= 1;
		axis->shift++;
	}
}

/* Adds window `i` of `from` to window `at` of `to`, whose time range includes that of `i`. */
static void add_window(struct rises *to, unsigned at, const struct rises *from, unsigned i)
{
	unsigned bit = 1u << at;

	to->changes[at] += from->changes[i];
	if (!(from->changed >> i & 1))
		return;
	if (!(to->changed & bit) || from->lows[i] < to->lows[at])
		to->lows[at] = from->lows[i];
	to->changed |= bit;
}

/* Converts `rises` to the windows of the axis, which may be longer or begin earlier. */
static void fit_windows(struct rises *rises, const struct rises_axis *axis)
{
	struct rises before = *rises;

	if (rises->shift == axis->shift && rises->first == axis->first)
		return;
	*rises = (struct rises){ .first = axis->first, .shift = axis->shift, .now = before.now };
	for (unsigned i = 0; before.shift && i < RISES_WINDOWS; i++) {
		uint64_t to = (before.first + i) >> (axis->shift - before.shift);

		if (before.changed >> i & 1)
			add_window(rises, (unsigned)(to - axis->first), &before, i);
	}
}

void rises_add(struct rises *rises, const struct rises_axis *axis, uint64_t time_ns, int64_t amount)
{
	unsigned at;

	fit_windows(rises, axis);
	at = (unsigned)(window_of(time_ns, axis->shift) - axis->first);
	if (!(rises->changed >> at & 1))
		rises->lows[at] = rises->now;
	rises->changed |= 1u << at;
	rises->now += amount;
	rises->changes[at] += amount;
	if (rises->now < rises->lows[at])
		rises->lows[at] = rises->now;
}

void rises_merge(struct rises *rises, const struct rises_axis *axis, const struct rises *process)
{
	struct rises other = *process;

	fit_windows(rises, axis);
	fit_windows(&other, axis);
	for (unsigned i = 0; i < RISES_WINDOWS; i++)
		add_window(rises, i, &other, i);
	rises->now += other.now;
}

unsigned rises_count(const struct rises *rises, const struct rises_axis *axis)
{
	unsigned count = 0, rose = 0, fell = 0, most_fell = 0;
	int64_t amount = 0, before = 0, most = 0;
	struct rises fitted = *rises;

	fit_windows(&fitted, axis);
	for (uint64_t i = 0; i <= axis->last - axis->first; i++) {
		int64_t low = fitted.changed >> i & 1 ? fitted.lows[i] : amount;

		amount += fitted.changes[i];
		rose += low > before;
		fell += low < before;
		before = low;
		if (low < most || !low)
			continue;
		most = low;
		most_fell = fell;
		count = rose;
	}
	return most_fell ? 0 : count;
}

unsigned rises_curve(const struct rises *rises, const struct rises_axis *axis,
		     uint64_t curve[RISES_WINDOWS])
{
	unsigned count = axis->shift ? (unsigned)(axis->last - axis->first + 1) : 0;
	struct rises fitted = *rises;
	int64_t amount = 0;

	fit_windows(&fitted, axis);
	for (unsigned i = 0; i < count; i++) {
		amount += fitted.changes[i];
		curve[i] = amount > 0 ? (uint64_t)amount : 0;
	}
	return count;
}

uint64_t rises_end(const struct rises_axis *axis, unsigned window)
{
	return (axis->first + window + 1) << axis->shift;
}
