"""Which fit is computed next. Fits run in processes of their own, so that one never blocks another request.

Asks go before recommendations, and recommendations before figures and reports: somebody acts on an ask, and nobody should
wait for it because somebody else looks at a page. Within a class the first to come is the first to be served. A study holds
at most half of the fitting processes, so that one with long fits leaves the others room; a study's token opens no other
study, so its share is the same. What is asked for twice at the same time is computed once, and what was computed is kept.

All of this lives in the event loop; each job is waited for in a thread.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool

from windward.service.fitter import Died, Fitter
from windward.service.settings import Settings

# Characters of answers kept in memory: a page that looks again every few seconds costs nothing.
MOST_KEPT = 100_000_000
# For how long: a report says when it was written and how long trials have waited, and may be so much behind.
KEPT_SECONDS = 600.0


class Rank(IntEnum):
    """The classes of fits, the most urgent first."""

    ASK = 0  # and making a study
    ADVISE = 1
    SHOW = 2


class Busy(Exception):
    """Too many requests wait for a fit."""


class Interrupted(Exception):
    """The fitting process ended before it had answered; trying again is right."""


@dataclass(eq=False)
class _Task:
    """A job that waits or runs, and how many requests wait for its answer."""

    rank: Rank
    study: str
    job: Callable[..., Any]
    arguments: tuple[Any, ...]
    key: Hashable | None
    answer: asyncio.Future[Any]
    callers: int = 0


class Fits:
    """The fitting processes, and the queue before them. Made inside the event loop in which it is used."""

    def __init__(self, settings: Settings) -> None:
        self._loop = asyncio.get_running_loop()
        self._most_waiting = settings.most_waiting
        self._fitters = [
            Fitter(settings.journal, settings.memory, plugins=settings.plugins) for _ in range(settings.fitters)
        ]
        self._threads = ThreadPoolExecutor(settings.fitters, "fitter")
        self._waiting: list[_Task] = []  # in order of arrival
        self._running: dict[Fitter, _Task] = {}
        self._shared: dict[Hashable, _Task] = {}  # what waits or runs and may be shared
        self._kept = _Kept()
        self._ended = False

    @property
    def waiting(self) -> dict[str, int]:
        """How many fits wait or run, by class."""
        counts = Counter(task.rank for task in self._tasks())
        return {
            "asks": counts[Rank.ASK],
            "recommendations": counts[Rank.ADVISE],
            "figures_and_reports": counts[Rank.SHOW],
        }

    async def run(self, rank: Rank, study: str, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a job gives. `Busy` where too many wait, `Interrupted` where the fitting process died."""
        return await self._answer(self._enter(rank, study, job, arguments, None))

    async def kept(self, key: Hashable, rank: Rank, study: str, job: Callable[..., str], *arguments: Any) -> str:
        """Return what a job gives; the kept answer, or the one that is being computed, where the key is the same."""
        known = self._kept.get(key)
        if known is not None:
            return known
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = self._enter(rank, study, job, arguments, key)
        found = await self._answer(task)
        assert isinstance(found, str)
        return found

    def end(self) -> None:
        """End the processes now: whoever waits for a fit is told so. From any thread."""
        self._ended = True
        for fitter in self._fitters:
            fitter.kill()
        with suppress(RuntimeError):  # the loop has been closed: nobody waits
            self._loop.call_soon_threadsafe(self._refuse_waiting)

    async def close(self) -> None:
        """Drop what waits, let what runs finish, end the processes."""
        self._ended = True
        self._refuse_waiting()
        await asyncio.gather(*(task.answer for task in self._running.values()), return_exceptions=True)
        await asyncio.gather(*(run_in_threadpool(fitter.close) for fitter in self._fitters))
        self._threads.shutdown()

    def _tasks(self) -> list[_Task]:
        return [*self._running.values(), *self._waiting]

    def _enter(
        self, rank: Rank, study: str, job: Callable[..., Any], arguments: tuple[Any, ...], key: Hashable | None
    ) -> _Task:
        if self._ended:
            raise self._interrupted()
        places = [task for task in self._tasks() if task.rank == rank]
        of_study = sum(task.study == study for task in places)
        # Half for one study: it cannot keep the others out.
        if len(places) >= self._most_waiting or of_study >= max(1, self._most_waiting // 2):
            raise Busy(f"{len(places)} requests of this kind wait for a fit already; try again in a moment.")
        task = _Task(rank, study, job, arguments, key, self._loop.create_future())
        self._waiting.append(task)
        self._hand_out()
        return task

    async def _answer(self, task: _Task) -> Any:
        task.callers += 1
        try:
            return await asyncio.shield(task.answer)  # others may wait for it when this caller goes away
        finally:
            task.callers -= 1
            if task.callers == 0 and task in self._waiting:  # nobody wants it any more
                self._waiting.remove(task)
                self._shared.pop(task.key, None)
                task.answer.cancel()

    def _hand_out(self) -> None:
        """Give each idle process the first task that may run."""
        while idle := [fitter for fitter in self._fitters if fitter not in self._running]:
            held = Counter(task.study for task in self._running.values())
            free = [task for task in self._waiting if held[task.study] < max(1, len(self._fitters) // 2)]
            task = min(free, key=lambda each: each.rank, default=None)  # of equals the first
            if task is None:
                return
            # The process that served the study last has its log read and its model fitted.
            fitter = next((each for each in idle if each.last_study == task.study), idle[0])
            fitter.last_study = task.study
            self._waiting.remove(task)
            self._running[fitter] = task
            work = self._loop.run_in_executor(self._threads, fitter.work, task.job, task.arguments)
            work.add_done_callback(partial(self._done, fitter))

    def _done(self, fitter: Fitter, work: asyncio.Future[Any]) -> None:
        task = self._running.pop(fitter)
        self._shared.pop(task.key, None)
        error = work.exception()
        if error is None:
            if task.key is not None:
                self._kept.put(task.key, work.result())
            task.answer.set_result(work.result())
        else:
            task.answer.set_exception(self._interrupted() if isinstance(error, Died) else error)
            task.answer.exception()  # retrieved: its callers may all have gone
        self._hand_out()

    def _refuse_waiting(self) -> None:
        for task in self._waiting:
            task.answer.set_exception(self._interrupted())
            task.answer.exception()
        self._waiting.clear()
        self._shared.clear()

    def _interrupted(self) -> Interrupted:
        if self._ended:
            return Interrupted("the service is stopping; what was written is kept; try again later.")
        return Interrupted("a fitting process died; what it had written is kept; try again.")


class _Kept:
    """Answers by key, for a while; the least recently used go first when all of them together grow too long."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[str, float]] = OrderedDict()  # and when they came
        self._size = 0

    def get(self, key: Hashable) -> str | None:
        answer, since = self._answers.get(key, ("", -math.inf))
        if time.monotonic() - since > KEPT_SECONDS:
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, key: Hashable, answer: str) -> None:
        before, _ = self._answers.pop(key, ("", 0.0))
        self._answers[key] = answer, time.monotonic()
        self._size += len(answer) - len(before)
        while self._size > MOST_KEPT:
            _, (dropped, _) = self._answers.popitem(last=False)
            self._size -= len(dropped)
