#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the backtraces of a trace have the Python frames that tests/hosts/lines.py printed: a line for each
difference, then the number of compared blocks.

tests/tools/python-lines.py TRACE SAID..."""

import sys

import holdtrace

DEPTH = 64

expected = {}
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            size, *frames = line.rstrip("\n").split("\t")
            expected[int(size)] = frames

seen = set()
differences = 0
frames_compared = 0
for_names = {}


def python_frames(trace, backtrace):
    if backtrace not in for_names:
        names = trace.names(backtrace)
        frames = [f"{f.function} {f.file} {f.line or 0}" for f in names if f.module == "[python]"]
        for_names[backtrace] = frames, len(names)
    return for_names[backtrace]


with holdtrace.open(sys.argv[1]) as trace:
    for event in trace:
        if event.function != "malloc" or event.bytes not in expected:
            continue
        size = event.bytes
        seen.add(size)
        want = expected[size]
        got, count = python_frames(trace, event.backtrace)
        # of a backtrace that was cut, the outermost frames are missing
        whole = got == want or (count >= DEPTH and got == want[: len(got)] and got)
        frames_compared += len(got)
        if not whole:
            differences += 1
            if differences < 6:
                print(f"{size}: {got}\n  expected {want}")
missing = set(expected) - seen
if missing:
    print(f"{len(missing)} blocks are not in the trace, such as {min(missing)}")
print(f"{len(seen)} blocks, {frames_compared} frames, {differences + len(missing)} differences", file=sys.stderr)
sys.exit(1 if differences or missing or not seen else 0)
