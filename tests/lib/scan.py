# SPDX-License-Identifier: MIT
"""scan.py SAID TRACE: compares the result of a scan of tests/hosts/keepers with the program's own output, SAID.
Prints the differences; the exit status is 1 if there are any."""
import re
import subprocess
import sys

said, trace = sys.argv[1:]
wanted = {}
for line in open(said):
    words = line.split()
    if len(words) == 3:
        wanted[~int(words[2], 16) & 2 ** 64 - 1] = words[:2]

text = subprocess.run(['./holdtrace-postproc', '--now', trace], capture_output=True, text=True,
                      check=True).stdout
found = {int(m[1], 16): m[2] for m in
         re.finditer(r'\$(0x[0-9a-f]+) = (\w+) \S+ \d+ \S+ \d+ \d+$', text, re.M)}
wrong = 0
# A pointer that nobody needs any more may still be in a frame that is in use, the library's own
# included, or on a stack of the program's own, and point to the block that has this address now.
# There are 168 blocks whose pointers are below the stack; a frame has room for some of them.
spared = {'below-the-stack': 16, 'large': 1}
for address, (want, name) in wanted.items():
    got = found.get(address, 'not told')
    # what is hidden looks lost to everybody, or is kept by chance; but told it is
    right = got != 'not told' if want == 'hidden' else got == want
    if not right and got in ('reachable', 'interior') and spared.get(name, 0):
        spared[name] -= 1
    elif not right:
        print(f'{name}: {want} expected, {got} found')
        wrong += 1
for address, got in found.items():
    if got in ('unreachable', 'indirect') and address not in wanted:
        print(f'{address:#x}: {got}, and nobody lost it')
        wrong += 1
if len(wanted) < 200:
    print(f'only {len(wanted)} blocks')
    wrong += 1
sys.exit(wrong > 0)
