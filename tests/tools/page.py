# SPDX-License-Identifier: MIT
"""
What a page shows in Chromium, compared with the reports of its trace as JSON. TAP lines without their numbers.

page.py DIRECTORY: with spike, waits, loop, sites and others as traces (.htr) and pages (.html).
"""
import base64
import collections
import gzip
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import tap  # noqa: E402
from browser import Browser  # noqa: E402
from tap import holds, same  # noqa: E402

DIRECTORY = sys.argv[1]


def path(name):
    return os.path.join(DIRECTORY, name)


def report(trace, *what):
    return json.loads(subprocess.run(["./holdtrace", "report", *what, "--format=json", path(trace + ".htr")],
                                     check=True, capture_output=True).stdout)


def sheets(trace):
    """The model of a page."""
    with open(path(trace + ".html"), encoding="utf-8") as file:
        packed = re.search(r'<script id="model"[^>]*>([^<]*)</script>', file.read()).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def model(trace):
    """The tables of a page, each a list of rows."""
    whole = sheets(trace)

    def value(column, number):
        return whole["strings"][number] if column["kind"] == "text" and number is not None else number
    return {table["name"]: [{column["name"]: value(column, number) for column, number in zip(table["columns"], row)}
                            for row in zip(*table["values"])] for table in whole["sheets"]}


def as_bytes(number):
    """As base/human.c prints bytes."""
    units = ["B", "KB", "MB", "GB", "TB", "PB"]
    at = 0
    while number >= (999.95 if at else 1000) and at + 1 < len(units):
        number, at = number / 1000, at + 1
    return f"{number:.1f} {units[at]}" if at else f"{number} B"


def as_time(ns):
    """As base/human.c prints times below two minutes."""
    if ns < 1000:
        return f"{ns} ns"
    below, unit, word = next(step for step in ((1e5, 1e3, "us"), (1e9, 1e6, "ms"), (12e10, 1e9, "s")) if ns < step[0])
    tenths = int((ns + unit / 20) // (unit / 10))
    return f"{tenths / 10:.{int(tenths < 1000 and tenths % 10 > 0)}f} {word}"


def as_cell(kind, number):
    """As the page prints a number of a column of this kind."""
    if number is None:
        return ""
    return {"bytes": as_bytes, "ns": as_time, "count": "{:,}".format, "number": str, "percent": "{:.1f} %".format,
            "hex": lambda text: text if isinstance(text, str) else hex(text), "text": str}.get(kind, str)(number)


# What a pointer that moves over the timeline is told, without repetitions: text after the class's name.
ALONG = """(() => {
    const canvas = document.getElementById('timeline'), box = canvas.getBoundingClientRect(), said = [];
    for (let x = 0; x < box.width; x++) {
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + 20 }));
        said.push(document.getElementById('tip').textContent);
    }
    return said.filter((each, i) => each !== said[i - 1]).map(each => each.split('\\n').pop().replace(/^[a-z]*: /, ''));
})()"""
ROWS = "[...document.querySelectorAll('#view tbody tr')].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
TEXT = "document.getElementById('view').innerText"


def curve(browser, trace, what):
    """The curves of classes: maximum and end."""
    tap.NAME = what
    steps = report(trace, "timeline")["timeline"]
    browser.open(path(trace + ".html"))
    names = browser.eval("[...document.querySelector('#windows select').options].map(each => each.text)")
    for name, key in ("memory", "memory_bytes"), ("fd", "descriptors"), ("thread", "threads"), ("lock", "locks"):
        said = as_bytes if key == "memory_bytes" else "{:,}".format
        most, last = said(max(row[key] for row in steps)), said(steps[-1][key])
        if name not in names:
            same(f"a class without objects has no curve: {name}", most, said(0))
            continue
        browser.open(path(trace + ".html"), f"tab=summary&class={names.index(name)}")
        along = browser.eval(ALONG)
        holds(f"the maximum of {name} is that of report timeline", any(each.startswith(most + " at most") for each in along),
              f"{most} is not in {sorted(set(along))}")
        holds(f"the end of {name} is that of report timeline", along[-1].startswith(last + " at most"), f"{along[-1]}, not {last}")


def resident(browser):
    tap.NAME = "resident memory"
    numbers(browser, "pins", ["resident"])
    [row] = report("pins", "resident")["resident_processes"]
    parts = collections.Counter()
    for each in report("pins", "resident")["resident_parts"]:
        parts[each["part"]] += each["resident_bytes"] or 0
    for view in "resident", "summary":
        browser.open(path("pins.html"), "tab=" + view)
        panel = browser.eval("document.querySelector('#view .panel').innerText")
        wanted = [f"{as_bytes(row['resident_bytes'])} resident", f"{as_bytes(row['live_bytes'])} live",
                  f"{as_bytes(row['free_bytes'])} free", f"pin {as_bytes(row['pinned_bytes'])}, most of them from make_session"]
        wanted += [f"{part}: {as_bytes(size)}" for part, size in parts.items() if size]
        same(f"view {view} says what report resident says", [each for each in wanted if each not in panel], [])
    wide = browser.eval("[...document.querySelectorAll('.bar')].map(each => [...each.lastChild.children].reduce((sum, part) => sum + parseFloat(part.style.width), 0))")
    holds("the bars have the sizes of live and resident memory", abs(wide[0] / wide[1] - row["live_bytes"] / row["resident_bytes"]) < 0.01, wide)


def exact(browser):
    tap.NAME = "numbers above 2^53"
    browser.open(path("huge.html"), "tab=leaks")
    said = browser.eval(TEXT)
    holds("the size is that of the report", as_bytes(report("huge", "leaks")["leaks"][0]["amount"]) in said, said)
    same("letters that reverse the text are visible", browser.eval("document.title"), "holdtrace: ./big\\u202eexe")


def peak(browser):
    curve(browser, "spike", "a spike of a millisecond")
    browser.open(path("spike.html"), "tab=flame&cost=peak")
    [row] = report("spike", "peak")["peaks"]
    same("the flame graph of the peak has what report peak says", browser.eval("document.querySelector('#view .push').textContent"),
         as_bytes(row["peak"]))


def starts():
    tap.NAME = "a program of one thread"
    tables = model("spike")
    longest = {row["wait_time"]: row["since"] for row in tables["longest_waits"]}
    got = {row["wait_time"]: tables["steps"][row["step"]]["time"] + row["offset"] for row in tables["waits_by_step"]
           if row["count"] == 1}
    holds("a wait that began in the first step begins at its time", len(got) > 1 and
          all(got[each] == longest[each] for each in got), f"{got}, not {longest}")


def kinds(browser):
    tap.NAME = "waits for futexes"
    kind = {row["object_kind"] for row in model("futexes")["waits_by_step"]}
    browser.open(path("futexes.html"), "tab=lanes")
    said = browser.eval("document.getElementById('legend').textContent")
    holds("the legend of the timeline has each kind of wait", "futex" in kind and all(each in said for each in kind), f"{kind}: {said}")
    for each in kind:
        holds(f"waits of the kind {each} have a colour",
              browser.eval(f"getComputedStyle(document.documentElement).getPropertyValue('--wait-{each}').trim()"))


def backtraces(browser):
    tap.NAME = "a row that is opened a second time"
    browser.open(path("spike.html"), "tab=sites")
    said = []
    for _ in range(3):
        browser.eval("document.querySelector('#view tbody tr').click()")
        said.append(browser.eval("(document.querySelector('tr.open .stack') || {}).innerText"))
    holds("its backtrace has the allocating function first", said[0] and "grow" in said[0].split("\n")[0], said[0])
    same("its backtrace is the same", said[2], said[0])


def waits(browser):
    tap.NAME = "waits that never ended"
    tables = model("waits")
    edges = [row["time"] for row in tables["steps"]]
    a, b = len(edges) // 4, len(edges) // 2
    browser.open(path("waits.html"), f"tab=lanes&from={a}&to={b}")
    got = {row[2]: (row[0], row[1]) for row in browser.eval(ROWS)}
    each = edges[b] - edges[a]
    same("in a range without a return, each thread waits all the time", got,
         {"lock, has not ended": (as_time(2 * each), "2"), "semaphore, has not ended": (as_time(each), "1"),
          "condition, has not ended": (as_time(each), "1")})
    browser.open(path("waits.html"), f"tab=flame&cost=wait_time&from={a}&to={b}")
    same("the flame graph of that range has the same sum", browser.eval("document.querySelector('#view .push').textContent"),
         as_time(4 * each))
    browser.open(path("waits.html"), "tab=lanes")
    got = {row[2]: row[0] for row in browser.eval(ROWS)}
    locks = sum(row["wait_time_ns"] for row in report("waits", "waits")["lock_waits"])
    same("the waits for locks of the whole run are those of report waits", got["lock, has not ended"], as_time(locks))
    box = browser.eval("(({ left, top }) => [left, top])(document.querySelector('#view canvas').getBoundingClientRect())")
    said = set()
    for lane in range(4):
        browser.click(box[0] + 400, box[1] + 17 * lane + 8)
        said.add(browser.eval("document.querySelector('#view .two > div:last-child').innerText").split("\n")[0])
    holds("no thread is said to have ended one", said and all(each.startswith("the wait has not ended") for each in said), said)
    holds("no row has a note for the name of a call", "~open" not in browser.eval(TEXT))
    holds("the model has each wait once", len(tables["longest_waits"]) == 4 ==
          sum(row["count"] for row in tables["waits_by_step"]), tables["waits_by_step"])


def remainder(browser):
    tap.NAME = "a flame graph of many small call sites"
    browser.open(path("sites.html"), "tab=flame")
    blank = browser.eval("""(() => {
        const canvas = document.querySelector('#view canvas'), level = 4; /* all, _start, two of libc, main of each site */
        const pixels = canvas.getContext('2d').getImageData(0, level * 19 + 9, canvas.width, 1).data;
        let blank = 0;
        for (let x = 0; x < canvas.width; x++)
            blank += pixels[4 * x + 3] < 100;
        return blank / canvas.width;
    })()""")
    holds("it has no blank area", blank < 0.01, f"{100 * blank:.0f} % is blank")


def findings(browser, trace, what, tab, picture):
    """The page opens with the first finding and its picture."""
    tap.NAME = what
    browser.open(path(trace + ".html"))
    said = [row["finding"] for row in report(trace, "summary")["findings"]]
    same("the headline is the first finding of report summary",
         browser.eval("document.querySelector('.headline').innerText"), said[0])
    same("at most three more follow, in the order of the report",
         browser.eval("[...document.querySelectorAll('#verdict li .finding')].map(each => each.innerText)")[:3], said[1:4])
    same("it opens with the first finding's view", browser.eval("document.querySelector('[aria-selected=true]').innerText"), tab)
    holds("and with its picture", browser.eval(f"!!document.querySelector({json.dumps(picture)})"))
    tabs = browser.eval("[...document.querySelectorAll('[role=tab]')].map(each => each.innerText)")
    holds("it has at most six tabs", 0 < len(tabs) <= 6, tabs)


# Each table of the view: its title, and the texts of its cells with the headings.
TABLES = """[...document.querySelectorAll('#view table')].map(table => {
    let title = table.parentElement;
    while (title.tagName !== 'H2')
        title = title.previousElementSibling;
    return [title.textContent, [...table.tHead.rows[0].cells].map(cell => cell.textContent),
        [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))];
})"""


def key_of(row, name):
    """The key of JSON for a column: its name, with a unit."""
    return next((key for key in (name, name + "_ns", name + "_bytes", name + "_percent") if key in row), None)


def numbers(browser, trace, names=None):
    """Every number of each table is that of the report as JSON."""
    tap.NAME = f"the tables of {trace}"
    whole = sheets(trace)
    for name in names or sorted({sheet["report"] for sheet in whole["sheets"]} - {"model"}):
        rows_of = report(trace, name)
        browser.open(path(trace + ".html"), "tab=" + name)
        wrong, seen = [], 0
        for title, headings, rows in browser.eval(TABLES):
            sheet = next(each for each in whole["sheets"] if each["title"] == title and each["report"] == name)
            shown = [column for column, values in zip(sheet["columns"], sheet["values"])
                     if column["kind"] != "key" and any(value is not None for value in values)]
            wanted = rows_of[sheet["name"]]
            if [column["heading"] for column in shown] != headings or len(rows) != min(100, len(wanted)):
                wrong.append((title, headings, len(rows), len(wanted)))
            for row, cells in zip(wanted, rows):
                for at, column in enumerate(shown):
                    key = key_of(row, column["name"])
                    kind = {"bytes": "bytes", "ns": "ns"}.get(row.get("unit"), "count") if "units" in column else column["kind"]
                    if kind in ("text", "backtrace", "signed") or key is None:
                        continue
                    seen += 1
                    if cells[at] != as_cell(kind, row[key]):
                        wrong.append((title, column["name"], cells[at], row[key]))
        if rows_of.keys() & {sheet["name"] for sheet in whole["sheets"] if sheet["values"] and sheet["values"][0]}:
            holds(f"the numbers are those of report {name}", seen and not wrong, (seen, wrong[:5]))


def deadlock(browser):
    findings(browser, "deadlock", "a deadlock", "Waits", "svg.cycle")
    waits_at_exit = [row for row in report("deadlock", "waits")["blocked_at_exit"] if row["state"] == "deadlock"]
    nodes = browser.eval("[...document.querySelectorAll('.cycle .thread text')].map(each => each.textContent.split(' ').pop())")
    same("the cycle has the threads of report waits", sorted(nodes), sorted(str(row["thread"]) for row in waits_at_exit))


# A click on the box of the flame graph that has this level.
LEVEL = "(({ left, top }) => [left + 40, top + 19 * %d + 9])(document.querySelector('#view canvas').getBoundingClientRect())"


def asked(command):
    """The table that a command of the page prints, as JSON."""
    said = subprocess.run(command.replace("holdtrace", "./holdtrace", 1) + " --format=json", shell=True, check=True,
                          capture_output=True).stdout
    return {name: rows for name, rows in json.loads(said).items() if isinstance(rows, list)}


BUTTONS = "Object.fromEntries([...document.querySelectorAll('.panel button')].map(b => [b.innerText, b.title]))"
SHOWN = "document.querySelector('#view .push').textContent"


def zoom(browser):
    tap.NAME = "a zoomed flame graph"
    browser.open(path("spike.html"), "tab=flame&cost=live")
    browser.click(*browser.eval(LEVEL % 5))
    panel = "document.querySelector('.panel .stack').innerText"
    holds("it has the whole backtrace of the frame, with lines",
          re.match(r"grow [^ ]*spike.c:\d+.*\nmain [^ ]*spike.c:\d+.*\n_start", browser.eval(panel), re.S), browser.eval(panel))
    holds("it has the function's own curve", re.search(r"at most \d.* MB", browser.eval("document.querySelector('.panel').innerText")))
    same("the suppression names the function", browser.eval(BUTTONS)["copy a suppression"], "leak:grow")
    browser.click(*browser.eval(LEVEL % 4))
    holds("the callers stay above it, and lead back", "grow" not in browser.eval(panel) and "main" in browser.eval(panel),
          browser.eval(panel))


def function_of(frame):
    return frame.get("function") or os.path.basename(frame.get("module", "")) + "+" + frame["address"]


def commands(browser, trace):
    """The commands that a flame graph offers give its numbers, in the whole run and in a part of it."""
    tap.NAME = f"the commands that the page of {trace} offers"
    edges = len(model(trace)["steps"])
    for window in "", f"&from={edges // 4}&to={edges * 3 // 4}":
        for cost, table, amount in (("live", "leaks", "amount"), ("kept", "leaks", "amount"), ("acquired", "allocations", "bytes"),
                                    ("peak", "peak_sites", "amount"), ("wait_time", "wakers", "wait_time_ns")):
            browser.open(path(trace + ".html"), f"tab=flame&cost={cost}{window}")
            if not browser.eval("!!document.querySelector('#view canvas')"):
                continue
            browser.click(*browser.eval(LEVEL % 1))
            command = browser.eval(BUTTONS).get("copy the command")
            if not command:
                holds(f"there is none for {cost} only where no report has it", window and cost in ("peak", "wait_time"))
                continue
            root = browser.eval("document.querySelector('.panel li:last-child').textContent").split(" ")[0]
            rows = [row for row in asked(command)[table] if row.get("class", "memory") == "memory"
                    and row["backtrace"] and function_of(row["backtrace"][-1]) == root]
            shown = browser.eval("document.querySelector('.panel li').textContent")
            number = (as_time if cost == "wait_time" else as_bytes)(sum(row[amount] for row in rows))
            holds(f"{cost}{' in a window' if window else ''}: the number is that of the page", f": {number}, " in shown, (command, number, shown))


def images(browser):
    tap.NAME = "a process that executes another program"
    pids = [row["pid"] for row in model("execs")["process_list"]]
    for row, pid in enumerate(pids):
        browser.open(path("execs.html"), f"tab=flame&cost=acquired&process={row + 1}")
        browser.click(*browser.eval(LEVEL % 1))
        command = browser.eval(BUTTONS).get("copy the command")
        if pids.count(pid) > 1:
            same("there is no command for one of its programs", command, None)
            continue
        number = sum(row["bytes"] for row in asked(command)["allocations"] if row["class"] == "memory")
        same("the command for another process has its number", browser.eval(SHOWN), as_bytes(number))
    holds("there are both kinds", len(set(pids)) == 2 and len(pids) == 3, pids)


def saved(browser):
    tap.NAME = "a saved picture"
    browser.open(path("contention.html"))
    browser.eval("HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href]; }")
    browser.eval("[...document.querySelectorAll('#view button')].find(each => each.innerText === 'save as a picture').click()")
    name, address = browser.eval("window.saved")
    same("it is a file", name, "holdtrace.png")
    kind, data = address.split(",", 1)
    width = int.from_bytes(base64.b64decode(data)[16:20], "big") if kind == "data:image/png;base64" else 0
    holds("it is a PNG that is wider than the view", width > browser.eval("document.querySelector('#view canvas').width"), width)


def semaphores(browser):
    findings(browser, "sems", "waits for semaphores", "Waits", "#view canvas")
    said = browser.eval("document.querySelector('.headline').innerText")
    holds("the headline speaks of them, and of the post",
          re.search("waits? for semaphores? took .* ended by the post at main ", said), said)


FOCUS = "(document.activeElement.getAttribute('aria-label') || document.activeElement.innerText)"


def keyboard(browser):
    tap.NAME = "the keyboard"
    browser.open(path("spike.html"), "tab=flame")
    browser.eval("document.querySelector('[role=tab][aria-selected=true]').focus()")
    browser.key("ArrowRight")
    holds("arrows go from tab to tab", browser.eval("document.activeElement.getAttribute('aria-selected')") == "true" and
          browser.eval("document.activeElement.innerText") != "Memory", browser.eval("document.activeElement.outerHTML"))
    browser.open(path("spike.html"), "tab=flame&cost=live")
    walked = []
    while len(walked) < 40 and (not walked or walked[-1]):
        browser.key("Tab")
        walked.append(browser.eval("document.activeElement === document.body ? '' : " + FOCUS))
        if walked[-1].startswith("flame graph"):
            break
    holds("Tab leads from the findings over the timeline and the tabs to the flame graph", walked[-1].startswith("flame graph") and
          [each for each in walked if re.match("Window of time|Memory$|Flame graph$", each)] == [
              "Window of time: drag, or use the arrow keys with and without shift", "Memory", "Flame graph"], walked)
    tip = "document.getElementById('tip').innerText"
    for _ in range(5):
        browser.key("ArrowDown")
    holds("arrows go down to the function", browser.eval(tip).startswith("grow\n"), browser.eval(tip))
    browser.key("Enter")
    holds("Enter zooms to it", browser.eval("location.hash").find("zoom=") > 0)
    holds("and the focus stays in the flame graph", browser.eval(FOCUS).startswith("flame graph"), browser.eval(FOCUS))
    browser.key("Escape")
    ranges = "[...document.querySelectorAll('#windows [aria-pressed]')].map(each => each.innerText)"
    same("Escape leaves it", "zoom=" in browser.eval("location.hash"), False)
    before = browser.eval(ranges)
    browser.key("w")
    zoomed = browser.eval(ranges)
    holds("w zooms the axis of time, whose range is a step behind the whole run", zoomed[0] == "whole run" and
          re.match(r"\d.* to \d", zoomed[1]) and not re.match(r"\d", before[1]), (before, zoomed))
    browser.key("d")
    holds("d moves it", browser.eval(ranges)[1] != zoomed[1], browser.eval(ranges))
    browser.key("Escape")
    same("Escape leads back to the whole run", browser.eval(ranges), before)


def timeline(browser):
    tap.NAME = "the timeline"
    browser.open(path("contention.html"), "tab=lanes")
    left, top, width = browser.eval("(({ left, top, width }) => [left, top, width])(document.getElementById('timeline').getBoundingClientRect())")
    x = [left + 150 + (width - 156) * share for share in (0.4, 0.6)]
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=x[0], y=top + 20, button="left", clickCount=1)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x[1], y=top + 20, button="left", buttons=1)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=x[1], y=top + 20, button="left", clickCount=1)
    browser.settle()
    state = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
    said = browser.eval(state)
    steps = len(model("contention")["steps"]) - 1
    holds("dragging selects", abs(int(said["from"]) / steps - 0.4) < 0.02 and abs(int(said["to"]) / steps - 0.6) < 0.02, said)
    browser.eval("[...document.querySelectorAll('#windows button')].find(each => each.innerText === 'zoom to the window').click()")
    browser.settle()
    same("the window becomes the axis", browser.eval(state)["axis"], said["from"] + "-" + said["to"])
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=sum(x) / 2, y=top + 20, deltaX=0, deltaY=-100)
    browser.settle()
    a, b = (int(each) for each in browser.eval(state)["axis"].split("_")[-1].split("-"))
    holds("the wheel zooms", int(said["from"]) <= a < b <= int(said["to"]) and b - a < int(said["to"]) - int(said["from"]), (a, b, said))


def narrow(browser):
    tap.NAME = "a phone"
    browser.resize(400, 800)
    for trace in "deadlock", "loop":
        browser.open(path(trace + ".html"))
        wide = []
        for tab in range(browser.eval("document.querySelectorAll('[role=tab]').length")):
            browser.eval(f"document.querySelectorAll('[role=tab]')[{tab}].click()")
            browser.settle()
            if browser.eval("document.documentElement.scrollWidth") > 400:
                wide.append(browser.eval("document.querySelector('[aria-selected=true]').innerText"))
        same(f"{trace}: no tab is wider than the screen", wide, [])
    browser.open(path("deadlock.html"))
    browser.eval("document.querySelectorAll('#verdict li a')[1].click()")
    browser.settle()
    browser.settle()
    holds("a finding that is tapped brings its view into sight", 0 <= browser.eval("document.getElementById('tabs').getBoundingClientRect().top") < 600)
    browser.resize(1280, 900)


READERS = os.environ.get("HOLDTRACE_READERS", "tests/readers.d")


def accessible(browser):
    tap.NAME = "axe-core"
    try:
        with open(os.path.join(READERS, "axe-core", "axe.min.js"), encoding="utf-8") as file:
            axe = file.read()
    except FileNotFoundError:
        tap.skip("no violation", "no axe-core: tests/tools/readers")
        return
    for trace in "deadlock", "spike", "loop":
        browser.open(path(trace + ".html"))
        browser.eval(axe + "; undefined")
        found = []
        for tab in range(browser.eval("document.querySelectorAll('[role=tab]').length")):
            for theme in "light", "dark":
                browser.eval(f"document.documentElement.dataset.theme = '{theme}'; document.querySelectorAll('[role=tab]')[{tab}].click()")
                browser.settle()
                found += browser.eval("axe.run().then(all => all.violations.map(each => `${each.id}: ${each.nodes[0].html}`))")
        same(f"{trace}: no view has violations", sorted(set(found)), [])


with Browser() as opened:
    deadlock(opened)
    findings(opened, "contention", "contention", "Waits", "#view canvas")
    findings(opened, "spike", "a peak", "Memory", "#view canvas")
    semaphores(opened)
    zoom(opened)
    saved(opened)
    keyboard(opened)
    timeline(opened)
    for each in "loop", "filtered":
        commands(opened, each)
    tap.NAME = "a page of two traces"
    opened.open(path("two.html"), "tab=flame&cost=acquired")
    opened.click(*opened.eval(LEVEL % 1))
    command = opened.eval(BUTTONS).get("copy the command")
    holds("the command has both", "spike.htr " in command and command.endswith("sems.htr"), command)
    images(opened)
    for each in "deadlock", "sems":
        numbers(opened, each)
    narrow(opened)
    accessible(opened)
    peak(opened)
    curve(opened, "loop", "a shell loop")
    curve(opened, "deadlock", "threads that never end")
    resident(opened)
    exact(opened)
    starts()
    kinds(opened)
    backtraces(opened)
    waits(opened)
    remainder(opened)
    tap.NAME = "all pages"
    holds("the console is empty, and nothing is loaded", not opened.messages, opened.messages)
