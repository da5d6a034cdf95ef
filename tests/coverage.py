#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py REPORT TRUTH MODE: whether report threads (JSON) says what the mode's process
(tests/hosts/coverage.c) knows of its blocked time."""
import json
import sys

report, truths, mode = sys.argv[1:]
with open(truths, encoding='ascii') as lines:
    truth = {words[0]: words[1:] for words in map(str.split, lines)}
pid, blocked, kind, most = int(truth[mode][0]), int(truth[mode][1]), truth[mode][2], int(truth[mode][3])
with open(report, encoding='utf-8') as file:
    rows = [row for row in json.load(file)['blocked_time'] if row['pid'] == pid]
print(rows, truth[mode])
row = rows[0]

assert row['recorded'] + row['other'] + row['unobserved'] == row['blocked']
# The kernel's numbers of a thread that was read while it waited for a processor are older than the
# time of the reading, and on a machine with much to do clocks are compared badly.
assert row['blocked'] <= most * 1.1 + 50e6
if kind == 'other':
    assert row['blocked'] + row['unmeasured'] + row['queued'] >= blocked * 0.9
    assert row['other'] >= row['blocked'] * 0.9
if kind == 'recorded':
    assert row['recorded'] >= blocked * 0.5
    assert row['unobserved'] <= row['blocked'] * 0.1
if kind == 'unobserved':
    assert row['unobserved'] >= blocked * 0.1
