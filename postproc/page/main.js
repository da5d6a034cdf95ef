/* SPDX-License-Identifier: MIT */
/* Tabs, drawing and keys. This file is a part of one function: see model.js. */

/* ---- drawing, at most once per frame of the screen ---- */

function drawNow() {
	const begun = performance.now();
	style.clear();
	if (!IS_DIFF) {
		drawWindows();
		drawTimeline();
	}
	drawTabs();
	TABS.find(tab => tab.id === state.tab).draw(clear($('view')));
	document.documentElement.dataset.drawn = state.tab;
	document.documentElement.dataset.work = (performance.now() - begun).toFixed(1);
}

/*
 * Drawing replaces all elements; the focus moves to the new element that has the name of the old
 * one.
 */
const nameOf = element => element.tagName + (element.getAttribute('aria-label') || element.textContent.replace(/ [▾▴]$/, ''));
function keepFocus(change) {
	const before = /** @type {any} */ (document.activeElement), root = before && before.parentElement && before.parentElement.closest('[id]');
	/* without a focus, the element is the body, whose text has the model */
	if (!root)
		return change();
	const id = before.id, name = nameOf(before), at = id === 'search' ? before.selectionStart : -1;
	change();
	if (before.isConnected)
		return;
	const after = id ? $(id) : [...(root.isConnected ? root : document.body).querySelectorAll(before.tagName)].find(each => nameOf(each) === name);
	if (!after)
		return;
	after.focus({ preventScroll: true });
	if (at >= 0)
		after.setSelectionRange(at, at);
}

let isDue = false;
function draw() {
	if (isDue)
		return;
	isDue = true;
	requestAnimationFrame(() => {
		isDue = false;
		keepFocus(drawNow);
	});
}

/* ---- keys ---- */

const KEYS = [
	['/', 'search functions and files'], ['1 … 9', 'the views, in the order of their tabs'],
	['w s', 'zoom the time axis in, out (also with the wheel)'], ['a d', 'move the time axis earlier, later'],
	['← →', 'on the timeline: move the start of the window (with shift: its end); on a graph: go to the next box'], ['[ ]', 'move the window a step earlier, later'],
	['Enter', 'on the timeline: zoom to the window; on a graph: open the box'],
	['Esc', 'undo the zoom to a function, then the window, then the zoom of the time axis'], ['i', 'switch between callers first, callees first and sandwich'],
	['t', 'switch between dark and light'], ['?', 'show or hide these keys'],
];

function showKeys() {
	const list = $('keys');
	list.hidden = !list.hidden;
	if (list.children.length)
		return;
	for (const [key, words] of KEYS)
		list.append(make('dt', {}, key), make('dd', {}, words));
}

function moveWindow(by) {
	const [a, b] = axis(), moved = Math.max(a - state.from, Math.min(b - state.to, by));
	choose({ from: state.from + moved, to: state.to + moved }, true);
}

function changeTheme() {
	document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
	draw();
}

document.title = 'holdtrace: ' + page.title;
$('title').textContent = IS_DIFF ? 'Comparison of two runs; the old run: ' + page.title : page.title;
$('timeline').parentNode.hidden = IS_DIFF;
$('about').textContent = page.about;
$('theme').addEventListener('click', changeTheme);
$('help').addEventListener('click', showKeys);
addEventListener('popstate', () => { readState(); draw(); });
/* Printing uses the light theme. */
let screenTheme;
addEventListener('beforeprint', () => {
	screenTheme = document.documentElement.dataset.theme;
	document.documentElement.dataset.theme = 'light';
	drawNow();
});
addEventListener('afterprint', () => {
	if (screenTheme)
		document.documentElement.dataset.theme = screenTheme;
	else
		delete document.documentElement.dataset.theme;
	draw();
});
addEventListener('resize', draw);
addEventListener('keydown', event => {
	if (/** @type {HTMLElement} */ (event.target).matches('input, select') || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === '/' && $('search')) {
		event.preventDefault();
		$('search').focus();
	} else if (event.key === '?') {
		showKeys();
	} else if (event.key === 't') {
		changeTheme();
	} else if (event.key === 'i' && !IS_DIFF) {
		const trees = ['down', 'up', 'both'];
		choose({ tab: 'flame', zoom: '', tree: trees[(trees.indexOf(state.tree) + 1) % trees.length] });
	} else if ((event.key === 'w' || event.key === 's') && !IS_DIFF) {
		zoomAxis(event.key === 'w', middle());
	} else if ((event.key === 'a' || event.key === 'd') && !IS_DIFF) {
		panAxis(event.key === 'a' ? -0.25 : 0.25);
	} else if (event.key === '[' || event.key === ']') {
		moveWindow(event.key === '[' ? -1 : 1);
	} else if (event.key === 'Escape' && !$('keys').hidden) {
		showKeys();
	} else if (event.key === 'Escape') {
		leave();
	} else if (event.key >= '1' && event.key <= String(Math.min($('tabs').children.length, 9))) {
		$('tabs').children[Number(event.key) - 1].click();
	}
});
readState();
drawFindings();
$('tabs').addEventListener('keydown', moveTab);
listenTimeline();
draw();

})();
