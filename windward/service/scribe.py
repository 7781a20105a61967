"""Tells that come at the same time are written together: one commit, one wait for the disk, for all of them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from starlette.concurrency import run_in_threadpool

from windward.present import records
from windward.service.guard import Wrong
from windward.service.shelf import Shelf
from windward.study.study import Study, utc_now
from windward.trials.records import Tell
from windward.trials.trials import Trials

# Tells in one transaction: it stays within tens of milliseconds, so that other writers are not kept waiting.
MOST_TOGETHER = 200


def study_with(shelf: Shelf, name: str, id: int) -> Study:
    """Return a study that has a trial of this id, or refuse."""
    study = shelf.study(name)
    if id >= len(study.trials):
        study.sync()
        if id >= len(study.trials):
            raise Wrong(404, f"study {name!r} has no trial {id}.")
    return study


def trial_now(study: Study, id: int) -> dict[str, Any]:
    """Return a trial as it is now."""
    return _answer(study, study.trials, id, utc_now())


def _answer(study: Study, trials: Trials, id: int, now: datetime) -> dict[str, Any]:
    missing = records.missing_context(trials, id)
    return {**records.trial(trials[id], now), "missing_context": missing, "revision": study.revision}


class Scribe:
    """Gathers tells by study; one task per study writes them, batch after batch. Lives in the event loop alone."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._waiting: dict[str, list[tuple[Tell, asyncio.Future[dict[str, Any]]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def tell(self, name: str, one: Tell) -> dict[str, Any]:
        """Write a tell, and return the trial; what is wrong with it is raised."""
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if name in self._waiting:
            self._waiting[name].append((one, answer))
        else:
            self._waiting[name] = [(one, answer)]
            task = asyncio.create_task(self._write(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _write(self, name: str) -> None:
        while batch := self._waiting[name][:MOST_TOGETHER]:
            del self._waiting[name][:MOST_TOGETHER]
            results = await run_in_threadpool(self._told, name, [one for one, _ in batch])
            for (_, answer), result in zip(batch, results, strict=True):
                if answer.done():  # its client has gone; what it told is written all the same
                    continue
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)
        del self._waiting[name]

    def _told(self, name: str, tells: list[Tell]) -> list[dict[str, Any] | Exception]:
        """Return the trial, or the error, of each tell."""
        try:
            study = self._shelf.study(name)
            if max(one.id for one in tells) >= len(study.trials):
                study.sync()
            count = len(study.trials)
            errors = iter(study.tell_many([one for one in tells if one.id < count]))
            rows, now = study.trials, utc_now()
            results = list[dict[str, Any] | Exception]()
            for one in tells:
                error = next(errors) if one.id < count else Wrong(404, f"study {name!r} has no trial {one.id}.")
                results.append(error or _answer(study, rows, one.id, now))
            return results
        except Exception as error:  # every client must get its answer, whatever it is
            return [error] * len(tells)
