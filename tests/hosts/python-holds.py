# SPDX-License-Identifier: MIT
"""Until its input ends: a thread that keeps the GIL, a thread that wants it, and one that waits for a lock."""
import sys
import threading
import time

numbers = list(range(2000000))
lock = threading.Lock()


def keep():
    while True:
        numbers.count(-1)  # C code that keeps the GIL


def want():
    while True:
        time.sleep(0.0001)  # wants the GIL when it returns


def stand():
    with lock:
        pass


lock.acquire()
for function in keep, want, stand:
    threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
