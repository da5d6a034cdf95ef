# SPDX-License-Identifier: MIT
"""Checks memcheck's XML on standard input against the description of a protocol (4, 5 or 6), and prints its errors.

Usage: valgrind-xml.py PROTOCOL. Prints "KIND DESCRIPTOR FUNCTION FILE LINE" of each error.
"""

import re
import sys
import xml.etree.ElementTree as tree

MEMORY = """InvalidFree MismatchedFree InvalidRead InvalidWrite InvalidJump Overlap InvalidMemPool UninitCondition
UninitValue SyscallParam ClientCheck Leak_DefinitelyLost Leak_IndirectlyLost Leak_PossiblyLost
Leak_StillReachable""".split()
DESCRIPTORS = "FdBadClose FdNotClosed FdBadUse".split()

protocol = int(sys.argv[1])
root = tree.parse(sys.stdin).getroot()
order = ["protocolversion", "protocoltool", "preamble", "pid", "ppid", "tool", "args", "status"]
end = ["status", "errorcounts", "suppcounts"] + ["error_summary"] * (protocol == 6)


def demand(holds, what):
    if not holds:
        sys.exit("protocol %d: %s" % (protocol, what))


tags = [child.tag for child in root]
demand(root.tag == "valgrindoutput", "the document is " + root.tag)
demand(root.findtext("protocolversion") == str(protocol), "the version is " + str(root.findtext("protocolversion")))
demand(root.findtext("protocoltool") == root.findtext("tool"), "two tools")
demand(tags[: len(order)] == order, "the document begins with %s" % tags[: len(order)])
demand(tags[-len(end) :] == end, "the document ends with %s" % tags[-len(end) :])
demand(set(tags[len(order) : -len(end)]) <= {"error"}, "between them are %s" % tags)
demand([state.text for state in root.iter("state")] == ["RUNNING", "FINISHED"], "wrong states")
errors = root.findall("error")
numbers = [error.findtext("unique") for error in errors]
demand(len(set(numbers)) == len(numbers) and all(re.fullmatch("0x[0-9a-f]+", n) for n in numbers), "wrong numbers")
for error in errors:
    kind = error.findtext("kind")
    parts = [child.tag for child in error]
    about = "xwhat" if kind.startswith("Leak_") else "what"
    fd = ["fd"] * (error.find("fd") is not None)
    demand(kind in MEMORY + DESCRIPTORS * (protocol > 4), "unknown kind " + kind)
    demand(not fd or kind in DESCRIPTORS and error.findtext("fd").isdigit(), "the kind %s has a descriptor" % kind)
    demand(parts == ["unique", "tid", "kind"] + fd + [about, "stack"], "an error has %s" % parts)
    if about == "xwhat":
        demand([c.tag for c in error.find("xwhat")] == ["text", "leakedbytes", "leakedblocks"], "wrong xwhat")
    for frame in error.find("stack"):
        names = [child.tag for child in frame]
        demand(names == [n for n in ["ip", "obj", "fn", "dir", "file", "line"] if n in names], "a frame has %s" % names)
    frame = error.find("stack/frame")
    print(kind, error.findtext("fd") or "-", *[frame.findtext(name) for name in ("fn", "file", "line")])
if protocol == 6:
    summary = {child.tag: int(child.text) for child in root.find("error_summary")}
    names = ["errors", "error_contexts", "suppressed", "suppressed_contexts"]
    demand(list(summary) == names and summary["errors"] == len(errors), "the summary is %s" % summary)
    print("suppressed", summary["suppressed"])
