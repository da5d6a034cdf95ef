// SPDX-License-Identifier: MIT
// Makes a flame graph clickable and searchable. Each frame is a group with its start (x, from 0 to 1 of the
// graph's width), its share (w) and its depth (d). The picture is complete without this script.
"use strict";
const svg = document.documentElement;
const width = Number(svg.getAttribute("data-width"));
const letter = 6.6; // width of one character
const hits = document.getElementById("hits");

function number(frame, name) {
	return Number(frame.getAttribute("data-" + name));
}

function label(frame, size) {
	const text = frame.querySelector("text");
	const name = frame.getAttribute("data-name");
	const room = Math.floor((size - 6) / letter);
	text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
}

function place(frame, x, size) {
	frame.style.display = size > 0.2 ? "" : "none";
	frame.querySelector("rect").setAttribute("x", x);
	frame.querySelector("rect").setAttribute("width", Math.max(size, 0.2));
	frame.querySelector("text").setAttribute("x", x + 3);
	label(frame, size);
}

// Zooms to a function. It and its callers fill the width, its callees share the width, and all other
// functions are hidden.
function zoom(chosen) {
	const from = number(chosen, "x"), share = number(chosen, "w"), depth = number(chosen, "d");
	const tiny = 1e-9;
	for (const frame of chosen.parentNode.querySelectorAll("g")) {
		const x = number(frame, "x"), w = number(frame, "w");
		const isAbove = number(frame, "d") < depth && x <= from + tiny && x + w >= from + share - tiny;
		const isBelow = number(frame, "d") >= depth && x >= from - tiny && x + w <= from + share + tiny;
		if (isAbove)
			place(frame, 0, width);
		else if (isBelow)
			place(frame, (x - from) / share * width, w / share * width);
		else
			frame.style.display = "none";
	}
}

// Marks the functions whose name contains `words`, and shows which share of each graph they and their
// callees cover.
function search(words) {
	const found = [];
	for (const graph of document.querySelectorAll(".graph")) {
		const covered = [];
		for (const frame of graph.querySelectorAll("g")) {
			const isHit = words !== "" && frame.getAttribute("data-name").includes(words);
			frame.classList.toggle("hit", isHit);
			if (isHit)
				covered.push([number(frame, "x"), number(frame, "x") + number(frame, "w")]);
		}
		covered.sort((a, b) => a[0] - b[0]);
		let sum = 0, end = 0;
		for (const [from, to] of covered) {
			sum += Math.max(0, to - Math.max(from, end));
			end = Math.max(end, to);
		}
		found.push(graph.getAttribute("data-title") + " " + (100 * sum / (number(graph, "w") || 1)).toFixed(1) + " %");
	}
	hits.textContent = words === "" ? "" : "matched: " + found.join(", ");
}

svg.addEventListener("click", (event) => {
	if (event.target.id === "search") {
		search(window.prompt("Functions whose name contains:", "") || "");
		return;
	}
	const frame = event.target.closest(".graph > g");
	if (frame)
		zoom(frame);
});
svg.addEventListener("keydown", (event) => {
	const frame = event.key === "Enter" && event.target.closest(".graph > g");
	if (frame)
		zoom(frame);
});
