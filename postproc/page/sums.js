/* SPDX-License-Identifier: MIT */
/* Numbers as text, and sums over the window. This file is a part of one function: see model.js. */

/* ---- numbers as text, as in the text reports (base/human.c) ---- */

/*
 * Formats with one digit after the point, rounded as in C: 1.25 becomes 1.2, but toFixed() returns
 * 1.3.
 */
const tenth = x => (x * 4 % 4 === 1 ? x - 0.01 : x).toFixed(1);

function bytes(n) {
	const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
	let i = 0;
	while (Math.abs(n) >= (i ? 999.95 : 1000) && i < units.length - 1) {
		n /= 1000;
		i++;
	}
	return (i ? tenth(n) : Math.round(n)) + ' ' + units[i];
}
function time(ns) {
	if (ns < 1000)
		return Math.round(ns) + ' ns';
	/** @type {[number, number, string][]} */
	const units = [[1e5, 1e3, 'us'], [1e9, 1e6, 'ms'], [12e10, 1e9, 's']];
	for (const [below, unit, word] of units) {
		const tenths = Math.floor((ns + unit / 20) / (unit / 10));
		if (ns < below)
			/* C rounds halves to even */
			return (tenths < 1000 && tenths % 10 ? (tenths / 10).toFixed(1) : tenths % 20 === 5 ? (tenths - 5) / 10 : Math.round(tenths / 10)) + ' ' + word;
	}
	const seconds = Math.floor(ns / 1e9), minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const count = n => Math.round(n).toLocaleString('en');
/** @type {Record<string, [string, string]>} */
const VERBS = { memory: ['allocated', 'freed'], mapping: ['mapped', 'unmapped'], fd: ['opened', 'closed'], fp: ['opened', 'closed'],
	dir: ['opened', 'closed'], lock: ['locked', 'unlocked'], thread: ['created', 'joined'] };
const verbs = () => VERBS[classes[state.class].name] || ['acquired', 'released'];
const costName = cost => COSTS[cost].name.replace('allocated', verbs()[0]).replace('freed', verbs()[1]);
const isWait = cost => !!COSTS[cost].isWait;
const inBytes = () => classes[state.class].isBytes && state.by === 'size';
const amount = n => isWait(state.cost) || classes[state.class].isTime ? time(n) : inBytes() ? bytes(n) : count(n);

/* ---- sums over the window ---- */

/*
 * Whether a span counts towards a cost in the steps from `a` to `b` - 1. begin, end: the steps in which its
 * objects were acquired and released; peak: the step of the peak.
 */
function counts(cost, begin, end, a, b, peak) {
	const lives = end === NEVER || end >= b;
	switch (cost) {
	case 'live': return begin < b && lives;
	case 'kept': return begin >= a && begin < b && lives;
	case 'peak': return begin <= peak && (end === NEVER || end > peak);
	case 'acquired': return begin >= a && begin < b;
	case 'temporary': return begin >= a && end !== NEVER && end < b;
	case 'released': return end !== NEVER && end >= a && end < b;
	}
	return false;
}

/* Converts the change in each step to the live amount at the end of the step. */
function addUp(change) {
	for (let i = 1; i <= STEPS; i++)
		change[i] += change[i - 1];
	return change.subarray(0, STEPS);
}

/* Adds the objects of span `i` to the change in each step. */
function addSpan(change, i, values) {
	change[M.spans.acquired_step[i]] += values[i];
	if (M.spans.gone_step[i] < STEPS)
		change[M.spans.gone_step[i]] -= values[i];
}

/*
 * Returns the largest live amount of a class in each step; for several processes, the sum of their
 * largest amounts.
 */
function liveCurve(number, by) {
	return once(`live ${number} ${by} ${state.process}`, () => curveOf(number, by));
}
function curveOf(number, by) {
	const change = new Float64Array(STEPS + 1), key = by === 'size' ? 'bytes' : 'count';
	for (let i = 0; i < M.spans.rows; i++)
		if (M.sites.number[M.spans.site[i]] === number && isOfChosen(i))
			addSpan(change, i, M.spans[key]);
	const curve = addUp(change), process = state.process ? state.process - 1 : null;
	for (let i = 0; i < M.highs.rows; i++)
		if (text(M.highs.class[i]) === classes[number].name && (M.highs.process[i] ?? null) === process)
			curve[M.highs.step[i]] = Math.max(curve[M.highs.step[i]], M.highs[key][i]);
	return curve;
}

function peakStep(curve, a, b) {
	let best = a;
	for (let i = a; i < b; i++)
		if (curve[i] > curve[best])
			best = i;
	return best;
}

/*
 * Returns the cost of each site of a class in the window: its size, and its number of objects
 * (`times`).
 */
function siteCosts(cost, number, a, b) {
	const size = new Float64Array(M.sites.rows), times = new Float64Array(size.length);
	const peak = cost === 'peak' ? peakStep(liveCurve(number, 'size'), a, b) : 0;
	const spans = M.spans;
	for (let i = 0; i < spans.rows; i++) {
		const site = spans.site[i];
		const end = cost === 'peak' ? spans.gone_step[i] : spans.released_step[i];
		if (M.sites.number[site] !== number || !isOfChosen(i) || !counts(cost, spans.acquired_step[i], end, a, b, peak))
			continue;
		size[site] += spans.bytes[i];
		times[site] += spans.count[i];
	}
	return { size, times };
}

/* Returns all costs that the table of sites shows, computed in one pass. */
function allCosts(number, a, b) {
	const all = {}, { site: sites, acquired_step: acquired, released_step: released, bytes, count } = M.spans;
	for (const cost of ['live', 'kept', 'acquired', 'released', 'temporary'])
		all[cost] = { size: new Float64Array(M.sites.rows), times: new Float64Array(M.sites.rows) };
	for (let i = 0; i < M.spans.rows; i++) {
		const site = sites[i];
		if (M.sites.number[site] !== number || !isOfChosen(i))
			continue;
		const isLive = acquired[i] < b && released[i] >= b, isAcquired = acquired[i] >= a && acquired[i] < b;
		const isReleased = released[i] >= a && released[i] < b;
		const add = cost => {
			cost.size[site] += bytes[i];
			cost.times[site] += count[i];
		};
		if (isLive)
			add(all.live);
		if (isAcquired)
			add(all.acquired);
		if (isAcquired && isLive)
			add(all.kept);
		if (isReleased)
			add(all.released);
		if (isReleased && acquired[i] >= a)
			add(all.temporary);
	}
	return all;
}

/*
 * The report `peak` lists the objects that were live at the peak of one process. They are shown if
 * that peak is in the window. Otherwise, the objects that were live at the end of the step with the
 * largest amount are shown, because the model has no finer times.
 */
const PEAKS = sheet('peaks'), PEAK_SITES = sheet('peak_sites');
const peakRow = () => (PEAKS.class || []).findIndex((each, i) => text(each) === classes[state.class].name && isChosenPid(PEAKS.pid[i]));
/* Names the process of a peak if there are several. */
const ownerOfPeak = row => M.owners.rows > 1 ? ` of ${text(PEAKS.program[row])} ${PEAKS.pid[row]}` : '';
function hasPeak() {
	const row = peakRow();
	return row >= 0 && PEAKS.time[row] >= edges[state.from] && PEAKS.time[row] <= edges[state.to];
}

/* ---- waits ---- */

/*
 * Returns the time that the waits of row `i` took between the edges `from` and `to` of steps. All
 * waits of a row began in one step, W.step, and ended in one step, W.end_step. W.offset is the sum of
 * the times from the start of the first step to the start of each wait.
 */
function waitedIn(i, from, to) {
	const W = M.waits, began = W.count[i] * edges[W.step[i]] + W.offset[i];
	if (W.end_step[i] < from || W.step[i] >= to)
		return 0;
	return (W.end_step[i] >= to ? W.count[i] * edges[to] : began + W.wait_time[i]) -
		(W.step[i] < from ? W.count[i] * edges[from] : began);
}

const KINDS_OF_WAITS = ['lock', 'futex', 'semaphore', 'condition', 'thread', 'call'].filter(kind =>
	(M.waits.object_kind || []).some(each => text(each) === kind));

/* Returns the time waited in each step, by kind. */
function waitCurve(kind) {
	return once(`waits ${kind} ${state.process}`, () => {
		const waited = new Float64Array(STEPS), full = new Float64Array(STEPS + 1), W = M.waits;
		for (let i = 0; i < W.rows; i++) {
			if (!isWaitOfChosen(i) || text(W.object_kind[i]) !== kind)
				continue;
			const first = W.step[i], last = Math.min(W.end_step[i], STEPS - 1);
			waited[first] += waitedIn(i, first, first + 1);
			if (last > first)
				waited[last] += waitedIn(i, last, last + 1);
			full[Math.min(first + 1, last)] += W.count[i];
			full[last] -= W.count[i];
		}
		for (let step = 0, waiting = 0; step < STEPS; step++) {
			waiting += full[step];
			waited[step] += waiting * (edges[step + 1] - edges[step]);
		}
		return waited;
	});
}

/* A Map from nodes of the call tree to their cost in the window. */
function nodeCosts(cost) {
	const sums = new Map();
	const add = (node, value) => value && sums.set(node, (sums.get(node) || 0) + value);
	if (isWait(cost)) {
		for (let i = 0; i < M.waits.rows; i++)
			if (isWaitOfChosen(i))
				add(M.waits.backtrace[i], waitedIn(i, state.from, state.to));
		return sums;
	}
	if (cost === 'peak' && hasPeak()) {
		for (let i = 0; i < PEAK_SITES.rows; i++)
			if (text(PEAK_SITES.class[i]) === classes[state.class].name)
				add(PEAK_SITES.backtrace[i], inBytes() ? PEAK_SITES.amount[i] : PEAK_SITES.count[i]);
		return sums;
	}
	const { size, times } = siteCosts(cost, state.class, state.from, state.to);
	const values = inBytes() ? size : times;
	for (let site = 0; site < values.length; site++)
		add(M.sites.backtrace[site], values[site]);
	return sums;
}

/* The frames of a node, outermost first. All views share the array, so it is frozen. */
function framesOf(node) {
	return once('frames' + node, () => {
		const frames = [];
		for (; node !== null && node >= 0; node = page.nodes.parent[node])
			frames.push(page.nodes.frame[node]);
		return Object.freeze(frames.reverse());
	});
}

const functionOf = frame => text(page.frames.function[frame]) || '?';
function placeOf(frame) {
	const file = text(page.frames.file[frame]), module = text(page.frames.module[frame]);
	return file ? file + (page.frames.line[frame] ? ':' + page.frames.line[frame] : '') : module;
}

/* The window in words. */
function windowText() {
	const from = edges[state.from], to = edges[state.to];
	return state.from === 0 && state.to === STEPS ? 'the whole run, ' + time(to)
		: time(from) + ' to ' + time(to);
}

