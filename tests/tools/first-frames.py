#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first-frames.py REPORT.json TEXT: prints function, file and line of the frames of the first row
that has a value with this text."""
import json
import sys


def rows(value):
    if isinstance(value, dict):
        if isinstance(value.get("backtrace") or value.get("site"), list):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from rows(item)


with open(sys.argv[1], encoding="utf-8") as file:
    for row in rows(json.load(file)):
        if sys.argv[2] not in (str(value) for value in row.values()):
            continue
        print(*(
            frame.get("function") or frame.get("address") if not frame.get("line")
            or not frame.get("module", "").startswith("[")
            else f"{frame['function']} {frame['file']}:{frame['line']}"
            for frame in row.get("backtrace") or row["site"]))
        break
