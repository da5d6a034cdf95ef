# SPDX-License-Identifier: MIT
"""core.py JSON unreachable: checks that a report on the core file of tests/hosts/crashes has the blocks to which the
program has dropped its pointers. core.py JSON waits SAID: checks which of the threads that the program printed wait for
which holder. core.py JSON JSON: checks that two reports have the same lines. Prints the differences; the exit status is 1
if there are any."""
import json
import sys

NEW = ('new', 'new_bytes', 'age_ns')


def rows(tables):
    """The rows of two tables, without what depends on an earlier scan or on the present time."""
    return sorted(json.dumps({key: value for key, value in row.items() if key not in NEW},
                             sort_keys=True)
                  for name in ('unreachable', 'handles') for row in tables.get(name) or [])


tables = json.load(open(sys.argv[1]))
if sys.argv[2] == 'waits':
    numbers = {int(line.split()[1]): int(line.split()[0]) for line in open(sys.argv[3]) if line.split()[1:]}
    names = [[frame.get('function') for frame in row[key] or []]
             for row in tables['blocked_in_core'] for key in ('backtrace', 'holder_backtrace')]
    got = [(row['state'], numbers.get(row['thread']), numbers.get(row['holder']))
           for row in tables['blocked_in_core']]
    want = {('deadlock', 1, 2), ('deadlock', 2, 1), ('waits', 3, 0), ('waits', 4, 0)}
    print('\n'.join(map(str, set(got) ^ want)))
    places = [bool({'lock_in_order', 'wait_for_lock', 'take_locks'} & set(functions)) for functions in names]
    print('' if all(places) else names)
    sys.exit(set(got) != want or len(got) != 4 or not all(places) or
             not any(set(functions) >= {'take_locks', 'main'} for functions in names))
if sys.argv[2] != 'unreachable':
    one, other = set(rows(tables)), set(rows(json.load(open(sys.argv[2]))))
    for row in list(one ^ other)[:9]:
        print('core file' if row in one else 'process', row[:300])
    sys.exit(one != other or not one)

lost = 0
for row in tables['unreachable']:
    functions = [frame.get('function') for frame in row.get('backtrace') or []]
    if functions[:1] == ['main']:
        lost += row['count']
    if 'uncertain' in row.values():
        print('uncertain:', json.dumps(row)[:300])
if lost != 200:
    print(f'main lost 200 blocks, the report has {lost}')
if not any('lists' in str(row.get('owner')) for row in tables['owners']):
    print('no owner is the variable lists:', json.dumps(tables['owners'])[:300])
sys.exit(lost != 200)
