# SPDX-License-Identifier: MIT
"""
What a page shows in Chromium, compared with the reports of its trace as JSON. TAP lines without their numbers.

page.py DIRECTORY: with spike, waits, loop and sites as traces (.htr) and pages (.html).
"""
import base64
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


def model(trace):
    """The tables of a page, each a list of rows."""
    with open(path(trace + ".html"), encoding="utf-8") as file:
        packed = re.search(r'<script id="model"[^>]*>([^<]*)</script>', file.read()).group(1)
    whole = json.loads(gzip.decompress(base64.b64decode(packed)))

    def value(column, number):
        return whole["strings"][number] if column["kind"] == "text" and number is not None else number
    return {table["name"]: [{column["name"]: value(column, number) for column, number in zip(table["columns"], row)}
                            for row in zip(*table["values"])] for table in whole["sheets"]}


def as_bytes(number):
    """As the page and the screen print bytes."""
    units = ["B", "kB", "MB", "GB"]
    at = 0
    while number >= 1000 and at + 1 < len(units):
        number, at = number / 1000, at + 1
    return f"{number:.1f} {units[at]}" if at and number < 100 else f"{round(number)} {units[at]}"


def as_time(ns):
    for unit, size in ("s", 1e9), ("ms", 1e6):
        if ns >= size:
            return f"{ns / size:.2f} {unit}" if ns < 10 * size else f"{ns / size:.1f} {unit}"
    return f"{ns / 1e3:.1f} µs" if ns < 1e4 else f"{ns / 1e3:.0f} µs"


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
    """The curve of memory: maximum and end."""
    tap.NAME = what
    browser.open(path(trace + ".html"))
    along = browser.eval(ALONG)
    steps = [row["memory_bytes"] for row in report(trace, "timeline")["timeline"]]
    most = as_bytes(max(steps))
    holds("the curve's maximum is that of report timeline", any(each.startswith(most + " at most") for each in along),
          f"{most} is not in {sorted(set(along))}")
    last = as_bytes(steps[-1])
    holds("the curve's end is that of report timeline", along[-1].startswith(last + " at most"), f"{along[-1]}, not {last}")


def peak(browser):
    curve(browser, "spike", "a spike of a millisecond")
    browser.open(path("spike.html"), "tab=flame&cost=peak")
    [row] = report("spike", "peak")["peaks"]
    same("the flame graph of the peak has what report peak says", browser.eval("document.querySelector('#view .push').textContent"),
         as_bytes(row["peak"]))


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
    edges = [row["time"] for row in tables["bins"]]
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
    holds("no thread is said to have ended one", said and all(each.startswith("it has not ended") for each in said), said)
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


with Browser() as opened:
    peak(opened)
    curve(opened, "loop", "a shell loop")
    backtraces(opened)
    waits(opened)
    remainder(opened)
    tap.NAME = "all pages"
    holds("the console is empty, and nothing is loaded", not opened.messages, opened.messages)
