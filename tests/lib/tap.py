# SPDX-License-Identifier: MIT
"""Prints the TAP lines of checks in Python without numbers; numbered() of tap.sh adds the numbers.

Each sentence begins with NAME, which is the object of the checks."""

NAME = ""


def holds(what, is_so, more=""):
    print(f"{'ok' if is_so else 'not ok'} - {NAME}: {what}")
    if not is_so and more:
        print("# " + str(more)[:600].replace("\n", "\n# "))


def same(what, got, wanted):
    """got and wanted: numbers, texts, or tables of them; zeros do not count."""
    if isinstance(got, dict):
        got = {key: value for key, value in got.items() if value}
        wanted = {key: value for key, value in wanted.items() if value}
    holds(what, got == wanted)
    if got == wanted:
        return
    if not isinstance(got, dict):
        print(f"# {got}, not {wanted}")
        return
    for key in sorted(set(got) | set(wanted), key=str):
        if got.get(key) != wanted.get(key):
            print(f"# {key}: {got.get(key)}, not {wanted.get(key)}")


def skip(what, why):
    print(f"ok - {NAME}: {what} # SKIP {why}")
