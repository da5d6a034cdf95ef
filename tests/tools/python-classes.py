#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the Python lines of the calls of a trace with SAID, which tests/hosts/python-classes.py wrote: prints the
first differences, then the number of events of each class.

tests/tools/python-classes.py TRACE SAID [MINIMUM]    MINIMUM: events that each class must have"""

import collections
import sys

import holdtrace

FRAMES = 8
# other names of the functions that the interpreter calls
SAME = {"open64": "open", "fopen64": "fopen", "mmap64": "mmap", "fcntl64": "dup", "fcntl": "dup"}
SIZE = {"aligned_alloc": 8192, "mmap": 12288, "munmap": 12288}

with open(sys.argv[2], encoding="utf-8") as file:
    expected = {call: int(count) for count, call in (line.rstrip("\n").split("\t", 1) for line in file)}
calls = {call.split("\t")[0] for call in expected}
found = collections.Counter()
classes = collections.Counter()
for_backtrace = {}
seen = set()
with holdtrace.open(sys.argv[1]) as trace:
    for event in trace:
        call = SAME.get(event.function, event.function)
        if call not in calls or event.bytes != SIZE.get(call, event.bytes):
            continue
        if event.backtrace not in for_backtrace:
            frames = [f for f in trace.names(event.backtrace) if f.module == "[python]"][:FRAMES]
            for_backtrace[event.backtrace] = [f"{f.function} {f.file} {f.line or 0}" for f in frames]
        frames = for_backtrace[event.backtrace]
        key = "\t".join([call] + frames)
        # the import system and the end of the program make calls that the program did not note
        if key not in expected:
            continue
        classes[event.resource] += 1
        # a call is counted once, also if it has several operations
        if (event.thread, event.call) not in seen:
            seen.add((event.thread, event.call))
            found[key] += 1
differences = [key for key, count in expected.items() if count != found[key]]
for key in sorted(differences)[:8]:
    print(f"{found[key]} calls instead of {expected[key]}: {key}")
print(", ".join(f"{name} {count}" for name, count in sorted(classes.items())), file=sys.stderr)
few = [name for name, count in classes.items() if len(sys.argv) > 3 and count < int(sys.argv[3])]
if few:
    print("too few events of", *few)
sys.exit(1 if differences or few or not found else 0)
