# SPDX-License-Identifier: MIT
"""resident.py HOW SEED...: runs tests/hosts/pins with each seed, and compares the report resident
with the numbers of the kernel, and with the memory that the kernel gets back when the program frees the blocks
that pin it. HOW: light, scan, attach or fork."""
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import tap

how, seeds = sys.argv[1], sys.argv[2:]


def has_zero_page():
    """Whether this kernel maps its page of zeros where memory is only read: some virtual machines do not."""
    memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    before = smaps(os.getpid())[0]
    for at in range(0, 1 << 20, PAGE):
        memory[at]
    return smaps(os.getpid())[0] - before < 1 << 19


tap.NAME = how
PAGE = 4096


def smaps(pid):
    """Rss of a process, and the number of its mappings."""
    text = open(f'/proc/{pid}/smaps_rollup').read()
    rss = int(text.split('\nRss:')[1].split()[0]) * 1024
    return rss, len(open(f'/proc/{pid}/maps').readlines())


def site(row):
    """The program's function that made the call."""
    return next((frame['function'] for frame in row.get('backtrace') or []
                 if frame.get('function') in ('make_request', 'make_session', 'fill_cache',
                                              'reserve_table', 'map_half')), None)


def report(*arguments):
    done = subprocess.run(['./holdtrace', 'report', 'resident', '--format=json', *arguments],
                          capture_output=True, text=True)
    try:
        tables = json.loads(done.stdout)
    except ValueError:
        sys.exit(f'{done.stdout[:300]} {done.stderr[:500]}')
    return {table: facts for table, facts in tables.items() if isinstance(facts, (dict, list))}


def rows(tables, name):
    found = tables.get('tables', tables)
    if isinstance(found, list):
        found = {table['table']: table for table in found}
    found = found[name]
    return found if isinstance(found, list) else found['rows']


def run(seed, directory):
    trace = f'{directory}/{seed}.htr'
    program = ['./tests/hosts/pins', seed] + (['fork'] if how == 'fork' else [])
    if how != 'attach':
        program = ['./holdtrace', 'record', '-q', '-o', trace] + program
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        pid = int(process.stdout.readline().split()[1])
        if how == 'attach':
            attach = subprocess.Popen(['./holdtrace', 'attach', '-q', '-o', trace, str(pid)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while attach.poll() is None and subprocess.run(
                    ['./holdtrace', 'ctl', str(pid), 'snapshot'], capture_output=True).returncode:
                time.sleep(0.02)
            if attach.poll() is not None:
                tap.skip('memory from before an attach', 'no attach here')
                process.stdin.close()
                sys.exit()
        tables = report('--scan' if how == 'scan' else '--resident', str(pid))
        rss, mappings = smaps(pid)
        process.stdin.write('\n')
        process.stdin.flush()
        fall = int(process.stdout.readline())
        process.stdin.close()
        process.wait()
        if how == 'attach':
            attach.wait()
        check = subprocess.run(['./holdtrace', 'check', '--fail-on=pinned>1MB', trace],
                               capture_output=True, text=True)
    return tables, rss, mappings, fall, pid, check.returncode


def parts_of(tables):
    sums = {}
    for row in rows(tables, 'resident_parts'):
        sums[row['part']] = sums.get(row['part'], 0) + (row.get('resident_bytes') or 0)
    return sums


MIB = 1 << 20
for seed in seeds:
    with tempfile.TemporaryDirectory() as directory:
        tables, rss, mappings, fall, pid, status = run(seed, directory)
    process = [row for row in rows(tables, 'resident_processes') if row['pid'] == pid][0]
    parts = parts_of(tables)
    sites = {site(row): row for row in rows(tables, 'resident')}
    first = next(iter(rows(tables, 'resident')), None)
    pinned = rows(tables, 'pinned')
    tap.same(f'seed {seed}: the parts add up to the resident memory of the process',
             sum(parts.values()), process['resident_bytes'])
    tap.holds(f'seed {seed}: that is what the kernel says, within a page for each mapping',
              abs(process['resident_bytes'] - rss) <= PAGE * mappings,
              f"{process['resident_bytes']}, not {rss}")
    if how in ('attach', 'fork'):
        tap.holds(f'seed {seed}: memory from before the recording is not taken for free',
                  parts.get('from before the recording, or free', 0) > 2 * MIB, parts)
        tap.holds(f'seed {seed}: no call site pins memory in which unknown blocks may be',
                  not pinned, pinned[:2])
        tap.same(f'seed {seed}: so a limit on pinned memory is unknown', status, 3)
        continue
    tap.holds(f'seed {seed}: stacks, files, shared memory and mappings have parts of their own',
              parts['stacks of threads'] >= MIB and parts['shared memory'] >= MIB and
              parts['file'] >= MIB and parts['mapped by calls of the program'] >= 2 * MIB, parts)
    tap.holds(f'seed {seed}: what was mapped is resident as far as it was written',
              sites['map_half']['resident_bytes'] == 2 * MIB and
              sites['map_half']['untouched_bytes'] == 2 * MIB, sites['map_half'])
    tap.holds(f'seed {seed}: a table that was never written is untouched',
              sites['reserve_table']['untouched_bytes'] > 31 * MIB, sites['reserve_table'])
    tap.same(f'seed {seed}: the call site that pins the heap is the first row', site(first),
             'make_session')
    tap.same(f'seed {seed}: and the first one of the pinned pages', site(pinned[0]),
             'make_session')
    tap.same(f'seed {seed}: the pinned memory breaks a limit', status, 1)
    tap.holds(f'seed {seed}: to free its blocks returns 95 % of its own pages',
              fall >= 0.95 * first['alone_bytes'] > 4 * MIB, f"{fall} of {first['alone_bytes']}")
    title = f'seed {seed}: pages of zeros are named, and not counted'
    if has_zero_page():
        tap.holds(title, sum(row.get('zero_bytes') or 0 for row in rows(tables, 'resident_parts')) >= MIB)
    else:
        tap.skip(title, 'this kernel gives memory that is only read pages of its own')
