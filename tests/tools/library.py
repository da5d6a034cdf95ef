#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the module holdtrace says the same numbers of traces as the reports: a line for each difference.

tests/tools/library.py TRACE...  with ./holdtrace, the module and its library where tests/e2e/library puts them."""

import collections
import json
import subprocess
import sys

import holdtrace

differences = 0
numbers = 0


def compare(what, ours, theirs):
    global differences, numbers
    numbers += sum(map(len, ours))
    if ours != theirs:
        differences += 1
        print(f"{what}: {sorted(ours)[:5]} of {len(ours)}, the report has {sorted(theirs)[:5]} of {len(theirs)}")


def report(name, path, *options):
    said = subprocess.run(
        ["./holdtrace", "report", name, "--format=json", "--top=0", *options, path], capture_output=True, check=True
    )
    return json.loads(said.stdout)


def function_of(rows, backtrace):
    """The innermost function that a report names, too."""
    names = rows.names(backtrace)
    return names[0].function if names else None


def function_in(row, column="backtrace"):
    frames = row.get(column) or [{}]
    return frames[0].get("function")


def places(trace, path, at):
    """By class and place: objects, bytes or objects, age, processes."""
    rows = trace.sites(at) if at else trace.leaks()
    options = ("--suppress=none", f"--until={at}") if at else ("--suppress=none",)
    ours = [
        (place.resource, place.bytes or place.count, place.count, place.oldest_ns or None, place.processes,
         function_of(rows, place.backtrace))
        for place in rows
    ]
    theirs = [
        (row["class"], row["amount"], row["count"], row["age_ns"], row["processes"], function_in(row))
        for row in report("leaks", path, *options)["leaks"]
    ]
    compare(f"{path} places at {at}", collections.Counter(ours), collections.Counter(theirs))
    held = collections.Counter()
    for row in trace.live(at):
        if not row.is_part:
            held[row.resource] += 1
    compare(f"{path} held at {at}", held, sum_of(theirs))


def sum_of(rows):
    sums = collections.Counter()
    for row in rows:
        sums[row[0]] += row[2]
    return sums


def waits(trace, path):
    """Of each kind: how many and how long. Of one process also each place with its longest."""
    rows = trace.waits()
    is_one = len({row.process for row in rows}) < 2
    locks = report("waits", path).get("lock_waits", [])
    ours, theirs = collections.Counter(), collections.Counter()
    for row in rows:
        is_lock = row.kind in ("mutex", "read", "write", "spin")
        key = (row.kind, row.ended if not is_lock else "")
        ours[key + ("waits",)] += row.count
        ours[key + ("ns",)] += row.total_ns
        if is_one and row.count:
            ours[key + (row.longest_ns, function_of(rows, row.backtrace), function_of(rows, row.waker_backtrace))] += 1
    for row in locks:
        key = (row["mode"], "")
        theirs[key + ("waits",)] += row["waits"]
        theirs[key + ("ns",)] += row["wait_time_ns"]
        if is_one:
            theirs[key + (row["longest_wait_ns"], function_in(row), function_in(row, "holder_backtrace"))] += 1
    for sheet, kind in (("cond_waits", "condition"), ("sem_waits", "semaphore")):
        for row in report("waits", path).get(sheet, []):
            key = (kind, row["ended"])
            theirs[key + ("waits",)] += row["waits"]
            theirs[key + ("ns",)] += row["wait_time_ns"]
            if is_one:
                theirs[key + (row["longest_ns"], function_in(row), function_in(row, "waker_backtrace"))] += 1
    compare(f"{path} waits", ours, theirs)


for path in sys.argv[1:]:
    with holdtrace.open(path) as trace:
        for at in (None, "1ms", "3ms", "30ms"):
            places(trace, path, at)
        waits(trace, path)
if numbers < 100:
    print(f"only {numbers} numbers were compared")
sys.exit(differences > 0 or numbers < 100)
