# SPDX-License-Identifier: MIT
"""Prints "ERROR PATH" for each failed call that a file of `strace -f -o FILE` has."""

import re
import sys

pending = {}
for line in open(sys.argv[1], errors="replace"):
    match = re.match(r"(\d+) +(.*)", line)
    if not match:
        continue
    pid, text = match.groups()
    if text.endswith("<unfinished ...>"):
        pending[pid] = text[: -len("<unfinished ...>")]
        continue
    resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
    if resumed:
        text = pending.pop(pid, "") + resumed.group(1)
    failed = re.match(r"\w+\((.*)\) += -1 (E\w+)", text)
    path = failed and re.search(r'"((?:[^"\\]|\\.)*)"', failed.group(1))
    if failed:
        print(failed.group(2), path.group(1) if path else "")
