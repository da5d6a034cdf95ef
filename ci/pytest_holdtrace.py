# SPDX-License-Identifier: MIT
"""Limits for what a test of pytest leaves behind: @pytest.mark.holdtrace(leak="1MB", fd=0)."""

import ctypes
import gc
import os
import subprocess
import sys

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "holdtrace(LIMIT=VALUE, ...): fail if the test exceeds a limit of holdtrace")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    marker = pyfuncitem.get_closest_marker("holdtrace")
    if marker and "HOLDTRACE_PYTEST" in os.environ:
        mark = ctypes.CDLL(None).holdtrace_lib_mark
        mark(b"pytest begins")
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames})
        gc.collect()
        mark(b"pytest ends")
    elif marker:
        trace = os.path.join(pyfuncitem.config.cache.mkdir("holdtrace"), "%d.htr" % os.getpid())
        limits = ",".join("%s>%s" % (name.replace("_", "-"), value) for name, value in marker.kwargs.items())
        record = "record -q -f --follow=no -o".split() + [trace, sys.executable, "-m", "pytest", "-q", "-p", __name__]
        check = ["check", "-q", "--format=gcc", "--since=pytest begins", "--until=pytest ends", "--fail-on=" + limits]
        for command in record + [pyfuncitem.nodeid], check + [trace]:
            done = subprocess.run([os.environ.get("HOLDTRACE", "holdtrace")] + command, cwd=pyfuncitem.config.rootpath,
                                  env=dict(os.environ, HOLDTRACE_PYTEST="1"), stderr=subprocess.STDOUT,
                                  stdout=subprocess.PIPE, text=True)
            if done.returncode:
                pytest.fail(done.stdout, pytrace=False)
    return True if marker else None
