// SPDX-License-Identifier: MIT
// node perfetto.js ENGINE_DIR TRACE SQL...: Perfetto's trace processor, as WebAssembly, answers. Prints
// one line of JSON for each question: a list of rows, or {"error": text}.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const [, , directory, file, ...questions] = process.argv;

// Protocol buffers, as far as its messages need them.
function varint(number) {
	const bytes = [];
	for (let rest = BigInt(number); ; rest >>= 7n) {
		if (rest < 128n) {
			bytes.push(Number(rest));
			return Buffer.from(bytes);
		}
		bytes.push(Number(rest & 127n) | 128);
	}
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field << 3 | 2), varint(Buffer.byteLength(value)), Buffer.from(value)]);

class Reader {
	constructor(data) { this.data = data; this.at = 0; }
	get more() { return this.at < this.data.length; }
	varint() {
		for (let value = 0n, shift = 0n; ; shift += 7n) {
			const byte = this.data[this.at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128) return value;
		}
	}
	take(size) { this.at += size; return this.data.subarray(this.at - size, this.at); }
	value(wire) {
		if (wire === 0) return this.varint();
		if (wire === 1) return this.take(8).readDoubleLE();
		if (wire === 2) return this.take(Number(this.varint()));
		return this.take(4).readFloatLE();
	}
}
function message(data) {
	const reader = new Reader(data), fields = new Map();
	while (reader.more) {
		const key = Number(reader.varint());
		if (!fields.has(key >> 3)) fields.set(key >> 3, []);
		fields.get(key >> 3).push(reader.value(key & 7));
	}
	return { all: (field) => fields.get(field) || [], one: (field) => (fields.get(field) || [])[0] };
}
function list(data, read) {
	const reader = new Reader(data), values = [];
	while (reader.more) values.push(read(reader));
	return values;
}

// The engine believes that it is a worker of a page.
const wasm = fs.readFileSync(path.join(directory, "trace_processor.wasm"));
globalThis.self = globalThis;
globalThis.location = { href: "file://" + directory + "/engine_bundle.js" };
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.fetch = async () => new Response(wasm, { headers: { "content-type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
	open() {}
	send() {
		this.status = 200;
		this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length);
		if (this.onload) this.onload();
	}
};
console.warn = () => {};
const code = fs.readFileSync(path.join(directory, "engine_bundle.node.js"), "utf8");
vm.runInThisContext(code.split("\n").filter((line) => !line.startsWith(";(self.__SOURCEMAPS")).join("\n"));

const channel = new MessageChannel();
let pending = Buffer.alloc(0), sequence = 0, listener = () => {};
channel.port2.onmessage = ({ data }) => {
	pending = Buffer.concat([pending, Buffer.from(data)]);
	while (pending.length > 1) {
		const reader = new Reader(pending);
		reader.at = 1;
		const size = Number(reader.varint());
		if (pending.length < reader.at + size) return;
		const body = message(reader.take(size));
		pending = pending.subarray(reader.at);
		listener(body);
	}
};

const APPEND = 1, FINALIZE = 2, QUERY = 3;
// All messages that answer one: a query's come in batches, of which one is the last.
function ask(kind, ...fields) {
	return new Promise((done) => {
		const answers = [];
		listener = (body) => {
			answers.push(body);
			const result = body.one(203);
			const batches = result ? message(result).all(3) : [];
			const isLast = batches.length && message(batches[batches.length - 1]).one(6);
			if (!result || message(result).one(2) || isLast) done(answers);
		};
		const body = Buffer.concat([number(1, sequence++), number(2, kind), ...fields]);
		channel.port2.postMessage(new Uint8Array(bytes(1, body)));
	});
}

function rows(answers) {
	const names = [], found = [];
	let row = [];
	for (const answer of answers) {
		const result = message(answer.one(203));
		if (result.one(2)) return { error: result.one(2).toString() };
		names.push(...result.all(1).map(String));
		for (const batch of result.all(3).map(message)) {
			const kinds = list(batch.one(1) || Buffer.alloc(0), (reader) => Number(reader.varint()));
			const integers = batch.all(2).flatMap((data) => list(data, (reader) => Number(BigInt.asIntN(64, reader.varint()))));
			const reals = batch.all(3).flatMap((data) => list(data, (reader) => reader.take(8).readDoubleLE()));
			const texts = (batch.one(5) || Buffer.alloc(0)).toString().split("\0");
			for (const kind of kinds) {
				row.push([null, null, () => integers.shift(), () => reals.shift(), () => texts.shift(), () => "blob"][kind]);
				row[row.length - 1] = row[row.length - 1] ? row[row.length - 1]() : null;
				if (row.length === names.length) {
					found.push(row);
					row = [];
				}
			}
		}
	}
	return found;
}

(async () => {
	const data = fs.readFileSync(file), piece = 1 << 20;
	self.onmessage({ data: channel.port1 });
	await new Promise((done) => setTimeout(done, 300));
	for (let at = 0; at < data.length; at += piece) {
		const [answer] = await ask(APPEND, bytes(101, data.subarray(at, at + piece)));
		const result = answer.one(201) && message(answer.one(201)).one(2);
		if (result) throw Error(result.toString());
	}
	await ask(FINALIZE);
	for (const question of questions)
		process.stdout.write(JSON.stringify(rows(await ask(QUERY, bytes(103, bytes(1, question))))) + "\n");
	process.exit(0);
})().catch((error) => {
	process.stdout.write(JSON.stringify({ error: String(error) }) + "\n");
	process.exit(1);
});
