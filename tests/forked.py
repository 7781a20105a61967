"""Processes that do not load torch each time: they are forked from one that has loaded Windward.

Each is a process of its own, which can be killed; only the imports are shared.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import pathlib
import runpy
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import forkserver, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import torch

# What is loaded before anything is forked; a package that is not installed is passed over.
LOADED = (
    "windward._public",
    "windward.journal.sql",
    "windward.service.shelf",
    "windward.suggest.suggest",
    "psycopg",
    "distributed",
    "coarse_figures",
)


@functools.cache
def context() -> ForkServerContext:
    """Return what makes such processes; the one they are forked from lives as long as the tests."""
    made = get_context("forkserver")
    made.set_forkserver_preload(list(LOADED))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return made


def inherited() -> ForkServerContext:
    """Return the same in a process that was made so: it would start a second one, which had loaded nothing."""
    forkserver._forkserver.ensure_running = resource_tracker.ensure_running
    return get_context("forkserver")


def children(pid: int) -> set[int]:
    """Return the processes that a process has started."""
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return {int(child) for child in listed.read_text().split()} if listed.exists() else set()


def all_forked() -> set[int]:
    """Return the processes that were made so and live, those that others of them made among them."""
    return children(forkserver._forkserver._forkserver_pid)


class Forked:
    """A process that calls a function; what it prints is read from `stdout`, an error that ends it too."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        reading, writing = context().Pipe(duplex=False)
        self.process = context().Process(target=_call, args=(writing, function, arguments))
        self.process.start()
        atexit.register(self.process.kill)  # a test that failed halfway leaves nothing that would be waited for
        writing.close()
        self.stdout = os.fdopen(os.dup(reading.fileno()))
        reading.close()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()

    def rest(self) -> str:
        """Return what else it prints, and wait until it has ended."""
        with self.stdout:
            said = self.stdout.read()
        self.process.join(120)
        return said


def printed(function: Callable[..., object], *arguments: object) -> str:
    """Return what a process prints that must end well."""
    made = Forked(function, *arguments)
    said = made.rest()
    assert made.process.exitcode == 0, said
    return said


def program(text: str, *arguments: str) -> None:
    """Be `python -c TEXT ARGUMENTS`."""
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})


def windward(folder: str, *arguments: str) -> None:
    """Be `windward ARGUMENTS` in a folder, which hears Ctrl-C even where the tests were started in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from windward.cli.main import main

    os.chdir(folder)
    sys.argv = ["windward", *arguments]
    main()


def windward_2to1(folder: str, *arguments: str) -> None:
    """Be `windward ARGUMENTS 2>&1` in a folder."""
    os.dup2(1, 2)
    windward(folder, *arguments)


def script(folder: str, path: str, *arguments: str) -> None:
    """Be `python -W error::UserWarning PATH ARGUMENTS` in a folder."""
    os.chdir(folder)
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(path))
    warnings.simplefilter("error", UserWarning)
    runpy.run_path(path, run_name="__main__")


def _call(writing: Connection, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
    os.dup2(writing.fileno(), 1)
    writing.close()
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - for as long as the process lives
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # of processes that it starts
    # Those that it would spawn are forked as it was: what they are given is pickled, and its script is run again, all the same.
    own = multiprocessing.get_context
    multiprocessing.get_context = lambda method=None: inherited() if method == "spawn" else own(method)
    try:
        function(*arguments)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        raise
    finally:
        sys.stdout.flush()
