"""How a fitting process of the service begins: forked where that can be done, deaf to Ctrl-C from the start."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys

import pytest
from forked import context

from windward.service import fitter

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


def where(shelf):
    return os.getpid()


@needs_linux
@pytest.mark.parametrize("error", [OSError("AF_UNIX path too long"), EOFError()], ids=repr)
def test_where_none_can_be_forked_one_is_spawned(monkeypatch, tmp_path, caplog, error):
    def nothing():
        raise error

    kinds = []
    monkeypatch.setattr(fitter, "_context", nothing)
    # In place of spawning, which loads torch again.
    monkeypatch.setattr(multiprocessing, "get_context", lambda kind: [kinds.append(kind), context()][1])
    one = fitter.Fitter(f"sqlite:///{tmp_path}/x.db", 2**30)
    try:
        assert one.work(where, ()) not in (None, os.getpid())
    finally:
        one.close()
    assert kinds == ["spawn"] and "set TMPDIR to one that can be written" in caplog.text


@needs_linux
def test_one_that_died_while_it_was_idle_is_replaced_before_anybody_knows(monkeypatch, tmp_path):
    """Whoever forked it learns of its end a little later than its pipe does: a job in between is not lost."""
    one = fitter.Fitter(f"sqlite:///{tmp_path}/x.db", 2**30)
    try:
        first, dead = one.work(where, ()), one._process
        os.kill(first, signal.SIGKILL)
        dead.join(10)
        monkeypatch.setattr(dead, "is_alive", lambda: True)
        assert one.work(where, ()) != first
    finally:
        one.close()


BEGIN = """
from multiprocessing import forkserver
from windward.service.fitter import warm
warm()
process = forkserver._forkserver._forkserver_pid
if process:
    print(next(line.split()[1] for line in open(f"/proc/{process}/status") if line.startswith("SigBlk")))
"""


def began(**environment):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@needs_linux
def test_ctrl_c_does_not_reach_a_process_that_still_loads():
    assert int(began(), 16) & 2  # SIGINT is the second signal


@needs_linux
def test_a_service_starts_where_there_is_no_room_for_a_socket(tmp_path):
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    assert began(TMPDIR=str(folder)) == ""
