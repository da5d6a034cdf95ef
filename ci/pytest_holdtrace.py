# SPDX-License-Identifier: MIT
"""Limits for what a test of pytest leaves behind or waits for: @pytest.mark.holdtrace(leak="1MB", fd=0, wait="100ms").

With repeat=N the test runs N times, and growth=0 tells a leak from a cache. HOLDTRACE_PYTHON=malloc
also records small objects (holdtrace-python(7)).
"""

import ctypes
import gc
import os
import subprocess
import sys

import pytest

BEGIN, UNIT, END = "pytest begins", "pytest unit", "pytest ends"


def pytest_configure(config):
    config.addinivalue_line("markers", "holdtrace(LIMIT=VALUE, ..., repeat=1): fail if the test exceeds a limit of holdtrace")


def run_here(pyfuncitem, repeat):
    mark = getattr(ctypes.CDLL(None), "holdtrace_lib_mark", None)
    if not mark:
        pytest.fail("unknown: limits, because holdtrace is not loaded into %s" % sys.executable, pytrace=False)
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    mark(BEGIN.encode())
    for _ in range(repeat):
        pyfuncitem.obj(**arguments)
        gc.collect()
        mark(UNIT.encode())
    mark(END.encode())


def run_recorded(pyfuncitem, limits):
    config = pyfuncitem.config
    trace = os.path.join(config.cache.mkdir("holdtrace"), "%d.htr" % os.getpid())
    python = os.environ.get("HOLDTRACE_PYTHON", "lines")
    record = ["record", "-q", "-f", "--follow=no", "--python=" + python, "-o", trace, sys.executable]
    record += ["-m", "pytest", "-q", "-p", __name__, pyfuncitem.nodeid]
    check = ["check", "-q", "--format=gcc", "--since=" + BEGIN, "--until=" + END, "--growth=" + UNIT]
    check += ["--source-root=%s" % config.rootpath, "--fail-on=" + ",".join(limits), trace]
    for command in record, check:
        done = subprocess.run([os.environ.get("HOLDTRACE", "holdtrace")] + command, cwd=config.rootpath, text=True,
                              env=dict(os.environ, HOLDTRACE_PYTEST="1"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            pytest.fail("%s\nthe trace: %s" % (done.stdout, trace), pytrace=False)
    os.remove(trace)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    marker = pyfuncitem.get_closest_marker("holdtrace")
    if not marker:
        return None
    limits = ["%s>%s" % (name.replace("_", "-"), value) for name, value in marker.kwargs.items() if name != "repeat"]
    if "HOLDTRACE_PYTEST" in os.environ:
        run_here(pyfuncitem, marker.kwargs.get("repeat", 1))
    else:
        run_recorded(pyfuncitem, limits)
    return True
