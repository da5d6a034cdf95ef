/* SPDX-License-Identifier: MIT */
/*
 * The state of the page, which is a part of its address. This file is a part of one function: see
 * model.js.
 */

/* ---- the state, which is in the URL, so that a link shows the same view ---- */

const MEMORY = Math.max(0, classes.findIndex(each => each.name === 'memory'));
const state = { from: 0, to: STEPS, tab: 'flame', cost: 'live', by: 'size', class: MEMORY, process: 0, tree: 'down',
	search: '', zoom: '', axis: '', idle: 0 };

function readState() {
	const said = new URLSearchParams(location.hash.slice(1));
	const number = (key, least, most, otherwise) => {
		const value = parseInt(said.get(key), 10);
		return value >= least && value <= most ? value : otherwise;
	};
	state.from = number('from', 0, STEPS - 1, 0);
	state.to = number('to', state.from + 1, STEPS, STEPS);
	state.class = number('class', 0, classes.length - 1, MEMORY);
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
	state.idle = number('idle', 0, 1, 0);
	state.axis = said.get('axis') || '';
	if (ranges().some(([a, b], i, all) => !(a >= 0 && b > a && b <= STEPS && (!i || a >= all[i - 1][0] && b <= all[i - 1][1]))))
		state.axis = '';
}

/*
 * The ranges of steps to which the time axis was zoomed, from the whole run to the current range.
 */
const ranges = () => [[0, STEPS], ...state.axis.split('_').filter(Boolean).map(each => each.split('-').map(Number))];
const axis = () => ranges().pop();

/*
 * No tab has the id '', so addressOf() always writes the tab; an address without a state would show
 * the first finding.
 */
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
	/* not during a drag: browsers refuse hundreds of history entries */
	if (replace !== 'not yet')
		history[replace ? 'replaceState' : 'pushState'](null, '', addressOf(state));
	draw();
}

