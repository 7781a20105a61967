"""What a person sees of a long run: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from windward.bench.experiment import Record
from windward.bench.runner import Failure


class Watching:
    """Tells a stream how an experiment goes."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name, self._stream = name, stream
        self._done = self._total = 0
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def begin(self, total: int, skipped: int, workers: int) -> None:
        """Say how much there is to do."""
        self._total = total
        before = f", {skipped} finished before" if skipped else ""
        processes = f"{workers} processes" if workers > 1 else "one process"
        self._say(f"{self._name}: {total} runs to do{before}, {processes}")
        if self._stream.isatty() and total:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self._bar = Progress(*columns, console=Console(file=self._stream))
            self._task = self._bar.add_task(self._name, total=total, left="")
            self._bar.start()

    def finished(self, record: Record, left: float) -> None:
        """Count one more."""
        self._done += 1
        what = f"{record['problem']}, {record['method']}, seed {record['seed']}"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, left=f"{in_words(left)} left  {what}")
            return
        self._say(f"{self._done}/{self._total} {what}: {record['seconds']:.1f} s; about {in_words(left)} left")

    def failed(self, failure: Failure) -> None:
        """Show a traceback, and go on."""
        job = failure.job
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1)
        self._say(f"FAILED {job.case}, {job.method}, seed {job.seed}\n{failure.trace.rstrip()}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._stream, flush=True)


@contextmanager
def watcher(name: str, stream: TextIO) -> Iterator[Watching]:
    """Watch an experiment on a stream."""
    watching = Watching(name, stream)
    try:
        yield watching
    finally:
        watching.close()


def in_words(seconds: float) -> str:
    """Return a duration as a person would say it.

    >>> in_words(42), in_words(600), in_words(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
