// SPDX-License-Identifier: MIT
// node chdb.js DIRECTORY <STATEMENTS: executes SQL by chdb, which is ClickHouse as a library, with a
// database in the directory, and prints the answers as TSV. A statement ends with ";" at a line's end.

const { Session } = require('chdb');
const { readFileSync } = require('fs');

const session = new Session(process.argv[2]);
for (const statement of readFileSync(0, 'utf8').split(/;\s*\n/))
	if (statement.replace(/--.*/g, '').trim())
		process.stdout.write(String(session.query(statement, 'TSV') ?? ''));
