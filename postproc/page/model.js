/* SPDX-License-Identifier: MIT */
/*
 * The page of a run. The model (tables of --format=model) consists of sums: the acquisitions and
 * releases of each site in each step of time. Each view computes its numbers from these sums for the
 * window that is selected on the timeline. Names may be hostile, so they are inserted only as text.
 *
 * The files of the script (tables_html.c lists them) together form one function; it begins in this
 * file and ends in main.js.
 */
'use strict';
(async function () {

/* ---- the model ---- */

async function unpack(text) {
	/* millions of letters: Uint8Array.from() would call a function for each */
	const letters = atob(text.trim()), bytes = new Uint8Array(letters.length);
	for (let i = 0; i < letters.length; i++)
		bytes[i] = letters.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return JSON.parse(await new Response(stream).text());
}

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id);
/** @type {(key: any, value: any) => [any, any]} */
const entry = (key, value) => [key, value];
let page;
try {
	page = await unpack($('model').textContent);
} catch (error) {
	$('about').textContent = 'This page is damaged: its data cannot be read (' + error.message + ').';
	return;
}

/*
 * page.sheets has the tables of the reports, column by column: { name, title, note, columns: [{ name, kind,
 * heading, meaning }], values: [[...]] }. A text is an index into page.strings, a backtrace is the index of
 * a node of the call tree, and an unknown value is null. Returns the columns of a table by name, and its
 * number of rows.
 */
function sheet(name) {
	const found = page.sheets.find(each => each.name === name);
	/** @type {Record<string, any>} */
	const columns = { rows: found && found.values.length ? found.values[0].length : 0 };
	for (const [i, column] of (found ? found.columns : []).entries())
		columns[column.name] = found.values[i];
	return columns;
}

/* Characters that change the direction of text could exchange the parts of a line. */
const plain = words => words.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, letter => '\\u' + letter.charCodeAt(0).toString(16));
page.strings = page.strings.map(plain);
page.title = plain(page.title);
const text = i => i === null || i === undefined || i < 0 ? '' : page.strings[i];
const M = { steps: sheet('steps'), sites: sheet('sites'), spans: sheet('spans'), waits: sheet('waits_by_step'), owners: sheet('process_list'),
	marks: sheet('marks'), highs: sheet('highs'), longWaits: sheet('longest_waits'), longHolds: sheet('long_holds') };
const STEPS = M.steps.rows - 1;
const edges = M.steps.time;
const NEVER = 1 << 30;
for (const name of ['site', 'acquired_step', 'count', 'bytes'])
	M.spans[name] = new Float64Array(M.spans[name] || []);
/*
 * gone_step: the step at whose end the objects of a span are no longer live: they were released, or
 * their process ended. The objects of the last process are live until the end of the run.
 */
const releasedSteps = M.spans.released_step;
M.spans.released_step = new Int32Array(M.spans.rows);
M.spans.gone_step = new Int32Array(M.spans.rows);
for (let i = 0; i < M.spans.rows; i++) {
	M.spans.released_step[i] = releasedSteps[i] ?? NEVER;
	M.spans.gone_step[i] = releasedSteps[i] ?? M.spans.ended_step[i] ?? NEVER;
}

/* Names of the units, by their number in columns whose rows have different units. */
const UNITS = ['count', 'bytes', 'ns'];

/*
 * The classes in the order of their appearance; isBytes and isTime: whether their unit is bytes or
 * time.
 */
const classes = [];
M.sites.number = (M.sites.class || []).map((name, i) => {
	let number = classes.findIndex(each => each.name === text(name));
	if (number < 0)
		number = classes.push({ name: text(name), isBytes: !!M.sites.has_bytes[i] }) - 1;
	return number;
});
/* The page of a comparison of two runs has only the classes that differ. */
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

/* The spans of a site are bySite[spansOf[site]] to bySite[spansOf[site + 1] - 1]. */
const spansOf = new Uint32Array(M.sites.rows + 2), bySite = new Uint32Array(M.spans.rows);
for (let i = 0; i < M.spans.rows; i++)
	spansOf[M.spans.site[i] + 2]++;
for (let site = 2; site < spansOf.length; site++)
	spansOf[site] += spansOf[site - 1];
for (let i = 0; i < M.spans.rows; i++)
	bySite[spansOf[M.spans.site[i] + 1]++] = i;

/*
 * The number of processes to choose from; 0: spans are not counted by process. state.process: 0 for
 * all, else the row in M.owners, plus 1.
 */
const PROCESSES = (M.spans.process || []).some(each => each !== null) ? M.owners.rows : 0;
const isOfChosen = span => !state.process || M.spans.process[span] === state.process - 1;
const isWaitOfChosen = wait => !state.process || M.waits.process[wait] === state.process - 1;
const isChosenPid = pid => !state.process || pid === M.owners.pid[state.process - 1];
/* Whether an option --process selects exactly what the page shows: a process may execute programs. */
const isPidOfOne = () => !state.process || M.owners.pid.filter(isChosenPid).length === 1;

/* Caches a result that depends only on the model. */
const known = new Map();
function once(key, compute) {
	if (!known.has(key))
		known.set(key, compute());
	return known.get(key);
}

/* `name` has the verbs of memory; costName() exchanges them. */
/** @type {Record<string, { name: string, isWait?: boolean }>} */
const COSTS = {
	live: { name: 'live at the end of the window' },
	kept: { name: 'allocated in the window and live at its end' },
	peak: { name: 'live at the peak of the window' },
	acquired: { name: 'allocated in the window' },
	temporary: { name: 'allocated and freed in the window' },
	released: { name: 'freed in the window' },
	wait_time: { name: 'time waited', isWait: true },
};

