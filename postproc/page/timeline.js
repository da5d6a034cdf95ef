/* SPDX-License-Identifier: MIT */
/*
 * The timeline: live objects and waiting threads over the run, and the window. This file is a part
 * of one function: see model.js.
 */

/* ---- timeline ---- */

/*
 * Returns the curves of the largest sites of the class, one for each layer, and the curve of all
 * other sites (key: -1).
 */
function layers() {
	const by = inBytes() ? 'bytes' : 'count', totals = new Map();
	for (let i = 0; i < M.spans.rows; i++) {
		const site = M.spans.site[i];
		if (M.sites.number[site] !== state.class || !isOfChosen(i))
			continue;
		const life = Math.min(M.spans.gone_step[i], STEPS) - M.spans.acquired_step[i];
		totals.set(site, (totals.get(site) || 0) + M.spans[by][i] * life);
	}
	const largest = [...totals].sort((a, b) => b[1] - a[1]).slice(0, PALETTE.length).map(entry => entry[0]);
	const curves = new Map(largest.concat(-1).map(site => entry(site, new Float64Array(STEPS + 1))));
	for (let i = 0; i < M.spans.rows; i++) {
		const site = M.spans.site[i];
		if (M.sites.number[site] !== state.class || !isOfChosen(i))
			continue;
		addSpan(curves.get(site) || curves.get(-1), i, M.spans[by]);
	}
	curves.forEach(addUp);
	return curves;
}

/* The x coordinates where time axes begin and end; they are the same in all pictures. */
const left = () => innerWidth < 600 ? 96 : 150;
const RIGHT = 6;
const axisOf = (width, from, to) => at => left() + (width - left() - RIGHT) * (Math.max(from, Math.min(to, at)) - from) / (to - from);

/* Draws a grid at round times, and the times below it. */
function drawTicks(context, from, to, x, bottom) {
	const least = (to - from) / Math.max(2, (x(to) - x(from)) / (innerWidth < 600 ? 80 : 110)), power = 10 ** Math.floor(Math.log10(least));
	const gap = [1, 2, 5, 10].map(each => each * power).find(each => each >= least);
	context.textAlign = 'left';
	let end = 0;
	for (let at = Math.ceil(from / gap) * gap; at <= to; at += gap) {
		context.fillStyle = colour('line');
		context.fillRect(x(at), 4, 1, bottom - 4);
		context.fillStyle = colour('faint');
		const words = at ? tickText(at, gap) : '0', width = context.measureText(words).width, begin = Math.min(x(at), x(to) - width);
		if (begin > end + 8)
			context.fillText(words, begin, bottom + 10);
		end = Math.max(end, begin + width);
	}
}

/* Formats a time with as many digits as are needed to distinguish neighbouring times. */
function tickText(at, gap) {
	const unit = [1e9, 1e6, 1e3].find(each => at >= each) || 1, word = { 1e9: 's', 1e6: 'ms', 1e3: 'us', 1: 'ns' }[unit];
	return (at / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / gap) - 1e-9))).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') + ' ' + word;
}

/* Shows the legend: the kinds of waits, and the names of the layers, the largest first. */
function drawLegend(curves, hasParts) {
	const names = KINDS_OF_WAITS.map(kind => ['wait-' + kind,
		kind === 'call' ? 'waits in a call' : `waits for a ${kind === 'thread' ? 'thread or child' : kind}`]);
	for (const [layer, site] of [...curves.keys()].entries())
		if (curves.get(site).some(each => each > 0))
			names.push([site < 0 ? 'line' : PALETTE[layer], site < 0 ? 'all other call sites'
				: siteName(M.sites.backtrace[site]).split(' <- ').slice(0, 2).join(' <- ') || text(M.sites.function[site])]);
	if (hasParts)
		names.push(['part', 'live in a part of the time step only']);
	const list = legendOf(names);
	if (innerWidth < 600) /* the list is scrolled, also by the keyboard */
		list.tabIndex = 0;
	clear($('legend')).append(list);
}

/* Marks the time of the peak, if it is known, and writes the peak's value beside it. */
function drawPeak(context, x, bottom) {
	const row = peakRow();
	if (row < 0 || PEAKS.time[row] < edges[axis()[0]] || PEAKS.time[row] > edges[axis()[1]])
		return;
	const at = x(PEAKS.time[row]), words = 'peak ' + (classes[state.class].isBytes ? bytes : count)(PEAKS.peak[row]) + ownerOfPeak(row);
	const width = context.measureText(words).width, isRight = at + width + 12 < x(edges[STEPS]);
	context.fillStyle = colour('ink');
	context.fillRect(at, 2, 1, bottom - 2);
	context.textAlign = isRight ? 'left' : 'right';
	context.fillText(words, at + (isRight ? 4 : -4), 8);
}

/* Draws the title of a track and its maximum, on the left of the track. */
function drawTitle(context, top, ...words) {
	context.fillStyle = colour('faint');
	context.textAlign = 'right';
	words.forEach((each, line) => context.fillText(each, left() - 6, top + 6 + 16 * line));
}

/* The classes that have a track of their own below the track of the chosen class. */
/* Detached threads are not counted, as in the report timeline. */
const PLURALS = { fd: 'descriptors', thread: 'joinable threads' };
const sideTracks = () => Object.keys(PLURALS).map(name => classes.findIndex(each => each.name === name))
	.filter(number => number >= 0 && number !== state.class && Math.max(...liveCurve(number, 'count')) > 0);

function drawTimeline() {
	const sides = sideTracks(), [from, to] = axis(), isNarrow = innerWidth < 600;
	const main = isNarrow ? 92 : 132, side = isNarrow ? 26 : 40, waiting = KINDS_OF_WAITS.length ? 46 : 0;
	const { context, width, height } = paper($('timeline'), main + sides.length * side + waiting + 18);
	const at = axisOf(width, edges[from], edges[to]), x = edge => at(edges[edge]), end = height - 18;
	drawLayers(context, x, main - 8);
	let top = main;
	for (const number of sides) {
		drawSide(context, x, number, top, top + side - 12);
		top += side;
	}
	if (waiting)
		drawWaiting(context, x, top, end);
	drawTicks(context, edges[from], edges[to], at, end);
	drawPeak(context, at, main - 8);
	context.textAlign = 'left';
	for (let i = 0; i < M.marks.rows; i++) {
		if (M.marks.time[i] < edges[from] || M.marks.time[i] > edges[to])
			continue;
		context.fillStyle = colour('accent');
		context.fillRect(at(M.marks.time[i]), 4, 1, end - 4);
		context.fillText(text(M.marks.text[i]).slice(0, 24), at(M.marks.time[i]) + 3, 10);
	}
	if (state.from > from || state.to < to) {
		context.fillStyle = colour('select');
		context.fillRect(x(state.from), 0, x(state.to) - x(state.from), end);
	}
	context.fillStyle = colour('accent');
	for (const edge of [state.from, state.to])
		if (edge >= from && edge <= to)
			context.fillRect(x(edge) - 1, 0, 2, end);
	const slider = $('timeline');
	slider.setAttribute('aria-valuetext', windowText());
	slider.setAttribute('aria-valuemin', '0');
	slider.setAttribute('aria-valuemax', String(STEPS));
	slider.setAttribute('aria-valuenow', String(state.from));
}

/* Draws the chosen class: its largest call sites as layers. */
function drawLayers(context, x, bottom) {
	const [from, to] = axis(), curves = once(`layers ${state.class} ${inBytes()} ${state.process}`, layers);
	const highest = liveCurve(state.class, inBytes() ? 'size' : 'count');
	const most = Math.max(1e-9, ...highest.slice(from, to)), y = value => bottom - (bottom - 18) * value / most;
	const base = new Float64Array(STEPS);
	for (const [layer, [site, curve]] of [...curves].entries()) {
		context.beginPath();
		for (let i = from; i < to; i++) {
			context.lineTo(x(i), y(base[i] + curve[i]));
			context.lineTo(x(i + 1), y(base[i] + curve[i]));
		}
		for (let i = to; i-- > from;) {
			context.lineTo(x(i + 1), y(base[i]));
			context.lineTo(x(i), y(base[i]));
		}
		context.fillStyle = site < 0 ? colour('line') : PALETTE[layer];
		context.fill();
		for (let i = from; i < to; i++)
			base[i] += curve[i];
	}
	/*
	 * draw the amount that was live in only a part of the step, at least one pixel wide and high
	 */
	let hasParts = false;
	context.fillStyle = colour('part');
	for (let i = from; i < to; i++)
		if (highest[i] > base[i]) {
			fillStep(context, x(i), x(i + 1), y(highest[i]), Math.max(1, y(base[i]) - y(highest[i])));
			hasParts = true;
		}
	/* maxima of several processes need not be at the same time */
	drawTitle(context, 6, (M.owners.rows > 1 && !state.process ? '≤ ' : '') + (inBytes() ? bytes(most) : count(most)), classes[state.class].name);
	context.fillText('0', left() - 6, bottom - 4);
	drawLegend(curves, hasParts);
}

/* Fills a rectangle that has no seam with its neighbours, and is at least one pixel wide. */
function fillStep(context, from, to, top, height) {
	context.fillRect(Math.round(from), top, Math.max(1, Math.round(to) - Math.round(from)), height);
}

/* Draws how many objects of another class were live. */
function drawSide(context, x, number, top, bottom) {
	const [from, to] = axis(), curve = liveCurve(number, 'count'), most = Math.max(1, ...curve.slice(from, to));
	context.fillStyle = colour('side');
	for (let i = from; i < to; i++) {
		const height = (bottom - top) * curve[i] / most;
		fillStep(context, x(i), x(i + 1), bottom - height, height);
	}
	const name = PLURALS[classes[number].name];
	drawTitle(context, top, ...(innerWidth < 600 ? [`${name === 'descriptors' ? 'fds' : 'joinable'}, ${count(most)}`] : [name, count(most) + ' at most']));
}

/* Draws how many threads waited on average in each step, by kind. */
function drawWaiting(context, x, top, bottom) {
	const curves = KINDS_OF_WAITS.map(waitCurve), length = i => edges[i + 1] - edges[i], [from, to] = axis();
	let most = 0;
	for (let i = from; i < to; i++)
		most = Math.max(most, curves.reduce((sum, curve) => sum + curve[i], 0) / length(i));
	const scale = (bottom - top) / Math.max(most, 1e-9);
	for (let i = from; i < to; i++) {
		let base = bottom;
		for (const [k, curve] of curves.entries()) {
			const height = scale * curve[i] / length(i);
			context.fillStyle = colour('wait-' + KINDS_OF_WAITS[k]);
			if (height > 0)
				fillStep(context, x(i), x(i + 1), base - height, height);
			base -= height;
		}
	}
	drawTitle(context, top, innerWidth < 600 ? 'waiting' : 'waiting threads', (most < 9.95 ? most.toFixed(1).replace('.0', '') : count(most)) + ' at most');
}

/* Returns the step that contains a time; the last step contains the end of the run. */
function stepOf(at) {
	const next = edges.findIndex(edge => edge > at);
	return next < 0 ? STEPS - 1 : Math.max(0, next - 1);
}

function stepAt(event) {
	const canvas = $('timeline'), box = canvas.getBoundingClientRect(), [from, to] = axis();
	const share = (event.clientX - box.left - left()) / (box.width - left() - RIGHT);
	const at = edges[from] + Math.max(0, Math.min(1, share)) * (edges[to] - edges[from]);
	return Math.max(from, Math.min(stepOf(at), to - 1));
}

/*
 * Shows another range on the axis. A window that covered the whole axis, or is now outside of it,
 * becomes the axis.
 */
function showRange(a, b, crumbs) {
	const [from, to] = axis(), isWhole = state.from === from && state.to === to;
	const way = crumbs.filter(each => each[0] <= a && each[1] >= b && (each[0] < a || each[1] > b));
	const changes = { axis: [...way.slice(1), [a, b]].filter(each => each[0] > 0 || each[1] < STEPS).map(each => each.join('-')).join('_') };
	if (isWhole || state.to <= a || state.from >= b)
		Object.assign(changes, { from: a, to: b });
	choose(changes, true);
}

/* Makes the range of the axis shorter or longer; the step `centre` keeps its position. */
function zoomAxis(isIn, centre) {
	const [a, b] = axis(), length = isIn ? Math.max(4, Math.floor((b - a) * 0.7)) : Math.ceil((b - a) / 0.7);
	if (length >= STEPS)
		return showRange(0, STEPS, []);
	const from = Math.max(0, Math.min(STEPS - length, Math.round(centre - (centre - a) * length / (b - a))));
	showRange(from, from + length, ranges().slice(0, -1));
}

function panAxis(part) {
	const [a, b] = axis(), moved = Math.max(-a, Math.min(STEPS - b, Math.sign(part) * Math.ceil(Math.abs(part) * (b - a))));
	if (moved)
		showRange(a + moved, b + moved, [[0, STEPS]]);
}

const isZoomed = () => axis()[0] > 0 || axis()[1] < STEPS;
const isSelected = () => state.from > axis()[0] || state.to < axis()[1];
const zoomToWindow = () => isSelected() && choose({ axis: [...ranges().slice(1), [state.from, state.to]].map(each => each.join('-')).join('_') });
const middle = () => (Math.max(state.from, axis()[0]) + Math.min(state.to, axis()[1])) / 2;

/* Undoes one choice: the zoom to a function, else the window, else the range of the axis. */
function leave() {
	const way = ranges(), [a, b] = axis();
	if (state.zoom)
		choose({ zoom: '' });
	else if (isSelected())
		choose({ from: a, to: b });
	else if (way.length > 1)
		choose({ axis: way.slice(1, -1).map(each => each.join('-')).join('_'), from: way[way.length - 2][0], to: way[way.length - 2][1] });
}

function listenTimeline() {
	const canvas = $('timeline');
	let begun = -1;
	canvas.addEventListener('pointerdown', event => {
		begun = stepAt(event);
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener('pointermove', event => {
		const step = stepAt(event);
		if (begun >= 0) {
			const from = Math.min(begun, step), to = Math.max(begun, step) + 1;
			if (from !== state.from || to !== state.to)
				choose({ from, to }, 'not yet');
		}
		const curve = liveCurve(state.class, inBytes() ? 'size' : 'count');
		showTip(event, [`${time(edges[step])} to ${time(edges[step + 1])}`,
			...(M.owners.rows > 1 && !state.process ? ['sums of the maxima of all processes'] : []),
			...sideTracks().map(number => `${PLURALS[classes[number].name]}: ${count(liveCurve(number, 'count')[step])} at most`),
			`${classes[state.class].name}: ${(inBytes() ? bytes : count)(curve[step])} at most`].join('\n'));
	});
	canvas.addEventListener('pointerup', event => {
		if (begun >= 0 && stepAt(event) === begun)
			choose({ from: axis()[0], to: axis()[1] });
		else if (begun >= 0)
			choose({});
		begun = -1;
	});
	canvas.addEventListener('pointerleave', event => showTip(event, ''));
	canvas.addEventListener('wheel', event => {
		const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
		if (!isZoomed() && (isSideways || event.deltaY > 0)) /* let the page scroll */
			return;
		event.preventDefault();
		if (isSideways)
			panAxis(Math.sign(event.deltaX) * 0.1);
		else
			zoomAxis(event.deltaY < 0, stepAt(event));
	}, { passive: false });
	canvas.addEventListener('keydown', event => {
		const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0, [a, b] = axis();
		if (event.key === 'Enter')
			zoomToWindow();
		if (!by)
			return;
		event.preventDefault();
		if (event.shiftKey)
			choose({ to: Math.max(state.from + 1, Math.min(b, state.to + by)) }, true);
		else
			choose({ from: Math.max(a, Math.min(state.to - 1, state.from + by)) }, true);
	});
}

function drawWindows() {
	const row = clear($('windows'));
	const peakAt = peakRow(), curve = liveCurve(state.class, inBytes() ? 'size' : 'count');
	const button = (words, from, to, cost) => row.append(make('button', { type: 'button',
		'aria-pressed': String(state.from === from && state.to === to && (!cost || state.cost === cost)),
		onclick: () => choose({ from, to, cost: cost || state.cost, ...(from < axis()[0] || to > axis()[1] ? { axis: '' } : {}) }) }, words));
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
		row.append(make('span', { class: 'faint' }, `all ${count(M.owners.rows)} processes; for one: holdtrace report --format=html --process=PID`));
	}
	ranges().forEach(([from, to], i, all) => row.append(i ? '› ' : '', make('button', { type: 'button',
		'aria-pressed': String(i === all.length - 1 && !isSelected()),
		onclick: () => choose({ from, to, axis: all.slice(1, i + 1).map(each => each.join('-')).join('_') }) },
	i ? `${time(edges[from])} to ${time(edges[to])}` : 'whole run')));
	if (isSelected())
		row.append(make('button', { type: 'button', onclick: zoomToWindow }, 'zoom to the window'));
	const peak = (peakAt < 0 ? peakStep(curve, 0, STEPS) : stepOf(PEAKS.time[peakAt])) + 1;
	if (axis()[0] < peak && axis()[1] > peak)
		button('up to the peak', axis()[0], peak, 'peak');
	/* a generation is the time between two marks */
	for (let i = 0; i + 1 < Math.min(M.marks.rows, 8); i++) {
		const from = stepOf(M.marks.time[i]);
		button(`${text(M.marks.text[i])} … ${text(M.marks.text[i + 1])}`, from, Math.max(from + 1, stepOf(M.marks.time[i + 1])));
	}
	row.append(make('span', { class: 'faint push' }, windowText()));
	row.append(saveButton('live objects and waits', '#timeline', '#legend .key'));
}

