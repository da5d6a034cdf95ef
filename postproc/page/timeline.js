/* SPDX-License-Identifier: MIT */
/* The timeline: live objects and waiting threads over the run, and the window. Part of one function: see model.js. */

/* ---- timeline ---- */

/* The colours of the layers, which colour-blind people can tell apart, too (Paul Tol's light scheme). */
const LAYERS = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb', '#99ddff', '#bbcc33', '#aaaa00'];

/*
 * The curves of the largest sites of the class, one for each layer, and the curve of all other sites (key:
 * -1).
 */
function layers() {
	const by = inBytes() ? 'bytes' : 'count', totals = new Map();
	for (let i = 0; i < M.spans.rows; i++) {
		const site = M.spans.site[i];
		if (M.sites.number[site] !== state.class || !isOfChosen(i))
			continue;
		const life = Math.min(M.spans.gone_step[i], BINS) - M.spans.acquired_step[i];
		totals.set(site, (totals.get(site) || 0) + M.spans[by][i] * life);
	}
	const largest = [...totals].sort((a, b) => b[1] - a[1]).slice(0, LAYERS.length).map(entry => entry[0]);
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

/* The x coordinate at which time axes begin, the same in all pictures. */
const left = () => innerWidth < 600 ? 96 : 150;

/* Draws a grid at round times, and the times below it. */
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

/* Shows the legend: the names of the layers, largest first. */
function drawLegend(curves) {
	const legend = clear($('legend'));
	for (const [layer, site] of [...curves.keys()].entries())
		if (curves.get(site).some(each => each > 0))
			legend.append(make('span', { title: site < 0 ? undefined : siteName(M.sites.backtrace[site]) },
				make('span', { class: 'key', style: `background: ${site < 0 ? colour('line') : LAYERS[layer]}` }),
				site < 0 ? 'all others' : siteName(M.sites.backtrace[site]).split(' <- ').slice(0, 2).join(' <- ') || text(M.sites.function[site])));
}

/* Marks the time of the peak, if it is known, and writes the peak's value beside it. */
function drawPeak(context, x, bottom) {
	const row = peakRow();
	if (row < 0)
		return;
	const at = x(PEAKS.time[row]), words = 'peak ' + (classes[state.class].isBytes ? bytes : count)(PEAKS.peak[row]);
	const width = context.measureText(words).width, isRight = at + width + 12 < x(edges[BINS]);
	context.fillStyle = colour('ink');
	context.fillRect(at, 2, 1, bottom - 2);
	context.textAlign = isRight ? 'left' : 'right';
	context.fillText(words, at + (isRight ? 4 : -4), 8);
}

function drawTimeline() {
	const waiting = KINDS_OF_WAITS.length ? 56 : 0;
	const { context, width, height } = paper($('timeline'), (innerWidth < 600 ? 110 : 150) + waiting);
	const bottom = height - 18 - waiting, plot = width - left() - 6;
	const x = edge => left() + plot * edges[edge] / edges[BINS];
	const curves = once(`layers ${state.class} ${inBytes()} ${state.process}`, layers);
	const highest = liveCurve(state.class, inBytes() ? 'size' : 'count');
	const most = Math.max(1e-9, ...highest), y = value => bottom - (bottom - 8) * value / most;
	const base = new Float64Array(BINS);
	context.lineWidth = 1;
	for (const [layer, [site, curve]] of [...curves].entries()) {
		context.beginPath();
		for (let i = 0; i < BINS; i++) {
			context.lineTo(x(i), y(base[i] + curve[i]));
			context.lineTo(x(i + 1), y(base[i] + curve[i]));
		}
		for (let i = BINS; i-- > 0;) {
			context.lineTo(x(i + 1), y(base[i]));
			context.lineTo(x(i), y(base[i]));
		}
		context.fillStyle = site < 0 ? colour('line') : LAYERS[layer];
		context.fill();
		for (let i = 0; i < BINS; i++)
			base[i] += curve[i];
	}
	/* the amount that was live in only a part of the bin, at least one pixel wide and high */
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
	context.fillText(inBytes() ? bytes(most) : count(most), left() - 6, 12);
	context.fillText(classes[state.class].name, left() - 6, 28);
	context.fillText('0', left() - 6, bottom - 4);
	context.textAlign = 'left';
	drawTicks(context, 0, edges[BINS], at => left() + plot * at / edges[BINS], height - 18);
	drawPeak(context, at => left() + plot * at / edges[BINS], bottom);
	drawLegend(curves);
	for (let i = 0; i < M.marks.rows; i++) {
		const at = left() + plot * M.marks.time[i] / edges[BINS];
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
	context.fillText(innerWidth < 600 ? 'waiting' : 'waiting threads', left() - 6, top + 6);
	context.fillText((most < 9.95 ? most.toFixed(1).replace('.0', '') : count(most)) + ' at most', left() - 6, top + 22);
}

function binAt(event) {
	const canvas = $('timeline'), box = canvas.getBoundingClientRect();
	const share = (event.clientX - box.left - left()) / (box.width - left() - 6);
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

