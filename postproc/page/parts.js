/* SPDX-License-Identifier: MIT */
/*
 * Small parts of the page: elements, colours, backtraces, tables. This file is a part of one
 * function: see model.js.
 */

/* ---- small parts of pages ---- */

/** @returns {any} */
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

/* Sets the height of a canvas in CSS pixels, and its resolution to that of the display. */
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

/* Colours that people with colour blindness can distinguish, too (Paul Tol's light scheme). */
const PALETTE = ['#77aadd', '#ee8866', '#eedd88', '#44bb99', '#ffaabb', '#99ddff', '#bbcc33', '#aaaa00'];

/*
 * The colour of a module's frames. It is muted, so that text on it can be read. All but the first
 * modules are grey.
 */
const moduleOf = frame => page.frames.module[frame];
function moduleColour(frame) {
	const ranks = once('modules', () => {
		const frames = new Map();
		for (const each of page.nodes.frame)
			frames.set(moduleOf(each), (frames.get(moduleOf(each)) || 0) + 1);
		return new Map([...frames].sort((x, y) => y[1] - x[1]).slice(0, PALETTE.length).map(([module], rank) => entry(module, rank)));
	});
	const rank = ranks.get(moduleOf(frame));
	return rank === undefined ? colour('line') : PALETTE[rank] + (state.search ? '33' : isDark() ? '66' : '99');
}

/* Makes a legend from pairs [variable or colour, words]. */
const legendOf = names => make('span', { class: 'legend' }, ...names.map(([name, words]) => make('span', { title: words },
	make('span', { class: 'key', style: `background: ${name[0] === '#' ? name : `var(--${name})`}` }), words)));

/*
 * Makes a picture accessible by keys: arrows move between its boxes, and Enter opens a box. boxes:
 * { x, w, level }; rows of the picture are `height` high; words(box) describes a box.
 */
function listenBoxes(canvas, boxes, height, start, words, pick) {
	const frame = make('div', { class: 'cursor', hidden: true }), holder = make('div', { class: 'boxes' });
	let at = boxes[start];
	canvas.replaceWith(holder);
	holder.append(canvas, frame);
	canvas.tabIndex = 0;
	canvas.setAttribute('role', 'application');
	const find = event => {
		const area = canvas.getBoundingClientRect(), x = event.clientX - area.left, level = Math.floor((event.clientY - area.top) / height);
		return boxes.filter(each => each.level === level && x >= each.x && x <= each.x + Math.max(each.w, 2)).pop();
	};
	const away = each => Math.max(0, each.x - at.x - at.w, at.x - each.x - each.w);
	function show() {
		const area = canvas.getBoundingClientRect();
		frame.hidden = false;
		frame.style.cssText = `left: ${at.x}px; top: ${at.level * height}px; width: ${Math.max(at.w, 4)}px; height: ${height}px`;
		showTip({ clientX: area.left + at.x, clientY: area.top + at.level * height }, words(at));
	}
	function next(key) {
		const line = boxes.filter(each => each.level === at.level).sort((a, b) => a.x - b.x);
		if (key === 'ArrowRight' || key === 'ArrowLeft')
			return line[line.indexOf(at) + (key === 'ArrowRight' ? 1 : -1)];
		const sign = key === 'ArrowDown' ? 1 : -1;
		const levels = boxes.map(each => sign * (each.level - at.level)).filter(each => each > 0);
		return boxes.filter(each => each.level === at.level + sign * Math.min(...levels))
			.reduce((best, each) => !best || away(each) < away(best) ? each : best, undefined);
	}
	canvas.onpointermove = event => { const found = find(event); showTip(event, found && words(found)); };
	canvas.onpointerleave = event => showTip(event, '');
	canvas.onclick = event => { const found = find(event); if (found) pick(at = found); };
	canvas.onfocus = () => at && canvas.matches(':focus-visible') && show();
	canvas.onblur = event => { frame.hidden = true; showTip(event, ''); };
	canvas.onkeydown = event => {
		if (!at || event.shiftKey || !(event.key.startsWith('Arrow') || event.key === 'Enter'))
			return;
		event.preventDefault();
		if (event.key === 'Enter') {
			pick(at);
			return;
		}
		at = next(event.key) || at;
		show();
		frame.scrollIntoView({ block: 'nearest' });
	};
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

/*
 * The functions of a backtrace as the text reports print them: the program's own functions first.
 */
const siteName = node => node === null ? '' : text(page.words[node]) || functionOf(page.nodes.frame[node]);

/*
 * Makes a table that is sorted by a click on a heading. columns: { name, value(row), text(row),
 * number }. detail(row): the element that is shown below a row when it is opened. Rows after the
 * first hundred are added on request.
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

