/* SPDX-License-Identifier: MIT */
/*
 * The findings, and the tables of the reports. This file is a part of one function: see model.js.
 */

/* ---- findings: the sentences of the summary; each links to a view ---- */

const FINDINGS = sheet('findings'), FINDINGS_MOST = 4;

/* The number of the class with that name, or `otherwise`. */
function classOf(name, otherwise) {
	const number = classes.findIndex(each => each.name === name);
	return number < 0 ? otherwise : number;
}

/* Returns the state of the page that shows a finding. */
function pictureOf(row) {
	const name = text(FINDINGS.class[row]), number = classes.findIndex(each => each.name === name);
	const whole = { from: 0, to: STEPS, search: '', zoom: '', process: 0, class: Math.max(0, number), by: 'size', tree: 'down' };
	switch (text(FINDINGS.kind[row])) {
	case 'deadlock':
	case 'hang':
	case 'waits':
		return { ...whole, tab: 'lanes', class: number >= 0 ? number : classOf('lock', 0) };
	case 'peak':
		return { ...whole, tab: 'flame', cost: 'peak' };
	case 'temporary':
		return { ...whole, tab: 'flame', cost: 'temporary', by: 'count' };
	case 'misuse':
		return { ...whole, tab: 'fds', class: classOf('fd', 0) };
	case 'signals':
		return { ...whole, tab: 'waits' };
	case 'missing':
		return { ...whole, tab: 'info' };
	}
	const tab = { fd: 'fds', file: 'fds', directory: 'fds', thread: 'threads' }[name];
	return { ...whole, tab: tab || (number >= 0 && classes[number].isBytes ? 'flame' : 'sites'), cost: 'live' };
}

const MOODS = { deadlock: 'bad', hang: 'bad', misuse: 'bad', unreachable: 'bad', waits: 'warn', live: 'warn', missing: 'warn' };

function drawFindings() {
	const list = $('verdict'), missing = sheet('missing');
	const link = (row, name) => make('a', { class: `${name} ${MOODS[text(FINDINGS.kind[row])] || ''}`,
		href: addressOf({ ...INITIAL, ...pictureOf(row) }) }, text(FINDINGS.finding[row]));
	if (page.sheets.every(each => each.name !== 'findings'))
		return;
	list.append(make('p', { class: 'headline' }, FINDINGS.rows ? link(0, 'finding')
		: M.spans.rows || M.waits.rows ? 'Nothing unusual was found.' : 'No object and no wait was recorded.'));
	const others = make('ul');
	for (let row = 1; row < Math.min(FINDINGS.rows, FINDINGS_MOST); row++)
		others.append(make('li', {}, link(row, 'finding')));
	if (FINDINGS.rows > FINDINGS_MOST)
		others.append(make('li', {}, make('a', { href: addressOf({ ...INITIAL, tab: 'summary' }) }, `and ${FINDINGS.rows - FINDINGS_MOST} more`)));
	if (missing.rows)
		others.append(make('li', {}, make('a', { class: 'finding warn', href: addressOf({ ...INITIAL, tab: 'info' }) },
			`Not recorded, or uncertain: ${[...new Set(missing.kind.map(text))].join(', ')}`)));
	if (others.children.length)
		list.append(others);
	list.hidden = false;
	/* on a narrow screen, the view, which is drawn in the next frame, is below the visible part */
	list.addEventListener('click', () => innerWidth < 600 && requestAnimationFrame(() => requestAnimationFrame(() => $('tabs').scrollIntoView())));
}

/* ---- tables of all other reports ---- */

const KINDS = {
	bytes: bytes, ns: time, count: count, number: n => String(n), text: text, percent: n => tenth(n / 100) + ' %',
	hex: n => n, signed: n => (n > 0 ? '+' : '') + count(n),
};
const isNumber = kind => kind !== 'text' && kind !== 'backtrace';

/*
 * Makes a column for table(): the texts of the cells, and the values by which the rows are sorted.
 */
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
		value: row => value(row) === null ? (isNumber(kind) ? -Infinity : '') : kind === 'text' ? text(value(row)) : kind === 'hex' ? BigInt(value(row)) : value(row),
		text: row => value(row) === null ? '' : said(row) };
}

/* Shows all backtraces of a row in full, side by side, such as those of a waiter and a holder. */
function backtraces(found, row) {
	const parts = make('div', { class: 'two' });
	for (const [i, each] of found.columns.entries())
		if (each.kind === 'backtrace' && found.values[i][row] !== null)
			parts.append(stack(found.values[i][row], each.meaning));
	return parts;
}

/* Shows a table. Returns false if it has nothing to show. */
function drawSheet(view, found) {
	const named = found.columns.map((each, i) => [each.kind, found.values[i]]);
	const rows = [...(found.values[0] || []).keys()].filter(row => !state.search || named.some(([kind, values]) =>
		kind === 'backtrace' ? values[row] !== null && matches(values[row]) : kind === 'text' && text(values[row]).toLowerCase().includes(state.search.toLowerCase())));
	if (!rows.length && found.note === null)
		return false;
	view.append(make('h2', {}, found.title));
	if (found.note !== null)
		view.append(make('p', { class: 'faint' }, text(found.note)));
	if (!rows.length)
		return true;
	/* columns without values are left out */
	const columns = found.columns.map((each, i) => ({ each, values: found.values[i] }))
		.filter(({ each, values }) => each.kind !== 'key' && values.some(value => value !== null))
		.map(({ each, values }) => column(values, each));
	const hasBacktrace = found.columns.some(each => each.kind === 'backtrace');
	view.append(table(found.name, columns, rows, hasBacktrace ? row => backtraces(found, row) : undefined, found.columns));
	return true;
}

function viewReport(report) {
	return view => {
		if (state.from > 0 || state.to < STEPS || state.process)
			view.append(make('p', { class: 'faint' }, 'These tables show the whole run. ',
				...(page.files !== null && isPidOfOne() ? ['For the selection: ', make('code', {}, `holdtrace report ${report}${selection()}${page.files}`)] : [])));
		view.append(make('div', { class: 'row' }, searchBox()));
		if (RESIDENT.rows && (report === 'resident' || report === 'summary'))
			view.append(drawResident());
		const empty = page.sheets.filter(each => each.report === report && !drawSheet(view, each));
		if (empty.length)
			view.append(make('p', { class: 'faint' }, 'Without rows: ' + empty.map(each => each.title).join('; ') + '.'));
	};
}

/* Reports without a view of their own, because other views show their tables. */
const OWN = ['model'];
/* Two runs have no common time, so nothing is drawn over time in a comparison. */
const IS_DIFF = page.sheets.some(each => each.report === 'diff');
const hasRows = report => page.sheets.some(each => each.report === report && each.values.length && each.values[0].length);

/*
 * The views, in groups; class: the class that the timeline then shows. Each report whose tables have rows has a view. A report that is in no group is
 * shown in the first one.
 */
const GROUPS = [
	{ name: 'Overview', views: ['summary'] }, { name: 'Memory', views: ['flame', 'sites', 'leaks', 'peak', 'allocations', 'resident'], class: 'memory' },
	{ name: 'Waits', views: ['lanes', 'order', 'waits'] }, { name: 'Descriptors', views: ['fds'], class: 'fd' },
	{ name: FAMILY.rows > 1 ? 'Threads & processes' : 'Threads', views: ['family', 'threads', 'functions'] }, { name: 'About this trace', views: ['info'] },
];
const NAMES = { summary: 'Overview', leaks: 'Never released', peak: 'At the peak', allocations: 'Temporary', resident: 'Resident', waits: 'Tables of waits',
	fds: 'Descriptors', info: 'About this trace' };
const TABS = [
	...(IS_DIFF && D.rows ? [{ id: 'flames', name: 'Flame graphs', draw: viewFlames }] : []),
	...(IS_DIFF || !M.sites.rows ? [] : [{ id: 'flame', name: 'Flame graph', draw: viewFlame }, { id: 'sites', name: 'Live, by site', draw: viewSites }]),
	...(!IS_DIFF && (M.longWaits.rows || M.longHolds.rows || M.waits.rows) ? [{ id: 'lanes', name: 'Threads over time', draw: viewLanes }] : []),
	...(IS_DIFF || !ORDERS.rows ? [] : [{ id: 'order', name: 'Lock order', draw: viewOrder }]),
	...(IS_DIFF || FAMILY.rows < 2 ? [] : [{ id: 'family', name: 'Processes over time', draw: viewFamily }]),
	...[...new Set(page.sheets.map(each => each.report))].filter(report => !OWN.includes(report) && hasRows(report))
		.map(report => ({ id: report, name: NAMES[report] || report[0].toUpperCase() + report.slice(1), draw: viewReport(report) })),
];
if (!TABS.length)
	TABS.push({ id: 'nothing', name: 'Nothing', draw: view => view.append(make('p', { class: 'faint' }, 'The trace has nothing to show.')) });
const groupOf = tab => Math.max(0, GROUPS.findIndex(group => group.views.includes(tab.id)));

function drawTabs() {
	const tabs = clear($('tabs')), views = clear($('views')), chosen = groupOf(TABS.find(tab => tab.id === state.tab));
	const button = (name, changes, more) => make('button', { type: 'button', ...more, onclick: () => choose(changes) }, name);
	GROUPS.forEach((group, i) => {
		const members = TABS.filter(tab => groupOf(tab) === i);
		if (!members.length)
			return;
		tabs.append(button(IS_DIFF && !i ? 'Comparison' : group.name, { tab: (members.find(tab => tab.id === state.tab) || members[0]).id,
			...(i === chosen || IS_DIFF ? {} : { class: classOf(group.class, state.class), zoom: '' }) },
			{ role: 'tab', id: 'tab' + i, 'aria-selected': String(i === chosen), 'aria-controls': 'view', tabindex: i === chosen ? 0 : -1 }));
		if (i === chosen && members.length > 1)
			for (const tab of members)
				views.append(button(tab.name, { tab: tab.id }, { 'aria-pressed': String(tab.id === state.tab) }));
	});
	$('view').setAttribute('aria-labelledby', 'tab' + chosen);
}

/* The arrow keys, Home and End move from tab to tab. */
function moveTab(event) {
	const tabs = [...$('tabs').children], at = tabs.indexOf(event.target);
	const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
	if (at < 0 || to === undefined)
		return;
	event.preventDefault();
	event.stopPropagation();
	tabs[(to + tabs.length) % tabs.length].click();
	drawNow();
	$('tabs').querySelector('[aria-selected=true]').focus();
}

