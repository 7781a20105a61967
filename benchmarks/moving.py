"""How well policies decide in worlds that move (`moving_worlds.py`): the regret of every round beside an oracle.

    python benchmarks/moving.py run --out FILE.jsonl --seeds 0 20 --jobs 16 --seconds 500
    python benchmarks/moving.py report FILE.jsonl
    python benchmarks/moving.py table FILE.jsonl      # the one of docs/moving.md
    python benchmarks/moving.py keep FILE.jsonl --out benchmarks/results/moving.jsonl.gz

The oracle knows the truth of the round: how the outcome depends on decision and context, and the distribution that the round's
context is drawn from. In the worlds with a forecaster who knows the day, it knows the day too. The regret of a round is the
oracle's true expectation less that of the decision that was made, in the world's units. Contexts are revealed and outcomes told
before the next ask.

`run` goes on where it stopped: what is in the file is not done again. `--seeds 0 20` is 0 to 19; seeds are the outer loop, so
that a part of it is a fair sample: few seeds of everything. With `--seconds` no run is begun after that many seconds; the ones
that have begun are played to their end. All methods meet the same contexts, noise and forecasts. Methods are in
`moving_methods.py`; without `--methods` those of its `MAIN`. A method is left out where it makes no sense (a forecast where
nobody forecasts), and recorded as refused where its policy refuses the world.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import torch
from default import commit, records_in, whole_lines
from moving_methods import MAIN, METHODS, Method
from moving_report import page, whole_loop
from moving_worlds import PRACTICE, ROUNDS, WORLDS, Course, World, named
from torch import Tensor

import windward as ww
from windward.bench.play import numbers_of, rounded, world_seed

# What the records depend on, besides the library.
DEPENDS = ("windward", "benchmarks/moving_methods.py", "benchmarks/moving_worlds.py", "benchmarks/moving.py")

# The date of the first round, a Monday: calendars see one round a day.
START = datetime(2024, 1, 1, tzinfo=UTC)

Record = dict[str, Any]


class Unit(NamedTuple):
    """One run: what one process does at a time."""

    seed: int
    world: str
    method: str
    rounds: int
    commit: str


_BESTS: dict[tuple[str, tuple[float, ...]], float] = {}


def bests(course: Course, rounds: int) -> list[float]:
    """Return the oracle's expectation of each round; states that many courses share are solved once."""
    found = []
    for state in course.states[:rounds]:
        key = course.world.name, tuple(state.tolist())
        if key not in _BESTS:
            _BESTS[key] = course.world.best(state)[1]
        found.append(_BESTS[key])
    return found


def studied(course: Course, method: Method, rounds: int) -> tuple[Tensor, list[float]]:
    """Let a study decide round by round; return its decisions `"rounds d"` and the seconds of its asks."""
    world = course.world
    space = ww.Space(decision=dict(world.decision), context={**method.contexts(world), **method.more(world)})
    assert method.policy is not None
    study = ww.Study(space, method.policy(), seed=world_seed("moving", world.name, course.seed, "study") % 2**53)
    decisions, seconds = [], []
    for turn in range(rounds):
        given = method.given(course, turn)
        began = time.perf_counter()
        suggestion = study.ask(context=given or None, when=START + timedelta(days=turn))
        seconds.append(time.perf_counter() - began)
        study.reveal(suggestion.id, method.seen(course, turn))
        decision = numbers_of(world.decision, suggestion.decision)
        study.tell(suggestion.id, course.outcome(turn, decision) + float(course.noise[turn]))
        decisions.append(decision)
    return torch.stack(decisions), seconds


def played(course: Course, name: str, rounds: int) -> Record:
    """Play one method in one course and judge it."""
    method, began = METHODS[name], time.perf_counter()
    seconds: list[float] = []
    try:
        if method.decides is None:
            decisions, seconds = studied(course, method, rounds)
        else:
            decisions = method.decides(course, rounds)
    except ww.IncompatibleError as error:
        return {"refused": str(error)}
    spent = time.perf_counter() - began
    met = zip(bests(course, rounds), decisions, strict=True)
    regret = [best - course.worth(turn, x) for turn, (best, x) in enumerate(met)]
    return {
        "regret": rounded(regret, 5),
        "decisions": rounded(decisions.tolist(), 5),
        "ask_seconds": rounded(seconds, 3),
        "seconds": rounded(spent, 4),
    }


def work(unit: Unit) -> Record:
    """Return the record of a run."""
    torch.set_num_threads(1)
    course = Course.of(named(unit.world), unit.seed)
    key = {"world": unit.world, "method": unit.method, "seed": unit.seed, "rounds": unit.rounds, "commit": unit.commit}
    return key | played(course, unit.method, unit.rounds)


def missing(arguments: argparse.Namespace, worlds: Sequence[World]) -> Iterator[Unit]:
    """Yield what is not in the file yet, seed by seed."""
    known, made_by = records_in(arguments.out), commit(DEPENDS)
    done = {(record["world"], record["method"], record["seed"], record["rounds"]) for record in known}
    for seed in range(*arguments.seeds):
        for world in worlds:
            for name in arguments.methods or MAIN:
                if METHODS[name].suits(world) and (world.name, name, seed, arguments.rounds) not in done:
                    yield Unit(seed, world.name, name, arguments.rounds, made_by)


def results(units: Sequence[Unit], jobs: int, seconds: float) -> Iterator[Record]:
    """Yield the records of runs as they are done; none is begun after so many seconds."""
    began, waiting = time.perf_counter(), iter(units)

    def upcoming() -> Unit | None:
        return next(waiting, None) if time.perf_counter() - began < seconds else None

    if jobs == 1:
        while (unit := upcoming()) is not None:
            yield work(unit)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        playing: set[Future[Record]] = set()
        while True:
            while len(playing) < jobs and (unit := upcoming()) is not None:
                playing.add(pool.submit(work, unit))
            if not playing:
                return
            done, playing = wait(playing, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def run(arguments: argparse.Namespace) -> None:
    """Play what is not in the file yet."""
    unknown = [name for name in arguments.methods if name not in METHODS]
    if unknown:
        raise SystemExit(f"no method {', '.join(unknown)}; there are {', '.join(METHODS)}")
    whole_lines(arguments.out)
    units = list(missing(arguments, [named(name) for name in arguments.worlds] or WORLDS))
    began, count = time.perf_counter(), 0
    for record in results(units, arguments.jobs, arguments.seconds):
        with arguments.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        count += 1
        lost = sum(record["regret"]) if "regret" in record else math.nan
        print(
            f"{count}/{len(units)} seed {record['seed']} {record['world']} {record['method']}: {lost:.1f} "
            f"after {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    print(f"{count} of {len(units)} runs done, {len(units) - count} left", flush=True)


def read(path: Path) -> list[Record]:
    """Return the records of a file, packed or not."""
    if path.suffix != ".gz":
        return records_in(path)
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def keep(arguments: argparse.Namespace) -> None:
    """Write what the report needs of records to a packed file: regrets, and the median seconds of an ask past the tenth."""
    records = sorted((record for path in arguments.files for record in read(path)), key=lambda record: record["seed"])
    lines = []
    for record in records:
        short = {name: value for name, value in record.items() if name not in ("decisions", "ask_seconds")}
        if len(record.get("ask_seconds", [])) > 10:
            short["ask_median"] = rounded(statistics.median(record["ask_seconds"][10:]), 3)
        if "regret" in record:
            short["regret"] = rounded(record["regret"], 4)
        lines.append(json.dumps(short) + "\n")
    # No name and no time inside: the same records make the same file.
    arguments.out.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def report(arguments: argparse.Namespace) -> None:
    """Print the tables, or write them to a file."""
    records = [record for path in arguments.files for record in read(path)]
    order = [name for name in METHODS if not arguments.methods or name in arguments.methods]
    text = page(records, [world.name for world in (*WORLDS, *PRACTICE)], order, arguments.baseline)
    if arguments.out is None:
        print(text)
    else:
        arguments.out.write_text(text)


def table(arguments: argparse.Namespace) -> None:
    """Print the table of docs/moving.md."""
    records = [record for path in arguments.files for record in read(path)]
    print(whole_loop(records, [world.name for world in WORLDS]))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = whole.add_subparsers(required=True)
    running = verbs.add_parser("run", help=run.__doc__)
    running.set_defaults(function=run)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--seeds", type=int, nargs=2, default=(0, 20), metavar=("FROM", "TO"))
    running.add_argument("--rounds", type=int, default=ROUNDS, choices=range(1, ROUNDS + 1), metavar="ROUNDS")
    names = [world.name for world in (*WORLDS, *PRACTICE)]
    running.add_argument("--jobs", type=int, default=1, help="runs at once, each in a process of one thread")
    running.add_argument("--seconds", type=float, default=math.inf, help="no run begins after that many")
    running.add_argument("--worlds", nargs="+", default=[], choices=names, metavar="WORLD")
    keeping = verbs.add_parser("keep", help=keep.__doc__)
    keeping.set_defaults(function=keep)
    keeping.add_argument("files", type=Path, nargs="+")
    keeping.add_argument("--out", type=Path, required=True)
    reporting = verbs.add_parser("report", help=report.__doc__)
    reporting.set_defaults(function=report)
    reporting.add_argument("files", type=Path, nargs="+")
    reporting.add_argument("--baseline", default="default")
    reporting.add_argument("--out", type=Path)
    shown = verbs.add_parser("table", help=table.__doc__)
    shown.set_defaults(function=table)
    shown.add_argument("files", type=Path, nargs="+")
    for verb in (running, reporting):
        verb.add_argument("--methods", nargs="+", default=[])
    return whole


def main() -> None:
    """Read the command line."""
    arguments = parser().parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
