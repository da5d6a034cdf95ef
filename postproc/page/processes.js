/* SPDX-License-Identifier: MIT */
/* The tree of processes over time. This file is a part of one function: see model.js. */

const FAMILY = sheet('processes');
const FAMILY_MOST = 120; /* limit of rows that are drawn */

/* The colour of a process's end, as the legend of the picture describes it. */
const endColour = end => /^(exit 0$|ran )/.test(end) ? 'good' : /^(exit|killed)/.test(end) ? 'bad' : 'side';

/*
 * Returns the rows of the picture, children below their parents: { depth, name, members: rows of
 * the table, processes: their number }. Childless processes of one program share a row if they
 * ended alike.
 */
function familyRows() {
	const children = new Map(), begun = new Map(), lines = [];
	FAMILY.pid.forEach((pid, row) => begun.set(pid, Math.min(FAMILY.start[row], begun.get(pid) ?? Infinity)));
	for (let row = 0; row < FAMILY.rows; row++) {
		const pid = FAMILY.pid[row], parent = begun.get(FAMILY.parent[row]) < begun.get(pid) ? FAMILY.parent[row] : 0;
		const siblings = children.get(parent) || new Map();
		/*
		 * a process that executes another program has a row for each of the programs; otherwise
		 * another process has the same number
		 */
		const images = siblings.get(pid) || [], isNext = images.length && /^ran /.test(text(FAMILY.end[images[images.length - 1]]));
		if (images.length && !isNext)
			siblings.set(`${pid} until ${row}`, images);
		children.set(parent, siblings.set(pid, isNext ? images.concat(row) : [row]));
	}
	const add = (parent, depth) => {
		const alike = new Map();
		for (const [pid, rows] of children.get(parent) || []) {
			const name = rows.map(row => text(FAMILY.program[row])).join(' → ');
			const key = children.has(pid) ? pid : `${name}, ${text(FAMILY.end[rows[rows.length - 1]])}`;
			if (!alike.has(key))
				lines.push(alike.set(key, { depth, name, members: [], processes: 0 }).get(key));
			alike.get(key).members.push(...rows);
			alike.get(key).processes++;
			add(pid, depth + 1);
		}
	};
	add(0, 0);
	return lines;
}

function viewFamily(view) {
	const lines = once('family', familyRows), shown = lines.slice(0, FAMILY_MOST), [from, to] = axis();
	const canvas = make('canvas', { 'aria-label': 'processes over time; arrow keys go from process to process, Enter shows only that process' });
	view.append(make('div', { class: 'row' }, make('span', { class: 'faint' }, 'a child is below its parent'),
		make('span', { class: 'push' }), legendOf([['good', 'ended with status 0, or executed another program'], ['bad', 'failed, or was killed'], ['side', 'still running, or end unknown']]),
		saveButton('processes over time')), canvas);
	const { context, width } = paper(canvas, shown.length * LANE + 22), boxes = [], x = axisOf(width, edges[from], edges[to]);
	drawTicks(context, edges[from], edges[to], x, shown.length * LANE + 4);
	shown.forEach(({ depth, name, members, processes }, level) => {
		const indent = Math.min(depth, 6) * 9, room = Math.floor((left() - indent - 6) / 7.4);
		const words = processes > 1 ? `${count(processes)} × ${name}` : name;
		context.fillStyle = colour('ink');
		context.textAlign = 'left';
		context.fillText(words.length > room ? words.slice(0, room - 1) + '…' : words, 2 + indent, level * LANE + LANE / 2);
		for (const row of members) {
			const begin = FAMILY.start[row], end = begin + FAMILY.duration[row];
			if (end < edges[from] || begin > edges[to])
				continue;
			context.fillStyle = colour(endColour(text(FAMILY.end[row])));
			context.fillRect(x(begin), level * LANE + 4, Math.max(1.5, x(end) - x(begin) - 0.5), LANE - 7);
			boxes.push({ level, x: x(begin), w: x(end) - x(begin), row });
		}
	});
	listenBoxes(canvas, boxes, LANE, 0, ({ row }) => `${text(FAMILY.program[row])} ${FAMILY.pid[row]}, started by ${FAMILY.parent[row]}\n` +
		`${time(FAMILY.start[row])} to ${time(FAMILY.start[row] + FAMILY.duration[row])}: ${text(FAMILY.end[row]) || 'end unknown'}\n${text(FAMILY.command[row])}`,
	({ row }) => {
		const owner = (M.owners.pid || []).findIndex((pid, i) => pid === FAMILY.pid[row] && text(M.owners.program[i]) === text(FAMILY.program[row]));
		if (PROCESSES && owner >= 0)
			choose({ process: state.process === owner + 1 ? 0 : owner + 1 });
	});
	if (lines.length > shown.length)
		view.append(make('p', { class: 'faint' }, `${count(lines.length - shown.length)} more rows are in the table of processes.`));
}
