# SPDX-License-Identifier: MIT
"""Calls C functions that cause events of each class, in threads, generators, coroutines, handlers of exceptions,
recursion, callbacks of C functions and code objects that die. Writes to SAID, for each function and backtrace, how often
it was called: COUNT TAB CALL TAB NAME FILE LINE TAB ... (innermost first, at most 8 frames).

python-classes.py ROUNDS SAID"""
import asyncio
import collections
import ctypes
import mmap
import os
import sys
import tempfile
import _thread

FRAMES = 8
libc = ctypes.PyDLL(None)
for name in "fopen64 opendir aligned_alloc shmat sem_open".split():
    getattr(libc, name).restype = ctypes.c_void_p
for name in "fclose closedir shmdt sem_trywait sem_close".split():
    getattr(libc, name).argtypes = [ctypes.c_void_p]
has_qualname = sys.version_info >= (3, 11)
said = collections.Counter()
folder = tempfile.mkdtemp().encode()
path = os.path.join(folder, b"file")
shared = b"/holdtrace-classes-%d" % os.getpid()


def n(call):
    """Notes a call that the caller's line makes."""
    frame = sys._getframe(1)
    frames = []
    while frame and len(frames) < FRAMES:
        code = frame.f_code
        name = code.co_qualname if has_qualname else code.co_name
        frames.append("%s %s %d" % (name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    said["\t".join([call] + frames)] += 1


def memory():
    n("aligned_alloc"); libc.aligned_alloc(64, 8192)
    n("mmap"); mapping = mmap.mmap(-1, 12288)
    n("munmap"); mapping.close()


def files():
    n("open"); fd = os.open(path, os.O_RDWR | os.O_CREAT)
    n("dup"); copy = os.dup(fd)
    n("close"); os.close(copy)
    n("close"); os.close(fd)
    n("fopen"); file = libc.fopen64(path, b"r")
    n("fclose"); libc.fclose(file)
    n("opendir"); directory = libc.opendir(folder)
    n("closedir"); libc.closedir(directory)
    n("shm_open"); fd = libc.shm_open(shared, os.O_RDWR | os.O_CREAT, 0o600)
    n("close"); os.close(fd)
    n("shm_unlink"); libc.shm_unlink(shared)


def objects():
    memory = ctypes.create_string_buffer(256)
    n("pthread_mutex_init"); libc.pthread_mutex_init(memory, None)
    n("pthread_mutex_trylock"); libc.pthread_mutex_trylock(memory)
    n("pthread_mutex_destroy"); libc.pthread_mutex_unlock(memory), libc.pthread_mutex_destroy(memory)
    n("pthread_cond_init"); libc.pthread_cond_init(memory, None)
    n("pthread_cond_broadcast"); libc.pthread_cond_broadcast(memory)
    n("pthread_cond_destroy"); libc.pthread_cond_destroy(memory)
    n("pthread_rwlock_init"); libc.pthread_rwlock_init(memory, None)
    n("pthread_rwlock_rdlock"); libc.pthread_rwlock_rdlock(memory)
    n("pthread_rwlock_unlock"); libc.pthread_rwlock_unlock(memory)
    n("pthread_rwlock_destroy"); libc.pthread_rwlock_destroy(memory)
    n("pthread_spin_init"); libc.pthread_spin_init(memory, 0)
    n("pthread_spin_lock"); libc.pthread_spin_lock(memory)
    n("pthread_spin_unlock"); libc.pthread_spin_unlock(memory)
    n("pthread_spin_destroy"); libc.pthread_spin_destroy(memory)
    n("pthread_barrier_init"); libc.pthread_barrier_init(memory, None, 1)
    n("pthread_barrier_destroy"); libc.pthread_barrier_destroy(memory)
    n("sem_open"); semaphore = libc.sem_open(shared, os.O_CREAT, 0o600, 1)
    n("sem_trywait"); libc.sem_trywait(semaphore)
    n("sem_close"); libc.sem_close(semaphore)
    n("sem_unlink"); libc.sem_unlink(shared)


def system_v():
    n("shmget"); segment = libc.shmget(0, 4096, 0o1600)
    n("shmat"); address = libc.shmat(segment, None, 0)
    n("shmdt"); libc.shmdt(address)
    n("shmctl"); libc.shmctl(segment, 0, None)
    n("semget"); semaphores = libc.semget(0, 1, 0o1600)
    n("semctl"); libc.semctl(semaphores, 0, 0)


def started(lock):
    lock.release()


def threads():
    lock = _thread.allocate_lock()
    lock.acquire()
    n("pthread_create"); _thread.start_new_thread(started, (lock,))
    lock.acquire()


def every():
    memory()
    files()
    objects()
    system_v()
    threads()
    return 0


def generate():
    yield every()
    yield from (every() for _ in range(1))


def recurse(depth):
    return recurse(depth - 1) if depth else every()


def fail():
    try:
        raise ValueError
    except ValueError:
        every()
    finally:
        every()


async def leaf():
    await asyncio.sleep(0)
    every()


async def tasks():
    await asyncio.gather(leaf(), leaf())


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(a, b):
    return every()


def compiled(number):
    source = "%sdef f%d(every):\n every()\nf%d(every)\n" % ("\n" * (number * 7 % 300), number % 11, number % 11)
    exec(compile(source, "generated-%d.py" % (number % 13), "exec"), {"every": every})


def some(number):
    every()
    list(generate())
    recurse(5)
    recurse(200)
    fail()
    asyncio.run(tasks())
    sorted([1], key=lambda _: every())
    libc.qsort(ctypes.create_string_buffer(8), 2, 4, compare)
    for i in range(3):
        compiled(number * 3 + i)


def worker(rounds, lock):
    for number in range(rounds):
        some(number)
    lock.release()


rounds = int(sys.argv[1])
# one thread after the other, since they share names
for turn in range(2):
    done = _thread.allocate_lock()
    done.acquire()
    if turn:
        _thread.start_new_thread(worker, (rounds, done))
    else:
        worker(rounds, done)
    done.acquire()
os.unlink(path)
os.rmdir(folder)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    for line, count in said.items():
        file.write("%d\t%s\n" % (count, line))
