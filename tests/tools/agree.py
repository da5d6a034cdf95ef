#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agree.py BUILD WORK NAME COMMAND...: two outputs that state the same number state the same number.

The command is recorded once, and every output is made of that one trace. The reference are the packets
as tests/tools/decode-2.0 reads them, which shares nothing with what it judges: they are counted here, by
rules of a few lines. Prints a TAP line without its number for each comparison.
"""
import collections
import csv
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap  # pylint: disable=wrong-import-position

BUILD, WORK, NAME = sys.argv[1:4]
COMMAND = sys.argv[4:]
tap.NAME = NAME
POSTPROC = os.path.join(BUILD, "holdtrace-postproc")
EACH = ("close_range", "closefrom", "pipe", "pipe2", "socketpair", "recvmsg", "recvmmsg")
UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit("Bail out! %s: %s" % (" ".join(command), done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def post(*options):
    return run(POSTPROC, "-q", *options)


class Count(collections.Counter):
    """A table of numbers that adds up."""


def canonical(stem):
    """The first of the names that one address has (mmap64 is mmap), for each."""
    with open(stem + ".json", encoding="utf-8") as side:
        processes = json.load(side)["processes"]
    first = {}
    for process in processes:
        names = collections.defaultdict(list)
        for name, address in process["functions"].items():
            names[address].append(name)
        for group in names.values():
            first.update({name: min(group) for name in group})
    return first


def renamed(table, names):
    result = Count()
    for name, count in table.items():
        result[names.get(name, name)] += count
    return dict(result)


class Packets:
    """What the packets of one stream say, counted."""

    CALL = re.compile(r'^CALL class=(\d+) .* type=(\d+) function="([^"]*)" size=(\d+) id=(0x[0-9a-f]+) '
                      r"operation=(\d+) moment=(\d+) part=(\d+) bits=(0x[0-9a-f]+) .* call=(\d+) .*"
                      r"bytes=(\d+) .*frame=(0x[0-9a-f]+)")

    def __init__(self, trace):
        self.events, self.calls = 0, Count()
        self.begun, self.returned = set(), set()
        self.gained, self.taken, self.lost, self.bytes = Count(), Count(), Count(), Count()
        self.joined, self.retaken = 0, 0
        self.programs = 0
        self.closed = 0
        self.how = ""
        classes, last = {}, ""
        path = os.path.join(WORK, "packets")
        with open(path, "wb") as out:
            subprocess.run([POSTPROC, "-q", "--format=sp-rtrace", trace], stdout=out, check=True)
        for line in run(os.path.join(BUILD, "tests/tools/decode-2.0"), "--tails", path).split("\n"):
            if line.startswith("RESR "):
                found = re.match(r'RESR id=(\d+) .*type="([^"]*)"', line)
                classes[found.group(1)] = found.group(2)
            elif line.startswith("ARGS ") and last == "~process":
                self.programs += '"executable"=' in line
            elif line.startswith("ARGS ") and last == "~open":
                self.begun.add((re.search(r'"call"="([^"]*)"', line).group(1),) + self.where)
            elif line.startswith("ARGS ") and last == "~end":
                self.how = re.search(r'"how"="([^"]*)"', line).group(1)
            elif line.startswith("CALL "):
                last = self.take(classes, self.CALL.match(line))
        # also those that did not return
        self.made = self.calls + Count(key[0] for key in self.begun - self.returned)

    def take(self, classes, found):
        number, kind, function, _, _, _, moment, part, bits, call, size, frame = found.groups()
        name = classes[number]
        self.where = (call, frame)
        if function.startswith("~"):
            return function
        self.events += 1
        self.calls[function] += part == "0" and moment != "5"
        if moment == "5":
            self.begun.add((function, call, frame))
        elif part == "0":
            self.begun.discard((function, call, frame))
            self.returned.add((function, call, frame))
        # a join that returned without an error, whose line says nothing of a thread; or one that did not wait
        self.joined += "join" in function and part == "0" and moment != "5" and not int(bits, 16) & 1
        if kind == "2":
            self.gained[name] += 1
            # a wait for a condition takes its mutex again: that is no taking of its own
            self.taken[name] += name != "lock" or part == "0"
            self.retaken += name == "lock" and part != "0"
            self.bytes[name] += int(size)
        elif kind == "1":
            self.lost[name] += 1
            # dup2's own line says that the descriptor was replaced
            self.closed += name == "fd" and not function.startswith("dup")
        return function


def text_of(trace):
    """The same of the text, where a call that neither gains nor loses is of the class event."""
    events, gained, lost, size = 0, Count(), Count(), Count()
    for line in post(trace).split("\n"):
        found = re.match(r"^\d+\. (?:@[0-9a-f]+ )?\[[0-9:.]+\] ([^<]+)<([^>]+)>\((0x[0-9a-f]+|\d+)\)( =)?", line)
        if not found or found.group(1).startswith("~"):
            continue
        events += 1
        if found.group(4):
            gained[found.group(2)] += 1
            size[found.group(2)] += int(found.group(3))
        elif found.group(2) != "event":
            lost[found.group(2)] += 1
    return events, gained, lost, size


def leaks_of_filter(*wanted):
    """Blocks and bytes by class as -l sums them up, of what each of these options and traces prints."""
    count, size, name = Count(), Count(), ""
    for options in wanted:
        for line in post("-l", *options).split("\n"):
            found = re.match(r"# Resource - (\S+) \(", line)
            name = found.group(1) if found else name
            found = re.match(r"# (\d+) block\(s\) leaked with total size of (\d+) bytes", line)
            if found:
                count[name] += int(found.group(1))
                size[name] += int(found.group(2))
    return count, size


class Screen:
    """The first screen: numbers of its head and of its table."""

    def __init__(self, text):
        head = re.search(r"(\d[\d,]*) process(?:es)?(?: \((\d[\d,]*) programs?\))?.*?, (\d[\d,]*) threads?, "
                         r"(\d[\d,]*) events?, (\d[\d,]*) dropped", text)
        one = re.search(r"(?:(\d[\d,]*) programs, )?(\d[\d,]*) threads?, (\d[\d,]*) events?, (\d[\d,]*) dropped",
                        text)
        groups = head.groups() if head else ("1", one.group(1) or "1") + one.groups()[1:]
        self.processes, self.programs, self.threads, self.events, self.lost = \
            [int((group or "0").replace(",", "")) for group in groups]
        self.gained, self.held, self.held_bytes, self.peak = Count(), Count(), {}, {}
        table = text.partition("live at exit")[2].split("\n")[1:]
        for line in table:
            row = re.match(r"  (\S+) +(\d[\d,]*) (?:\w+) +(.*)", line)
            if not row:
                if line.startswith("  "):
                    continue
                break
            name, rest = row.group(1), row.group(3)
            self.gained[name] = int(row.group(2).replace(",", ""))
            self.take_held(name, rest)
            most = re.match(r"(\d[\d,.]*) ([KMGT]?B) ", rest)
            if most:
                self.peak[name] = most.groups()

    def take_held(self, name, rest):
        sized = re.search(r"(\d[\d,.]*) ([KMGT]?B) in (\d[\d,]*) ", rest[12:])
        if sized:
            self.held_bytes[name] = (sized.group(1), sized.group(2))
            self.held[name] = int(sized.group(3).replace(",", ""))


def fits(shown, number):
    """Whether 210.0 KB may stand for 210018."""
    text, unit = shown
    digits = len(text.split(".")[1]) if "." in text else 0
    return abs(float(text.replace(",", "")) * UNITS[unit] - number) <= UNITS[unit] * 10 ** -digits * 0.51


def report(name, traces, *options):
    return json.loads(post("--report=" + name, "--format=json", *options, *traces))


def tables_agree(name, traces):
    """CSV and JSON of one report have the same rows, cell by cell."""
    options = ("--suppress=none",) if name == "leaks" else ()
    data = report(name, traces, *options)
    rows = collections.defaultdict(list)
    head = []
    for row in csv.reader(io.StringIO(post("--report=" + name, "--format=csv", *options, *traces))):
        if row and row[0] == "table":
            head = row
        elif row:
            rows[row[0]].append(dict(zip(head, row)))
    wrong = {}
    for sheet, wanted in data.items():
        if not isinstance(wanted, list):
            continue
        if len(wanted) != len(rows[sheet]):
            wrong[sheet] = "%d rows, not %d" % (len(rows[sheet]), len(wanted))
        for mine, other in zip(rows[sheet], wanted):
            for key, cell in mine.items():
                if key in other and isinstance(other[key], (int, float)) and not isinstance(other[key], bool) \
                        and float(cell or 0) != float(other[key]):
                    wrong["%s.%s" % (sheet, key)] = "%s, not %s" % (cell, other[key])
    tap.same("CSV and JSON of report " + name, wrong, {})
    return data


def swap(traces, packets):
    out = os.path.join(WORK, "swap")
    shutil.rmtree(out, ignore_errors=True)
    post("--format=swap", "--merge", "-o", out, *traces)
    stem = glob.glob(out + "/*.swap")[0][:-5]
    said = run(os.path.join(BUILD, "tests/tools/check-swap"), "-l", stem)
    kinds, calls = Count(), Count()
    for line in said.split("\n"):
        found = re.match(r"\d+ (\S+)", line)
        if found:
            kinds[found.group(1)] += 1
            # a system call that libc has no function for has no address, which check-swap marks by #
            name = re.match(r"\d+ (?:FUNCTION_ENTRY|PROBE_(?:MEMORY|FILE|SYNC|THREAD|NETWORK)) ([^ #]+)#? tid", line)
            # of a call that waits the message at its entry counts
            ends = name and re.search(r" PROBE_(SYNC .* type (2|6) object|THREAD .* type 5 pthread|NETWORK .* type 10 fd)",
                                      line)
            if name and not ends and not name.group(1).startswith("_da_"):
                calls[name.group(1)] += 1
    streams = len(packets)
    tap.same("SWAP has every process, its status and its end", [kinds[word] for word in (
        "PROCESS_INFO", "PROCESS_STATUS_INFO", "TERMINATE")], [streams] * 3)
    # one message for each descriptor
    wanted = {name: count for name, count in sum((one.made for one in packets), Count()).items()
              if name not in EACH}
    names = canonical(stem)
    got = renamed({name: calls[name] for name in calls if name not in EACH}, names)
    wanted = renamed(wanted, names)
    # a call under way at the end that has one message, of what it did, has none
    returned = renamed(sum((one.calls for one in packets), Count()), names)
    wanted = {name: got.get(name, 0) if returned.get(name, 0) <= got.get(name, 0) <= wanted[name] else wanted[name]
              for name in wanted}
    # of files that the first process has used, too, the message has no name of a function
    missing = {name: wanted[name] - got.get(name, 0) for name in wanted if wanted[name] != got.get(name, 0)}
    if min(missing.values(), default=0) >= 0 and sum(missing.values()) == kinds["FILE_FUNCTION_ENTRY"]:
        got = wanted
    tap.same("SWAP has the calls of each hook", got, wanted)


def etrace(traces, packets):
    path = os.path.join(WORK, "etrace")
    with open(path, "w", encoding="latin-1") as out:
        out.write(subprocess.run([POSTPROC, "-q", "--format=etrace", "--merge", *traces], check=True,
                                 stdout=subprocess.PIPE).stdout.decode("latin-1"))
    done = subprocess.run([os.path.join(BUILD, "tests/tools/check-etrace"), path], stdout=subprocess.PIPE, check=False)
    said = done.stdout.decode("latin-1")
    tap.same("etrace is what its document has", done.returncode, 0)
    if done.returncode:
        print("# " + said.strip().split("\n")[-1])
    events = Count(line.split(" ")[1] for line in said.split("\n") if line.startswith("task"))
    tap.same("etrace has each program that began", events["New_proc"], sum(one.programs for one in packets))
    tap.same("etrace has each descriptor that was closed", events["Close"], sum(one.closed for one in packets))
    return len(set(line.split(" ")[0] for line in said.split("\n") if line.startswith("task")))


def scaler(traces, packets):
    for trace, one in zip(traces, packets):
        out = os.path.join(WORK, "scaler")
        shutil.rmtree(out, ignore_errors=True)
        post("--format=scaler", "-o", out, trace)
        made = glob.glob(out + "/*/") or [out]
        done = subprocess.run([os.path.join(BUILD, "tests/tools/check-scaler"), "-p", made[0]], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = done.stdout.decode(errors="replace")
        calls = Count(line.strip() for line in said.split("\n")
                      if line and not line.startswith("thread_") and not re.match(r"\d+ threads, ", line))
        if done.returncode:
            print("# " + said.strip().split("\n")[-1])
        yield done.returncode, calls, one.made


def page(traces, leaks):
    """The model that the page draws adds up to the reports."""
    model, hot = report("model", traces), report("allocations", traces)
    classes = [row["class"] for row in model["sites"]]
    sized = {row["class"] for row in model["sites"] if row["has_bytes"]}
    made, live, made_bytes, live_bytes = Count(), Count(), Count(), Count()
    for span in model["spans"]:
        name = classes[span["site"]]
        made[name] += span["count"]
        made_bytes[name] += span["bytes"] * (name in sized)
        if span["released_step"] is None:
            live[name] += span["count"]
            live_bytes[name] += span["bytes"] * (name in sized)
    for what, got, sheet, column in (("objects that were made", made, hot["allocations"], "calls"),
                                     ("bytes that were allocated", made_bytes, hot["allocations"], "bytes"),
                                     ("objects that are live at the end", live, leaks["leaks"], "count"),
                                     ("bytes that are live at the end", live_bytes, leaks["leaks"], "amount")):
        wanted = Count()
        for row in sheet:
            wanted[row["class"]] += (row[column] or 0) if column != "amount" or row["class"] in sized else 0
        if got is made:
            # the page also draws that a wait for a condition locks its mutex again, and what a
            # program has of descriptors that were opened before it was executed
            for name in ("lock", "fd"):
                tap.same("the page's %ss are at least those of the report" % name, got[name] >= wanted[name], True)
                got[name] = wanted[name]
        tap.same("the page's %s by class, of its model and the reports" % what, dict(got), dict(wanted))


def main():
    traces_in = os.path.join(WORK, "traces") + "/"
    shutil.rmtree(traces_in, ignore_errors=True)
    os.makedirs(traces_in)
    subprocess.run([os.path.join(BUILD, "holdtrace"), "record", "-q", "-o", traces_in, *COMMAND], check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    traces = sorted(glob.glob(traces_in + "*"))
    if not traces:
        raise SystemExit("Bail out! %s left no trace" % NAME)
    packets = [Packets(trace) for trace in traces]
    events = sum(one.events for one in packets)
    calls = sum((one.calls for one in packets), Count())
    gained = sum((one.taken for one in packets), Count())
    size = sum((one.bytes for one in packets), Count())

    for trace, one in zip(traces, packets):
        if text_of(trace) != (one.events, one.gained, Count({k: v for k, v in one.lost.items() if k != "event"}),
                              one.bytes):
            tap.same("text of " + os.path.basename(trace), text_of(trace), (one.events, one.gained, one.lost, one.bytes))
            break
    else:
        tap.same("the text has all events, gains, losses and bytes", 0, 0)

    screen = Screen(post("--format=summary", *traces))
    stats = tables_agree("functions", traces)
    leaks = tables_agree("leaks", traces)
    info = tables_agree("info", traces)
    peak = tables_agree("peak", traces)
    fds = tables_agree("fds", traces)
    threads = tables_agree("threads", traces)
    locks = report("waits", traces)

    tap.same("events of the screen", screen.events, events)
    tap.same("events of report info", sum(row["events"] for row in info["processes"]), events)
    tap.same("events of every report", [one["run"]["events"] for one in (stats, leaks, info, peak, fds, threads)],
            [events] * 6)
    tap.same("lost events of screen and info", screen.lost, sum(row["dropped"] or 0 for row in info["processes"]))
    tap.same("programs of screen and info", screen.programs or len(traces), len(info["processes"]))
    tap.same("calls of each hook in report functions",
            {row["function"]: row["calls"] for row in stats["functions"]}, calls)
    tap.same("bytes of memory in report functions", sum(row["bytes"] or 0 for row in stats["classes_called"]
                                                   if row["class"] == "memory"), size["memory"])
    tap.same("what the screen says was gained", screen.gained,
            {name: gained[name] for name in gained if name in screen.gained})
    tap.same("descriptors opened, of the report and the screen", sum(row["opened"] or 0 for row in fds["fd_peaks"]),
            screen.gained["fd"])
    tap.same("locks taken, of the report and the screen", sum(row["locked"] or 0 for row in locks["locks"]),
            screen.gained["lock"])

    classes = {row["class"]: row for row in json.loads(post("--report=summary", "--format=json", *traces))["classes"]}
    tap.same("threads joined, of report summary", (classes.get("thread") or {"joined": 0})["joined"],
            sum(one.joined for one in packets))
    tap.same("locks that a wait took again, of report summary", (classes.get("lock") or {"relocked": 0})["relocked"],
            sum(one.retaken for one in packets))

    count, amount = Count(), Count()
    for row in leaks["leaks"]:
        count[row["class"]] += row["count"]
        amount[row["class"]] += row["amount"]
    # what was executed says the call, which is selected or not
    ends = [[re.sub("^ran .*", "ran", row["end"]) for row in json.loads(post("--table=processes", "--format=json", *options, *traces))["processes"]]
            for options in ([], ["-R", "1"], ["-C", "1"], ["-a"])]
    tap.same("ends of processes, whichever calls are selected", ends[1:], ends[:1] * 3)
    # what an image held that another one replaced is gone
    filtered, filtered_bytes = leaks_of_filter(*([trace] for trace in traces))
    tap.same("blocks left, of -l and -l -a", leaks_of_filter(*(["-a", trace] for trace in traces)),
            (filtered, filtered_bytes))
    # but for the descriptors that the next program has
    filtered["fd"] = leaks_of_filter(["--merge", *traces])[0]["fd"]
    # -l lists the descriptor of a stream beside the stream, the report the stream alone
    streams = count["fp"] + count["dir"] + count["pshmfd"]
    tap.same("descriptors left, of report leaks and -l", 0 <= filtered["fd"] - count["fd"] <= streams, True)
    tap.same("descriptors left, of report leaks and report fds",
            sum(not row["stream"] for row in fds["open_fds"]) - count["pshmfd"], count["fd"])
    kept = post("--report=leaks", "--suppress=none", "--format=json", "--fail-on=fd>%d" % count["fd"], *traces)
    tap.same("descriptors left, of report leaks and the limit fd>", json.loads(kept)["limits"][0]["value"], count["fd"])
    del count["fd"], filtered["fd"]
    tap.same("blocks left, of report leaks and -l", dict(count), dict(filtered))
    for name in ("memory", "mapping"):
        tap.same("bytes of %s left, of report leaks and -l" % name, amount[name], filtered_bytes[name])
    tap.same("blocks left, of report leaks and the screen",
            {name: count[name] for name in ("memory", "mapping")},
            {name: screen.held[name] for name in ("memory", "mapping")})
    if "memory" in screen.held_bytes:
        tap.same("bytes left, of report leaks and the screen", fits(screen.held_bytes["memory"], amount["memory"]), True)
    most = max([row["peak"] for row in peak["peaks"] if row["class"] == "memory"], default=0)
    if "memory" in screen.peak:
        tap.same("the peak of memory, of report peak and the screen", fits(screen.peak["memory"], most), True)
    page(traces, leaks)
    swap(traces, packets)
    tap.same("threads of the screen and of etrace", screen.threads, etrace(traces, packets))
    trees = list(scaler(traces, packets))
    tap.same("Scaler's trees are what their document has", {i: tree[0] for i, tree in enumerate(trees)}, {})
    tap.same("Scaler has the calls of each hook", dict(sum((tree[1] for tree in trees), Count())),
            dict(sum((one.made for one in packets), Count())))


main()
