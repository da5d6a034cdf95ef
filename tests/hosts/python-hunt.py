# SPDX-License-Identifier: MIT
"""A list that grows, files that a generator leaves open, and a lock that is held while another thread wants it."""
import os
import sys
import threading
import time


class Cache:
    def __init__(self):
        self.kept = []

    def store(self, size):
        self.kept.append(bytearray(size))  # the list that grows


def open_files():
    for _ in range(3):
        yield os.open("/dev/null", os.O_RDONLY)  # the files that stay open


lock = threading.Lock()
is_held = threading.Event()


def hold():
    with lock:  # taken here
        is_held.set()
        time.sleep(0.2)


def want():
    is_held.wait()
    with lock:  # wanted here
        pass


cache = Cache()
for _ in range(50):
    cache.store(20000)
files = list(open_files())
threads = [threading.Thread(target=hold), threading.Thread(target=want)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
small = [object() for _ in range(5000)]  # small objects
sys.stdout.flush()
os._exit(0)
