# SPDX-License-Identifier: MIT
"""Allocates in sub-interpreters, then in the main interpreter."""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

code = """
kept = []
def inner(size):
    kept.append(bytearray(size))
def outer():
    for i in range(5):
        inner(700000 + i)
outer()
"""


def run():
    number = interpreters.create()
    getattr(interpreters, "exec", getattr(interpreters, "run_string", None))(number, code)
    interpreters.destroy(number)


def keep():
    return bytearray(800000)


for i in range(3):
    run()
    keep()
