#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Stops programs while they sleep, by waits, doctor, attach and leaks, and looks whether they notice:
each must live, get the result that an undisturbed call has, and sleep as long as a twin of it that
is left alone. tests/e2e/stops runs it as a test; as the storm of `make stop-storm` it takes

    tests/tools/stops.py STOPS [MS [WORKERS]]

and stops sleeps of MS milliseconds (4000) until each kind has been stopped so often, by so many
workers at a time (2; 1: on a quiet machine the figures are then those of the stops), and prints a
table. Run in the build's top directory.
"""
import collections
import itertools
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

SLEEPER = os.path.abspath("tests/hosts/sleeper")
TIMED = ["nanosleep", "nanosleep-same", "clock_nanosleep", "clock_nanosleep-absolute", "poll", "ppoll", "select",
         "futex", "futex-absolute", "futex-pi", "epoll", "epoll2", "sigtimedwait", "semtimedop", "receive"]
OTHER = 65534
IS_ROOT = os.geteuid() == 0
AS_OTHER = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
CAN_SWITCH = IS_ROOT and subprocess.run(AS_OTHER + ["test", "-x", SLEEPER]).returncode == 0
numbers = itertools.count()
# what says that nothing was done, and why
REFUSALS = ("seccomp", "whose time limit a stop would change", "a transfer that a stop", "that a stop might end",
            "that nothing interrupts", "in 10 seconds")


class Sleeper:
    """A process that sleeps some times, recorded or not."""

    def __init__(self, place, kind, ms, count, code, other, recorded):
        self.kind, self.ms, self.count, self.code, self.other, self.recorded = kind, ms, count, code, other, recorded
        self.pauses = []
        words = [SLEEPER, kind, str(ms), str(count)] + ([code] if code != "none" else [])
        if other:
            words = AS_OTHER + words
        if recorded:
            words = ["./holdtrace", "record", "-q", "--force", "-o", f"{place}/{id(self):x}.htr"] + words
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said, self.born, self.lock = [], time.monotonic(), threading.Lock()

    def is_ready(self):
        """Waits until it is about to sleep."""
        for line in self.process.stdout:
            if line == "ready\n":
                break
            self.said.append(line)
        pid = self.process.pid
        while self.recorded:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                found = [c for c in children.read().split() if open(f"/proc/{c}/comm").read() == "sleeper\n"]
            if found:
                pid = int(found[0])
                break
        self.pid, self.begun = pid, time.monotonic()

    def finish(self):
        """How late it woke each time, in ms; empty: it did not, or was wrong."""
        self.said += self.process.stdout.readlines()
        self.status = self.process.wait()
        numbers = [int(line) / 1000 for line in self.said if line.strip().lstrip("-").isdigit()]
        self.late = numbers if self.status == 0 and len(numbers) == self.count else []
        self.early = sum(line.startswith("-") for line in self.said)

    def left(self):
        """How long its sleep takes yet, in seconds."""
        return self.ms / 1000 - (time.monotonic() - self.begun) % (self.ms / 1000)

    def __str__(self):
        return f"{self.kind}, filter {self.code}, {'another user' if self.other else 'same user'}"


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def act(place, action, sleeper):
    """One stop. Returns "done", "refused" or what went wrong."""
    pid = str(sleeper.pid)
    words = {"waits": ["waits", pid], "doctor": ["doctor", pid], "leaks": ["report", "leaks", "--scan", pid],
             "attach": ["attach", pid, "--for=20ms", "--report=/dev/null", "-o",
                        f"{place}/{next(numbers)}.htr"]}[action]
    try:
        done = subprocess.run(["./holdtrace"] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return "no end within a minute"
    sleeper.pauses += [float(ms) for ms in re.findall(r"was stopped for ([0-9.]+) ms", done.stdout)]
    if done.returncode == 0 and not (action == "waits" and "read without a stop" in done.stdout):
        return "done"
    if done.returncode == 0 or any(words in done.stdout for words in REFUSALS) or has_ended(sleeper.pid):
        return "refused"
    return f"status {done.returncode}: {done.stdout.strip()[-300:]}"


def cases_of(kinds, codes, users, actions):
    """Sleepers, each with what may be done to it; other users are for root in a directory that they can read, and leaks
    for what is recorded."""
    return [(kind, code, other, actions) for kind in kinds for code in codes for other in users
            if CAN_SWITCH or not other]


def batch(place, cases, ms, count, stops, at_once):
    """
    Sleepers of all cases at once, and stops of them in a random order. stops: so many of each, and each has a twin
    that is left alone; 0: one by each of its actions, and no twins. Yields sleeper, twin, actions.
    """
    def begin(case, is_twin):
        kind, code, other, actions = case
        return None if is_twin and not stops else Sleeper(place, kind, ms, count, code, other, actions == ["leaks"])

    groups, jobs, results, lock = [], [], collections.defaultdict(list), threading.Lock()
    taken = collections.Counter()
    for case in cases:
        groups.append((case, begin(case, False), begin(case, True)))
        if stops:
            time.sleep(ms / 1000 / len(cases))  # so that at any time the sleep of some is about to end
    for case, touched, twin in groups:
        touched.is_ready()
        if twin:
            twin.is_ready()
        jobs += [(touched, action) for action in (random.choices(case[3], k=stops) if stops else case[3])]
    random.shuffle(jobs)

    def take():
        """Half of the stops are aimed at the end of a sleep, which then comes while it is stopped."""
        with lock:
            if not jobs:
                return None
            lead = random.uniform(0.01, 0.15) if stops and random.random() < 0.5 else None
            least = sorted({job[0].kind for job in jobs}, key=lambda kind: taken[kind])[:3]
            near = [i for i, job in enumerate(jobs) if job[0].kind in least]
            best = min(near, key=lambda i: abs(jobs[i][0].left() - lead)) if lead else near[0]
            taken[jobs[best][0].kind] += 1
            return jobs.pop(best)

    def work():
        while job := take():
            sleeper, action = job
            # a sleep that begins anew is later by a time that can be told from a busy machine
            wait = sleeper.begun + min(0.5, ms / 4000) - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            # one at a time: two would be in each other's way
            with sleeper.lock:
                if time.monotonic() < sleeper.born + ms * (count - 0.15) / 1000:
                    results[sleeper].append((action, act(place, action, sleeper)))

    workers = [threading.Thread(target=work) for _ in range(at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for _, touched, twin in groups:
        touched.finish()
        if twin:
            twin.finish()
        yield touched, twin, results[touched]


def shares(values):
    """Median, 99 % and worst."""
    values = sorted(values) or [0]
    return "".join(f" {values[min(len(values) - 1, int(len(values) * part))]:>7.2f}" for part in (.5, .99, 1))


def storm(wanted, ms, at_once):
    kinds = ["nanosleep", "nanosleep-same", "clock_nanosleep", "poll", "futex", "select", "epoll", "sigtimedwait",
             "semtimedop"]
    actions = ["waits", "doctor", "attach", "leaks"]
    cases = cases_of(kinds, ["none", "all", "kill"], [False, True], actions[:3])
    cases += cases_of(kinds, ["none"], [False, True], ["leaks"])
    counts, found, begun = collections.Counter(), {kind: [] for kind in kinds}, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        while min(counts[kind] for kind in kinds) < wanted:
            for touched, twin, done in batch(place, cases, ms, 5, 10, at_once):
                found[touched.kind].append((touched, twin))
                counts[touched.kind] += len(done)
                for action, result in done:
                    counts[touched.kind, action, result if result in ("done", "refused") else "failed"] += 1
                    if result not in ("done", "refused"):
                        print(f"{touched}: {action}: {result}", flush=True)
                if not touched.late:
                    print(f"{touched}: status {touched.status}, {done}: {touched.said}", flush=True)
                elif max(touched.late) - max(twin.late, default=0) > 20:
                    print(f"{touched}: late by {touched.late} ms, its twin {twin.late}: {done}", flush=True)
            print(f"# {time.monotonic() - begun:.0f} s: {min(counts[kind] for kind in kinds)} stops of the least stopped",
                  flush=True)
    wrong = 0
    print(f"{'':16} stops done + refused{'':30}  died  woke early  result   late by ms: median, 99 %, worst{'':20} "
          "attach's pause, ms")
    print(f"{'kind':16}" + "".join(f" {action:>11}" for action in actions) + f"{'':6} {'':10} {'wrong':>14}   "
          f"{'of the stopped':^24} {'of their twins':^24} {'median, 99 %, worst':^24}")
    for kind in kinds:
        died = sum(touched.status < 0 or touched.status > 1 for touched, _ in found[kind])
        early = sum(touched.early > 0 for touched, _ in found[kind])
        bad = sum(not touched.late for touched, _ in found[kind]) - died - early
        cells = "".join(f" {counts[kind, a, 'done']:>5}+{counts[kind, a, 'refused']:<5}" for a in actions)
        late = [shares([ms for pair in found[kind] for ms in pair[i].late]) for i in (0, 1)]
        pauses = shares([pause for touched, _ in found[kind] for pause in touched.pauses])
        print(f"{kind:16}{cells} {died:>5}  {early:>10}  {bad:>6}   {late[0]} {late[1]} {pauses}")
        wrong += died + early + bad
    print(f"{wrong} of {sum(map(len, found.values()))} programs died, woke early or got a wrong result")
    return wrong > 0


def main():
    if len(sys.argv) > 1:
        return storm(*map(int, (sys.argv[1:] + ["4000", "1"][len(sys.argv) - 2:])[:3]))
    everything = subprocess.run([SLEEPER], stdout=subprocess.PIPE, text=True).stdout.split()
    number = 0

    def verdict(is_well, sentence, lines):
        nonlocal number
        number += 1
        print(f"{'ok' if is_well else 'not ok'} {number} - {sentence}")
        for line in lines if not is_well else []:
            print("#", line)

    some = ["nanosleep", "clock_nanosleep", "poll", "futex", "select", "epoll", "sigtimedwait", "semtimedop"]
    groups = [
        ("looked at by waits", cases_of(everything, ["none", "kill"], [False], ["waits"])),
        ("asked about by doctor", cases_of(some, ["all", "kill"], [True], ["doctor"])),
        ("attached to", cases_of(some, ["none"], [False, True], ["attach"]) +
         cases_of(some, ["kill"], [False], ["attach"]) + cases_of(some, ["all"], [True], ["attach"])),
        ("scanned", cases_of(some, ["none"], [False, True], ["leaks"])),
        ("", cases_of(everything, ["none"], [False], [])),
    ]
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        found = list(batch(place, [case for _, cases in groups for case in cases], 5000, 1, 0, 4))
    # Nothing stopped these: so late does this machine wake a sleeper. One that slept anew is 500 ms late.
    least = max((late for touched, _, actions in found if all(what == "refused" for _, what in actions)
                 for late in touched.late), default=0)
    for sentence, cases in groups[:-1]:
        wanted = {action for case in cases for action in case[3]}
        mine = [(touched, actions) for touched, _, actions in found if actions and actions[0][0] in wanted]
        dead = [f"{t}: status {t.status}, {a}, it said {t.said}" for t, a in mine if not t.late]
        late = [f"{t}: {t.late[0]} ms late, {a}" for t, a in mine if t.late and t.late[0] > 400 + least]
        failed = [f"{t}: {a}: {r}" for t, actions in mine for a, r in actions if r not in ("done", "refused")]
        done = sum(r == "done" for _, actions in mine for _, r in actions)
        verdict(not dead, f"sleeping programs that are {sentence} live, and their calls have the right results", dead)
        verdict(not late, f"sleeping programs that are {sentence} wake in time", late)
        title = f"sleeping programs that may be {sentence} are, and the others are refused"
        if not cases:
            title += " # SKIP for root, in a directory that another user can read"
        elif not done and len(mine) < len(cases) / 2:
            title += f" # SKIP the machine is so busy that {len(mine)} of {len(cases)} were stopped in time"
        verdict(not failed and (done or "SKIP" in title), title, failed or ["none was stopped"])
    # before their stop the kernel is asked to suspend the filters, which only root may, if it can at all
    behind = [(touched, actions) for touched, _, actions in found if actions and touched.code != "none" and
              touched.kind in ("nanosleep", "clock_nanosleep", "futex", "poll") and actions[0][0] in ("doctor", "attach")]
    refused = [f"{t}: {a}" for t, actions in behind for a in actions if a[1] == "refused"]
    title = "root may attach to programs that sleep behind a filter of system calls"
    if not IS_ROOT or platform.machine() != "x86_64" or not behind:
        title += " # SKIP for root on x86-64, and a machine that is not too busy"
    verdict(not refused or "SKIP" in title, title, refused)
    print(f"1..{number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
