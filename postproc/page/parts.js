/* SPDX-License-Identifier: MIT */
/* Small parts of the page: elements, colours, backtraces, tables. Part of one function: see model.js. */

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

/* Sets the height of a canvas in CSS pixels, and its resolution to that of the screen. */
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

/* A backtrace in the form of the text reports: the program's own functions first. */
const siteName = node => node === null ? '' : text(page.words[node]) || functionOf(page.nodes.frame[node]);

/*
 * Makes a table; a click on a heading sorts it. columns: { name, value(row), text(row), number }.
 * detail(row): the element that is shown below a row when the row is opened. Rows after the first hundred
 * are added on request.
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

