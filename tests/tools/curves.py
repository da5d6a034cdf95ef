#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""curves.py POSTPROC TRACE: the curve of each place is what the windows of the run have."""
import json
import subprocess
import sys

postproc, trace = sys.argv[1:]


def leaks(*options):
    out = subprocess.run([postproc, '-q', '--report=leaks', '--suppress=none', '--format=json', *options, trace],
                         check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def key(row):
    return row['class'], row['function'], json.dumps(row['backtrace'])


def held(*options):
    sums = {}
    for row in leaks(*options)['leaks']:
        sums[key(row)] = sums.get(key(row), 0) + row['amount']
    return sums


def instant(ns):
    return f'{ns // 10**9}.{ns % 10**9:09}'


def main():
    whole = leaks('--growing=0')
    ends, rows = whole['run']['windows_ns'], whole['leaks']
    curves = {}
    for row in rows:
        assert len(row['curve']) == len(ends), 'a number for each window'
        assert row['curve'][-1] == row['amount'], f'the changes of all windows add up to the whole: {row}'
        before = curves.get(key(row), [0] * len(ends))
        curves[key(row)] = [a + b for a, b in zip(before, row['curve'])]
    assert held() == {each: curve[-1] for each, curve in curves.items()}, 'the same places as without curves'
    for i in range(0, len(ends), 3):
        then = held(f'--until={instant(ends[i])}')
        for each, curve in curves.items():
            assert curve[i] == then.get(each, 0), f'window {i}, {each}: {curve[i]}, --until says {then.get(each, 0)}'
    print(len(ends), len(rows))


main()
