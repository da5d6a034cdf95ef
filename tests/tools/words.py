#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Looks for words and phrases that a reader has to read twice, in comments, strings and documents.

    tests/tools/words.py ROOT FILE...

Prints FILE:LINE: the words, and what to write instead. tests/words.allow lists what is right where it
is: FILE, a tab, the words. A row that allows nothing any more is printed, too. CONTRIBUTING.md has the
words of this project.
"""
import os
import re
import sys

ANYWHERE = [
    (r"in vain", "say what did not happen: no waiter, not needed"),
    (r"who(ever|mever)", "name the thread, the caller, the process"),
    (r"nobody", "no thread, no process, nothing reads it"),
    (r"g[ai]ven? back", "free, close, unlock, release"),
    (r"gain(s|ed|ing)?", "allocate, open, lock; acquire for all classes"),
    (r"mended", "fixed"),
    (r"to be had", "available"),
    (r"for ever", "forever"),
    (r"so many", "that many"),
    (r"meanwhile", "in the meantime, while ..."),
    (r"(?<!there )(is|are|was|were) none( of)?", "is not a, does not match, is unknown"),
    (r"(?<!there )(is|was) no (trace|process|thread|file|value|number|option|limit|word|baseline|ELF)", "is not a"),
    (r"stands? (in|for|there|here|behind|before|at|on|above|below|beside|alone)", "is, follows, precedes, means"),
    (r"behind (it|them|that|this|each|the last|its call)", "after"),
    (r"(is|are|was|were|be) told", "is reported, printed, marked"),
    (r"of (which|whom|what|one|each) (nobody|no|one|alone|there)", "a sentence with a subject"),
    (r"ones? (that|who|which) (is|are|has|have) none", "a sentence with a subject"),
    (r"the (same|like) is true of", "likewise"),
    (r"pass(es|ed)? (it|them) by", "skip, ignore"),
    (r"such an? one", "name it"),
    (r"(sheets?|atlas|crew|spool|keepers?|wish(es)?|boards?|doors?|circles?)", "a word of CONTRIBUTING.md"),
]
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
PATTERNS = [(re.compile(rf"(?<![\w.-]){phrase}(?![\w-])", re.I), instead) for phrase, instead in ANYWHERE]


def parts(name, text):
    """The texts of a file that people read, as (offset, text)."""
    if not re.search(r"\.(c|h|S|def|js)$", name):
        return [(0, text)]
    found = [(m.start(), m.group()) for m in COMMENT.finditer(text)]
    code = COMMENT.sub(lambda m: " " * len(m.group()), text)
    return found + [(m.start(), m.group()) for m in STRING.finditer(code) if " " in m.group()]


def main():
    root, *names = sys.argv[1:]
    allowed = {}
    with open(os.path.join(root, "tests/words.allow"), encoding="utf-8") as rows:
        for row in rows:
            if row.strip() and not row.startswith("#"):
                name, words = row.rstrip("\n").split("\t")
                allowed[name, words] = 0
    for name in names:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for offset, part in parts(name, text):
            for pattern, instead in PATTERNS:
                for match in pattern.finditer(part):
                    if match.group().endswith("is None"):
                        continue
                    key = (name, " ".join(match.group().lower().replace("*", "").split()))
                    if key in allowed:
                        allowed[key] += 1
                    else:
                        line = text.count("\n", 0, offset + match.start()) + 1
                        print(f"{name}:{line}: \"{key[1]}\"; better: {instead}")
    for (name, words), uses in allowed.items():
        if not uses:
            print(f"tests/words.allow: {name} has no \"{words}\" any more")


main()
