"""One fitting process: it takes a job, computes it, sends the answer back, and takes the next.

The process keeps its studies open and writes suggestions to the journal itself. It has a pipe of its own, so that its end
is noticed by the one who waits for its answer, and by nobody else.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess, parent_process
from typing import Any

logger = logging.getLogger("windward")

# How long an idle process may take to close its journal.
LAST_SECONDS = 5.0
# What is loaded once, in the process that fitting processes are forked from.
_LOADED = ["windward.service.shelf", "windward.service.jobs", "windward.suggest.suggest"]
_changing_environment = threading.Lock()


def warm() -> None:
    """Begin to load what fitting processes need, and return at once: a first one is then there sooner."""
    with suppress(OSError):  # said where a process is wanted
        _context()


class Died(Exception):
    """A fitting process ended before it had answered."""


class Fitter:
    """A fitting process, seen from the service. One job at a time; its methods block, except `kill`."""

    def __init__(self, url: str, memory: int, *, plugins: bool = False) -> None:
        self.last_study: str | None = None  # the one it has open and fitted
        self._url, self._memory, self._plugins = url, memory, plugins
        self._ended = False
        self._ending = threading.Lock()  # none is started while or after `kill` ends them
        self._pipe, self._process = self._started()

    def work(self, job: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what a job gives, or raise what it raised; `Died` where the process ended. One that died is replaced."""
        if not self._waits():  # it died while it was idle: this job is not concerned
            self._replace()
        try:
            self._pipe.send((job, arguments))
            worked, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(1.0)  # its exit code says whether somebody killed it
            logger.error(
                "a fitting process (%s) died while it worked for study %r (exit code %s); it is replaced",
                self._process.pid,
                self.last_study,
                self._process.exitcode,
            )
            self._replace()  # now: where each process imports torch, the next job need not wait for it
            raise Died from error
        if not worked:
            raise answer
        return answer

    def _waits(self) -> bool:
        """Whether the process is there for a job. A pipe that ends says so at once; that it is dead is known a little later."""
        try:
            return self._process.is_alive() and not self._pipe.poll()
        except OSError:
            return False

    def kill(self) -> None:
        """End the process now, and start no other. From any thread."""
        with self._ending:
            self._ended = True
            self._process.kill()

    def close(self) -> None:
        """End an idle process."""
        self._pipe.close()
        if self.last_study is not None:  # it has the journal open, and ends well when it finds its pipe closed
            self._process.join(LAST_SECONDS)
        self.kill()
        self._process.join()

    def _replace(self) -> None:
        with self._ending:
            if self._ended:
                raise Died
            self._pipe.close()
            self._process.kill()  # it has closed its pipe, or is about to end
            self._process.join()
            self.last_study = None
            self._pipe, self._process = self._started()

    def _started(self) -> tuple[Connection, BaseProcess]:
        ours, theirs = multiprocessing.Pipe()
        process = _begun(theirs, self._url, self._memory, self._plugins)
        theirs.close()  # else the pipe would stay open when the process ends
        return ours, process


def _begun(*arguments: Any) -> BaseProcess:
    """Return a fitting process that runs: forked where that can be done, else spawned."""
    try:
        process: BaseProcess = _context().Process(target=_serve, args=arguments, daemon=True)
        process.start()
    except (OSError, EOFError) as error:
        if sys.platform != "linux":
            raise
        logger.warning(
            "a fitting process could not be forked (%s); it is started afresh, which takes seconds and more memory. Forking "
            "needs a socket in the folder for temporary files: set TMPDIR to one that can be written, with a short path.",
            str(error) or "the process to fork from died",
        )
        with _changing_environment, _environment():
            process = multiprocessing.get_context("spawn").Process(target=_serve, args=arguments, daemon=True)
            process.start()
    return process


def _context() -> ForkServerContext | SpawnContext:
    """Return what makes processes: forked from one that has loaded the imports and does nothing else, else spawned.

    Never forked from the service: a copy of a process with threads may hold their locks for ever.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    with _changing_environment, _environment(), _deaf():
        forkserver.ensure_running()  # which it is, but for the first time and where somebody killed it
    return context


@contextmanager
def _deaf() -> Iterator[None]:
    """Keep Ctrl-C, which is the service's to heed, from the processes that this thread starts, while they load too."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # before: it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment() -> Iterator[None]:
    """Set, while a process is started, what it is to find: modules where this one finds them, and one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Safe: a file in the folder of the service, called like a module, is not that module.
    path = {"PYTHONPATH": os.pathsep.join(os.path.abspath(each) for each in sys.path), "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in (*threads, *path)}
    os.environ.update(threads | path)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(pipe: Connection, url: str, memory: int, plugins: bool) -> None:
    """Compute jobs until the pipe is closed. Ctrl-C is left to the parent; the process ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    from windward.service.shelf import Shelf

    torch.set_num_threads(1)  # the processes are the parallelism
    shelf = None
    while True:
        try:
            job, arguments = pipe.recv()
        except EOFError:
            if shelf is not None:
                shelf.journal.close()
            os._exit(0)  # at once: taking torch down takes a second, and there is nothing to save
        try:
            # Opened here: storage that cannot be reached is the job's error, not the end of the process.
            shelf = shelf or Shelf(url, memory, plugins=plugins)
            answer = True, job(shelf, *arguments)
        except Exception as error:
            answer = False, _sendable(error)
        pipe.send(answer)


def _sendable(error: Exception) -> Exception:
    """Return an error that another process can read, with what led to it as a note for the log."""
    import pickle

    error.add_note("in a fitting process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:
        return RuntimeError(*traceback.format_exception(error))
    return error


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
