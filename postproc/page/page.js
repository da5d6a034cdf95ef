/* SPDX-License-Identifier: MIT */
/*
 * The page of a run. The model (tables of --format=model) holds sums: the acquisitions and releases
 * of each site by bins of time. Each view computes its numbers from these sums for the chosen
 * window, so a brush over the timeline filters all of them. Names are hostile: they are only ever
 * inserted as text.
 */
'use strict';
(async function () {

/* ---- the model ---- */

async function unpack(text) {
	const bytes = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return JSON.parse(await new Response(stream).text());
}

const $ = id => document.getElementById(id);
let page;
try {
	page = await unpack($('model').textContent);
} catch (error) {
	$('about').textContent = 'This page is damaged: its data cannot be read (' + error.message + ').';
	return;
}

/*
 * The page has the tables of reports, column by column: { name, title, note, columns: [{ name,
 * kind, heading, meaning }], values: [[...]] }. A text is an index into strings, a backtrace the
 * index of a node of the call tree, an unknown value null.
 */
function sheet(name) {
	const found = page.sheets.find(each => each.name === name);
	const columns = { rows: found && found.values.length ? found.values[0].length : 0 };
	for (const [i, column] of (found ? found.columns : []).entries())
		columns[column.name] = found.values[i];
	return columns;
}

const text = i => i === null || i === undefined || i < 0 ? '' : page.strings[i];
const M = { bins: sheet('bins'), sites: sheet('sites'), spans: sheet('spans'), waits: sheet('waits_by_step'), owners: sheet('process_list'),
	marks: sheet('marks'), highs: sheet('highs'), longWaits: sheet('longest_waits'), longHolds: sheet('long_holds') };
const BINS = M.bins.rows - 1;
const edges = M.bins.time;
const NEVER = 1 << 30;
for (const name of ['site', 'acquired_step', 'count', 'bytes'])
	M.spans[name] = Float64Array.from(M.spans[name] || []);
M.spans.released_step = Int32Array.from(M.spans.released_step || [], step => step === null ? NEVER : step);
/* From this step on it is not live: it was released, or its process has ended before. */
M.spans.gone_step = M.spans.released_step.map((step, i) => step !== NEVER ? step : (M.spans.ended_step[i] ?? NEVER) + 1);

/* Units of columns whose rows have different units. */
const UNITS = ['count', 'bytes', 'ns'];

/* Classes are numbered as they appear, and have units. */
const classes = [];
M.sites.number = (M.sites.class || []).map((name, i) => {
	let number = classes.findIndex(each => each.name === text(name));
	if (number < 0)
		number = classes.push({ name: text(name), isBytes: !!M.sites.has_bytes[i] }) - 1;
	return number;
});
/* A comparison of two runs has the classes that differ. */
const D = sheet('diff'), DIFF = page.sheets.find(each => each.name === 'diff');
D.number = (D.class || []).map((name, row) => {
	const { kind, units } = DIFF.columns.find(each => each.name === 'new'), unit = units ? UNITS[units[row]] : kind;
	let number = classes.findIndex(each => each.name === text(name));
	if (number < 0)
		number = classes.push({ name: text(name), isBytes: unit === 'bytes', isTime: unit === 'ns' }) - 1;
	return number;
});
if (!classes.length)
	classes.push({ name: 'nothing', isBytes: false });

/* Spans by site: bySite[spansOf[site]] up to bySite[spansOf[site + 1]]. */
const spansOf = new Uint32Array(M.sites.rows + 2), bySite = new Uint32Array(M.spans.rows);
for (let i = 0; i < M.spans.rows; i++)
	spansOf[M.spans.site[i] + 2]++;
for (let site = 2; site < spansOf.length; site++)
	spansOf[site] += spansOf[site - 1];
for (let i = 0; i < M.spans.rows; i++)
	bySite[spansOf[M.spans.site[i] + 1]++] = i;

/* If spans distinguish processes, one can be chosen: 0: all; else a row of owners, + 1. */
const PROCESSES = (M.spans.process || []).some(each => each !== null) ? M.owners.rows : 0;
const isOfChosen = span => !state.process || M.spans.process[span] === state.process - 1;
const isWaitOfChosen = wait => !state.process || M.waits.process[wait] === state.process - 1;
const isChosenPid = pid => !state.process || pid === M.owners.pid[state.process - 1];

/* Caches a result that follows from the model alone. */
const known = new Map();
function once(key, compute) {
	if (!known.has(key))
		known.set(key, compute());
	return known.get(key);
}

const COSTS = {
	live: { name: 'live at the end of the window' },
	kept: { name: 'allocated in the window and live at its end' },
	peak: { name: 'live at the peak of the window' },
	acquired: { name: 'allocated in the window' },
	temporary: { name: 'allocated and freed in the window' },
	released: { name: 'freed in the window' },
	wait_time: { name: 'time waited', isWait: true },
};

/* ---- the state, which is in the URL, so that it can be sent ---- */

const state = { from: 0, to: BINS, tab: 'flame', cost: 'live', by: 'size', class: 0, process: 0, tree: 'down',
	search: '', zoom: '' };

function readState() {
	const said = new URLSearchParams(location.hash.slice(1));
	const number = (key, least, most, otherwise) => {
		const value = parseInt(said.get(key), 10);
		return value >= least && value <= most ? value : otherwise;
	};
	state.from = number('from', 0, BINS - 1, 0);
	state.to = number('to', state.from + 1, BINS, BINS);
	state.class = number('class', 0, classes.length - 1, 0);
	state.process = number('process', 0, PROCESSES, 0);
	state.cost = said.get('cost') in COSTS ? said.get('cost') : 'live';
	state.by = said.get('by') === 'count' ? 'count' : 'size';
	state.tab = TABS.some(tab => tab.id === said.get('tab')) ? said.get('tab') : TABS[0].id;
	/* an address without a state shows the first finding */
	if (!location.hash.slice(1) && FINDINGS.rows)
		Object.assign(state, pictureOf(0), { tab: TABS.some(tab => tab.id === pictureOf(0).tab) ? pictureOf(0).tab : state.tab });
	state.tree = ['down', 'up', 'both'].includes(said.get('tree')) ? said.get('tree') : 'down';
	state.search = said.get('search') || '';
	state.zoom = said.get('zoom') || '';
}

/* The tab is always said: an address without a state is that of the first finding. */
const INITIAL = { ...state, tab: '' };

function addressOf(chosen) {
	const said = new URLSearchParams();
	for (const key in INITIAL)
		if (chosen[key] !== INITIAL[key])
			said.set(key, chosen[key]);
	return '#' + said;
}

function choose(changes, replace) {
	Object.assign(state, changes);
	if (replace !== 'not yet') /* while a brush is drawn: browsers refuse hundreds of states */
		history[replace ? 'replaceState' : 'pushState'](null, '', addressOf(state));
	draw();
}

/* ---- numbers as people read them: as the text reports have them (base/human.c) ---- */

function bytes(n) {
	const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
	let i = 0;
	while (Math.abs(n) >= (i ? 999.95 : 1000) && i < units.length - 1) {
		n /= 1000;
		i++;
	}
	return (i ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}
function time(ns) {
	if (ns < 1000)
		return Math.round(ns) + ' ns';
	for (const [below, unit, word] of [[1e5, 1e3, 'us'], [1e9, 1e6, 'ms'], [12e10, 1e9, 's']]) {
		const tenths = Math.floor((ns + unit / 20) / (unit / 10));
		if (ns < below)
			return (tenths / 10).toFixed(tenths < 1000 && tenths % 10 ? 1 : 0) + ' ' + word;
	}
	const seconds = Math.floor(ns / 1e9), minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const count = n => Math.round(n).toLocaleString('en');
const isWait = cost => !!COSTS[cost].isWait;
const inBytes = () => classes[state.class].isBytes && state.by === 'size';
const amount = n => isWait(state.cost) || classes[state.class].isTime ? time(n) : inBytes() ? bytes(n) : count(n);

/* ---- sums over the window ---- */

/* Whether a span counts for a cost in the window [a, b) of bins; peak: the bin of the peak. */
function counts(cost, gain, loss, a, b, peak) {
	const lives = loss === NEVER || loss >= b;
	switch (cost) {
	case 'live': return gain < b && lives;
	case 'kept': return gain >= a && gain < b && lives;
	case 'peak': return gain <= peak && (loss === NEVER || loss > peak);
	case 'acquired': return gain >= a && gain < b;
	case 'temporary': return gain >= a && loss !== NEVER && loss < b;
	case 'released': return loss !== NEVER && loss >= a && loss < b;
	}
	return false;
}

/* Adds up changes by bin: what is live at the end of each. */
function addUp(change) {
	for (let i = 1; i <= BINS; i++)
		change[i] += change[i - 1];
	return change.subarray(0, BINS);
}

/* Adds the objects of a span to changes by bin. */
function addSpan(change, i, values) {
	change[M.spans.acquired_step[i]] += values[i];
	if (M.spans.gone_step[i] <= BINS)
		change[M.spans.gone_step[i]] -= values[i];
}

/* The most of a class that was live in each bin; of several processes, the sum of the most of each. */
function liveCurve(number, by) {
	return once(`live ${number} ${by} ${state.process}`, () => curveOf(number, by));
}
function curveOf(number, by) {
	const change = new Float64Array(BINS + 1), key = by === 'size' ? 'bytes' : 'count';
	for (let i = 0; i < M.spans.rows; i++)
		if (M.sites.number[M.spans.site[i]] === number && isOfChosen(i))
			addSpan(change, i, M.spans[key]);
	const curve = addUp(change);
	for (let i = 0; i < M.highs.rows; i++)
		if (text(M.highs.class[i]) === classes[number].name && (!state.process || M.highs.process[i] === state.process - 1))
			curve[M.highs.step[i]] += M.highs[key][i];
	return curve;
}

function peakBin(curve, a, b) {
	let best = a;
	for (let i = a; i < b; i++)
		if (curve[i] > curve[best])
			best = i;
	return best;
}

/* The cost of each site of the class in the window, by size and by number. */
function siteCosts(cost, number, a, b) {
	const size = new Float64Array(M.sites.rows), times = new Float64Array(size.length);
	const peak = cost === 'peak' ? peakBin(liveCurve(number, 'size'), a, b) : 0;
	const spans = M.spans;
	for (let i = 0; i < spans.rows; i++) {
		const site = spans.site[i];
		if (M.sites.number[site] !== number || !isOfChosen(i) || !counts(cost, spans.acquired_step[i], spans.released_step[i], a, b, peak))
			continue;
		size[site] += spans.bytes[i];
		times[site] += spans.count[i];
	}
	return { size, times };
}

/* All costs of the table of sites, in one pass. */
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
 * The report on peaks has what was live at the peak of one process. It is asked if that moment is in
 * the window; else the end of the bin in which most was live is the best that bins can tell.
 */
const PEAKS = sheet('peaks'), PEAK_SITES = sheet('peak_sites');
function hasPeak() {
	const row = (PEAKS.class || []).findIndex(each => text(each) === classes[state.class].name);
	return row >= 0 && PEAKS.time[row] >= edges[state.from] && PEAKS.time[row] <= edges[state.to] && isChosenPid(PEAKS.pid[row]);
}

/* ---- waits ---- */

/*
 * The part of waits that is in a window from one edge to another. A row has waits that began in the
 * same bin and ended in the same bin; offset is the sum of their beginnings from the edge of the
 * first bin.
 */
function waitedIn(i, from, to) {
	const W = M.waits, began = W.count[i] * edges[W.step[i]] + W.offset[i];
	if (W.end_step[i] < from || W.step[i] >= to)
		return 0;
	return (W.end_step[i] >= to ? W.count[i] * edges[to] : began + W.wait_time[i]) -
		(W.step[i] < from ? W.count[i] * edges[from] : began);
}

const KINDS_OF_WAITS = ['lock', 'semaphore', 'condition', 'thread', 'call'].filter(kind =>
	(M.waits.object_kind || []).some(each => text(each) === kind));

/* Time waited in each bin, by kind. */
function waitCurve(kind) {
	return once(`waits ${kind} ${state.process}`, () => {
		const waited = new Float64Array(BINS), full = new Float64Array(BINS + 1), W = M.waits;
		for (let i = 0; i < W.rows; i++) {
			if (!isWaitOfChosen(i) || text(W.object_kind[i]) !== kind)
				continue;
			const first = W.step[i], last = Math.min(W.end_step[i], BINS - 1);
			waited[first] += waitedIn(i, first, first + 1);
			if (last > first)
				waited[last] += waitedIn(i, last, last + 1);
			full[Math.min(first + 1, last)] += W.count[i];
			full[last] -= W.count[i];
		}
		for (let bin = 0, waiting = 0; bin < BINS; bin++) {
			waiting += full[bin];
			waited[bin] += waiting * (edges[bin + 1] - edges[bin]);
		}
		return waited;
	});
}

/* Sums by node of the call tree: [node, value] pairs. */
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

/* Frames of a node, outermost first. All views share them. */
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

/* The window as words. */
function windowText() {
	const from = edges[state.from], to = edges[state.to];
	return state.from === 0 && state.to === BINS ? 'the whole run, ' + time(to)
		: time(from) + ' to ' + time(to);
}

/* ---- small parts of pages ---- */

function make(name, attributes, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key.startsWith('on'))
			element.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== false)
			element.setAttribute(key, value === true ? '' : value);
	}
	element.append(...children.filter(child => child !== undefined && child !== null));
	return element;
}
const clear = element => { element.replaceChildren(); return element; };
/* Caches computed styles for one frame. */
const style = new Map();
function styled(name, ask) {
	if (!style.has(name))
		style.set(name, ask());
	return style.get(name);
}
const colour = name => styled(name, () => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());

function showTip(event, words) {
	const tip = $('tip');
	tip.hidden = !words;
	if (!words)
		return;
	tip.textContent = words;
	const width = tip.offsetWidth, height = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + 'px';
	tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 8 : event.clientY + 18) + 'px';
}

/* Sizes a canvas to a height in CSS pixels, sharp on every screen. */
function paper(canvas, height) {
	const scale = devicePixelRatio || 1, width = canvas.clientWidth || 600;
	if (height)
		canvas.style.height = height + 'px';
	height = height || canvas.clientHeight;
	canvas.width = width * scale;
	canvas.height = height * scale;
	const context = canvas.getContext('2d');
	context.scale(scale, scale);
	context.font = '12px ui-monospace, "DejaVu Sans Mono", monospace';
	context.textBaseline = 'middle';
	return { context, width, height };
}

function hue(name, strength) {
	return styled(`hue ${strength} ${name}`, () => findHue(name, strength));
}
function findHue(name, strength) {
	let hash = 7;
	for (let i = 0; i < name.length; i++)
		hash = (hash * 31 + name.charCodeAt(i)) % 360;
	return `hsl(${hash} ${strength || 55}% ${isDark() ? 34 : 76}%)`;
}
const isDark = () => styled('is dark', findDark);
function findDark() {
	const theme = document.documentElement.dataset.theme;
	return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function stack(node, title) {
	if (node === null || node < 0)
		return make('div', {}, title ? make('h3', {}, title) : null, make('span', { class: 'faint' }, 'not known'));
	const list = make('ul', { class: 'stack mono' });
	for (const frame of framesOf(node).slice().reverse())
		list.append(make('li', { class: page.frames.own[frame] ? undefined : 'outside' },
			functionOf(frame), ' ', make('span', { class: 'faint' }, placeOf(frame))));
	return make('div', {}, title ? make('strong', {}, title) : null, list);
}

/* A backtrace as text reports print it: the program's own functions first. */
const siteName = node => node === null ? '' : text(page.words[node]) || functionOf(page.nodes.frame[node]);

/*
 * A table that sorts by its headings. columns: { name, value(row), text(row), number }.
 * detail(row): shown below a row when it is opened. Rows after the first hundred are added on
 * request.
 */
const sorting = {};
function table(id, columns, rows, detail, isSorted) {
	const order = sorting[id] || (sorting[id] = { column: isSorted ? -1 : columns.findIndex(c => c.number), falls: true });
	const key = columns[order.column];
	const sign = order.falls ? -1 : 1;
	if (key)
		rows = rows.slice().sort((a, b) => {
			const x = key.value(a), y = key.value(b);
			return (x < y ? -1 : x > y ? 1 : 0) * sign;
		});
	const body = make('tbody');
	let shown = 0;
	function more() {
		for (const row of rows.slice(shown, shown + 100))
			body.append(line(row));
		shown = Math.min(rows.length, shown + 100);
		button.hidden = shown === rows.length;
		button.textContent = `show more (${count(rows.length - shown)} left)`;
	}
	function line(row) {
		const cells = columns.map(c => make('td', { class: c.number ? 'number' : undefined },
			c.draw ? c.draw(row) : c.text ? c.text(row) : String(c.value(row))));
		const element = make('tr', detail ? { tabindex: 0 } : {}, ...cells);
		const toggle = () => {
			if (element.classList.toggle('open'))
				element.after(make('tr', { class: 'open' }, make('td', { colspan: columns.length }, detail(row))));
			else
				element.nextSibling.remove();
		};
		if (detail) {
			element.addEventListener('click', toggle);
			element.addEventListener('keydown', event => event.key === 'Enter' && toggle());
		}
		return element;
	}
	const head = make('tr', {}, ...columns.map((c, i) => make('th', {
		class: c.number ? 'number' : undefined,
		'aria-sort': i === order.column ? (order.falls ? 'descending' : 'ascending') : undefined,
	}, make('button', { type: 'button', title: c.meaning, onclick: () => {
		order.falls = order.column === i ? !order.falls : !!c.number;
		order.column = i;
		draw();
	} }, c.name + (i === order.column ? (order.falls ? ' ▾' : ' ▴') : '')))));
	const button = make('button', { type: 'button', onclick: more });
	more();
	return make('div', { class: 'wide' }, make('table', {}, make('thead', {}, head), body), button);
}

/* ---- timeline ---- */

const LARGEST = 8;

/* The largest sites of the class as layers, and a layer for the rest. */
function layers() {
	const by = inBytes() ? 'bytes' : 'count', totals = new Map();
	for (let i = 0; i < M.spans.rows; i++) {
		const site = M.spans.site[i];
		if (M.sites.number[site] !== state.class || !isOfChosen(i))
			continue;
		const life = Math.min(M.spans.gone_step[i], BINS) - M.spans.acquired_step[i];
		totals.set(site, (totals.get(site) || 0) + M.spans[by][i] * life);
	}
	const largest = [...totals].sort((a, b) => b[1] - a[1]).slice(0, LARGEST).map(entry => entry[0]);
	const curves = new Map(largest.concat(-1).map(site => [site, new Float64Array(BINS + 1)]));
	for (let i = 0; i < M.spans.rows; i++) {
		const site = M.spans.site[i];
		if (M.sites.number[site] !== state.class || !isOfChosen(i))
			continue;
		addSpan(curves.get(site) || curves.get(-1), i, M.spans[by]);
	}
	curves.forEach(addUp);
	return curves;
}

const LEFT = 150;

/* Draws a grid of round times, and their names below it. */
function drawTicks(context, from, to, x, bottom) {
	const least = (to - from) / Math.max(2, (x(to) - x(from)) / 110), power = 10 ** Math.floor(Math.log10(least));
	const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= least);
	context.textAlign = 'left';
	for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
		context.fillStyle = colour('line');
		context.fillRect(x(at), 4, 1, bottom - 4);
		context.fillStyle = colour('faint');
		const words = at ? time(at) : '0';
		if (x(at) + context.measureText(words).width < x(to))
			context.fillText(words, x(at), bottom + 10);
	}
}

function drawTimeline() {
	const waiting = KINDS_OF_WAITS.length ? 56 : 0;
	const { context, width, height } = paper($('timeline'), (innerWidth < 600 ? 110 : 150) + waiting);
	const bottom = height - 18 - waiting, plot = width - LEFT - 6;
	const x = edge => LEFT + plot * edges[edge] / edges[BINS];
	const curves = once(`layers ${state.class} ${inBytes()} ${state.process}`, layers);
	const highest = liveCurve(state.class, inBytes() ? 'size' : 'count');
	const most = Math.max(1e-9, ...highest), y = value => bottom - (bottom - 8) * value / most;
	const base = new Float64Array(BINS);
	context.lineWidth = 1;
	for (const [site, curve] of curves) {
		context.beginPath();
		for (let i = 0; i < BINS; i++) {
			context.lineTo(x(i), y(base[i] + curve[i]));
			context.lineTo(x(i + 1), y(base[i] + curve[i]));
		}
		for (let i = BINS; i-- > 0;) {
			context.lineTo(x(i + 1), y(base[i]));
			context.lineTo(x(i), y(base[i]));
		}
		context.fillStyle = site < 0 ? colour('line') : hue('site' + M.sites.backtrace[site] * 77);
		context.fill();
		for (let i = 0; i < BINS; i++)
			base[i] += curve[i];
	}
	/* what was live for a part of the bin only, at least a pixel wide */
	context.fillStyle = colour('faint');
	context.globalAlpha = 0.5;
	for (let i = 0; i < BINS; i++)
		if (highest[i] > base[i])
			context.fillRect(x(i), y(highest[i]), Math.max(1, x(i + 1) - x(i)), Math.max(1, y(base[i]) - y(highest[i])));
	context.globalAlpha = 1;
	if (waiting)
		drawWaiting(context, x, bottom + 10, height - 18);
	context.fillStyle = colour('faint');
	context.textAlign = 'right';
	context.fillText(inBytes() ? bytes(most) : count(most), LEFT - 6, 12);
	context.fillText(classes[state.class].name, LEFT - 6, 28);
	context.fillText('0', LEFT - 6, bottom - 4);
	context.textAlign = 'left';
	drawTicks(context, 0, edges[BINS], at => LEFT + plot * at / edges[BINS], height - 18);
	for (let i = 0; i < M.marks.rows; i++) {
		const at = LEFT + plot * M.marks.time[i] / edges[BINS];
		context.fillStyle = colour('accent');
		context.fillRect(at, 4, 1, bottom - 4);
		context.fillText(text(M.marks.text[i]).slice(0, 24), at + 3, 10);
	}
	if (state.from > 0 || state.to < BINS) {
		context.fillStyle = colour('select');
		context.fillRect(x(state.from), 0, x(state.to) - x(state.from), height - 18);
	}
	context.fillStyle = colour('accent');
	context.fillRect(x(state.from) - 1, 0, 2, height - 18);
	context.fillRect(x(state.to) - 1, 0, 2, height - 18);
	const slider = $('timeline');
	slider.setAttribute('aria-valuetext', windowText());
	slider.setAttribute('aria-valuemin', 0);
	slider.setAttribute('aria-valuemax', BINS);
	slider.setAttribute('aria-valuenow', state.from);
}

/* Draws how many threads waited on average in each bin, by kind. */
function drawWaiting(context, x, top, bottom) {
	const curves = KINDS_OF_WAITS.map(waitCurve), length = i => edges[i + 1] - edges[i];
	let most = 0;
	for (let i = 0; i < BINS; i++)
		most = Math.max(most, curves.reduce((sum, curve) => sum + curve[i], 0) / length(i));
	const scale = (bottom - top) / Math.max(most, 1e-9);
	for (let i = 0; i < BINS; i++) {
		let base = bottom;
		for (const [k, curve] of curves.entries()) {
			const height = scale * curve[i] / length(i);
			context.fillStyle = colour('wait-' + KINDS_OF_WAITS[k]);
			if (height > 0)
				context.fillRect(x(i), base - height, Math.max(1, x(i + 1) - x(i)), height);
			base -= height;
		}
	}
	context.fillStyle = colour('faint');
	context.textAlign = 'right';
	context.fillText('waiting threads', LEFT - 6, top + 6);
	context.fillText((most < 9.95 ? most.toFixed(1).replace('.0', '') : count(most)) + ' at most', LEFT - 6, top + 22);
}

function binAt(event) {
	const canvas = $('timeline'), box = canvas.getBoundingClientRect();
	const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - 6);
	const at = Math.max(0, Math.min(1, share)) * edges[BINS];
	let low = 0, high = BINS;
	while (low < high) {
		const middle = low + high + 1 >> 1;
		if (edges[middle] <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return Math.min(low, BINS - 1);
}

function listenTimeline() {
	const canvas = $('timeline');
	let begun = -1, before;
	canvas.addEventListener('pointerdown', event => {
		begun = binAt(event);
		before = { from: state.from, to: state.to };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener('pointermove', event => {
		const bin = binAt(event);
		if (begun >= 0) {
			const from = Math.min(begun, bin), to = Math.max(begun, bin) + 1;
			if (from !== state.from || to !== state.to)
				choose({ from, to }, 'not yet');
		}
		const curve = liveCurve(state.class, inBytes() ? 'size' : 'count');
		showTip(event, `${time(edges[bin])} to ${time(edges[bin + 1])}\n${classes[state.class].name}: ` +
			(inBytes() ? bytes(curve[bin]) : count(curve[bin])) + ' at most');
	});
	canvas.addEventListener('pointerup', event => {
		if (begun >= 0 && binAt(event) === begun)
			choose({ from: 0, to: BINS });
		else if (begun >= 0)
			choose({});
		begun = -1;
	});
	canvas.addEventListener('pointerleave', event => showTip(event, ''));
	canvas.addEventListener('keydown', event => {
		const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
		if (!step)
			return;
		event.preventDefault();
		if (event.shiftKey)
			choose({ to: Math.max(state.from + 1, Math.min(BINS, state.to + step)) }, true);
		else
			choose({ from: Math.max(0, Math.min(state.to - 1, state.from + step)) }, true);
	});
}

function drawWindows() {
	const row = clear($('windows'));
	const curve = liveCurve(state.class, 'size');
	const button = (words, from, to, cost) => row.append(make('button', { type: 'button',
		'aria-pressed': String(state.from === from && state.to === to && (!cost || state.cost === cost)),
		onclick: () => choose({ from, to, cost: cost || state.cost }) }, words));
	const chooser = make('select', { 'aria-label': 'class', onchange: event => choose({ class: Number(event.target.value), zoom: '' }) });
	classes.forEach((c, i) => chooser.append(make('option', { value: i, selected: i === state.class }, c.name)));
	row.append(chooser);
	if (PROCESSES > 1) {
		const owners = make('select', { 'aria-label': 'process', onchange: event => choose({ process: Number(event.target.value), zoom: '' }) },
			make('option', { value: 0, selected: !state.process }, `all ${count(PROCESSES)} processes`));
		for (let i = 0; i < PROCESSES; i++)
			owners.append(make('option', { value: i + 1, selected: state.process === i + 1 }, `${M.owners.pid[i]} ${text(M.owners.program[i])}`));
		row.append(owners);
	} else if (M.owners.rows > 1) {
		row.append(make('span', { class: 'faint' }, 'processes are not distinguished; for one: holdtrace report --format=html --process='));
	}
	button('whole run', 0, BINS);
	button('up to the peak', 0, peakBin(curve, 0, BINS) + 1, 'peak');
	/* a generation is the time between two marks */
	const binOf = at => Math.max(0, edges.findIndex(edge => edge >= at));
	for (let i = 0; i + 1 < Math.min(M.marks.rows, 8); i++) {
		const from = binOf(M.marks.time[i]), to = Math.max(from + 1, binOf(M.marks.time[i + 1]));
		button(`${text(M.marks.text[i])} … ${text(M.marks.text[i + 1])}`, from, Math.min(to, BINS));
	}
	row.append(make('span', { class: 'faint push' }, windowText()));
	if (KINDS_OF_WAITS.length)
		row.append(make('span', {}, 'waits for a', ...KINDS_OF_WAITS.flatMap(kind => [make('span', { class: 'key key-' + kind }), kind])));
}

/* ---- flame graph ---- */

/* A tree of { frame, value, children: Map } from backtraces with values. */
function grow(paths) {
	const root = { frame: -1, value: 0, children: new Map() };
	for (const [frames, value] of paths) {
		let at = root;
		root.value += value;
		if (!frames.length)
			root.rest = (root.rest || 0) + value;
		for (const frame of frames) {
			let child = at.children.get(frame);
			if (!child)
				at.children.set(frame, child = { frame, value: 0, children: new Map(), parent: at });
			child.value += value;
			at = child;
		}
	}
	return root;
}

/*
 * Nodes by their parent, which precedes them: list[first[p + 1]] up to list[first[p + 2]] have
 * parent p.
 */
function nodesByParent() {
	const parents = page.nodes.parent, first = new Uint32Array(parents.length + 3), list = new Uint32Array(parents.length);
	for (const parent of parents)
		first[parent + 3]++;
	for (let i = 1; i < first.length; i++)
		first[i] += first[i - 1];
	for (let i = 0; i < parents.length; i++)
		list[first[parents[i] + 2]++] = i;
	return { first, list };
}

/*
 * The call tree with sums, callers first. The children of a branch are made when they are asked
 * for.
 */
function callTree(sums) {
	const parents = page.nodes.parent, values = new Float64Array(parents.length + 1);
	const { first, list } = once('nodes by parent', nodesByParent);
	for (const [node, value] of sums)
		values[node === null ? values.length - 1 : node] += value;
	let all = values[values.length - 1];
	for (let i = parents.length; i-- > 0;)
		if (parents[i] >= 0)
			values[parents[i]] += values[i];
		else
			all += values[i];
	/* Nodes of one function, which the same callers called, are one branch. */
	const same = once('same frames', sameFrames);
	class Branch {
		constructor(nodes, parent) {
			this.nodes = nodes;
			this.parent = parent;
			this.frame = nodes[0] < 0 ? -1 : same[page.nodes.frame[nodes[0]]];
			this.value = nodes[0] < 0 ? all : nodes.reduce((sum, node) => sum + values[node], 0);
		}
		get children() {
			const groups = new Map();
			for (const node of this.nodes)
				for (let at = first[node + 1]; at < first[node + 2]; at++) {
					const frame = same[page.nodes.frame[list[at]]];
					if (values[list[at]] > 0)
						groups.set(frame, (groups.get(frame) || []).concat(list[at]));
				}
			return new Map([...groups].map(([frame, nodes]) => [frame, new Branch(nodes, this)]));
		}
	}
	const root = new Branch([-1]);
	root.rest = values[values.length - 1];
	return root;
}

const ROW = 19, DEPTH_MOST = 400;

/* How a tree is drawn: its numbers, colours, and the text of a function. */
const PLAIN = {
	value: node => node.value,
	order: node => node.value,
	fill: node => hue(text(page.frames.module[node.frame]) || functionOf(node.frame), state.search ? 8 : 55),
	said: (node, tree) => `${amount(node.value)}, ${(100 * node.value / tree.value).toFixed(1)} % of the tree`,
};

/* Lays out the boxes that are wide enough to be seen, outermost first. */
function layOut(tree, width, { value, order }) {
	const boxes = [], wanted = state.search.toLowerCase();
	let matched = 0, depth = 0;
	const box = (node, x, w, level, inMatch) => {
		const name = node.frame < 0 ? `all: ${amount(value(node))}` : functionOf(node.frame);
		const isMatch = wanted && node.frame >= 0 && (name + ' ' + placeOf(node.frame)).toLowerCase().includes(wanted);
		if (isMatch && !inMatch)
			matched += value(node);
		depth = Math.max(depth, level);
		boxes.push({ node, x, w, level, name, isMatch });
		let at = x, small = 0, smallSum = node.rest || 0;
		for (const child of [...node.children.values()].sort((a, b) => order(b) - order(a))) {
			const part = w * value(child) / value(node);
			if (part < 0.5 || level >= DEPTH_MOST) {
				small++;
				smallSum += value(child);
				continue;
			}
			box(child, at, part, level + 1, inMatch || isMatch);
			at += part;
		}
		/* what is too small to be drawn, together, and call sites that the model has only sums of */
		const part = w * smallSum / value(node);
		if (part >= 0.5)
			boxes.push({ node, x: at, w: part, level: level + 1, rest: smallSum,
				name: (node.rest ? 'smaller call sites' : `${count(small)} smaller`) + `: ${amount(smallSum)}` });
		depth = Math.max(depth, level + (part >= 0.5));
	};
	/* the way to the tree stays above it, and leads back */
	const above = [];
	for (let node = tree.parent; node; node = node.parent)
		above.unshift(node);
	above.forEach((node, level) => boxes.push({ node, x: 0, w: width, level, isAbove: true,
		name: node.frame < 0 ? `all: ${amount(value(node))}` : functionOf(node.frame) }));
	if (value(tree) > 0)
		box(tree, 0, width, above.length, false);
	return { boxes, matched, depth };
}

function drawTree(canvas, tree, pick, way = PLAIN, share = 1) {
	const { boxes, matched, depth } = layOut(tree, (canvas.clientWidth || 600) * share, way);
	const { context } = paper(canvas, (depth + 1) * ROW + 2);
	for (const { node, x, w, level, name, isMatch, rest, isAbove } of boxes) {
		context.fillStyle = isMatch ? colour('busy') : rest ? colour('line') : isAbove ? colour('panel') : node.frame < 0 ? colour('panel')
			: way.fill(node);
		context.fillRect(x, level * ROW, Math.max(w - 0.5, 0.5), ROW - 1);
		if (w > 30) {
			context.fillStyle = isMatch ? '#000' : colour('ink');
			const room = Math.floor((w - 8) / 7.3);
			context.fillText(name.length > room ? name.slice(0, Math.max(room - 1, 1)) + '…' : name, x + 4, level * ROW + ROW / 2);
		}
	}
	const find = event => {
		const area = canvas.getBoundingClientRect(), x = event.clientX - area.left;
		const level = Math.floor((event.clientY - area.top) / ROW);
		return boxes.find(b => b.level === level && x >= b.x && x < b.x + b.w);
	};
	canvas.onpointermove = event => {
		const found = find(event);
		showTip(event, found && (found.rest ? found.name : `${found.name}\n${found.node.frame < 0 ? '' : placeOf(found.node.frame) + '\n'}` +
			way.said(found.node, tree)));
	};
	canvas.onpointerleave = event => showTip(event, '');
	canvas.onclick = event => {
		const found = find(event);
		if (found)
			pick(found.node);
	};
	return matched;
}

function pathOf(node) {
	const path = [];
	for (; node && node.frame >= 0; node = node.parent)
		path.push(node.frame);
	return path.reverse().join('.');
}

function follow(tree, path) {
	for (const frame of path ? path.split('.').map(Number) : []) {
		const next = tree.children.get(frame);
		if (!next)
			return tree;
		tree = next;
	}
	return tree;
}

/* The callers of a function, and its callees. */
function sandwich(sums, frame) {
	const up = [], down = [], name = page.frames.function[frame];
	for (const [node, value] of sums) {
		const frames = framesOf(node), first = frames.findIndex(f => page.frames.function[f] === name);
		if (first < 0)
			continue;
		up.push([frames.slice(0, first + 1).reverse(), value]);
		down.push([frames.slice(first), value]);
	}
	return { up: grow(up), down: grow(down) };
}

function viewFlame(view) {
	const sums = nodeCosts(state.cost);
	const total = [...sums.values()].reduce((a, b) => a + b, 0);
	const controls = make('div', { class: 'row' });
	const costs = make('select', { 'aria-label': 'cost', onchange: event => choose({ cost: event.target.value, zoom: '' }) });
	for (const cost in COSTS)
		costs.append(make('option', { value: cost, selected: cost === state.cost }, COSTS[cost].name));
	controls.append(costs);
	if (classes[state.class].isBytes && !isWait(state.cost))
		for (const by of ['size', 'count'])
			controls.append(make('button', { type: 'button', 'aria-pressed': String(state.by === by), onclick: () => choose({ by }) },
				by === 'size' ? 'bytes' : 'number'));
	for (const [tree, words] of [['down', 'callers first'], ['up', 'callees first'], ['both', 'sandwich']])
		controls.append(make('button', { type: 'button', 'aria-pressed': String(state.tree === tree),
			onclick: () => choose({ tree, zoom: '' }) }, words));
	controls.append(searchBox());
	const said = make('span', { class: 'faint push' });
	controls.append(said);
	const canvas = make('canvas', { role: 'img', 'aria-label': 'flame graph: ' + COSTS[state.cost].name });
	view.append(controls, canvas);
	if (total === 0) {
		canvas.remove();
		view.append(make('p', { class: 'faint' }, `Nothing: ${COSTS[state.cost].name}, ${windowText()}.`));
		return;
	}
	if (state.tree === 'both' && state.zoom) {
		const { up, down } = sandwich(sums, Number(state.zoom.split('.').pop()));
		view.append(make('h2', {}, 'and what it calls'));
		const below = make('canvas', {});
		view.append(below);
		const pick = node => node.frame >= 0 && choose({ zoom: String(node.frame) });
		drawTree(canvas, up, pick);
		drawTree(below, down, pick);
		view.prepend(make('p', {}, functionOf(Number(state.zoom.split('.').pop())), ' ', make('span', { class: 'faint' }, `${amount(up.value)}; above: its callers`)));
		return;
	}
	const tree = state.tree === 'up'
		? grow([...sums].map(([node, value]) => [framesOf(node).slice().reverse(), value]))
		: callTree(sums);
	const shown = follow(tree, state.tree === 'both' ? '' : state.zoom);
	const matched = drawTree(canvas, shown, node => state.tree === 'both'
		? node.frame >= 0 && choose({ zoom: String(node.frame) })
		: choose({ zoom: pathOf(node) }));
	if (shown.frame >= 0 && state.tree === 'down')
		view.append(framePanel(shown, tree));
	said.textContent = `${amount(total)}` + (state.search ? `, ${(100 * matched / shown.value).toFixed(1)} % matches` : '') +
		(state.tree === 'both' ? '; click a function' : '');
}

/* ---- what can be copied ---- */

/* A button that puts words on the clipboard; a page of file: may have no clipboard, but a selection. */
function copyButton(name, words) {
	const button = make('button', { type: 'button', title: words, onclick: async () => {
		const area = make('textarea', { readonly: true }, words);
		document.body.append(area);
		area.select();
		const isCopied = document.execCommand('copy');
		area.remove();
		button.textContent = isCopied ? `${name}: copied` : words;
	} }, name);
	return button;
}

/* What a shell reads as one word. */
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/* The options of a report that give it the selected range and process. */
function selection() {
	let options = state.process ? ` --process=${M.owners.pid[state.process - 1]}` : '';
	if (state.from > 0)
		options += ` --since=${(edges[state.from] / 1e9).toFixed(9)}s`;
	if (state.to < BINS)
		options += ` --until=${(edges[state.to] / 1e9).toFixed(9)}s`;
	return options;
}

/* The command that shows the numbers of a flame graph in a terminal. */
const REPORTS = { live: 'leaks --suppress=none', kept: 'leaks --suppress=none', peak: 'peak', wait_time: 'waits --table=wakers',
	temporary: 'allocations --table=temporary' };
function commandOf(cost) {
	return `holdtrace report ${REPORTS[cost] || 'allocations'}${selection()} ${quoted(page.trace)}`;
}

/* The backtrace of a zoomed function, with its share and buttons that copy it. */
function framePanel(shown, tree) {
	const path = [];
	for (let node = shown; node && node.frame >= 0; node = node.parent)
		path.push(node.frame);
	const lines = path.map(frame => `${functionOf(frame)} ${placeOf(frame)}`);
	const list = make('ul', { class: 'stack mono' });
	for (const [i, frame] of path.entries())
		list.append(make('li', { class: page.frames.own[frame] ? undefined : 'outside' }, functionOf(frame), ' ',
			make('span', { class: 'faint' }, placeOf(frame) + (i ? '' : `: ${PLAIN.said(shown, tree)}`))));
	return make('div', { class: 'panel' }, make('div', { class: 'row' }, copyButton('copy the backtrace', lines.join('\n')),
		isWait(state.cost) ? null : copyButton('copy a suppression', `leak:${functionOf(shown.frame)}`),
		copyButton('copy the command', commandOf(state.cost))), list);
}

/* ---- two runs, side by side ---- */

/* Frames of both runs in the same function and module are represented by the first of them. */
function sameFrames() {
	const first = new Map();
	return page.frames.function.map((name, i) => {
		const key = name === null || name < 0 ? 'frame ' + i : name + ' ' + page.frames.module[i];
		if (!first.has(key))
			first.set(key, i);
		return first.get(key);
	});
}

/* A tree of { frame, was, is, children } of the differences in a class. */
function growBoth(number) {
	const same = once('same frames', sameFrames), root = { frame: -1, was: 0, is: 0, children: new Map() };
	for (let row = 0; row < D.rows; row++) {
		if (D.number[row] !== number)
			continue;
		let at = root;
		root.was += D.old[row];
		root.is += D.new[row];
		for (const frame of D.backtrace[row] === null ? [] : framesOf(D.backtrace[row]).map(each => same[each])) {
			if (!at.children.has(frame))
				at.children.set(frame, { frame, was: 0, is: 0, children: new Map(), parent: at });
			at = at.children.get(frame);
			at.was += D.old[row];
			at.is += D.new[row];
		}
	}
	return root;
}

/* Red grew, blue fell, the more saturated the larger the change; grey is unchanged. */
function changeColour({ was, is }) {
	const part = (is - was) / Math.max(is, was, 1), light = isDark() ? 34 : 76;
	return `hsl(${part > 0 ? 4 : 212} ${Math.round(20 + 60 * Math.abs(part)) * (part !== 0)}% ${light}%)`;
}

function viewFlames(view) {
	const tree = follow(once('both ' + state.class, () => growBoth(state.class)), state.zoom), most = Math.max(tree.was, tree.is);
	const chooser = make('select', { 'aria-label': 'class', onchange: event => choose({ class: Number(event.target.value), zoom: '' }) });
	classes.forEach((c, i) => chooser.append(make('option', { value: i, selected: i === state.class }, c.name)));
	view.append(make('div', { class: 'row' }, chooser, searchBox(), make('span', { class: 'push faint' },
		make('span', { class: 'key key-grew' }), 'more or new', make('span', { class: 'key key-fell' }), 'less or gone')));
	view.append(make('p', { class: 'faint' }, `Call sites that differ, ${text(DIFF.note)}, with the same scale. Equal parts of both runs are not drawn.`));
	const sides = make('div', { class: 'two' });
	view.append(sides);
	const said = node => `${amount(node.was)}, then ${amount(node.is)}: ${node.is < node.was ? '-' : '+'}${amount(Math.abs(node.is - node.was))}`;
	const pick = node => choose({ zoom: pathOf(node === tree && node.parent ? node.parent : node) });
	const order = node => Math.max(node.was, node.is);
	const runs = [['old', node => node.was], ['new', node => node.is]].map(([name, value]) => {
		const canvas = make('canvas', { role: 'img', 'aria-label': `flame graph of the ${name} run` });
		sides.append(make('div', {}, make('h2', {}, `${name} run: ${amount(value(tree))}`), canvas));
		return { canvas, value };
	});
	for (const { canvas, value } of runs) {
		if (value(tree) > 0)
			drawTree(canvas, tree, pick, { value, order, fill: changeColour, said }, value(tree) / most);
		else
			canvas.replaceWith(make('p', { class: 'faint' }, 'nothing'));
	}
}

/* ---- sites ---- */

function sparkPath(site) {
	const change = new Float64Array(BINS + 1), values = M.spans[inBytes() ? 'bytes' : 'count'];
	for (let at = spansOf[site]; at < spansOf[site + 1]; at++) {
		const i = bySite[at];
		if (isOfChosen(i))
			addSpan(change, i, values);
	}
	const most = Math.max(0, ...addUp(change));
	/*
	 * one step for each pixel where the value changes: hundreds of curves are drawn in a frame
	 */
	let path = '', before = -1;
	for (let x = 0; x < 90; x++) {
		let highest = 0;
		for (let i = Math.floor(x * BINS / 90); i < (x + 1) * BINS / 90; i++)
			highest = Math.max(highest, change[i]);
		const y = 19 - Math.round(36 * highest / (most || 1)) / 2;
		if (y !== before)
			path += `H${x}V${y}`;
		before = y;
	}
	return path;
}

function spark(site) {
	const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), path = document.createElementNS(svg.namespaceURI, 'path');
	svg.setAttribute('class', 'spark');
	svg.setAttribute('viewBox', '0 0 90 20');
	path.setAttribute('d', `M0 20${once(`spark ${site} ${inBytes()} ${state.process}`, () => sparkPath(site))}H90V20Z`);
	svg.append(path);
	return svg;
}

/* Whether the search matches a function or file of a backtrace, or one of the words. */
function matches(node, ...words) {
	const wanted = state.search.toLowerCase();
	if (!wanted || words.some(each => each.toLowerCase().includes(wanted)))
		return true;
	return node !== null && node !== undefined && node >= 0 &&
		framesOf(node).some(frame => (functionOf(frame) + ' ' + placeOf(frame)).toLowerCase().includes(wanted));
}

function searchBox() {
	return make('input', { type: 'search', id: 'search', placeholder: 'search functions and files ( / )', value: state.search,
		'aria-label': 'search functions and files', oninput: event => { choose({ search: event.target.value }, true); } });
}

function viewSites(view) {
	const a = state.from, b = state.to, number = state.class, isBytes = classes[number].isBytes;
	const all = allCosts(number, a, b);
	const rows = [];
	for (let site = 0; site < M.sites.rows; site++)
		if (M.sites.number[site] === number && (all.live.times[site] || all.acquired.times[site] || all.released.times[site]) &&
				matches(M.sites.backtrace[site], text(M.sites.function[site])))
			rows.push(site);
	const column = (cost, name) => isBytes
		? { name, number: true, value: site => all[cost].size[site], text: site => bytes(all[cost].size[site]) }
		: { name, number: true, value: site => all[cost].times[site], text: site => count(all[cost].times[site]) };
	const columns = [column('live', 'live')];
	if (isBytes)
		columns.push({ name: 'in', number: true, value: site => all.live.times[site], text: site => count(all.live.times[site]) });
	columns.push({ name: 'over time', value: () => 0, draw: spark }, column('kept', 'kept'), column('acquired', 'allocated'),
		column('temporary', 'temporary'), column('released', 'freed'),
		{ name: 'by', value: site => siteName(M.sites.backtrace[site]), draw: site => make('span', { class: 'mono' },
			text(M.sites.function[site]), ' ← ', siteName(M.sites.backtrace[site])) });
	/* on a narrow screen, the call site comes before columns that do not fit */
	const isNarrow = innerWidth < 600;
	if (isNarrow)
		columns.splice(columns.findIndex(each => each.name === 'kept'), 0, columns.pop());
	const sum = (cost, by) => rows.reduce((n, site) => n + all[cost][by][site], 0);
	view.append(make('div', { class: 'row' }, searchBox()));
	view.append(make('p', {}, `${classes[number].name}: `, isBytes ? `${bytes(sum('live', 'size'))} in ${count(sum('live', 'times'))} blocks` : count(sum('live', 'times')),
		` live at the end of ${windowText()}; kept: allocated in the window and live at its end.`));
	view.append(table(`sites ${number} ${isNarrow}`, columns, rows, site => stack(M.sites.backtrace[site])));
}

/* ---- a deadlock: a cycle of threads and locks ---- */

const BLOCKED = sheet('blocked_at_exit');
const DEADLOCK = [...(BLOCKED.state || []).keys()].filter(i => text(BLOCKED.state[i]) === 'deadlock');

/* The waits of a cycle, each for a lock of the thread of the next one. */
function cycleFrom(first) {
	const cycle = [];
	for (let i = first; i !== undefined && !cycle.includes(i);
		i = DEADLOCK.find(each => BLOCKED.pid[each] === BLOCKED.pid[i] && BLOCKED.thread[each] === BLOCKED.holder[i]))
		cycle.push(i);
	return cycle;
}

function svg(name, attributes, ...children) {
	const element = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const [key, value] of Object.entries(attributes))
		element.setAttribute(key, value);
	element.append(...children);
	return element;
}

/* Threads on a circle; between two of them the lock that the first waits for and the second has. */
function drawCycle(cycle) {
	const width = 640, height = cycle.length < 3 ? 190 : 330, middle = [width / 2, height / 2], parts = [];
	const at = turn => [middle[0] + (width / 2 - 110) * Math.cos(turn), middle[1] + (height / 2 - 34) * Math.sin(turn)];
	const turnOf = i => Math.PI + 2 * Math.PI * i / cycle.length;
	const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'cycle',
		'aria-label': cycle.map(i => `thread ${BLOCKED.thread[i]} waits for a lock of thread ${BLOCKED.holder[i]}`).join('; ') },
	svg('defs', {}, svg('marker', { id: 'tip-of-arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' },
		svg('path', { d: 'M0 0L8 4L0 8Z' }))));
	const node = (turn, kind, words) => {
		const [x, y] = at(turn);
		parts.push(svg('g', { class: kind }, svg('rect', { x: x - 95, y: y - 17, width: 190, height: 34, rx: kind === 'thread' ? 17 : 3 }),
			svg('text', { x, y: y + 4, 'text-anchor': 'middle' }, words)));
	};
	const arrow = (from, to, words) => {
		const points = [0.3, 0.5, 0.7].map(share => at(from + (to - from) * share));
		picture.append(svg('path', { class: 'arrow', d: `M${points[0]}Q${points[1]} ${points[2]}`, 'marker-end': 'url(#tip-of-arrow)' }));
		parts.push(svg('text', { x: points[1][0], y: points[1][1] + (points[1][1] < middle[1] ? -8 : 18), 'text-anchor': 'middle', class: 'words' }, words));
	};
	cycle.forEach((i, place) => {
		const from = turnOf(place), to = turnOf(place + 1), half = (from + to) / 2;
		node(from, 'thread', threadName(BLOCKED.pid[i], BLOCKED.thread[i]));
		node(half, 'lock', `lock 0x${BLOCKED.object[i].toString(16)}`);
		arrow(from, half, 'waits for');
		arrow(half, to, 'held by');
	});
	picture.append(...parts);
	return picture;
}

function drawDeadlock() {
	const view = make('div', {}), seen = new Set();
	for (const first of DEADLOCK) {
		const cycle = cycleFrom(first);
		if (cycle.some(i => seen.has(i)))
			continue;
		cycle.forEach(i => seen.add(i));
		const stacks = make('div', { class: 'two' });
		for (const i of cycle)
			stacks.append(make('div', {}, make('h3', {}, threadName(BLOCKED.pid[i], BLOCKED.thread[i])),
				stack(BLOCKED.backtrace[i], `waits here for ${time(BLOCKED.wait_time[i])}, for 0x${BLOCKED.object[i].toString(16)}`),
				stack(BLOCKED.holder_backtrace[i], `which thread ${BLOCKED.holder[i]} locked here`)));
		view.append(make('h2', {}, `Deadlock of ${cycle.length} thread${cycle.length === 1 ? '' : 's'}`), drawCycle(cycle), stacks);
	}
	return view;
}

/* ---- waits: lanes of threads ---- */

const THREADS = sheet('threads');

/* The name of a thread; of a first thread, that of its program. */
function threadName(pid, thread) {
	const names = once('names of threads', () => new Map([...(THREADS.tid || []).keys()]
		.map(i => [THREADS.pid[i] + '.' + THREADS.tid[i], text(THREADS.thread[i]).trim()])));
	const name = names.get(pid + '.' + thread);
	return name && name !== '(no name)' ? `${name} ${thread}` : `${pid === thread ? 'main' : 'thread'} ${thread}`;
}

const LANE = 17, LANES_MOST = 40;

/* The threads that waited longest in the window, each with its waits and holds. */
function lanesIn(a, b) {
	const lanes = new Map(), W = M.longWaits, H = M.longHolds;
	const lane = (pid, thread) => {
		const key = pid + '.' + thread;
		if (!lanes.has(key))
			lanes.set(key, { pid, thread, waits: [], holds: [], waited: 0 });
		return lanes.get(key);
	};
	for (let i = 0; i < W.rows; i++) {
		if (!isChosenPid(W.pid[i]) || W.since[i] >= b || W.since[i] + W.wait_time[i] <= a || !matches(W.backtrace[i], text(W.function[i])))
			continue;
		const each = lane(W.pid[i], W.thread[i]);
		each.waits.push(i);
		each.waited += Math.min(b, W.since[i] + W.wait_time[i]) - Math.max(a, W.since[i]);
	}
	for (let i = 0; i < H.rows; i++)
		if (isChosenPid(H.pid[i]) && H.since[i] < b && H.since[i] + H.hold_time[i] > a)
			lane(H.pid[i], H.thread[i]).holds.push(i);
	return [...lanes.values()].sort((x, y) => y.waited - x.waited);
}

/* Waits for a lock during a hold of it: [wait, from, to]. */
function waitedDuring(hold) {
	const H = M.longHolds, W = M.longWaits, until = H.since[hold] + H.hold_time[hold];
	return (once('waits by lock', () => {
		const found = new Map();
		for (let i = 0; i < W.rows; i++) {
			const key = W.pid[i] + '.' + W.object[i];
			found.set(key, (found.get(key) || []).concat(i));
		}
		return found;
	}).get(H.pid[hold] + '.' + H.object[hold]) || [])
		.map(i => [i, Math.max(W.since[i], H.since[hold]), Math.min(W.since[i] + W.wait_time[i], until)])
		.filter(([i, from, to]) => to > from && W.thread[i] !== H.thread[hold]);
}

/* How a wait ended, or why it did not. */
function wakerText(i) {
	const { is_open: isOpen, waker, object_kind: kind } = M.longWaits;
	if (!isOpen[i])
		return waker[i] === null ? 'the thread that ended it is unknown' : `ended by thread ${waker[i]}`;
	return 'it has not ended' + (waker[i] === null ? '' : text(kind[i]) === 'lock' ? `: thread ${waker[i]} has the lock` : `: thread ${waker[i]} has not ended`);
}

function drawLanes(canvas, lanes, a, b, pick) {
	const { context, width } = paper(canvas, lanes.length * LANE + 22), boxes = [];
	const left = LEFT, plot = width - left - 6;
	const x = at => left + plot * (Math.max(a, Math.min(b, at)) - a) / (b - a);
	const box = (kind, row, from, to, index) => {
		context.fillStyle = colour(kind);
		context.fillRect(x(from), row * LANE + (kind === 'wait' ? 6 : 3), Math.max(1, x(to) - x(from)), LANE - (kind === 'wait' ? 10 : 5));
		if (index >= 0)
			boxes.push({ kind, row, from: x(from), to: Math.max(x(to), x(from) + 2), index });
	};
	drawTicks(context, a, b, x, lanes.length * LANE + 4);
	const rowOf = new Map(lanes.map((lane, row) => [lane.pid + '.' + lane.thread, row]));
	lanes.forEach((lane, row) => {
		context.fillStyle = colour('faint');
		context.fillText(threadName(lane.pid, lane.thread).slice(0, Math.floor(left / 7.4)), 2, row * LANE + LANE / 2);
		for (const i of lane.holds) {
			box('hold', row, M.longHolds.since[i], M.longHolds.since[i] + M.longHolds.hold_time[i], i);
			for (const [, from, to] of waitedDuring(i))
				box('busy', row, from, to, -1);
		}
		for (const i of lane.waits)
			box('wait', row, M.longWaits.since[i], M.longWaits.since[i] + M.longWaits.wait_time[i], i);
	});
	/* arrows from the thread that ended a wait to the waiter, unless there are many */
	const all = lanes.flatMap(lane => lane.waits);
	context.strokeStyle = context.fillStyle = colour('ink');
	for (const i of all.length <= 60 ? all : []) {
		const from = rowOf.get(M.longWaits.pid[i] + '.' + M.longWaits.waker[i]), to = rowOf.get(M.longWaits.pid[i] + '.' + M.longWaits.thread[i]);
		const end = M.longWaits.since[i] + M.longWaits.wait_time[i];
		if (from === undefined || from === to || end > b || M.longWaits.is_open[i])
			continue;
		const at = x(end), y = to * LANE + LANE / 2, tip = from < to ? -4 : 4;
		context.beginPath();
		context.moveTo(at, from * LANE + LANE / 2);
		context.lineTo(at, y);
		context.moveTo(at - 3, y + tip);
		context.lineTo(at, y);
		context.lineTo(at + 3, y + tip);
		context.stroke();
	}
	const find = event => {
		const area = canvas.getBoundingClientRect(), at = event.clientX - area.left, row = Math.floor((event.clientY - area.top) / LANE);
		return boxes.filter(each => each.row === row && at >= each.from && at <= each.to).pop();
	};
	canvas.onpointermove = event => {
		const found = find(event), of = found && (found.kind === 'wait' ? M.longWaits : M.longHolds), i = found && found.index;
		showTip(event, !found ? '' : found.kind === 'wait'
			? `thread ${of.thread[i]} waits ${time(of.wait_time[i])} in ${text(of.function[i])}\n${siteName(of.backtrace[i])}\n` +
				wakerText(i) + (of.waker[i] === null ? '' : ': ' + siteName(of.waker_backtrace[i]))
			: `thread ${of.thread[i]} holds 0x${of.object[i].toString(16)} for ${time(of.hold_time[i])}\n${siteName(of.backtrace[i])}`);
	};
	canvas.onpointerleave = event => showTip(event, '');
	canvas.onclick = event => {
		const found = find(event);
		if (found)
			pick(found);
	};
}

function viewLanes(view) {
	const a = edges[state.from], b = edges[state.to], lanes = lanesIn(a, b), W = M.longWaits;
	view.append(make('div', { class: 'row' }, searchBox(), make('span', { class: 'faint' }, windowText()),
		make('span', { class: 'push' }, ...[['hold', 'holds a lock'], ['busy', 'holds it while others wait'], ['wait', 'waits']]
			.flatMap(([kind, words]) => [make('span', { class: 'key key-' + kind }), words]))));
	for (const name of ['longest_waits', 'long_holds']) {
		const found = page.sheets.find(each => each.name === name);
		if (found && found.note !== null)
			view.append(make('p', { class: 'faint' }, text(found.note)));
	}
	const canvas = make('canvas', { role: 'img', 'aria-label': 'threads over time: locks that they hold, and waits' });
	const chosen = make('div', { class: 'two' });
	view.append(canvas, chosen);
	if (DEADLOCK.length)
		canvas.before(drawDeadlock());
	if (lanes.length)
		drawLanes(canvas, lanes.slice(0, LANES_MOST), a, b, found => {
			const of = found.kind === 'wait' ? W : M.longHolds, i = found.index;
			clear(chosen).append(stack(of.backtrace[i], found.kind === 'wait' ? `thread ${of.thread[i]} waits here, ${time(of.wait_time[i])}` : `thread ${of.thread[i]} locked it here, for ${time(of.hold_time[i])}`));
			if (found.kind === 'wait')
				chosen.append(stack(of.waker_backtrace[i], wakerText(i)));
		});
	else
		canvas.remove();
	if (lanes.length > LANES_MOST)
		view.append(make('p', { class: 'faint' }, `${count(lanes.length - LANES_MOST)} threads more that waited less.`));
	const sums = new Map();
	for (let i = 0; i < M.waits.rows; i++) {
		const waited = isWaitOfChosen(i) ? waitedIn(i, state.from, state.to) : 0;
		if (!waited || !matches(M.waits.backtrace[i], text(M.waits.function[i])))
			continue;
		const key = [M.waits.backtrace[i], M.waits.object_kind[i], M.waits.is_open[i]].join();
		const sum = sums.get(key) || { count: 0, waited: 0, row: i };
		sum.count += M.waits.count[i];
		sum.waited += waited;
		sums.set(key, sum);
	}
	const rows = [...sums.values()], where = sum => M.waits.backtrace[sum.row];
	view.append(make('h2', {}, 'Call sites that waited in the window'));
	view.append(table('waiters', [
		{ name: 'waited', number: true, value: sum => sum.waited, text: sum => time(sum.waited) },
		{ name: 'waits', number: true, value: sum => sum.count, text: sum => count(sum.count) },
		{ name: 'for a', value: sum => text(M.waits.object_kind[sum.row]) + (M.waits.is_open[sum.row] ? ', has not ended' : '') },
		{ name: 'at', value: sum => siteName(where(sum)), draw: sum => make('span', { class: 'mono' }, siteName(where(sum))) },
	], rows, sum => stack(where(sum))));
}

/* ---- findings: the sentences of the summary, each with its picture ---- */

const FINDINGS = sheet('findings'), FINDINGS_MOST = 4;

/* The state that shows a finding. */
function pictureOf(row) {
	const name = text(FINDINGS.class[row]), number = classes.findIndex(each => each.name === name);
	const whole = { from: 0, to: BINS, search: '', zoom: '', process: 0, class: Math.max(0, number), by: 'size', tree: 'down' };
	switch (text(FINDINGS.kind[row])) {
	case 'deadlock':
	case 'hang':
	case 'waits':
		return { ...whole, tab: 'lanes' };
	case 'peak':
		return { ...whole, tab: 'flame', cost: 'peak' };
	case 'temporary':
		return { ...whole, tab: 'flame', cost: 'temporary', by: 'count' };
	case 'misuse':
		return { ...whole, tab: 'fds' };
	case 'signals':
		return { ...whole, tab: 'waits' };
	case 'missing':
		return { ...whole, tab: 'info' };
	}
	return { ...whole, tab: number >= 0 && classes[number].isBytes ? 'flame' : 'sites', cost: 'live' };
}

const MOODS = { deadlock: 'bad', hang: 'bad', misuse: 'bad', unreachable: 'bad', waits: 'warn', live: 'warn', missing: 'warn' };

function drawFindings() {
	const list = $('verdict'), missing = sheet('missing');
	const link = (row, name) => make('a', { class: `${name} ${MOODS[text(FINDINGS.kind[row])] || ''}`,
		href: addressOf({ ...INITIAL, ...pictureOf(row) }) }, text(FINDINGS.finding[row]));
	if (page.sheets.every(each => each.name !== 'findings'))
		return;
	list.append(make('p', { class: 'headline' }, FINDINGS.rows ? link(0, 'finding') : 'Nothing unusual was found.'));
	const others = make('ul');
	for (let row = 1; row < Math.min(FINDINGS.rows, FINDINGS_MOST); row++)
		others.append(make('li', {}, link(row, 'finding')));
	if (FINDINGS.rows > FINDINGS_MOST)
		others.append(make('li', {}, make('a', { href: addressOf({ ...INITIAL, tab: 'summary' }) }, `and ${FINDINGS.rows - FINDINGS_MOST} more`)));
	if (missing.rows)
		others.append(make('li', {}, make('a', { class: 'finding warn', href: addressOf({ ...INITIAL, tab: 'info' }) },
			`Not recorded, or not certain: ${[...new Set(missing.kind.map(text))].join(', ')}`)));
	if (others.children.length)
		list.append(others);
	list.hidden = false;
}

/* ---- tables of all other reports ---- */

const KINDS = {
	bytes: bytes, ns: time, count: count, number: n => String(n), text: text, percent: n => (n / 100).toFixed(1) + ' %',
	hex: n => '0x' + n.toString(16), signed: n => (n > 0 ? '+' : '') + count(n),
};
const isNumber = kind => kind !== 'text' && kind !== 'backtrace';

/* The text of a column's cells, and the value that they are sorted by. */
function column(values, { heading, kind, meaning, units }) {
	const value = row => values[row];
	const said = row => {
		const unit = units ? UNITS[units[row]] : kind;
		return (kind === 'signed' && value(row) > 0 && units ? '+' : '') + KINDS[unit](value(row));
	};
	if (kind === 'backtrace')
		return { name: heading, meaning, value: row => siteName(value(row)),
			draw: row => make('span', { class: 'mono' }, siteName(value(row))) };
	return { name: heading, meaning, number: isNumber(kind),
		value: row => value(row) === null ? (isNumber(kind) ? -Infinity : '') : kind === 'text' ? text(value(row)) : value(row),
		text: row => value(row) === null ? '' : said(row) };
}

/* The whole backtraces of a row, side by side: waiter and holder. */
function backtraces(found, row) {
	const parts = make('div', { class: 'two' });
	for (const [i, each] of found.columns.entries())
		if (each.kind === 'backtrace' && found.values[i][row] !== null)
			parts.append(stack(found.values[i][row], each.meaning));
	return parts;
}

function drawSheet(view, found) {
	const named = found.columns.map((each, i) => [each.kind, found.values[i]]);
	const rows = [...(found.values[0] || []).keys()].filter(row => !state.search || named.some(([kind, values]) =>
		kind === 'backtrace' ? values[row] !== null && matches(values[row]) : kind === 'text' && text(values[row]).toLowerCase().includes(state.search.toLowerCase())));
	view.append(make('h2', {}, found.title));
	if (found.note !== null)
		view.append(make('p', { class: 'faint' }, text(found.note)));
	if (!rows.length) {
		view.append(make('p', { class: 'faint' }, 'nothing'));
		return;
	}
	/* columns without values are left out */
	const columns = found.columns.map((each, i) => ({ each, values: found.values[i] }))
		.filter(({ each, values }) => each.kind !== 'key' && values.some(value => value !== null))
		.map(({ each, values }) => column(values, each));
	const hasBacktrace = found.columns.some(each => each.kind === 'backtrace');
	view.append(table(found.name, columns, rows, hasBacktrace ? row => backtraces(found, row) : undefined, found.columns));
}

function viewReport(report) {
	return view => {
		if (state.from > 0 || state.to < BINS || state.process)
			view.append(make('p', { class: 'faint' }, 'These tables show the whole run. For the selection: ',
				make('code', {}, `holdtrace report ${report}${selection()} ${quoted(page.trace)}`)));
		view.append(make('div', { class: 'row' }, searchBox()));
		for (const found of page.sheets.filter(each => each.report === report))
			drawSheet(view, found);
	};
}

/* The model's tables are shown as the drawn views. */
const OWN = ['model'];
/* Two runs have no common time, so nothing is drawn over time. */
const IS_DIFF = page.sheets.some(each => each.report === 'diff');
const hasRows = report => page.sheets.some(each => each.report === report && each.values.length && each.values[0].length);

/*
 * The views, in groups by question. Each report has one, if its tables have rows; reports that no
 * group names come with the first.
 */
const GROUPS = [
	{ name: 'Overview', views: ['summary'] }, { name: 'Memory', views: ['flame', 'sites', 'leaks', 'peak', 'allocations'] },
	{ name: 'Waits', views: ['lanes', 'waits'] }, { name: 'Descriptors', views: ['fds'] },
	{ name: 'Threads', views: ['threads', 'functions'] }, { name: 'About this trace', views: ['info'] },
];
const NAMES = { summary: 'Overview', leaks: 'Never released', peak: 'At the peak', allocations: 'Temporary', waits: 'Tables of waits',
	fds: 'Descriptors', info: 'About this trace' };
const TABS = [
	...(IS_DIFF && D.rows ? [{ id: 'flames', name: 'Flame graphs', draw: viewFlames }] : []),
	...(IS_DIFF || !M.sites.rows ? [] : [{ id: 'flame', name: 'Flame graph', draw: viewFlame }, { id: 'sites', name: 'Live, by site', draw: viewSites }]),
	...(!IS_DIFF && (M.longWaits.rows || M.longHolds.rows || M.waits.rows) ? [{ id: 'lanes', name: 'Threads over time', draw: viewLanes }] : []),
	...[...new Set(page.sheets.map(each => each.report))].filter(report => !OWN.includes(report) && hasRows(report))
		.map(report => ({ id: report, name: NAMES[report] || report[0].toUpperCase() + report.slice(1), draw: viewReport(report) })),
];
if (!TABS.length)
	TABS.push({ id: 'nothing', name: 'Nothing', draw: view => view.append(make('p', { class: 'faint' }, 'The trace has nothing to show.')) });
const groupOf = tab => Math.max(0, GROUPS.findIndex(group => group.views.includes(tab.id)));

function drawTabs() {
	const tabs = clear($('tabs')), views = clear($('views')), chosen = groupOf(TABS.find(tab => tab.id === state.tab));
	const button = (name, isChosen, first, more) => make('button', { type: 'button', ...more, onclick: () => choose({ tab: first.id }) }, name);
	GROUPS.forEach((group, i) => {
		const members = TABS.filter(tab => groupOf(tab) === i);
		if (!members.length)
			return;
		tabs.append(button(IS_DIFF && !i ? 'Comparison' : group.name, i === chosen, members.find(tab => tab.id === state.tab) || members[0],
			{ role: 'tab', id: 'tab' + i, 'aria-selected': String(i === chosen), 'aria-controls': 'view', tabindex: i === chosen ? 0 : -1 }));
		if (i === chosen && members.length > 1)
			for (const tab of members)
				views.append(button(tab.name, tab.id === state.tab, tab, { 'aria-pressed': String(tab.id === state.tab) }));
	});
	$('view').setAttribute('aria-labelledby', 'tab' + chosen);
}

/* Arrows go from tab to tab, as in all lists of tabs. */
function moveTab(event) {
	const tabs = [...$('tabs').children], at = tabs.indexOf(event.target);
	const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
	if (at < 0 || to === undefined)
		return;
	event.preventDefault();
	event.stopPropagation();
	tabs[(to + tabs.length) % tabs.length].click();
	drawNow();
	document.querySelector('#tabs [aria-selected=true]').focus();
}

/* ---- drawing, at most once a frame ---- */

function drawNow() {
	const begun = performance.now();
	style.clear();
	if (!IS_DIFF) {
		drawWindows();
		drawTimeline();
	}
	drawTabs();
	TABS.find(tab => tab.id === state.tab).draw(clear($('view')));
	document.documentElement.dataset.drawn = state.tab;
	document.documentElement.dataset.work = (performance.now() - begun).toFixed(1);
}

/* Drawing makes elements anew; the one that has the focus is found again by its name. */
const nameOf = element => element.tagName + (element.getAttribute('aria-label') || element.textContent.replace(/ [▾▴]$/, ''));
function keepFocus(change) {
	const before = document.activeElement, root = before && before.parentElement && before.parentElement.closest('[id]');
	const id = before && before.id, name = before && nameOf(before), at = id === 'search' ? before.selectionStart : -1;
	change();
	if (!root || before.isConnected)
		return;
	const after = id ? $(id) : [...(root.isConnected ? root : document).querySelectorAll(before.tagName)].find(each => nameOf(each) === name);
	if (!after)
		return;
	after.focus({ preventScroll: true });
	if (at >= 0)
		after.setSelectionRange(at, at);
}

let isDue = false;
function draw() {
	if (isDue)
		return;
	isDue = true;
	requestAnimationFrame(() => {
		isDue = false;
		keepFocus(drawNow);
	});
}

/* ---- keys ---- */

const KEYS = [
	['/', 'search functions and files'], ['1 … 9', 'the views, in the order of their tabs'],
	['← →', 'start of the window, on the timeline; with shift its end'], ['[ ]', 'move the window a step earlier, later'],
	['Esc', 'leave a function, then the window'], ['i', 'callers first, callees first, sandwich'],
	['d', 'dark or light'], ['?', 'these keys'],
];

function showKeys() {
	const list = $('keys');
	list.hidden = !list.hidden;
	if (list.children.length)
		return;
	for (const [key, words] of KEYS)
		list.append(make('dt', {}, key), make('dd', {}, words));
}

function moveWindow(steps) {
	const moved = Math.max(-state.from, Math.min(BINS - state.to, steps));
	choose({ from: state.from + moved, to: state.to + moved }, true);
}

function changeTheme() {
	document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
	draw();
}

document.title = 'holdtrace: ' + page.title;
$('title').textContent = IS_DIFF ? 'Comparison of two runs; the old run: ' + page.title : page.title;
$('timeline').parentNode.hidden = IS_DIFF;
$('about').textContent = page.about;
$('theme').addEventListener('click', changeTheme);
$('help').addEventListener('click', showKeys);
addEventListener('popstate', () => { readState(); draw(); });
/* Printing uses the light theme. */
let screenTheme;
addEventListener('beforeprint', () => {
	screenTheme = document.documentElement.dataset.theme;
	document.documentElement.dataset.theme = 'light';
	drawNow();
});
addEventListener('afterprint', () => {
	if (screenTheme)
		document.documentElement.dataset.theme = screenTheme;
	else
		delete document.documentElement.dataset.theme;
	draw();
});
addEventListener('resize', draw);
addEventListener('keydown', event => {
	if (event.target.matches('input, select') || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === '/' && $('search')) {
		event.preventDefault();
		$('search').focus();
	} else if (event.key === '?') {
		showKeys();
	} else if (event.key === 'd') {
		changeTheme();
	} else if (event.key === 'i' && !IS_DIFF) {
		const trees = ['down', 'up', 'both'];
		choose({ tab: 'flame', zoom: '', tree: trees[(trees.indexOf(state.tree) + 1) % trees.length] });
	} else if (event.key === '[' || event.key === ']') {
		moveWindow(event.key === '[' ? -1 : 1);
	} else if (event.key === 'Escape' && !$('keys').hidden) {
		showKeys();
	} else if (event.key === 'Escape') {
		choose(state.zoom ? { zoom: '' } : { from: 0, to: BINS });
	} else if (event.key >= '1' && event.key <= String(Math.min($('tabs').children.length, 9))) {
		$('tabs').children[event.key - 1].click();
	}
});
readState();
drawFindings();
$('tabs').addEventListener('keydown', moveTab);
listenTimeline();
draw();

})();
