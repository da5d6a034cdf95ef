#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""futexes.py REPORT TRUTH: whether the table futex_waits, or call_waits and idle_waits (JSON), have the waits that a
program (tests/hosts/futexes.c, blocking.c) counted itself: their number, their time and the
functions that ended them.
futexes.py REPORT FUNCTION=KIND...: whether FUNCTION waited, for that kind of object, until a
thread woke it.
futexes.py REPORT TRUTH PERCENT LIBRARY: whether at least PERCENT of the time that the program (known-waits.h) waited
is in the tables of locks, conditions, semaphores and futexes, with its kind and the function that
woke the thread as the first function of the program in its backtrace."""
import json
import re
import sys

WAKES = ('write', 'send', 'eventfd_write', 'eventfd_read')


def names(backtrace):
    """The functions of a backtrace, innermost first."""
    return [frame.get('function') for frame in backtrace or []]


def rows_of(rows, function):
    """The rows of waits in that function."""
    return [row for row in rows if function in names(row['backtrace'])]


def check_truth(rows, path):
    """Each line of the truth is in the rows, and they have nothing else."""
    with open(path, encoding='ascii') as lines:
        truth = [line.split() for line in lines]
    for function, ended, waits, time, waker in truth:
        waits, time = int(waits), int(time)
        found = rows_of(rows, function)
        print(function, waits, time, [(row['ended'], row['waits'], row['wait_time_ns']) for row in found])
        assert waits
        assert {row['ended'] for row in found} == {ended.replace('-', ' ')}
        assert sum(row['waits'] for row in found) == waits
        # the recorded call is inside what the program measured
        recorded = sum(row['wait_time_ns'] for row in found)
        assert time * 0.95 - 5_000_000 <= recorded <= time
        for row in found:
            assert row.get('kind', 'futex') == 'futex'
            assert waker == '-' or waker in names(row['waker_backtrace']), row
    # a busy machine may delay calls that wake, too
    rows = [row for row in rows if row.get('function') not in WAKES]
    assert sum(row['waits'] for row in rows) == sum(int(line[2]) for line in truth)


def check_kinds(rows, wanted):
    """Each function waited for its kind, and a wake ended that."""
    for word in wanted:
        function, kind = word.split('=')
        found = [row for row in rows if any(function in (name or '') for name in names(row['backtrace']))]
        print(function, kind, [(row['kind'], row['ended'], names(row['backtrace'])) for row in found])
        assert {row['kind'] for row in found} == {kind}
        assert {row['ended'] for row in found} <= {'woken', 'signalled'}


def call_site(backtrace, known):
    """The first function of a backtrace that the program knows, without its namespaces."""
    for name in names(backtrace):
        found = re.sub(r'(::)?[(<].*', '', name or '').split('::')[-1]
        if found in known:
            return found
    return '-'


def check_known(rows, path, percent, library):
    """TAP lines: of each line of the truth, the time, the kind and the waker."""
    with open(path, encoding='ascii') as lines:
        truth = [line.split() for line in lines]
    known = {line[0] for line in truth} | {line[4] for line in truth} | {line[1].partition(':')[2] or '-' for line in truth}
    for row in rows:
        row['site'] = call_site(row['backtrace'], known)
        row['waker'] = call_site(row.get('waker_backtrace') or row.get('holder_backtrace'), known)
        if 'mode' in row:
            row.update(kind=row['mode'], ended='held:' + row['waker'], waker=None)
    for function, ended, waits, time, waker, kind in truth:
        if ended.startswith('held:'):
            waker = None
        found = [row for row in rows if row['site'] == function]
        right = [row for row in found if (row['kind'], row['ended'], row['waker']) == (kind, ended, waker)]
        share = sum(row['wait_time_ns'] for row in right) / int(time)
        print(f'{"" if percent / 100 <= share <= 1 else "not "}ok - {library}, {function}: {percent} % of the time of its waits has the kind {kind} and the '
              'function that ended them')
        print(f'# {share:.2%} of {int(time) / 1e6:.1f} ms, {sum(row["waits"] for row in right)} waits, really {waits}')
        for row in found:
            if row not in right:
                print('#', row['kind'], row['ended'], row['waits'], row['wait_time_ns'], 'woken in', row['waker'], names(row['backtrace']))


with open(sys.argv[1], encoding='utf-8') as file:
    tables = json.load(file)
# all tables that the report has: idle waits of event loops have a table of their own
table = sum((tables.get(name, []) for name in ('futex_waits', 'cond_waits', 'call_waits', 'idle_waits')), [])
if len(sys.argv) == 5 and sys.argv[3].isdigit():
    check_known(table + tables['lock_waits'], sys.argv[2], int(sys.argv[3]), sys.argv[4])
elif '=' in sys.argv[2]:
    check_kinds(table, sys.argv[2:])
else:
    check_truth(table, sys.argv[2])
