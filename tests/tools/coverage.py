#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py REPORT TRUTH MODE: whether report threads (JSON) says what the mode's process
(tests/hosts/coverage.c) knows of its blocked time."""
import json
import sys

report, truths, mode = sys.argv[1:]
with open(truths, encoding='ascii') as lines:
    truth = {words[0]: words[1:] for words in map(str.split, lines)}
kind = truth[mode][2]
pid, blocked, most, queued, elsewhere = (int(truth[mode][i]) for i in (0, 1, 3, 4, 5))
with open(report, encoding='utf-8') as file:
    rows = [row for row in json.load(file)['blocked_time'] if row['pid'] == pid]
print(rows, truth[mode])
row = rows[0]
slack = max(5_000_000, blocked * 0.02)

assert row['recorded_ns'] + row['other_ns'] + row['unobserved_ns'] == row['blocked_ns']
assert row['blocked_ns'] + row['unmeasured_ns'] >= blocked - slack
# A recorded wait lasts until its thread runs again. Of other waits the kernel's numbers are told.
assert row['blocked_ns'] <= most + slack + (queued if row['recorded_ns'] or kind != 'other' else 0)
if kind == 'other':
    assert row['unobserved_ns'] <= slack
if kind == 'recorded':
    assert row['recorded_ns'] + row['unmeasured_ns'] >= blocked - elsewhere - slack
    # A thread that ended before it could be read waited for a processor in time that nobody measured.
    assert row['unobserved_ns'] <= slack + max(0, queued - row['queued_ns'])
if kind == 'unobserved':
    assert row['unobserved_ns'] + row['unmeasured_ns'] >= blocked - elsewhere - slack
