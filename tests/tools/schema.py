#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Validates reports as JSON:  schema.py SCHEMA TRACE...  prints TAP without numbers (tap.py)."""
import json
import os
import re
import subprocess
import sys

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.validators.validator_for(schema)(schema)
    with open(os.path.join(TOP, "postproc/reports.def"), encoding="utf-8") as file:
        reports = re.findall(r"^REPORT\((\w+)", file.read(), re.M)
    tap.NAME = "schema"
    validator.check_schema(schema)
    tap.holds("reports.def has reports", len(reports) > 10)
    rows = 0
    document = {}
    for trace in sys.argv[2:]:
        for report in ["check", *reports]:
            command = ["./holdtrace", "report", report, "--format=json", trace]
            if report == "check":
                command = ["./holdtrace", "check", "--format=json", "--fail-on=leak>0,fd>0,growth>0,wait>1us", trace]
            if report == "history":
                command.append("--object=fd:3")
            printed = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
            document = json.loads(printed)
            rows += sum(len(table) for table in document.values() if isinstance(table, list))
            faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(document)]
            tap.holds(f"report {report} of {os.path.basename(trace)} fits the schema", not faults, "\n".join(faults[:5]))
    first, second = sys.argv[2:4]
    for command in (["report", "leaks,waits,fds,allocations,failures,types", first, second],
                    ["check", "--fail-on=leak>0", first, second], ["diff", first, "--", second, first]):
        command.insert(1, "--format=json")
        printed = subprocess.run(["./holdtrace", *command], stdout=subprocess.PIPE, check=False).stdout
        faults = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(json.loads(printed))]
        tap.holds(f"{command[0]} of two runs fits the schema", not faults, "\n".join(faults[:5]))
    tap.holds("the reports have rows", rows > 50, rows)
    name = next(key for key, value in document.items() if isinstance(value, list))
    document[name].append({"gained": 1})
    tap.holds("a key that no column has breaks the schema", not validator.is_valid(document))


main()
