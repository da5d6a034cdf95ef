#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Stops programs while they sleep, by waits, doctor, attach and leaks, and looks whether they notice:
each must live, get the result that an undisturbed call has, and sleep as long as a twin of it that
is left alone. tests/stops runs it as a test; as the storm of `make stop-storm` it takes

    tests/stops.py ROUNDS [MS]

rounds of sleeps of MS milliseconds (4000), and prints figures. Run in the build's top directory.
"""
import collections
import itertools
import os
import queue
import random
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
# what says that nothing was done, and why
REFUSALS = ("seccomp", "whose time limit a stop would change", "a transfer that a stop", "that a stop might end",
            "that nothing interrupts", "in 10 seconds")


class Sleeper:
    """A process that sleeps some times, recorded or not."""

    def __init__(self, place, kind, ms, count, code, other, recorded):
        self.kind, self.count, self.code, self.other, self.recorded = kind, count, code, other, recorded
        words = [SLEEPER, kind, str(ms), str(count)] + ([code] if code != "none" else [])
        if other:
            words = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"] + words
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
    words = {"waits": ["waits", pid], "doctor": ["doctor", pid], "leaks": ["leaks", pid],
             "attach": ["attach", pid, "-q", "--for=20ms", "--screen=/dev/null", "--force", "-o",
                        f"{place}/{threading.get_ident():x}.htr"]}[action]
    try:
        done = subprocess.run(["./holdtrace"] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return "no end within a minute"
    if done.returncode == 0 and not (action == "waits" and "read without a stop" in done.stdout):
        return "done"
    if done.returncode == 0 or any(words in done.stdout for words in REFUSALS) or has_ended(sleeper.pid):
        return "refused"
    return f"status {done.returncode}: {done.stdout.strip()[-300:]}"


def cases_of(kinds, codes, users, actions):
    """Sleepers, each with what may be done to it; other users are for root, and leaks for what is recorded."""
    return [(kind, code, other, actions) for kind in kinds for code in codes for other in users
            if IS_ROOT or not other]


def batch(place, cases, ms, count, stops):
    """
    Sleepers of all cases at once, and stops of them in a random order. stops: so many of each, and each has a twin
    that is left alone; 0: one by each of its actions, and no twins. Yields sleeper, twin, actions.
    """
    def begin(case, is_twin):
        kind, code, other, actions = case
        return None if is_twin and not stops else Sleeper(place, kind, ms, count, code, other, actions == ["leaks"])

    groups = [(case, begin(case, False), begin(case, True)) for case in cases]
    jobs, results, wanted = queue.PriorityQueue(), collections.defaultdict(list), []
    for case, touched, twin in groups:
        touched.is_ready()
        if twin:
            twin.is_ready()
        wanted += [(touched, action) for action in (random.choices(case[3], k=stops) if stops else case[3])]
    random.shuffle(wanted)
    # all actions in turn, should there be no time for all of the stops
    counts, order = collections.Counter(), itertools.count()
    for job in wanted:
        counts[job[1]] += 1
        jobs.put((counts[job[1]], next(order), *job))

    def work():
        while not jobs.empty():
            try:
                _, _, sleeper, action = jobs.get_nowait()
            except queue.Empty:
                return
            # a sleep that begins anew is later by a time that can be told from a busy machine
            wait = sleeper.begun + min(0.5, ms / 4000) - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            # one at a time: two would be in each other's way
            with sleeper.lock:
                if time.monotonic() < sleeper.born + ms * (count - 0.15) / 1000:
                    results[sleeper].append((action, act(place, action, sleeper)))

    workers = [threading.Thread(target=work) for _ in range(12 if stops else 4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for _, touched, twin in groups:
        touched.finish()
        if twin:
            twin.finish()
        yield touched, twin, results[touched]


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0


def storm(rounds, ms):
    counts, late, wrong = collections.defaultdict(collections.Counter), collections.defaultdict(list), 0
    begun = time.monotonic()
    kinds = ["nanosleep", "nanosleep-same", "clock_nanosleep", "poll", "futex", "select", "epoll", "sigtimedwait",
             "semtimedop"]
    cases = cases_of(kinds, ["none", "all", "kill"], [False, True], ["waits", "doctor", "attach"])
    cases += cases_of(kinds, ["none"], [False, True], ["leaks"])
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for number in range(rounds):
            for touched, twin, actions in batch(place, cases, ms, 5, 10):
                for action, result in actions:
                    counts[touched.kind][action, result if result in ("done", "refused") else "failed"] += 1
                    if result not in ("done", "refused"):
                        print(f"{touched}: {action}: {result}", flush=True)
                if not touched.late:
                    wrong += 1
                    print(f"{touched}: status {touched.status}, {actions}: {touched.said}", flush=True)
                late[touched.kind] += zip(touched.late, twin.late)
                if max(map(lambda own, other: own - other, touched.late, twin.late), default=0) > 20:
                    print(f"{touched}: late by {touched.late} ms, its twin {twin.late}: {actions}", flush=True)
            print(f"# round {number + 1} of {rounds}, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{'':16} {'stops done + refused by':>56}    {'ms late: median, 99 % of the sleeps':^43}   later than the "
          "other by more than 5 ms")
    print(f"{'kind':16} {'all':>8} {'waits':>11} {'doctor':>11} {'attach':>11} {'leaks':>11}    {'stopped':^21} "
          f"{'twins':^21}   sleeps  stopped  twins")
    for kind in kinds:
        count, values = counts[kind], late[kind]
        cells = "".join(f" {count[a, 'done']:>5}+{count[a, 'refused']:<5}" for a in ["waits", "doctor", "attach", "leaks"])
        shares = "".join(f" {share([pair[i] for pair in values], part):>10.2f}" for i in (0, 1) for part in (.5, .99))
        print(f"{kind:16} {sum(count.values()):>8}{cells}   {shares}   {len(values):>6} "
              f"{sum(own - other > 5 for own, other in values):>8} {sum(other - own > 5 for own, other in values):>6}")
    print(f"{wrong} programs died, woke early or got a wrong result")
    return wrong > 0


def main():
    if len(sys.argv) > 1:
        return storm(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4000)
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
        ("", cases_of(some, ["none"], [False], [])),
    ]
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        found = list(batch(place, [case for _, cases in groups for case in cases], 5000, 1, 0))
    least = max((late for touched, _, actions in found if not actions for late in touched.late), default=0)
    for sentence, cases in groups[:-1]:
        wanted = {action for case in cases for action in case[3]}
        mine = [(touched, actions) for touched, _, actions in found if actions and actions[0][0] in wanted]
        dead = [f"{t}: status {t.status}, {a}, it said {t.said}" for t, a in mine if not t.late]
        late = [f"{t}: {t.late[0]} ms late, {a}" for t, a in mine if t.late and t.late[0] > 150 + least]
        failed = [f"{t}: {a}: {r}" for t, actions in mine for a, r in actions if r not in ("done", "refused")]
        done = sum(r == "done" for _, actions in mine for _, r in actions)
        verdict(not dead, f"sleeping programs that are {sentence} live, and their calls have the right results", dead)
        verdict(not late, f"sleeping programs that are {sentence} wake in time", late)
        title = f"sleeping programs that may be {sentence} are, and the others are refused"
        if not done and len(mine) < len(cases) / 2:
            title += f" # SKIP the machine is so busy that {len(mine)} of {len(cases)} were stopped in time"
        verdict(not failed and (done or "SKIP" in title), title, failed or ["none was stopped"])
    print(f"1..{number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
