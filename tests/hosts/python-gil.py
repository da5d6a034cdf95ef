# SPDX-License-Identifier: MIT
"""A thread that computes, and a call that keeps the GIL, while another thread wants it."""
import threading
import time

numbers = list(range(2000000))


def compute(done):
    total = 0
    while not done:
        for i in range(1000):
            total += i


def keep(done):
    while not done:
        numbers.count(-1)  # C code that keeps the GIL


def want(done):
    for _ in range(10):
        time.sleep(0.001)  # wants the GIL when it returns
    done.append(True)


for hold in compute, keep:
    done = []
    threads = [threading.Thread(target=function, args=(done,)) for function in (hold, want)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
