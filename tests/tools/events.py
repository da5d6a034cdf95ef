#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares --format=jsonl with reports:  events.py SCHEMA TRACE...  prints TAP without numbers (tap.py)."""
import collections
import json
import os
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402


def printed(*words):
    return subprocess.run(["./holdtrace", "report", *words], stdout=subprocess.PIPE, check=False).stdout


def report(*words):
    return json.loads(printed("--format=json", *words))


def compare(trace, validator):
    name = os.path.basename(trace)
    lines = [json.loads(line) for line in printed("--format=jsonl", trace).split(b"\n")[:-1]]
    of = collections.defaultdict(list)
    for line in lines:
        of[line["type"]].append(line)
    summary = report("summary", trace)
    run = dict(of["run"][0])
    tap.holds(f"{name}: the first line is about the run", lines[0]["type"] == "run" and len(of["run"]) == 1)
    del run["type"], run["schema"]
    tap.same(f"{name}: and says what the JSON of reports says", run, summary["run"])
    tap.same(f"{name}: all events of the run are there", len(of["event"]), run["events"])
    timed = [line["time_ns"] for line in lines if "time_ns" in line]
    tap.holds(f"{name}: they are in the order of time", timed == sorted(timed))
    sites = {site["site"]: site["backtrace"] for site in of["site"]}
    tap.same(f"{name}: the call site of each has a line", {e["site"] for e in lines if "site" in e}, set(sites))
    gained = collections.Counter(e["class"] for e in of["event"] if e["effect"] == "acquired")
    for row in summary["classes"]:
        tap.same(f"{name}: acquired: {row['class']}", gained[row["class"]], row["acquired"] + (row["relocked"] or 0))
    failed = collections.Counter()
    for row in report("failures", trace)["failures"]:
        failed[row["errno"], row["path"] or ""] += row["count"]
    listed = {(e["errno"], e["arguments"].get("path", "")) for e in of["event"] if "errno" in e and "arguments" in e}
    missing = [key for key in failed if key[1].startswith("/") and key not in listed]
    tap.holds(f"{name}: failed calls have the errors of the report failures", not missing, missing)
    if validator:
        faults = [f"{line}: {error.message[:200]}" for line in lines for error in validator.iter_errors(line)]
        tap.holds(f"{name}: each line fits the schema", not faults, "\n".join(faults[:5]))
    return len(failed)


def main():
    validator = None
    tap.NAME = "events"
    if jsonschema:
        with open(sys.argv[1], encoding="utf-8") as file:
            schema = json.load(file)
        validator = jsonschema.validators.validator_for(schema)(schema)
        validator.check_schema(schema)
        tap.holds("a line of an unknown type breaks the schema", not validator.is_valid({"type": "call"}))
    else:
        tap.skip("each line fits the schema", "no python3-jsonschema")
    failed = sum(compare(trace, validator) for trace in sys.argv[2:])
    tap.holds("some calls of the traces failed", failed > 3)
    selected = [json.loads(line) for line in printed("--format=jsonl", "--class=fd", sys.argv[2]).split(b"\n")[:-1]]
    tap.same("filters select events", {e["class"] for e in selected if e["type"] == "event"}, {"fd"})


main()
