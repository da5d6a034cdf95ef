# SPDX-License-Identifier: MIT
"""block_types.py JSON SAID [PREFIX]: compares the report types with the types of its blocks that a program prints
(SAID, the output of tests/hosts/types.cc). PREFIX: types that begin with this text belong to the runtime of the
language, and may be missing in SAID. A pattern of SAID that begins with ? is of blocks whose type may be unknown, and
with LOOSE=1 in the environment all are. Prints the differences; the exit status is 1 if there are any."""
import fnmatch
import json
import os
import sys

rows = json.load(open(sys.argv[1]))['types']
wanted = [line.split(None, 2) for line in open(sys.argv[2])]
may_lack = {pattern.strip().lstrip('?') for _, _, pattern in wanted
            if pattern.startswith('?') or os.environ.get('LOOSE')}
wanted = [(int(count), int(size), pattern.strip().lstrip('?')) for count, size, pattern in wanted]
wrong = []
for row in rows:
    name, got = row['type'], (row['count'], row['amount'])
    if name is None:
        least = next(((count, size) for count, size, pattern in wanted if pattern == '-'), (0, 0))
        if got < least:
            wrong.append(f'{got} without a type, at least {least} expected')
        continue
    found = [item for item in wanted if fnmatch.fnmatchcase(name, item[2])]
    if not found and not (sys.argv[3:] and name.startswith(tuple(sys.argv[3:]))):
        wrong.append(f'no block is of type {name}, but {got} are called so')
    elif found and got != found[0][:2]:
        wrong.append(f'{name}: {got}, but {found[0][:2]} expected')
for count, size, pattern in wanted:
    if pattern != '-' and pattern not in may_lack and not any(row['type'] and fnmatch.fnmatchcase(row['type'], pattern)
                                  for row in rows):
        wrong.append(f'no row for {pattern}: {count} blocks, {size} bytes')
print('\n'.join(wrong))
sys.exit(bool(wrong) or not rows)
