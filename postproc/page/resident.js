/* SPDX-License-Identifier: MIT */
/*
 * Resident memory beside live memory, from the last scan of a process. This file is a part of one
 * function: see model.js.
 */

const RESIDENT = sheet('resident_processes'), PARTS = sheet('resident_parts');

/* The row of the chosen process or, of all processes, of the one with the most resident memory. */
function residentRow() {
	const rows = [...(RESIDENT.pid || []).keys()].filter(row => isChosenPid(RESIDENT.pid[row]));
	return rows.reduce((best, row) => best < 0 || RESIDENT.resident[row] > RESIDENT.resident[best] ? row : best, -1);
}

/* Draws two bars to the same scale: live memory, and resident memory by its use. */
function drawResident() {
	const row = residentRow(), view = make('div', { class: 'panel' });
	if (row < 0) {
		view.append('The resident memory of this process was not measured.');
		return view;
	}
	const name = `${text(RESIDENT.program[row])} (${RESIDENT.pid[row]})`, live = RESIDENT.live[row], resident = RESIDENT.resident[row];
	const uses = new Map();
	for (let i = 0; i < PARTS.rows; i++)
		if (text(PARTS.process[i]) === name && PARTS.resident[i])
			uses.set(text(PARTS.part[i]), (uses.get(text(PARTS.part[i])) || 0) + PARTS.resident[i]);
	const written = Math.min(live, uses.get('live blocks') || 0), most = Math.max(live, resident, 1);
	/* live blocks have the same colour in both bars */
	const order = [...uses].sort((a, b) => Number(b[0] === 'live blocks') - Number(a[0] === 'live blocks') || b[1] - a[1]);
	const shade = i => i < PALETTE.length ? PALETTE[i] : colour('line');
	const bar = (words, parts) => make('div', { class: 'bar' }, make('span', {}, words), make('div', {}, ...parts.map(([what, size, background]) =>
		make('span', { title: `${what}: ${bytes(size)}`, style: `width: ${100 * size / most}%; background: ${background}` }))));
	view.append(make('p', {}, `${name} after ${time(RESIDENT.time[row])}: ${bytes(resident)} resident, ${bytes(live)} live; ` +
		`${bytes(RESIDENT.free[row])} free inside the allocator` + (RESIDENT.pinned[row]
		? `, of which blocks on nearly empty pages pin ${bytes(RESIDENT.pinned[row])}, most of them from ${siteName(RESIDENT.backtrace[row]) || 'an unknown call site'}` : '') + '.'),
	bar('live', [['live blocks on resident pages', written, shade(0)], ['live blocks that were never written, or are swapped out', live - written, colour('part')]]),
	bar('resident', order.map(([what, size], i) => [what, size, shade(i)])),
	legendOf([...order.map(([what, size], i) => [i < PALETTE.length ? PALETTE[i] : 'line', `${what}: ${bytes(size)}`]),
		...(live > written ? [['part', `live, but never written or swapped out: ${bytes(live - written)}`]] : [])]));
	return view;
}

