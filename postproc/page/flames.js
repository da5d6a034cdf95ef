/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs of one run and of two, and buttons that copy texts and pictures from them. This file is a
 * part of one function: see model.js.
 */

/* ---- flame graph ---- */

/* Names the amounts without a backtrace: those of small call sites, or of calls whose backtrace is not known. */
function nameless() {
	const names = isWait(state.cost) ? [] : [...new Set(M.sites.function.filter((_, site) => M.sites.number[site] === state.class &&
		M.sites.backtrace[site] === null))];
	return names.length === 1 ? text(names[0]) : 'no backtrace';
}

/* Makes a tree of { frame, value, children: Map, parent } from an array of [backtrace, value]. */
function grow(paths) {
	/** @type {any} */
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
 * Groups the nodes by parent. The children of node p (-1: the roots) are in `list`, from index first[p + 1]
 * to index first[p + 2] - 1. A parent precedes its children.
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
 * The call tree with sums, callers first. The children of a branch are computed when `children` is
 * first read.
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
	/* Nodes of one function with the same callers become one branch. */
	const same = once('same frames', sameFrames);
	class Branch {
		constructor(nodes, parent) {
			this.rest = 0;
			this.nodes = nodes;
			this.parent = parent;
			this.frame = nodes[0] < 0 ? -1 : same[page.nodes.frame[nodes[0]]];
			this.value = nodes[0] < 0 ? all : values[nodes[0]];
		}
		add(node) {
			this.nodes.push(node);
			this.value += values[node];
		}
		get children() {
			const branches = new Map();
			for (const node of this.nodes)
				for (let at = first[node + 1]; at < first[node + 2]; at++) {
					const child = list[at], frame = same[page.nodes.frame[child]], branch = branches.get(frame);
					if (!(values[child] > 0))
						continue;
					if (branch)
						branch.add(child);
					else
						branches.set(frame, new Branch([child], this));
				}
			return branches;
		}
	}
	const root = new Branch([-1]);
	root.rest = values[values.length - 1];
	return root;
}

const ROW = 19, DEPTH_MOST = 400;

/* How the tree of one run is drawn: the width, order, colour and tip of a function. */
const PLAIN = {
	value: node => node.value,
	order: node => node.value,
	fill: node => moduleColour(node.frame),
	said: (node, tree) => `${amount(node.value)}, ${(100 * node.value / tree.value).toFixed(1)} % of the tree`,
};

/* Computes the positions of the boxes that are wide enough to be seen, outermost first. */
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
			if (part < 1 || level >= DEPTH_MOST) {
				small++;
				smallSum += value(child);
				continue;
			}
			box(child, at, part, level + 1, inMatch || isMatch);
			at += part;
		}
		/*
		 * one box for all children that are too small to be drawn, and for call sites of
		 * which the model has only the sum
		 */
		const part = w * smallSum / value(node);
		if (part >= 0.5)
			boxes.push({ node, x: at, w: part, level: level + 1, rest: smallSum,
				name: (node.rest ? nameless() : `${count(small)} smaller`) + `: ${amount(smallSum)}` });
		depth = Math.max(depth, level + (part >= 0.5));
	};
	/* the callers of a zoomed function stay above it; a click on one of them zooms out */
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
	for (const box of way.isFlipped ? boxes : [])
		box.level = depth - box.level;
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
	listenBoxes(canvas, boxes, ROW, boxes.findIndex(each => each.node === tree), ({ node, name, rest }) => rest ? name
		: `${name}\n${node.frame < 0 ? '' : placeOf(node.frame) + '\n'}` + way.said(node, tree), found => pick(found.node));
	const modules = new Map(boxes.filter(each => each.node.frame >= 0).map(({ node: { frame } }) => entry(moduleOf(frame), moduleColour(frame))));
	if (way === PLAIN)
		canvas.parentElement.after(make('div', { class: 'faint' }, legendOf([...modules].slice(0, PALETTE.length + 1)
			.map(([module, shade]) => [shade, text(module).replace(/.*\//, '') || 'no module']))));
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

/* Two trees of a function: its callers, and its callees. */
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
		costs.append(make('option', { value: cost, selected: cost === state.cost }, costName(cost)));
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
	controls.append(said, saveButton(`${classes[state.class].name}: ${costName(state.cost)}`));
	const canvas = make('canvas', { 'aria-label': `flame graph: ${costName(state.cost)}; arrow keys go from function to function, Enter zooms` });
	view.append(controls, canvas);
	if (total === 0) {
		canvas.remove();
		view.append(make('p', { class: 'faint' }, `Nothing: ${costName(state.cost)}, ${windowText()}.`));
		return;
	}
	if (state.tree === 'both' && state.zoom) {
		const { up, down } = sandwich(sums, Number(state.zoom.split('.').pop()));
		const below = make('canvas', { 'aria-label': 'flame graph of what the function calls' });
		view.append(below);
		const pick = node => node.frame >= 0 && choose({ zoom: String(node.frame) });
		const first = tree => Object.assign(tree.children.values().next().value, { parent: undefined });
		drawTree(canvas, first(up), pick, { ...PLAIN, isFlipped: true });
		drawTree(below, first(down), pick);
		view.prepend(make('p', {}, functionOf(Number(state.zoom.split('.').pop())), ' ', make('span', { class: 'faint' }, `${amount(up.value)}; callers above, callees below`)));
		return;
	}
	const tree = state.tree === 'up'
		? grow([...sums].map(([node, value]) => [framesOf(node).slice().reverse(), value]))
		: callTree(sums);
	const shown = follow(tree, state.tree === 'both' ? '' : state.zoom);
	const matched = drawTree(canvas, shown, node => state.tree === 'both'
		? node.frame >= 0 && choose({ zoom: String(node.frame) })
		: choose({ zoom: pathOf(node) }));
	if (shown.frame >= 0 && state.tree !== 'both')
		view.append(framePanel(shown, tree));
	said.textContent = `${amount(total)}${ofTotal(total)}` + (state.search ? `, ${(100 * matched / shown.value).toFixed(1)} % matches` : '') +
		(state.tree === 'both' ? '; click a function' : '');
}

/* Returns which part of the sum the report leaks suppresses, or of which process and moment a peak is. */
function ofTotal(total) {
	if (state.cost === 'peak')
		return hasPeak() ? ownerOfPeak(peakRow()) : ', live at the end of the time step with the most';
	const leaks = sheet('leaks');
	if (state.cost !== 'live' || !sheet('suppressed').rows || state.process || state.from > 0 || state.to < STEPS)
		return '';
	const reported = (leaks.class || []).reduce((sum, each, i) => sum + (text(each) === classes[state.class].name &&
		(inBytes() ? leaks.amount[i] : leaks.count[i])), 0);
	return reported < total ? `, ${reported ? amount(total - reported) + ' of it' : 'all'} suppressed` : '';
}

/* ---- buttons that copy ---- */

/*
 * Makes a button that copies `words`. A page from a file: URL may have no clipboard interface; then
 * a selection is copied.
 */
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

const saved = (address, name) => make('a', { href: address, download: name }).click();

/*
 * Makes a button that saves canvases and their legend as a picture. Lines above the picture name
 * the program, the first finding, the contents and the window.
 */
function saveButton(what, root = '#view canvas', legend = '#view .key') {
	return make('button', { type: 'button', onclick: () => {
		const shown = /** @type {HTMLCanvasElement[]} */ ([...document.querySelectorAll(root)]), scale = devicePixelRatio || 1;
		if (!shown.length)
			return;
		const keys = [...document.querySelectorAll(legend)], line = 20 * scale, margin = 12 * scale;
		const lines = [page.title, FINDINGS.rows ? text(FINDINGS.finding[0]) : page.about, `${what}; ${windowText()}`];
		const width = shown[0].width, keysIn = Math.max(1, Math.floor(width / (250 * scale)));
		const head = margin + line * lines.length, foot = line * Math.ceil(keys.length / keysIn);
		const picture = make('canvas', { width: width + 2 * margin, height: head + shown.reduce((sum, each) => sum + each.height + margin, 0) + foot + margin });
		const context = picture.getContext('2d'), put = (words, x, y, most) => {
			context.fillStyle = colour('ink');
			context.fillText(words, x, y, most);
		};
		context.fillStyle = colour('paper');
		context.fillRect(0, 0, picture.width, picture.height);
		lines.forEach((words, i) => {
			context.font = `${i ? '' : 'bold '}${13 * scale}px system-ui, "DejaVu Sans", sans-serif`;
			put(words, margin, margin + line * (i + 0.7), width);
		});
		let y = head;
		for (const each of shown) {
			context.drawImage(each, margin, y);
			y += each.height + margin;
		}
		keys.forEach((key, i) => {
			const x = margin + (i % keysIn) * width / keysIn, middle = y + line * (Math.floor(i / keysIn) + 0.5);
			context.fillStyle = getComputedStyle(key).backgroundColor;
			context.fillRect(x, middle - 6 * scale, 11 * scale, 11 * scale);
			put(key.parentElement.textContent, x + 17 * scale, middle + 4 * scale, width / keysIn - 24 * scale);
		});
		saved(picture.toDataURL(), 'holdtrace.png');
	} }, 'save as a picture');
}

/* Makes a button that saves an SVG with the colours of both themes. */
function saveGraph(picture) {
	return make('button', { type: 'button', onclick: () => {
		const copy = picture.cloneNode(true), rules = [...document.styleSheets[0].cssRules].map(rule => rule.cssText);
		copy.setAttribute('xmlns', picture.namespaceURI);
		copy.prepend(svg('style', {}, rules.filter(rule => /:root|^\.graph/.test(rule)).join('\n') + '\nsvg { background: var(--paper); }'));
		saved('data:image/svg+xml,' + encodeURIComponent(copy.outerHTML), 'holdtrace.svg');
	} }, 'save as a picture');
}

/* Quotes a word for the shell if necessary. */
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/* The options that limit a report to the selected range and process. */
function selection(hasSince = true) {
	/* an option that is given twice has its last value */
	let options = (page.filters || '').split(/ (?=--)/).filter(Boolean).map(each => ' ' + quoted(each)).join('');
	options += state.process ? ` --process=${M.owners.pid[state.process - 1]}` : '';
	if (hasSince && state.from > 0)
		options += ` --since=${(edges[state.from] / 1e9).toFixed(9)}s`;
	if (state.to < STEPS)
		options += ` --until=${(edges[state.to] / 1e9).toFixed(9)}s`;
	return options;
}

/* Returns the command that prints the numbers of a flame graph in a terminal, if there is one. */
function commandOf(cost) {
	const isWhole = state.from === 0 && state.to === STEPS;
	const [report, hasSince] = {
		live: ['leaks --suppress=none', false], kept: ['leaks --suppress=none', true], acquired: ['allocations', true],
		peak: hasPeak() ? ['peak', false] : [], wait_time: isWhole ? ['waits --table=wakers', false] : [],
	}[cost] || [];
	return report && page.files !== null && isPidOfOne() && `holdtrace report ${report}${selection(hasSince)}${page.files}`;
}

/*
 * The backtrace of a zoomed function, with its share, and buttons that copy the backtrace, a suppression
 * and a command.
 */
function framePanel(shown, tree) {
	const path = [];
	for (let node = shown; node && node.frame >= 0; node = node.parent)
		path.push(node.frame);
	if (state.tree === 'up')
		path.reverse();
	const lines = path.map(frame => `${functionOf(frame)} ${placeOf(frame)}`);
	const list = make('ul', { class: 'stack mono' });
	for (const [i, frame] of path.entries())
		list.append(make('li', { class: page.frames.own[frame] ? undefined : 'outside' }, functionOf(frame), ' ',
			make('span', { class: 'faint' }, placeOf(frame) + (i ? '' : `: ${PLAIN.said(shown, tree)}`))));
	return make('div', { class: 'panel' }, make('div', { class: 'row' }, copyButton('copy the backtrace', lines.join('\n')),
		isWait(state.cost) || /\+?0x[0-9a-f]+$/.test(functionOf(shown.frame)) ? null : copyButton('copy a suppression', `leak:${functionOf(shown.frame)}`),
		commandOf(state.cost) ? copyButton('copy the command', commandOf(state.cost)) : null), ownCurve(path), list);
}

/*
 * Returns how much the paths through a function had live over the run. path: frames, the function
 * first.
 */
function ownCurve(path) {
	if (isWait(state.cost))
		return null;
	const same = once('same frames', sameFrames), wanted = state.tree === 'up' ? path : path.slice().reverse();
	const sites = [];
	for (let site = 0; site < M.sites.rows; site++) {
		if (M.sites.number[site] !== state.class || M.sites.backtrace[site] === null)
			continue;
		const frames = framesOf(M.sites.backtrace[site]);
		const from = state.tree === 'up' ? frames.length - wanted.length : 0;
		if (wanted.every((frame, i) => same[frames[from + i]] === same[frame]))
			sites.push(site);
	}
	const { path: line, most } = sparkPath(sites, 600, 40);
	return make('div', { class: 'row' }, curveOfPath(line, 600, 40), make('span', { class: 'faint' }, `at most ${inBytes() ? bytes(most) : count(most)} at the end of a time step`));
}

/* ---- comparison of two runs, side by side ---- */

/*
 * Returns for each frame of both runs the number of the first frame with the same function and
 * module.
 */
function sameFrames() {
	const first = new Map();
	return page.frames.function.map((name, i) => {
		const key = name === null || name < 0 ? 'frame ' + i : name + ' ' + page.frames.module[i];
		if (!first.has(key))
			first.set(key, i);
		return first.get(key);
	});
}

/*
 * Makes a tree of { frame, was, is, children, parent } from those call sites of a class that differ
 * between the runs.
 */
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

/*
 * Red: the value grew; blue: it fell; grey: it is unchanged. A larger change has a more saturated colour.
 */
function changeColour({ was, is }) {
	const part = (is - was) / Math.max(is, was, 1), light = isDark() ? 34 : 76;
	return `hsl(${part > 0 ? 4 : 212} ${Math.round(20 + 60 * Math.abs(part)) * Number(part !== 0)}% ${light}%)`;
}

function viewFlames(view) {
	const tree = follow(once('both ' + state.class, () => growBoth(state.class)), state.zoom), most = Math.max(tree.was, tree.is);
	const chooser = make('select', { 'aria-label': 'class', onchange: event => choose({ class: Number(event.target.value), zoom: '' }) });
	classes.forEach((c, i) => chooser.append(make('option', { value: i, selected: i === state.class }, c.name)));
	view.append(make('div', { class: 'row' }, chooser, searchBox(), make('span', { class: 'push' }),
		legendOf([['grew', 'more or new'], ['fell', 'less or gone']])));
	view.append(make('p', { class: 'faint' }, `Call sites that differ (${text(DIFF.note)}), drawn to the same scale. What is equal in both runs is not drawn.`));
	const sides = make('div', { class: 'two' });
	view.append(sides);
	const said = node => `${amount(node.was)}, then ${amount(node.is)}: ${node.is < node.was ? '-' : '+'}${amount(Math.abs(node.is - node.was))}`;
	const pick = node => choose({ zoom: pathOf(node === tree && node.parent ? node.parent : node) });
	const order = node => Math.max(node.was, node.is);
	/** @type {[string, (node: any) => number][]} */
	const sums = [['old', node => node.was], ['new', node => node.is]];
	const runs = sums.map(([name, value]) => {
		const canvas = make('canvas', { 'aria-label': `flame graph of the ${name} run` });
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

