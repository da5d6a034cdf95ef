/* SPDX-License-Identifier: MIT */
/* Deadlocks as cycles, and threads over time. This file is a part of one function: see model.js. */

/* ---- a deadlock: a cycle of threads and locks ---- */

const BLOCKED = sheet('blocked_at_exit');
const DEADLOCK = [...(BLOCKED.state || []).keys()].filter(i => text(BLOCKED.state[i]) === 'deadlock');

/*
 * Returns the rows of a cycle: each thread waits for a lock that the thread of the next row holds.
 */
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

/* Draws boxes around an ellipse, each with an arrow to the next box: { kind, words, arrow }. */
function drawCycle(nodes, label) {
	const width = 640, height = nodes.length < 5 ? 210 : 330, middle = [width / 2, height / 2], parts = [];
	/** @type {(turn: number) => [number, number]} */
	const at = turn => [middle[0] + (width / 2 - 110) * Math.cos(turn), middle[1] + (height / 2 - 40) * Math.sin(turn)];
	const turnOf = i => Math.PI + 2 * Math.PI * i / nodes.length;
	const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'graph cycle', 'aria-label': label },
		svg('defs', {}, svg('marker', { id: 'tip-of-arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' },
			svg('path', { d: 'M0 0L8 4L0 8Z' }))));
	/* an arrow is the part of the ellipse between two boxes */
	const isIn = ([x, y], i) => Math.abs(x - at(turnOf(i))[0]) < 101 && Math.abs(y - at(turnOf(i))[1]) < 23;
	nodes.forEach(({ kind, words, arrow }, i) => {
		const [x, y] = at(turnOf(i)), middleOf = at(turnOf(i + 0.5));
		const way = Array.from({ length: 101 }, (_, part) => at(turnOf(i + part / 100))).filter(each => !isIn(each, i) && !isIn(each, i + 1));
		picture.append(svg('path', { class: 'arrow', d: 'M' + way.map(each => each.map(n => n.toFixed(1))).join('L'), 'marker-end': 'url(#tip-of-arrow)' }));
		parts.push(svg('g', { class: kind }, svg('rect', { x: x - 95, y: y - 17, width: 190, height: 34, rx: kind === 'thread' ? 17 : 3 }),
			svg('text', { x, y: y + 4, 'text-anchor': 'middle' }, words)),
		svg('text', { x: middleOf[0] + (nodes.length < 3 ? 0 : Math.sign(middleOf[0] - middle[0]) * 48), y: middleOf[1] + (middleOf[1] < middle[1] ? -8 : 18),
			'text-anchor': 'middle', class: 'words' }, arrow));
	});
	picture.append(...parts);
	return make('div', {}, picture, saveGraph(picture));
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
				stack(BLOCKED.backtrace[i], `waits here for ${time(BLOCKED.wait_time[i])}, for ${BLOCKED.object[i]}`),
				stack(BLOCKED.holder_backtrace[i], `which thread ${BLOCKED.holder[i]} locked here`)));
		view.append(make('h2', {}, `Deadlock of ${cycle.length} thread${cycle.length === 1 ? '' : 's'}`), drawCycle(cycle.flatMap(i => [
			{ kind: 'thread', words: threadName(BLOCKED.pid[i], BLOCKED.thread[i]), arrow: 'waits for' },
			{ kind: 'lock', words: 'lock ' + BLOCKED.object[i], arrow: 'held by' }]),
		cycle.map(i => `thread ${BLOCKED.thread[i]} waits for a lock of thread ${BLOCKED.holder[i]}`).join('; ')), stacks);
	}
	return view;
}

/* Locks that threads locked in contradicting orders: a cycle for each, with its backtraces. */
const ORDERS = sheet('lock_cycles');
function viewOrder(view) {
	const groups = new Map();
	for (let row = 0; row < ORDERS.rows; row++)
		groups.set(ORDERS.cycle[row], (groups.get(ORDERS.cycle[row]) || []).concat(row));
	for (const [words, all] of groups) {
		/* the backtraces from each lock to the lock that was locked while it was held */
		const rows = [all[0]], stacks = make('div', { class: 'two' });
		while (rows.length < all.length) {
			const next = all.find(row => !rows.includes(row) && ORDERS.holds[row] === ORDERS.locks[rows[rows.length - 1]]);
			if (next === undefined)
				break;
			rows.push(next);
		}
		const said = row => `thread ${ORDERS.thread[row]}, ${count(ORDERS.count[row])} time${ORDERS.count[row] === 1 ? '' : 's'}`;
		for (const row of rows)
			stacks.append(make('div', {}, make('h3', {}, said(row)), stack(ORDERS.first_backtrace[row], `locks ${ORDERS.holds[row]} here`),
				stack(ORDERS.second_backtrace[row], `then locks ${ORDERS.locks[row]} here`)));
		view.append(make('h2', {}, text(words)), drawCycle(rows.map(row => ({ kind: 'lock', words: 'lock ' + ORDERS.holds[row], arrow: said(row) })),
			rows.map(row => `${said(row)}, holds lock ${ORDERS.holds[row]} and locks ${ORDERS.locks[row]}`).join('; ')), stacks);
	}
}

/* ---- waits: lanes of threads ---- */

const THREADS = sheet('threads');

/* Returns the name of a thread and its id; "main" or "thread" if it has no name. */
function threadName(pid, thread) {
	const names = once('names of threads', () => new Map([...(THREADS.tid || []).keys()]
		.map(i => entry(THREADS.pid[i] + '.' + THREADS.tid[i], text(THREADS.thread[i]).trim()))));
	const name = names.get(pid + '.' + thread);
	return name && name !== '(no name)' ? `${name} ${thread}` : `${pid === thread ? 'main' : 'thread'} ${thread}`;
}

const LANE = 17, LANES_MOST = 40; /* height of a lane in pixels; limit of lanes */

/*
 * Returns the threads with waits or holds in the window, those that waited longest first, each with
 * its waits and holds.
 */
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
	return foldIdle([...lanes.values()].sort((x, y) => y.waited - x.waited), b - a);
}

/*
 * A thread that only waits again and again at one call site, but not for a lock, is an idle thread
 * of a pool or of an event loop. Such threads share the last lane, unless there are no others.
 */
const IDLE_WAITS = 3, IDLE_SHARE = 0.9;
function foldIdle(lanes, length) {
	const W = M.longWaits, isIdle = lane => lane.waits.length >= IDLE_WAITS && lane.waited >= IDLE_SHARE * length && !lane.holds.length &&
		lane.waits.every(i => text(W.object_kind[i]) !== 'lock' && W.backtrace[i] === W.backtrace[lane.waits[0]]);
	const idle = lanes.filter(isIdle), rest = lanes.filter(lane => !isIdle(lane));
	if (idle.length < 2 || !rest.length || state.idle)
		return lanes;
	rest.splice(LANES_MOST - 1, 0, { name: `${count(idle.length)} idle`, waits: idle.flatMap(lane => lane.waits), holds: [], idle: idle.length });
	return rest;
}

/*
 * Returns the waits of other threads for the lock of a hold, clipped to the time of the hold:
 * [wait, from, to].
 */
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

/* Returns how a wait ended, or why it has not ended. */
function wakerText(i) {
	const { is_open: isOpen, waker, object_kind: kind } = M.longWaits;
	if (!isOpen[i])
		return waker[i] === null ? 'the thread that ended it is unknown' : `ended by thread ${waker[i]}`;
	return 'the wait has not ended' + (waker[i] === null ? '' : text(kind[i]) === 'lock' ? `: thread ${waker[i]} holds the lock` : `: thread ${waker[i]} has not ended`);
}

function drawLanes(canvas, lanes, a, b, pick) {
	const { context, width } = paper(canvas, lanes.length * LANE + 22), boxes = [];
	const x = axisOf(width, a, b);
	const box = (kind, level, from, to, index) => {
		context.fillStyle = colour(kind === 'wait' ? 'wait-' + text(M.longWaits.object_kind[index]) : kind);
		context.fillRect(x(from), level * LANE + (kind === 'wait' ? 6 : 3), Math.max(1, x(to) - x(from)), LANE - (kind === 'wait' ? 10 : 5));
		if (index >= 0)
			boxes.push({ kind, level, x: x(from), w: x(to) - x(from), index });
	};
	drawTicks(context, a, b, x, lanes.length * LANE + 4);
	const rowOf = new Map(lanes.map((lane, row) => entry(lane.pid + '.' + lane.thread, row)));
	lanes.forEach((lane, row) => {
		context.fillStyle = colour('faint');
		context.fillText((lane.name || threadName(lane.pid, lane.thread)).slice(0, Math.floor(left() / 7.4)), 2, row * LANE + LANE / 2);
		for (const i of lane.holds) {
			box('hold', row, M.longHolds.since[i], M.longHolds.since[i] + M.longHolds.hold_time[i], i);
			for (const [, from, to] of waitedDuring(i))
				box('busy', row, from, to, -1);
		}
		for (const i of lane.waits)
			box('wait', row, M.longWaits.since[i], M.longWaits.since[i] + M.longWaits.wait_time[i], i);
	});
	/* draws arrows from the thread that ended a wait to the waiter, unless there are many waits */
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
	listenBoxes(canvas, boxes, LANE, 0, ({ kind, index: i }) => {
		const of = kind === 'wait' ? M.longWaits : M.longHolds;
		return kind === 'wait'
			? `thread ${of.thread[i]} waits ${time(of.wait_time[i])} in ${text(of.function[i])}\n${siteName(of.backtrace[i])}\n` +
				wakerText(i) + (of.waker[i] === null ? '' : ': ' + siteName(of.waker_backtrace[i]))
			: `thread ${of.thread[i]} holds ${of.object[i]} for ${time(of.hold_time[i])}\n${siteName(of.backtrace[i])}`;
	}, pick);
}

function viewLanes(view) {
	const a = edges[state.from], b = edges[state.to], lanes = lanesIn(a, b), W = M.longWaits;
	view.append(make('div', { class: 'row' }, searchBox(), make('span', { class: 'push' }), legendOf([['hold', 'holds a lock'], ['busy', 'holds a lock while others wait']]),
		saveButton('threads over time', '#view canvas', '#view .key, #legend .legend .key')));
	for (const name of ['longest_waits', 'long_holds']) {
		const found = page.sheets.find(each => each.name === name);
		if (found && found.note !== null)
			view.append(make('p', { class: 'faint' }, text(found.note)));
	}
	const canvas = make('canvas', { 'aria-label': 'threads over time: locks that they hold, and waits; arrow keys go from one to the next, Enter shows its backtraces' });
	const chosen = make('div', { class: 'two' });
	view.append(canvas, chosen);
	if (DEADLOCK.length)
		canvas.before(drawDeadlock());
	if (lanes.length)
		drawLanes(canvas, lanes.slice(0, LANES_MOST), a, b, found => {
			const of = found.kind === 'wait' ? W : M.longHolds, i = found.index;
			clear(chosen).append(stack(of.backtrace[i], found.kind === 'wait' ? `thread ${of.thread[i]} waits here, ${time(of.wait_time[i])}` : `thread ${of.thread[i]} locked the lock here and held it for ${time(of.hold_time[i])}`));
			if (found.kind === 'wait')
				chosen.append(stack(of.waker_backtrace[i], wakerText(i)));
		});
	else
		canvas.remove();
	if (lanes.some(lane => lane.idle) || state.idle)
		view.append(make('button', { type: 'button', 'aria-pressed': String(state.idle === 1),
			onclick: () => choose({ idle: state.idle ? 0 : 1 }) }, 'a lane for each idle thread'));
	if (lanes.length > LANES_MOST)
		view.append(make('p', { class: 'faint' }, `${count(lanes.length - LANES_MOST)} more threads, which waited less, are not shown.`));
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

