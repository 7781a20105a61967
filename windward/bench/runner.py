"""Many runs: which are still to do, several at once, each written as it finishes.

Runs are ordered by seed, then problem, then method, so that what is there after an interruption is paired. Workers are
fresh processes with one thread each; only this process writes. A run that fails is reported and left out; the others go on.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Protocol

import torch

from windward.basics.errors import ArgumentError
from windward.bench import records
from windward.bench.experiment import Experiment, Make, Method, Record
from windward.bench.experiments import experiment as registered
from windward.bench.experiments import experiments
from windward.bench.play import run_one, stand_in
from windward.bench.records import Key

# Libraries under a worker that would otherwise each start a thread per core.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# How often a worker looks whether its parent is still there.
WATCH_SECONDS = 0.5


@dataclass(frozen=True)
class Job:
    """One run to do."""

    case: str
    method: str
    seed: int
    rounds: int


@dataclass(frozen=True)
class Failure:
    """A run that raised, with its traceback."""

    job: Job
    trace: str


@dataclass(frozen=True)
class RunSettings:
    """What to run of an experiment: None where the experiment's own (or its quick) size is meant."""

    out: Path
    seeds: tuple[int, ...] | None = None
    rounds: int | None = None
    workers: int | None = None
    quick: bool = False
    data: Path | None = None
    substitutes: bool = False
    cases: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    extras: Path | None = None


class Watcher(Protocol):
    """Is told what happens: how many runs there are, each that starts a line of its own when it ends, failures."""

    def begin(self, total: int, skipped: int, workers: int) -> None: ...

    def finished(self, record: Record, left: float) -> None: ...

    def failed(self, failure: Failure) -> None: ...


@dataclass
class Tally:
    """What came of a call: runs done now, runs that were there already, and failures."""

    done: int = 0
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)


def load_extras(file: Path) -> tuple[dict[str, Method], dict[str, Make]]:
    """Return the `METHODS` and `PROBLEMS` of a Python file of the user's."""
    if not file.exists():
        raise ArgumentError(f"--with {file}: there is no such file.")
    names = runpy.run_path(str(file))
    found = names.get("METHODS", {}), names.get("PROBLEMS", {})
    if not all(isinstance(part, Mapping) for part in found) or not (found[0] or found[1]):
        raise ArgumentError(
            f"--with {file}: it must define METHODS, a dict from names to functions problem -> Policy, or "
            "PROBLEMS, a dict from names to functions (seed, data) -> Problem."
        )
    return dict(found[0]), dict(found[1])


def sized(experiment: Experiment, settings: RunSettings) -> tuple[Experiment, list[Job]]:
    """Return the experiment with what was asked for, and its runs in order."""
    if settings.extras is not None:
        experiment = experiment.with_extras(*load_extras(settings.extras))
    cases, methods, quick = settings.cases, settings.methods, experiment.quick
    if settings.quick:
        cases, methods = cases or quick.cases, methods or quick.methods
    chosen = experiment.only(cases, methods)
    seeds = settings.seeds or (experiment.seeds[: quick.seeds] if settings.quick else experiment.seeds)
    default = quick.rounds if settings.quick else None
    jobs = [
        Job(case.name, method, seed, settings.rounds or default or experiment.rounds_of(case, method))
        for seed in seeds
        for case in chosen.cases
        for method in chosen.runs_on(case)
    ]
    if not jobs:
        raise ArgumentError(f"experiment {experiment.name!r}: these methods do not run on these problems.")
    return experiment, jobs


def remaining(experiment: Experiment, jobs: Sequence[Job], settings: RunSettings) -> list[Job]:
    """Return the runs not in the file yet; refuse where it holds the same runs with other rounds or on other data."""
    file = settings.out / records.FILE
    known: dict[Key, Record] = {records.key_of(record): record for record in records.read(file)[0]}
    left = []
    for job in jobs:
        record = known.get((experiment.world, job.case, job.method, job.seed))
        if record is None:
            left.append(job)
            continue
        what = f"{file}: it holds {job.method} on {job.case}, seed {job.seed},"
        if record["rounds"] != job.rounds:
            raise ArgumentError(
                f"{what} with {record['rounds']} rounds, and {job.rounds} are asked for; give another --out, or --rounds "
                f"{record['rounds']}."
            )
        instead = stand_in(experiment.case(job.case), settings.data, settings.substitutes)
        if record["stand_in"] != instead:
            raise ArgumentError(
                f"{what} run on {record['stand_in'] or 'its own data'}, and {instead or 'its own data'} is asked for; give "
                "another --out."
            )
    return left


def workers_for(experiment: Experiment, settings: RunSettings, runs: int) -> int:
    """Return how many processes run at once."""
    workers = settings.workers or (1 if experiment.timing else os.cpu_count() or 1)
    return max(1, min(workers, runs))


def run_experiment(experiment: Experiment, settings: RunSettings, watcher: Watcher) -> Tally:
    """Do what is left of an experiment; Ctrl-C raises KeyboardInterrupt, with all finished runs written."""
    experiment, jobs = sized(experiment, settings)
    file = settings.out / records.FILE
    left = remaining(experiment, jobs, settings)
    outcome = Tally(skipped=len(jobs) - len(left))
    workers = workers_for(experiment, settings, len(left))
    if workers > 1 and experiment.name not in experiments():
        raise ArgumentError(
            f"experiment {experiment.name!r} is not one of windward's, and other processes cannot find it; use workers=1."
        )
    watcher.begin(len(left), outcome.skipped, workers)
    clock = _Clock(left, workers, records.read(file)[0])

    def take(job: Job, result: Record | str) -> None:
        if isinstance(result, str):
            outcome.failures.append(Failure(job, result))
            watcher.failed(outcome.failures[-1])
            return
        records.append(file, result)
        outcome.done += 1
        watcher.finished(result, clock.left_after(job, result["seconds"]))

    if workers == 1:
        with _one_thread():
            for job in left:
                take(job, _guarded(experiment, job, settings))
    else:
        _in_processes(experiment, left, workers, settings, take)
    return outcome


class _Clock:
    """Estimates the time left: each run to come takes what such runs took, on average."""

    def __init__(self, jobs: Sequence[Job], workers: int, before: Sequence[Record]) -> None:
        self._left, self._workers = list(jobs), workers
        self._taken: dict[tuple[str, str], list[float]] = {}
        for record in before:
            self._taken.setdefault((record["problem"], record["method"]), []).append(record["seconds"])

    def left_after(self, job: Job, seconds: float) -> float:
        self._left.remove(job)
        self._taken.setdefault((job.case, job.method), []).append(seconds)
        every = [value for values in self._taken.values() for value in values]
        by_method: dict[str, list[float]] = {}
        for (_, method), values in self._taken.items():
            by_method.setdefault(method, []).extend(values)
        total = 0.0
        for other in self._left:
            like = self._taken.get((other.case, other.method)) or by_method.get(other.method) or every
            total += sum(like) / len(like)
        return total / self._workers


def _guarded(experiment: Experiment, job: Job, settings: RunSettings) -> Record | str:
    try:
        return run_one(
            experiment,
            job.case,
            job.method,
            job.seed,
            job.rounds,
            settings.data,
            substitutes=settings.substitutes,
        )
    except Exception:
        return traceback.format_exc()


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Set, for the processes started inside, what keeps each library under them to one thread."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _in_processes(
    experiment: Experiment,
    jobs: Sequence[Job],
    workers: int,
    settings: RunSettings,
    take: Callable[[Job, Record | str], None],
) -> None:
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    flying: dict[Future[Record | str], Job] = {}
    with _single_threaded_children():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(stop,))
        try:
            for job in jobs:
                flying[pool.submit(_work, experiment.name, job, settings)] = job
            while flying:
                done, _ = wait(flying, return_when=FIRST_COMPLETED)
                for future in done:
                    take(flying.pop(future), future.result())
        except BrokenProcessPool as error:
            raise ArgumentError(
                f"a worker process was killed (out of memory?) with {len(flying)} runs to go; what is finished is kept: the "
                "same command goes on, with fewer --workers if memory is short."
            ) from error
        finally:
            stop.set()  # whatever still runs now is of no use: workers leave at once
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(stop: Event) -> None:
    """Prepare a worker: one thread, deaf to Ctrl-C (the parent hears it), gone when the parent is."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()


def _watch(stop: Event) -> None:
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive() and not stop.is_set():
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _work(name: str, job: Job, settings: RunSettings) -> Record | str:
    try:
        found = registered(name)
        if settings.extras is not None:
            found = found.with_extras(*load_extras(settings.extras))
    except Exception:
        return traceback.format_exc()
    return _guarded(found, job, settings)
