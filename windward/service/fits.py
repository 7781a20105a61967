"""Where fits are computed: in processes of their own, so that a fit never blocks another request.

Each process keeps its studies open and writes suggestions to the journal itself; what comes back is plain data.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import parent_process
from typing import Any

from windward.errors import JournalError
from windward.service.settings import Settings

# Answers kept in memory, by study, revision and kind: a page that looks again every few seconds costs nothing.
MOST_KEPT = 256

_shelf: Any = None  # of a fitting process


class Busy(Exception):
    """Too many requests wait for a fit."""


class Fits:
    """A pool of fitting processes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waiting = 0
        self._ended = False
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._pool = self._new_pool()

    @property
    def waiting(self) -> int:
        """How many requests wait for a fit or are being fitted."""
        return self._waiting

    async def run(self, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a job gives in a fitting process; one that died is replaced, and the caller told to try again."""
        if self._waiting >= self._settings.most_waiting:
            raise Busy(f"{self._waiting} requests wait for a fit already; try again in a moment.")
        self._waiting += 1
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, job, *arguments)
        except BrokenProcessPool as error:
            if self._ended:
                raise JournalError("the service is stopping; what was written is kept; try again later.") from error
            if self._pool is pool:
                self._pool = self._new_pool()
            raise JournalError("a fitting process died; what it had written is kept; try again.") from error
        finally:
            self._waiting -= 1

    async def kept(self, key: Hashable, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return a job's answer, the kept one where the key was asked before."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        answer = await self.run(job, *arguments)
        self._kept[key] = answer
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return answer

    def warm(self) -> None:
        """Start the processes now: importing torch takes seconds that the first ask need not wait for."""
        for _ in range(self._settings.fitters):
            self._pool.submit(_ready)

    def end(self) -> None:
        """End the processes now: whoever waits for a fit is told so. From any thread."""
        self._ended = True
        # Before Python 3.14 the pool has no way of its own.
        for process in list((self._pool._processes or {}).values()):
            process.kill()

    def close(self) -> None:
        """Let what runs finish, drop what waits, end the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        # Spawned: a forked copy of a process with threads may hold their locks for ever.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self._settings.fitters, context, _start, (self._settings.journal, self._settings.memory)
        )


def _start(url: str, memory: int) -> None:
    """Prepare a fitting process: it leaves Ctrl-C to its parent and ends when its parent does."""
    global _shelf
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    from windward.service.shelf import Shelf

    torch.set_num_threads(1)  # the processes are the parallelism
    _shelf = Shelf(url, memory)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _ready() -> bool:
    return True


def ask(name: str, context: dict[str, Any] | None, fix: dict[str, Any] | None, key: str | None) -> dict[str, Any]:
    """Return the next suggestion of a study."""
    from windward import plain

    return plain.suggestion(_shelf.study(name).ask(context=context, fix=fix, key=key))


def create(data: dict[str, Any]) -> dict[str, Any]:
    """Make a study, and return its declaration; trying a policy on its space can be heavy."""
    from windward.declare import declaration_of, declared

    memory = _shelf.memory
    return declaration_of(declared(data, memory=memory).create(_shelf.journal, memory=memory))


def recommend(name: str, context: dict[str, Any] | None) -> dict[str, Any]:
    """Return the recommendation of a study, and the sentences that say it."""
    from windward import plain, words

    study = _shelf.study(name)
    found = study.recommend(context=context)
    said = words.advised(study, found)
    return {**plain.recommendation(found), "sentences": said.lines(), "revision": study.revision}


def figure(name: str, kind: str) -> str:
    """Return a figure of a study as plotly's JSON."""
    from windward import plots

    return str(plots.FIGURES[kind](_shelf.study(name)).to_json())


def report(name: str) -> str:
    """Return the report of a study."""
    from windward.html_report import report_html

    return report_html(_shelf.study(name))
