# SPDX-License-Identifier: MIT
"""A deadlock: a thread waits for a mutex and keeps the GIL, and the owner of the mutex waits for the GIL."""
import ctypes
import threading
import time

mutex = ctypes.create_string_buffer(64)
releases = ctypes.CDLL(None)  # releases the GIL during a call
keeps = ctypes.PyDLL(None)  # keeps it
has_mutex = threading.Event()


def own():
    releases.pthread_mutex_lock(mutex)
    has_mutex.set()
    time.sleep(0.5)  # wants the GIL when it returns
    releases.pthread_mutex_unlock(mutex)


threading.Thread(target=own).start()
has_mutex.wait()
print("ready", flush=True)
keeps.pthread_mutex_lock(mutex)
