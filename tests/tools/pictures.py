#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures.py BUILD TRACE WIDTH LOCALE | plain | curve FIFO: what holdtrace draws on terminals.

BUILD has the programs. TRACE is a run of tests/hosts/pictured. WIDTH LOCALE: the lines and numbers of
the pictures on a terminal of that width; plain: pictures without colours; curve: the curves of top,
while the run grows by each line that is written to FIFO."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402

BUILD, TRACE = sys.argv[1:3]
BLOCKS = re.compile("[\u2580-\u259f]")
STYLE = re.compile("\033\\[[0-9;]*m")
CONTROLS = ("[?1049h", "[?25l", "[?25h", "[?1049l")
HEIGHT = 24


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def settings(locale, **more):
    kept = {key: value for key, value in os.environ.items()
            if key not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LANG", "LC_CTYPE", "DEBUGINFOD_URLS")}
    return {**kept, "LC_ALL": locale, "TERM": "xterm", "HOLDTRACE_PAGER": "", **more}


class Terminal:
    """A program on a terminal, and what its screen shows."""

    def __init__(self, words, width, environment):
        self.bytes, self.width = b"", width
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            time.sleep(0.05)  # until the terminal has its size
            os.execve(words[0], words, environment)
        self.resize(width)

    def resize(self, width):
        self.width = width
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))

    def read(self, seconds):
        """Reads for a time. False: the program has closed the terminal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                continue
            try:
                self.bytes += os.read(self.master, 65536)
            except OSError:
                return False
        return True

    def read_all(self):
        """Reads until the program ends. Returns its status, or the signal that ended it after 20 s as a negative number."""
        for _ in range(20):
            if not self.read(1):
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def wait_for(self, is_there):
        for _ in range(100):
            if is_there(self.picture()):
                return True
            self.read(0.1)
        return False

    def press(self, keys):
        os.write(self.master, keys)

    def text(self):
        return self.bytes.decode(errors="surrogateescape").replace("\r\n", "\n")

    def picture(self):
        """The lines of the screen. A line that is longer than the terminal is wide ends with OVERFLOW."""
        lines, row, column = [""] * HEIGHT, 0, 0
        for part in re.split("(\033(?:\\[[0-9;?]*[A-Za-z]|.)|\r*\n)", self.bytes.decode(errors="replace")):
            if part == "\033[H":
                row = column = 0
            elif move := re.fullmatch("\033\\[([0-9]+)H", part):
                row, column = int(move[1]) - 1, 0
            elif part.endswith("\n"):
                row, column = min(row + 1, HEIGHT - 1), 0
            elif part == "\033[J":
                lines[row:] = [""] * (HEIGHT - row)
            elif part == "\033[K":
                lines[row] = lines[row] + " CLEARED" * (column >= self.width) if column else ""
            elif part.startswith("\033") and not STYLE.fullmatch(part) and part[1:] not in CONTROLS:
                lines[row] += "UNKNOWN " + repr(part)
            elif part and not part.startswith("\033"):
                lines[row] = (lines[row] if column else "") + part
                column = columns(lines[row])
                lines[row] += " OVERFLOW" if column > self.width else ""
        return lines


def human_bytes(number):
    number, unit = number / 1000, 0
    if number < 1:
        return f"{number * 1000:.0f} B"
    while number >= 999.95:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f} {('KB', 'MB', 'GB')[unit]}"


def human_exact_bytes(number):
    return human_bytes(number) if number >= 1000000 else f"{number:,} B"


def printed(words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, env=settings("C")).stdout


def report(name, width, locale, **more):
    terminal = Terminal([f"{BUILD}/holdtrace-postproc", f"--report={name}", TRACE], width, settings(locale, **more))
    tap.holds("the report succeeds", terminal.read_all() == 0, terminal.text())
    return terminal.text()


def report_checks(width, locale):
    texts = {name: report(name, width, locale) for name in ("tree", "timeline", "summary")}
    for name, text in texts.items():
        plain = STYLE.sub("", text)
        # a path is never cut
        lines = [line for line in plain.split("\n") if not line.startswith(("trace:", "next:")) and TRACE not in line]
        tap.holds(f"report {name} is coloured", STYLE.search(text))
        tap.holds(f"report {name} sends no sequences but colours", "\033" not in plain, plain)
        tap.holds(f"no line of report {name} is longer than the terminal", all(columns(line) <= width for line in lines),
                  plain)
        draws = locale != "C" and (name == "timeline" or name == "tree" and width > 40)  # else the bars have no room
        tap.holds(f"report {name} draws with blocks only in UTF-8", bool(BLOCKS.search(plain)) == draws, plain)
    tree = json.loads(printed([f"{BUILD}/holdtrace-postproc", "--report=tree", "--format=json", "--top=20", TRACE]))["tree"]
    plain = STYLE.sub("", texts["tree"])
    for row in tree:
        amount = human_exact_bytes(row["total"]) if row["class"] == "memory" else f"{row['total']:,}"
        tap.holds(f"the tree has {amount} and its share", re.search(
            f"^ +{re.escape(amount)} .* {row['share_percent']:.1f} %", plain, re.M), plain)
    wide = max((len(m) for m in re.findall("[\u2580-\u259f]+|#+", plain)), default=0)
    tap.holds("the bars of the tree are wide on wide terminals", wide >= {40: 0, 80: 7, 132: 15}[width], plain)
    steps = json.loads(printed([f"{BUILD}/holdtrace-postproc", "--report=timeline", "--format=json", TRACE]))["timeline"]
    most = human_bytes(max(row["memory_bytes"] for row in steps))
    plain = STYLE.sub("", texts["timeline"])
    tap.holds("the chart has the maximum", f"memory: most {most} at" in plain and f" {most} |" in plain, plain)
    tap.holds("the chart uses the whole width", width - 2 <= max(map(columns, plain.split("\n"))), plain)


def plain_checks():
    for name in ("tree", "timeline", "summary"):
        words = [f"{BUILD}/holdtrace-postproc", f"--report={name}", TRACE]
        piped = printed(words).decode(errors="surrogateescape")
        tap.same(f"with NO_COLOR report {name} is the same as in a pipe", report(name, 80, "C", NO_COLOR="1"), piped)
        tap.same(f"with TERM=dumb report {name} is the same as in a pipe", report(name, 80, "C", TERM="dumb"), piped)


def top(width, locale, *words, **more):
    return Terminal([f"{BUILD}/holdtrace-live", "top", *words], width, settings(locale, **more))


def end_top(terminal):
    terminal.press(b"q")
    tap.holds("the key q ends top", terminal.read_all() == 0)


def top_checks(width, locale):
    data = json.loads(printed([f"{BUILD}/holdtrace-live", "top", "--format=json", "-n", "1", TRACE]))
    terminal = top(width, locale, TRACE)
    tap.holds("top draws its picture", terminal.wait_for(lambda lines: any(line.startswith("memory") for line in lines) and lines[-1].rstrip().endswith("backtrace")), terminal.picture())
    picture = terminal.picture()
    text = "\n".join(picture)
    tap.holds("no line of top is longer than the terminal", "OVERFLOW" not in text, text)
    tap.holds("names send no sequences", "UNKNOWN" not in text, text)
    tap.holds("top draws with blocks only in UTF-8", bool(BLOCKS.search(text)) == (locale != "C"), text)
    tap.holds("the keys are in the last line", picture[-1].rstrip().endswith("backtrace"), text)
    tap.holds("all keys are listed", all(f"{key} " in text for key in ("q end", "s sort", "f freeze", "b baseline")) or
              width == 40, text)
    for row in data["classes"]:
        live = human_bytes(row["bytes"]) if "bytes" in row else f"{row['objects']:,}"
        tap.holds(f"class {row['class']} has {live}", re.search(f"^{row['class']} .* {re.escape(live)} ", text, re.M),
                  text)
    for row in data["sites"]:
        if "bytes" not in row or width == 40 and row["bytes"] < 100000:
            continue  # at 40 columns a site has two lines, so that the last sites are below the screen
        numbers = [human_bytes(row["bytes"])] + ([f"{row['objects']:,}"] if width >= 80 else [])
        name = re.escape(row["site"].split("_")[0])
        tap.holds(f"the site {name} has {numbers} and its name", re.search(
            "^memory +" + " +".join(map(re.escape, numbers)) + f" .*\\s+{name}", text, re.M), text)
    tap.holds("names are cut in the middle", re.search("long_name_of_a.*\\.\\.\\.", text), text)
    terminal.bytes = b""
    terminal.resize(60)
    tap.holds("top draws again when the terminal is resized", terminal.wait_for(lambda lines: lines[-1].endswith(
        "backtrace") and "OVERFLOW" not in "".join(lines)), terminal.picture())
    terminal.press(b"\033[6~\033[B")
    end_top(terminal)


def top_plain_checks():
    batch = printed([f"{BUILD}/holdtrace-live", "top", "--batch", "-n", "1", TRACE]).decode()
    terminal = top(80, "C.UTF-8", "-n", "1", TRACE, TERM="dumb")
    terminal.read_all()
    tap.same("with TERM=dumb top prints plain text", terminal.text(), batch)
    terminal = top(80, "C.UTF-8", TRACE, NO_COLOR="1")
    terminal.wait_for(lambda lines: any(line.startswith("memory") for line in lines))
    terminal.press(b"\033[B")
    terminal.read(0.5)
    tap.same("with NO_COLOR top marks a row, without colours", sorted(set(STYLE.findall(terminal.text()))),
             ["\033[7m", "\033[m"])
    end_top(terminal)


def curve_checks(fifo):
    terminal = top(132, "C.UTF-8", "--interval=0.3", TRACE)
    terminal.wait_for(lambda lines: any("long_" in line for line in lines))
    with open(fifo, "wb", buffering=0) as to:
        for _ in range(8):
            to.write(b"\n")
            terminal.read(0.5)
    curves = {}
    for line in terminal.picture():
        if name := re.search("(long|wide)_", line):
            curves[name[1]] = [ord(block) for block in max(re.findall("[\u2581-\u2588]+", line), key=len, default="")]
    picture = "\n".join(terminal.picture())
    tap.holds("the curve of a site that grows rises", curves.get("long") and curves["long"] == sorted(curves["long"]) and
              curves["long"][0] < curves["long"][-1], picture)
    tap.holds("the curve of a site that does not grow is level", len(set(curves.get("wide", [])[-3:])) == 1, picture)
    end_top(terminal)


def main():
    what, *more = sys.argv[3:]
    if what == "curve":
        tap.NAME = "a run that grows"
        curve_checks(*more)
    elif what == "plain":
        tap.NAME = "no colours"
        plain_checks()
        top_plain_checks()
    else:
        tap.NAME = f"{what} columns in {more[0]}"
        report_checks(int(what), *more)
        top_checks(int(what), *more)


main()
