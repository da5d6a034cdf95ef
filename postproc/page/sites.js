/* SPDX-License-Identifier: MIT */
/* The table of call sites. This file is a part of one function: see model.js. */

/* ---- sites ---- */

/* Returns the live amount of some sites at the ends of the steps as a path, and its maximum. */
function sparkPath(sites, width, height) {
	const change = new Float64Array(STEPS + 1), values = M.spans[inBytes() ? 'bytes' : 'count'];
	for (const site of sites)
		for (let at = spansOf[site]; at < spansOf[site + 1]; at++)
			if (isOfChosen(bySite[at]))
				addSpan(change, bySite[at], values);
	const most = Math.max(0, ...addUp(change));
	/*
	 * adds a step only at pixels where the value changes, because hundreds of curves are drawn at a
	 * time
	 */
	let path = '', before = -1;
	for (let x = 0; x < width; x++) {
		let highest = 0;
		for (let i = Math.floor(x * STEPS / width); i < (x + 1) * STEPS / width; i++)
			highest = Math.max(highest, change[i]);
		const y = height - 1 - Math.round(2 * (height - 2) * highest / (most || 1)) / 2;
		if (y !== before)
			path += `H${x}V${y}`;
		before = y;
	}
	return { path, most };
}

const curveOfPath = (path, width, height) => svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px; height: ${height}px`, 'aria-hidden': 'true' },
	svg('path', { d: `M0 ${height}${path}H${width}V${height}Z` }));
const spark = site => curveOfPath(once(`spark ${site} ${inBytes()} ${state.process}`, () => sparkPath([site], 90, 20)).path, 90, 20);

/* Whether the search text matches a function or file of the backtrace, or one of `words`. */
function matches(node, ...words) {
	const wanted = state.search.toLowerCase();
	if (!wanted || words.some(each => each.toLowerCase().includes(wanted)))
		return true;
	return node !== null && node !== undefined && node >= 0 &&
		framesOf(node).some(frame => (functionOf(frame) + ' ' + placeOf(frame)).toLowerCase().includes(wanted));
}

function searchBox() {
	return make('input', { type: 'search', id: 'search', placeholder: 'search functions ( / )', value: state.search,
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
	/** @type {any[]} */
	const columns = [column('live', 'live')];
	if (isBytes)
		columns.push({ name: 'in', number: true, value: site => all.live.times[site], text: site => count(all.live.times[site]) });
	columns.push({ name: 'over time', value: () => 0, draw: spark }, column('kept', 'kept'), column('acquired', verbs()[0]),
		column('temporary', 'temporary'), column('released', verbs()[1]),
		{ name: 'by', value: site => siteName(M.sites.backtrace[site]), draw: site => make('span', { class: 'mono' },
			[text(M.sites.function[site]), siteName(M.sites.backtrace[site])].filter(Boolean).join(' ← ')) });
	/* on a narrow screen, the call site comes before columns that do not fit */
	const isNarrow = innerWidth < 600;
	if (isNarrow)
		columns.splice(columns.findIndex(each => each.name === 'kept'), 0, columns.pop());
	const sum = (cost, by) => rows.reduce((n, site) => n + all[cost][by][site], 0);
	view.append(make('div', { class: 'row' }, searchBox()));
	view.append(make('p', {}, `${classes[number].name}: `, isBytes ? `${bytes(sum('live', 'size'))} in ${count(sum('live', 'times'))} blocks` : count(sum('live', 'times')),
		` live at the end of ${windowText()}; kept: ${costName('kept')}.`));
	view.append(table(`sites ${number} ${isNarrow}`, columns, rows, site => stack(M.sites.backtrace[site])));
}

