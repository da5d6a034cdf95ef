# SPDX-License-Identifier: MIT
"""Allocates blocks of different sizes, and prints for each size the Python frames that did it:
SIZE TAB NAME FILE LINE TAB ... (innermost first)."""
import asyncio
import functools
import os
import sys
import threading

# Each size occurs once, and no import reads a file of such a size.
FIRST = 300001
kept = []
said = []
lock = threading.Lock()
has_qualname = sys.version_info >= (3, 11)
# bytes that the block of a bytearray has besides its contents: from 3.15 on, those of a bytes object
more = 33 if sys.version_info >= (3, 15) else 1


def size():
    """Returns a new size, and notes the frames of the caller."""
    frame = sys._getframe(1)
    frames = []
    while frame:
        code = frame.f_code
        name = code.co_qualname if has_qualname else code.co_name
        frames.append("%s %s %d" % (name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    with lock:
        number = FIRST + len(said)
        said.append("\t".join([str(number + more)] + frames))
    return number


class Store:
    def __init__(self):
        self.blocks = [bytearray(size())]

    def add(self):
        self.blocks.append(bytearray(size()))
        return [bytearray(size()) for _ in range(2)]

    @property
    def read(self):
        return bytearray(size())

    def __lt__(self, other):
        kept.append(bytearray(size()))
        return False

    def __del__(self):
        kept.append(bytearray(size()))


def generate(count):
    for i in range(count):
        kept.append(bytearray(size()))
        yield i
        kept.append(bytearray(size()))


def delegate(count):
    yield from generate(count)


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    kept.append(bytearray(size()))
    return depth


def fail():
    try:
        kept.append(bytearray(size()))
        raise ValueError(bytearray(size()))
    except ValueError:
        kept.append(bytearray(size()))
    finally:
        kept.append(bytearray(size()))


async def leaf(n):
    kept.append(bytearray(size()))
    await asyncio.sleep(0)
    kept.append(bytearray(size()))
    return n


async def tasks():
    await asyncio.gather(*(leaf(i) for i in range(5)))
    async with Manager():
        kept.append(bytearray(size()))


class Manager:
    async def __aenter__(self):
        kept.append(bytearray(size()))

    async def __aexit__(self, *args):
        kept.append(bytearray(size()))


def called_back(item):
    kept.append(bytearray(size()))
    return item


def compiled(number):
    """Code objects that die: their addresses are used again, by code with other lines and names."""
    lines = "\n" * (number % 300)
    name = "f%d" % (number % 11)
    source = "%sdef %s(size, kept):\n%s kept.append(bytearray(size()))\n%s(size, kept)\n" % (
        lines, name, "\n" * (number % 7), name)
    exec(compile(source, "generated-%d.py" % (number % 13), "exec"), {"size": size, "kept": kept})
    exec(lines + "kept.append(bytearray(size()))")


def some():
    store = Store()
    store.add()
    kept.append(store.read)
    sorted([store, Store()])
    list(generate(3))
    list(delegate(3))
    recurse(5)
    recurse(30)
    fail()
    asyncio.run(tasks())
    list(map(called_back, range(3)))
    functools.reduce(lambda a, b: kept.append(bytearray(size())), range(4))
    kept.extend((lambda: bytearray(size()))() for _ in range(3))
    kept.append({i: bytearray(size()) for i in range(2)})
    del store
    return [
        bytearray(size()),
        bytearray(size()),
    ]


def worker(rounds):
    for i in range(rounds):
        some()
        for number in range(20):
            compiled(number * (i + 1))
        kept.clear()


rounds = int(sys.argv[1])
threads = [threading.Thread(target=worker, args=(rounds,)) for _ in range(3)]
for thread in threads:
    thread.start()
worker(rounds)
for thread in threads:
    thread.join()
if not os.fork():
    some()
    with open(sys.argv[2] + ".child", "w", encoding="utf-8") as file:
        file.write("\n".join(said) + "\n")
    os._exit(0)
os.wait()
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write("\n".join(said) + "\n")
