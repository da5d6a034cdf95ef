#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""viewers.py BUILD WORK READERS NAME TRACE [FORMAT]...: a run in the files of viewers is the run of the report.

Each format is read twice: by a strict reader of its document here, which shares nothing with the
writer, and by the viewer's own reader where there is one (READERS is a directory with those that are
not in PATH). What they add up to is held against the report's JSON. Prints a TAP line without its
number for each comparison.
"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import browser  # pylint: disable=wrong-import-position
import tap  # pylint: disable=wrong-import-position

BUILD, WORK, READERS, NAME, TRACE = sys.argv[1:6]
CHOSEN = sys.argv[6:]
tap.NAME = NAME
# Whose trace Perfetto's processor is asked about: it takes a second to start.
ASKED = ("lockers", "hostile")
WAITS = ("lock", "condition", "semaphore", "thread", "call")


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)


def report(*words):
    done = run(os.path.join(BUILD, "holdtrace-postproc"), "-q", *words, TRACE)
    if done.returncode not in (0, 3):
        raise SystemExit("Bail out! %s: %s" % (words, done.stderr.decode(errors="replace")))
    return done.stdout


def reader(name):
    """The path of a viewer's own reader, or None."""
    path = os.path.join(READERS, name)
    return path if os.path.exists(path) else shutil.which(name)


def shown_in_browser(page, data, name, ready, key=None):
    """The text of a viewer's page in Chromium that has opened a file, when it matches `ready`."""
    path = os.path.join(WORK, name)
    with open(path, "wb") as file:
        file.write(data)
    with browser.Browser() as tab:
        tab.call("Page.navigate", url="file://" + os.path.realpath(page))
        said = ""
        for turn in range(200):
            if turn % 40 == 10:  # the page may not have been ready for the file
                root = tab.call("DOM.getDocument")["root"]["nodeId"]
                node = tab.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
                try:
                    tab.call("DOM.setFileInputFiles", nodeId=node, files=[path])
                except RuntimeError as error:
                    said = str(error)
            time.sleep(0.1)
            for kind in ("keyDown", "keyUp") if key and turn > 10 else ():
                tab.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": key} if kind == "keyDown" else {}))
            said = tab.eval("document.body ? document.body.innerText : ''") or said
            if re.search(ready, said):
                break
        return said


# ---- what the report says

SHEETS = json.loads(report("--report=leaks,allocations,peak,waits,threads,info", "--suppress=none", "--format=json"))
BYTES = ("memory", "mapping", "segment")


def add(rows, number, name="class"):
    sums = collections.Counter()
    for row in rows:
        sums[row[name]] += row[number] or 0
    return sums


HELD = add(SHEETS["leaks"], "count")
HELD_BYTES = {c: n for c, n in add(SHEETS["leaks"], "amount").items() if c in BYTES}
GAINED = add(SHEETS["allocations"], "calls")
GAINED_BYTES = {c: n for c, n in add(SHEETS["allocations"], "bytes").items() if c in BYTES}
PEAK = add(SHEETS["peak_sites"], "count")
PEAK_BYTES = {c: n for c, n in add(SHEETS["peak_sites"], "amount").items() if c in BYTES}
AT_ONCE = ("no wait", "refused")
WAITED = {
    "lock": sum(row["wait_time_ns"] for row in SHEETS["lock_sites"]),
    "condition": sum(row["wait_time_ns"] for row in SHEETS["cond_waits"]),
    "semaphore": sum(row["wait_time_ns"] for row in SHEETS["sem_waits"] if row["ended"] not in AT_ONCE),
}
COUNTED = {
    "lock": sum(row["waits"] for row in SHEETS["lock_sites"]),
    "condition": sum(row["waits"] for row in SHEETS["cond_waits"]),
    "semaphore": sum(row["waits"] for row in SHEETS["sem_waits"] if row["ended"] not in AT_ONCE),
}
# A semaphore that is waited for when the process ends is in no row of sems.
OPEN = sum(1 for row in SHEETS["threads"] if (row["end"] or "").startswith("in sem_"))
LENGTH = SHEETS.get("run", {}).get("duration_ns", 0)
PROCESSES = SHEETS.get("run", {}).get("processes", 0)
PROGRAM = next((row["program"] for row in SHEETS["processes"]), None)
# Of each process: whether the trace says that it has ended.
ENDS = [re.match("exit |killed|ran (?!on )", row["end"] or "") is not None for row in SHEETS["processes"]]


def only_known(waits):
    return {kind: waits.get(kind, 0) for kind in ("lock", "condition") + (() if OPEN else ("semaphore",))}


KNOWN_WAITED, KNOWN_COUNTED = only_known(WAITED), only_known(COUNTED)


# ---- protocol buffers

def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def fields(data):
    """(field, value) of a message; a value is a number or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is longer than its message"
        else:
            raise AssertionError("wire type %d" % (key & 7))
        yield key >> 3, value


def packed(data):
    at, numbers = 0, []
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


# ---- pprof

def pprof_words(kind, name):
    """The sample type of memory that one of this class stands for; None: it is another class's."""
    if kind == "memory":
        return name if re.fullmatch("(alloc|inuse|peak)_(objects|space)", name) else None
    own = re.sub("[^A-Za-z0-9]", "_", kind) + "_"
    found = re.fullmatch("(acquired|opened|created|live|open|peak)(_bytes)?", name[len(own):]) \
        if name.startswith(own) else None
    if not found:
        return None
    first = {"live": "inuse", "open": "inuse", "peak": "peak"}.get(found.group(1), "alloc")
    return first + ("_space" if found.group(2) else "_objects")


def check_pprof():
    data = report("--report=summary", "--format=pprof")
    parts = collections.defaultdict(list)
    for field, value in fields(gzip.decompress(data)):
        parts[field].append(value)
    texts = [text.decode("utf-8") for text in parts[6]]
    assert texts[0] == "" and len(set(texts)) == len(texts)
    names = [texts[dict(fields(kind))[1]] for kind in parts[1]]
    locations = {dict(fields(place))[1]: dict(fields(place)) for place in parts[4]}
    functions = {dict(fields(function))[1]: texts[dict(fields(function))[2]] for function in parts[5]}
    mappings = {dict(fields(mapping))[1]: dict(fields(mapping)) for mapping in parts[3]}
    for place in locations.values():
        assert functions[dict(fields(place[4]))[1]] and (not place[2] or place[2] in mappings)
        if place[2]:
            assert mappings[place[2]][2] <= place[3] < mappings[place[2]][3], "an address outside its module"
    sums, waits, strange = collections.Counter(), collections.Counter(), []
    for sample in parts[2]:
        labels = dict((texts[dict(fields(v))[1]], texts[dict(fields(v))[2]]) for f, v in fields(sample) if f == 3)
        values = dict(zip(names, packed(dict(fields(sample))[2])))
        assert len(values) == len(names) and all(place in locations for place in packed(dict(fields(sample))[1]))
        for name, value in values.items():
            if "class" in labels:
                words = pprof_words(labels["class"], name)
                if words:
                    sums[words, labels["class"]] += value
                elif value:
                    strange.append((name, labels["class"]))
            else:
                waits[name, labels["wait"]] += value
    tap.same("pprof: a class adds to its own sample types alone", strange, [])
    tap.same("pprof: the sample types that readers know come first", names[:4],
         ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
    for words, wanted in (("inuse_objects", HELD), ("inuse_space", HELD_BYTES), ("alloc_objects", GAINED),
                          ("alloc_space", GAINED_BYTES), ("peak_objects", PEAK), ("peak_space", PEAK_BYTES)):
        tap.same("pprof: %s of each class" % words, {c: n for (w, c), n in sums.items() if w == words}, wanted)
    if NAME not in ("hostile", "empty", "python"):  # python's file has a version in its name
        tap.same("pprof: the first mapping is the program", os.path.basename(texts[mappings[1][5]]),
             os.path.basename(os.path.realpath(shutil.which(PROGRAM) or PROGRAM)))
    tap.same("pprof: waits", only_known({k: n for (w, k), n in waits.items() if w == "contentions"}), KNOWN_COUNTED)
    tap.same("pprof: time waited", only_known({k: n for (w, k), n in waits.items() if w == "delay"}), KNOWN_WAITED)
    tool = reader("pprof")
    if not tool:
        tap.skip("pprof: go tool pprof agrees", "no go")
        return
    path = os.path.join(WORK, "run.pb.gz")
    with open(path, "wb") as file:
        file.write(data)
    text = run(tool, "-raw", path).stdout.decode(errors="replace")
    found = re.search(r"^Samples:\n(.*?)^Locations", text, re.S | re.M)
    lines = [line.split(":")[0].split() for line in found.group(1).split("\n")[1:]] if found else []
    values = [line for line in lines if line and all(word.isdigit() for word in line) and len(line) == len(names)]
    tap.same("pprof: go tool pprof agrees", [sum(int(line[i]) for line in values) for i in range(len(names))],
         [sum(packed(dict(fields(sample))[2])[i] for sample in parts[2]) for i in range(len(names))])


# ---- speedscope

def check_speedscope():
    data = json.loads(report("--report=summary", "--format=speedscope"))
    frames = data["shared"]["frames"]
    sums = {}
    for profile in data["profiles"]:
        assert profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
        assert sum(profile["weights"]) == profile["endValue"] and profile["unit"] in ("bytes", "none", "nanoseconds")
        sums[profile["name"]] = profile["endValue"]
    assert all(frame["name"] for frame in frames)
    if "memory live at exit" in sums:
        tap.same("speedscope: the memory that is held comes first", data["profiles"][data["activeProfileIndex"]]["name"],
             "memory live at exit")

    def part(end):
        return {name[:-len(end) - 1]: value for name, value in sums.items() if name.endswith(" " + end)}

    amount = {c: HELD_BYTES.get(c, n) for c, n in HELD.items()}
    most = {c: PEAK_BYTES.get(c, n) for c, n in PEAK.items()}
    tap.same("speedscope: held at the end", part("live at exit"), amount)
    tap.same("speedscope: held when most was", part("live at the peak"), most)
    tap.same("speedscope: gained", part("acquired"), GAINED_BYTES)
    tap.same("speedscope: how often", part("acquired: number of calls"), GAINED)
    tap.same("speedscope: waited", only_known({k: sums.get("waited: " + k, 0) for k in WAITS}), KNOWN_WAITED)
    schema = os.path.join(READERS, "speedscope/dist/release/file-format-schema.json")
    viewer = os.path.join(READERS, "speedscope/dist/release/index.html")
    if NAME == "leaky" and browser.chromium() and os.path.exists(viewer):
        said = shown_in_browser(viewer, json.dumps(data).encode(), "run.speedscope.json", "Symbol Name\n(.*\n)+_start", "3")
        own = re.findall(r"\n\t(\d+) B \(", said)
        tap.same("speedscope: its page shows the memory that is held", sum(map(int, own)) if own else said[:300], HELD_BYTES["memory"])
    if NAME not in ("leaky", "hostile"):  # it is slow, and the shape is always the same
        return
    try:
        import jsonschema
        with open(schema, encoding="utf-8") as file:
            jsonschema.validate(data, json.load(file))
        tap.holds("speedscope: its own schema takes it", True)
    except (ImportError, FileNotFoundError):
        tap.skip("speedscope: its own schema takes it", "no speedscope or no jsonschema")


# ---- callgrind

def check_callgrind():
    data = report("--report=summary", "--format=callgrind")
    lines = data.decode("utf-8").split("\n")
    events = next(line for line in lines if line.startswith("events:")).split()[1:]
    totals = [int(n) for n in next(line for line in lines if line.startswith("totals:")).split()[1:]]
    totals = dict(zip(events, totals + [0] * len(events)))
    sums, is_call, known = collections.Counter(), False, set()
    for line in lines[lines.index(next(line for line in lines if line.startswith("summary:"))) + 1:]:
        found = re.match(r"(ob|fl|fn|cob|cfi|cfn)=\((\d+)\)( .*)?$", line)
        if found:
            key = (found.group(1).replace("c", "").replace("fi", "fl"), found.group(2))
            assert found.group(3) or key in known or key[0] != "fn", line
            known.add(key)
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"\d+( \d+)+$", line):
            for event, number in zip(events, line.split()[1:]):
                sums[event] += 0 if is_call else int(number)
            is_call = False
        else:
            assert line == "" or line.startswith("totals:"), line[:200]
    tap.same("callgrind: lines add up to the totals", sums, totals)
    wanted = {}
    for of_memory, words, counts in (("LiveObjects", "Live", HELD), ("LiveBytes", "LiveBytes", HELD_BYTES),
                                     ("AllocObjects", "Acquired", GAINED), ("AllocBytes", "AcquiredBytes", GAINED_BYTES),
                                     ("PeakObjects", "Peak", PEAK), ("PeakBytes", "PeakBytes", PEAK_BYTES)):
        for name, number in counts.items():
            own = re.sub("[^A-Za-z0-9]", "_", name)
            wanted[of_memory if name == "memory" else own[:1].upper() + own[1:] + words] = number
    tap.same("callgrind: totals of each class", {key: n for key, n in totals.items() if not key.startswith("Wait")}, wanted)
    tool = reader("callgrind_annotate")
    if not tool:
        tap.skip("callgrind: callgrind_annotate agrees", "no callgrind_annotate")
        return
    path = os.path.join(WORK, "callgrind.out.1")
    with open(path, "wb") as file:
        file.write(data)
    done = run(tool, "--auto=no", path)
    text = done.stdout.decode(errors="replace")
    found = re.search(r"^(.*) PROGRAM TOTALS", text, re.M)
    numbers = [int(n.replace(",", "")) if n != "." else 0
               for n in re.sub(r"\([^)]*\)", "", found.group(1)).split()] if found else []
    tap.same("callgrind: callgrind_annotate agrees", numbers or done.stderr.decode(errors="replace")[:300],
         [totals[event] for event in events] if any(totals.values()) else numbers or "")


# ---- DHAT

def check_dhat():
    data = json.loads(report("--report=summary", "--format=dhat"))
    assert data["dhatFileVersion"] == 2 and data["mode"] == "heap" and data["bklt"] and not data["bkacc"]
    assert data["ftbl"][0] == "[root]" and data["tg"] <= max(data["te"], data["tg"])
    for place in data["pps"]:
        assert place["fs"] and all(0 < frame < len(data["ftbl"]) for frame in place["fs"])
        assert place["gb"] <= place["mb"] <= place["tb"] and place["gbk"] <= place["tbk"]
    sums = {key: sum(place[key] for place in data["pps"]) for key in ("tb", "tbk", "gb", "gbk", "eb", "ebk")}
    wanted = {"tb": GAINED_BYTES.get("memory", 0), "tbk": GAINED.get("memory", 0), "gb": PEAK_BYTES.get("memory", 0),
              "gbk": PEAK.get("memory", 0), "eb": HELD_BYTES.get("memory", 0), "ebk": HELD.get("memory", 0)}
    tap.same("dhat: total, at the peak, at the end", sums, wanted)
    viewer = reader("dh_view.html") or "/usr/libexec/valgrind/dh_view.html"
    if NAME == "leaky" and browser.chromium() and os.path.exists(viewer):
        said = shown_in_browser(viewer, json.dumps(data).encode(), "run.dhat.json", "PP 1/1")
        found = re.search(r"Total: +([\d,]+) bytes .* in ([\d,]+) blocks .*\n.*t-gmax: ([\d,]+) bytes .* in ([\d,]+) blocks"
                          r".*\n.*t-end: +([\d,]+) bytes .* in ([\d,]+) blocks", said)
        tap.same("dhat: dh_view shows the same", [int(n.replace(",", "")) for n in found.groups()] if found else said[-300:],
                 list(sums.values()))


# ---- massif

def check_massif():
    data = report("--report=summary", "--format=massif")
    text = data.decode("utf-8")
    sizes = [int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", text, re.M)]
    times = [float(n) for n in re.findall(r"^time=([0-9.]+)$", text, re.M)]
    assert len(sizes) == len(times) and times == sorted(times)
    most = {row["class"]: row["peak"] for row in SHEETS["peaks"]}.get("memory", 0)
    tap.same("massif: the greatest snapshot is the peak", max(sizes), most)
    if PROCESSES == 1:
        tap.same("massif: the last snapshot is what is held", sizes[-1], HELD_BYTES.get("memory", 0))
    tree = re.findall(r"^( *)n(\d+): (\d+) (.*)$", text, re.M)
    at = iter(tree)

    def descend(depth):
        indent, count, size, _ = next(at)
        assert len(indent) == depth
        if int(count):
            assert sum(descend(depth + 1) for _ in range(int(count))) <= int(size)
        return int(size)

    if most:
        kinds = re.findall(r"^heap_tree=(\w+)$", text, re.M)
        wanted = [size for size, kind in zip(sizes, kinds) if kind != "empty"]
        tap.same("massif: a snapshot with a tree is what its tree is", [descend(0) for _ in wanted], wanted)
        tap.same("massif: one of them is the peak", [size for size, kind in zip(sizes, kinds) if kind == "peak"], [most])
        assert len(wanted) > 1 and kinds[-1] == "detailed", kinds
        assert next(at, None) is None, "more trees than snapshots that have one"
    tool = reader("ms_print")
    if not tool:
        tap.skip("massif: ms_print agrees", "no ms_print")
        return
    path = os.path.join(WORK, "massif.out.1")
    with open(path, "wb") as file:
        file.write(data)
    done = run(tool, path)
    shown = [int(n.replace(",", "")) for n in re.findall(r"^ *\d+ +[0-9.,]+ +([0-9,]+) ", done.stdout.decode(errors="replace"), re.M)]
    tap.same("massif: ms_print agrees", max(shown or [-1]) if done.returncode == 0 else done.stderr.decode(errors="replace"), most)


# ---- collapsed, SVG

def check_collapsed():
    for by, wanted in (("live", {c: HELD_BYTES.get(c, n) for c, n in HELD.items()}), ("bytes", GAINED_BYTES)):
        sums = collections.Counter()
        for line in report("--report=tree", "--by=" + by, "--format=collapsed").decode("utf-8").splitlines():
            path, number = line.rsplit(" ", 1)
            sums[path.split(";")[0]] += int(number)
        tap.same("collapsed: by %s" % by, sums, wanted)


def check_svg():
    data = report("--report=summary", "--by=live", "--format=svg")
    path = os.path.join(WORK, "run.svg")
    with open(path, "wb") as file:
        file.write(data)
    root = ElementTree.fromstring(data)
    space = "{http://www.w3.org/2000/svg}"
    roots = {}
    for graph in root.iter(space + "g"):
        if graph.get("class") == "graph":
            roots[graph.get("data-title")] = sum(float(f.get("data-w")) for f in graph if f.get("data-d") == "0")
    tap.same("svg: a graph for each class that is held", sorted(roots), sorted(c for c, n in HELD.items() if n))
    tap.holds("svg: the outermost functions fill the width", all(abs(w - 1) < 0.01 for w in roots.values()), roots)
    tap.holds("svg: it names nothing to load", not re.search(rb"(href|src)=", data))
    tool = reader("xmllint")
    if not tool:
        tap.skip("svg: xmllint accepts it", "no xmllint")
        return
    done = run(tool, "--noout", "--huge", path)
    tap.holds("svg: xmllint takes it", done.returncode == 0, done.stderr)


# ---- Perfetto

def packets(data):
    """Of each packet: its fields, in the order of the file."""
    for field, packet in fields(data):
        assert field == 1, "not a packet"
        parts = collections.defaultdict(list)
        for key, value in fields(packet):
            parts[key].append(value)
        yield parts


def parts_of(data):
    parts = collections.defaultdict(list)
    for key, value in fields(data):
        parts[key].append(value)
    return parts


class Interned:
    """What was told before it is spoken of: numbers by kind."""

    KINDS = {2: "name", 5: "function", 6: "frame", 7: "stack", 16: "build id", 17: "path", 18: "source",
             19: "mapping", 29: "text"}

    def __init__(self):
        self.known = collections.defaultdict(set)

    def learn(self, data):
        for field, entry in fields(data):
            entry, kind = parts_of(entry), self.KINDS[field]
            assert entry[1][0] not in self.known[kind], "a %s twice" % kind
            self.known[kind].add(entry[1][0])
            uses = {"frame": ((2, "function"), (3, "mapping"), (5, "source")), "stack": ((2, "frame"),),
                    "mapping": ((2, "build id"), (7, "path"))}.get(kind, ())
            for number, what in uses:
                for value in entry[number]:
                    assert value in self.known[what], "a %s that is not known" % what

    def has(self, what, number):
        assert number in self.known[what], "a %s that is not known" % what


def check_perfetto():
    data = report("--report=summary", "--format=perfetto")
    interned, tracks, last = Interned(), {}, 0
    open_slices, counters, heaps = collections.defaultdict(list), {}, {}
    counted, waited, flows, dumps, woken = (collections.Counter() for _ in range(5))
    for packet in packets(data):
        for entry in packet[12]:
            interned.learn(entry)
        for track in packet[60]:
            track = parts_of(track)
            tracks[track[1][0]] = track[2][0].decode() if track[2] else ""
        for dump in packet[37]:
            dump = parts_of(dump)
            dumps["ordered"] += dump[7][0] == dumps["all"]
            dumps["all"] += 1
            heap = parts_of(dump[5][0])
            for sample in heap[2]:
                sample = parts_of(sample)
                interned.has("stack", sample[1][0])
                key = heap[11][0].decode(), heap[1][0], sample[1][0]
                heaps[key] = sample[2][0] - sample[3][0], sample[5][0] - sample[6][0]
        for event in packet[11]:
            event, time = parts_of(event), packet[8][0]
            assert time >= last and event[11][0] in tracks, "out of order, or of no track"
            last = time
            for stack in event[56]:
                interned.has("stack", stack)
            for flow in event[47] + event[48]:
                flows[flow] += 1
            woken["starts"] += len(event[47])
            woken["ends"] += len(event[48])
            if event[9] == [4]:
                counters.setdefault(tracks[event[11][0]], collections.defaultdict(list))[event[11][0]].append(event[30][0])
            elif event[9] == [1]:
                notes = {parts_of(n)[10][0].decode(): parts_of(n) for n in event[4]}
                for note in notes.values():
                    for text in note[17]:
                        interned.has("text", text)
                is_wait = event[22] == [b"wait"]
                ended = notes["end"][6][0].decode() if "end" in notes else ""
                kind = notes["kind"][6][0].decode() if is_wait else None
                open_slices[event[11][0]].append((time, kind, ended))
            elif event[9] == [2]:
                since, kind, ended = open_slices[event[11][0]].pop()
                if kind:
                    counted[kind] += 1
                    waited[kind] += time - since
    assert not any(open_slices.values()), "slices without an end"
    tap.same("perfetto: waits", only_known(counted), KNOWN_COUNTED)
    tap.same("perfetto: time waited", only_known(waited), KNOWN_WAITED)
    tap.same("perfetto: each arrow has two ends", [n for n in flows.values() if n != 2] + [woken["starts"] - woken["ends"]], [0])
    tap.same("perfetto: dumps of heaps are numbered in order", dumps["ordered"], dumps["all"])
    held = collections.Counter()
    for (heap, _, _), (size, count) in heaps.items():
        held[heap] += size
        held[heap, "count"] += count
    for heap in ("memory", "mapping"):
        tap.same("perfetto: %s at its peak, by place" % heap, held[heap + " at its peak"], PEAK_BYTES.get(heap, 0))
        tap.same("perfetto: %s held, by place" % heap, [held[heap], held[heap, "count"]],
             [HELD_BYTES.get(heap, 0), HELD.get(heap, 0)])
    most = {row["class"]: row["peak"] for row in SHEETS["peaks"]}
    tap.same("perfetto: counters reach the peaks", {name[:-5]: max(max(v) for v in c.values()) for name, c in counters.items()}, most)
    over = bool(ENDS) and all(ENDS)
    if PROCESSES == 1:
        tap.same("perfetto: and end with what is held",
             {n: sum(v[-2 if over else -1] for v in counters.get(n + " live", {}).values()) for n in BYTES},
             {n: HELD_BYTES.get(n, 0) for n in BYTES})
    if over:
        tap.same("perfetto: counters of processes that ended return to 0",
             sum(v[-1] for c in counters.values() for v in c.values()), 0)
    engine = os.path.join(READERS, "argent/assets/trace-processor")
    node = shutil.which("node")
    if not node or not os.path.isdir(engine) or NAME not in ASKED:
        if NAME in ASKED:
            tap.skip("perfetto: its trace processor agrees", "no trace_processor")
        return
    path = os.path.join(WORK, "run.pftrace")
    with open(path, "wb") as file:
        file.write(data)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.js")
    waits = "from slice where category = 'wait' and extract_arg(arg_set_id, 'debug.kind') = 'lock'"
    done = run(node, script, engine, path,
               "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
               "select count(*), sum(dur) " + waits,
               "select heap_name, sum(size), sum(count) from heap_profile_allocation group by 1",
               # Who did each thread wait for? The arrow that ends where its wait does.
               "select count(*) from slice w join thread_track wt on w.track_id = wt.id join thread wu using (utid) "
               "join slice woken on woken.track_id = w.track_id and woken.ts = w.ts + w.dur "
               "join flow on flow.slice_in = woken.id join slice waker on waker.id = flow.slice_out "
               "join thread_track ht on waker.track_id = ht.id join thread hu on hu.utid = ht.utid "
               "where w.category = 'wait' and woken.category = 'woken' "
               "and hu.tid = extract_arg(w.arg_set_id, 'debug.waker thread')",
               "select count(*) from flow")
    lines = done.stdout.decode(errors="replace").splitlines()
    answers = [json.loads(line) for line in lines]
    tap.same("perfetto: its trace processor finds no fault", answers[0], [])
    tap.same("perfetto: it counts the same waits for locks", [n or 0 for n in answers[1][0]], [COUNTED["lock"], WAITED["lock"]])
    tap.same("perfetto: it finds what is held by place", {heap: [size, count] for heap, size, count in answers[2]
                                                             if heap in HELD_BYTES and (size or count)},
         {heap: [HELD_BYTES[heap], HELD[heap]] for heap in HELD_BYTES if HELD_BYTES[heap]})
    tap.same("perfetto: SQL tells for each arrow who was waited for", answers[3][0][0] >= answers[4][0][0] == woken["starts"], True)


# ---- Firefox Profiler

def check_firefox():
    data = json.loads(report("--report=summary", "--format=firefox"))
    assert all(thread["name"] and thread["processName"] for thread in data["threads"]) or NAME in ("hostile", "empty")
    assert data["meta"]["preprocessedProfileVersion"] == 48 and data["meta"]["categories"][0]["color"] == "grey"
    waited, counted = collections.Counter(), collections.Counter()
    for thread in data["threads"]:
        sizes = {name: thread[name]["length"] for name in ("stackTable", "frameTable", "funcTable")}
        for name in ("stackTable", "frameTable", "funcTable", "markers", "samples"):
            table = thread[name]
            assert all(len(column) == table["length"] for key, column in table.items() if isinstance(column, list)), name
        stacks = thread["stackTable"]
        assert all(frame < sizes["frameTable"] for frame in stacks["frame"])
        assert all(p is None or p < i for i, p in enumerate(stacks["prefix"])), "a caller behind its callee"
        assert all(n < len(thread["stringArray"]) for n in thread["funcTable"]["name"] + thread["markers"]["name"])
        for i, marker in enumerate(thread["markers"]["data"]):
            counted[marker["kind"]] += 1
            waited[marker["kind"]] += marker["ns"]
            assert marker["cause"]["stack"] < sizes["stackTable"]
            assert thread["stringArray"][thread["markers"]["name"][i]] == marker["kind"]
    tap.same("firefox: waits", only_known(counted), KNOWN_COUNTED)
    tap.same("firefox: time waited", only_known(waited), KNOWN_WAITED)
    memory = data["threads"][0]["nativeAllocations"]
    assert memory["time"] == sorted(memory["time"]) and all(len(memory[k]) == memory["length"] for k in ("time", "weight", "stack"))
    balance = collections.Counter()
    for address, weight in zip(memory["memoryAddress"], memory["weight"]):
        balance[address] += weight
        assert balance[address] >= 0, "lost before it was gained"
    tap.same("firefox: what is retained is what is held", sum(memory["weight"]), HELD_BYTES.get("memory", 0))
    tap.same("firefox: what was gained", sum(w for w in memory["weight"] if w > 0), GAINED_BYTES.get("memory", 0))
    peak = 0
    for counter in data["counters"]:
        owner = data["threads"][counter["mainThreadIndex"]]
        assert owner["pid"] == counter["pid"] and owner["isMainThread"], "a counter of a process that has no thread"
        level = 0
        for change in counter["samples"]["count"]:
            level += change
            peak = max(peak, level)
    tap.same("firefox: the counter reaches the peak", peak, {row["class"]: row["peak"] for row in SHEETS["peaks"]}.get("memory", 0))
    tool, node = os.path.join(READERS, "profiler-cli/dist/profiler-cli.js"), shutil.which("node")
    if NAME not in ("lockers",):
        return
    if not node or not os.path.exists(tool):
        tap.skip("firefox: the profiler's own loader agrees", "no node with the profiler")
        return
    path = os.path.join(WORK, "run.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
    environment = dict(os.environ, HOME=WORK)

    def ask(*words):
        return run(node, tool, *words, env=environment).stdout.decode(errors="replace")

    ask("load", path)
    ask("thread", "select", "t-0")
    ask("strategy", "native-retained-allocations")
    said = ask("thread", "functions")
    ask("stop", "--all")
    if "Functions in thread" not in said:  # its daemon has half a second to start
        tap.skip("firefox: the profiler's own loader agrees", "it did not start in time")
        return
    shares = [float(n) for n in re.findall(r"total: [0-9.,]+[KMG]?B \(([0-9.]+)%\)", said)]
    tap.holds("firefox: the profiler's own loader shows what is retained", max(shares or [0]) > 99, said)


# ---- heaptrack

def check_heaptrack():
    data = report("--report=summary", "--format=heaptrack")
    strings, frames, traces, infos = [""], 0, 0, []
    now = peak = gains = count = temporary = 0
    last = 0
    latest = None
    for line in gzip.decompress(data).decode("utf-8", "replace").split("\n"):
        words = line.split(" ")
        if words[0] == "s":
            size, text = line[2:].split(" ", 1)
            strings.append(text)
        elif words[0] == "i":
            numbers = [int(word, 16) for word in words[1:]]
            assert all(n < len(strings) for n in numbers[1:4])
            frames += 1
        elif words[0] == "t":
            assert 0 < int(words[1], 16) <= frames and int(words[2], 16) <= traces
            traces += 1
        elif words[0] == "a":
            assert int(words[2], 16) <= traces
            infos.append(int(words[1], 16))
        elif words[0] in "+-" and words[0]:
            size = infos[int(words[1], 16)]
            sign = 1 if words[0] == "+" else -1
            now, count, gains = now + sign * size, count + sign, gains + (sign > 0)
            peak = max(peak, now)
            assert int(words[1], 16), "readers take number 0 for no allocation"
            temporary += sign < 0 and latest == words[1]
            latest = words[1] if sign > 0 else None
        elif words[0] == "c":
            assert int(words[1], 16) >= last
            last = int(words[1], 16)
        else:
            assert words[0] in ("v", "X", ""), line[:100]
    tap.same("heaptrack: held at the end", [now, count], [HELD_BYTES.get("memory", 0), HELD.get("memory", 0)])
    tap.same("heaptrack: gained", gains, GAINED.get("memory", 0))
    most = {row["class"]: row["peak"] for row in SHEETS["peaks"]}.get("memory", 0)
    if PROCESSES == 1:
        tap.same("heaptrack: the peak", peak, most)
    tool = reader("heaptrack_print")
    if not tool:
        tap.skip("heaptrack: heaptrack_print agrees", "no heaptrack_print")
        return
    path = os.path.join(WORK, "heaptrack.run.gz")
    with open(path, "wb") as file:
        file.write(data)
    done = run(tool, "--disable-builtin-suppressions", "-p", "0", "-a", "0", "-T", "0", path)
    text = done.stdout.decode(errors="replace")

    def size_of(words):
        found = re.search(words + r": ([0-9.]+)([KMG]?)B?$", text, re.M)
        return float(found.group(1)) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[found.group(2)] if found else -1

    tap.holds("heaptrack: heaptrack_print agrees on what leaked", abs(size_of("total memory leaked") - now) <= 0.006 * now + 1, text[-400:])
    tap.holds("heaptrack: and on the peak", abs(size_of("peak heap memory consumption") - peak) <= 0.006 * peak + 1, text[-400:])
    found = re.search(r"calls to allocation functions: (\d+)", text)
    tap.same("heaptrack: and on how often", int(found.group(1)) if found else -1, gains)
    found = re.search(r"temporary memory allocations: (\d+)", text)
    tap.same("heaptrack: and on temporary allocations", int(found.group(1)) if found else -1, temporary)


# ---- CTF

def check_ctf():
    path = os.path.join(WORK, "ctf")
    done = run(os.path.join(BUILD, "holdtrace-postproc"), "-q", "--format=ctf", "--merge", "-o", path, TRACE)
    if b"no such format" in done.stderr:
        tap.skip("ctf: memory", "built without it")
        return
    assert done.returncode in (0, 3), done.stderr
    with open(os.path.join(path, "stream"), "rb") as file:
        stream = file.read()
    held, gains, at, last = {}, 0, 0, 0

    def take(size):
        nonlocal at
        value, at = int.from_bytes(stream[at:at + size], "little"), at + size
        return value

    def text():
        nonlocal at
        end = stream.index(b"\0", at)
        value, at = stream[at:end].decode("utf-8"), end + 1
        return value

    while at < len(stream):
        begin = at
        assert take(4) == 0xc1fc1fc1
        at += 20
        first, until, bits, whole, lost, _ = take(8), take(8), take(8), take(8), take(8), take(4)
        assert bits == whole and lost == 0 and first <= until
        while at < begin + bits // 8:
            number, time = take(2), take(8)
            assert last <= time and first <= time <= until
            last, pid = time, take(4)
            take(4)
            text()
            frames = take(2)
            at += 8 * frames
            if number in (0, 1):
                if number == 1:
                    take(8)
                size, address = take(8), take(8)
                held[pid, address] = size
                gains += 1
            elif number == 2:
                held.pop((pid, take(8)), None)
            elif number == 3:
                take(8)
            elif number in (4, 5, 6):
                at += 12
            elif number == 7:
                at += 16
                text()
                at += 3
            else:
                assert number == 8
                text(), text()
                at += 27
    if PROCESSES == 1:
        tap.same("ctf: memory that is held at the end", [sum(held.values()), len(held)],
             [HELD_BYTES.get("memory", 0), HELD.get("memory", 0)])
    tool = reader("babeltrace2")
    if not tool:
        tap.skip("ctf: babeltrace2 agrees", "no babeltrace2")
        return
    done = run(tool, path)
    lines = done.stdout.decode(errors="replace").splitlines()
    tap.same("ctf: babeltrace2 reads as many gains of memory",
         sum(" lttng_ust_libc:malloc:" in line or " lttng_ust_libc:calloc:" in line for line in lines)
         if done.returncode == 0 else done.stderr.decode(errors="replace")[-300:], gains)


CHECKS = {name[6:]: check for name, check in globals().copy().items() if name.startswith("check_")}

for format_name in CHOSEN or CHECKS:
    try:
        CHECKS[format_name]()
    except (AssertionError, ValueError, KeyError, IndexError, TypeError, StopIteration, AttributeError) as error:
        tap.holds("%s: can be read" % format_name, False, repr(error))
