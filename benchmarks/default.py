"""How well policies decide on the suite (`windward.bench.suite`): regret of every round and of the advice, and seconds.

    python benchmarks/default.py list
    python benchmarks/default.py run --half choose --seeds 0 20 --methods sbo_kde default --jobs 2 --out FILE.jsonl
    python benchmarks/default.py report FILE.jsonl --baseline sbo_kde --out FILE.md

`run` goes on where it stopped: what is in the file is not done again. `--seeds 0 20` is 0 to 19. All methods
meet the same world: contexts, noise and delays come from generators seeded by problem and seed. `--objective tv`, `cvar` or
`wasserstein` judges by the robust value over the problem's truth, on the problems whose contexts are numbers.

A record holds, in the problem's units and lower is better, the regret of each round's decision and of the decision that
`recommend()` gives after rounds 15, 30 and 60, under the method's own report; `scale` is the best value less the average over
the decisions. Methods are in `default_methods.py`; one that a problem's space refuses is recorded as refused, with the reason.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import default_methods
import default_trials
import torch
from default_report import page

import windward as ww
from windward.bench import suite
from windward.bench.metrics import Trace
from windward.bench.play import numbers_of, play, rounded
from windward.bench.problem import Problem
from windward.bench.problems import problem as registered

WORLD = "suite"
HALVES = ("choose", "held", "third", "hills", "choose+hills")
MARKS = (15, 30, 60)
OBJECTIVES = ("expected", "tv", "cvar", "wasserstein")
# Decisions over which the average is taken: a worst case by transport takes a millisecond.
AVERAGED = {"wasserstein": 512}

# What the records of this program depend on, besides the library.
DEPENDS = ("windward", "benchmarks/default_methods.py", "benchmarks/default_trials.py")

Record = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """What one process does at a time: one problem and seed, with all methods that are missing."""

    problem: str
    seed: int
    methods: tuple[str, ...]
    objective: str
    rounds: int
    commit: str
    scale: tuple[float, float] | None = None  # the best value and the spread, where they are known already


def commit(depends: Sequence[str] = DEPENDS) -> str:
    """Return the commit of the library that is measured, with a plus where the files it depends on differ from it.

    Where there is no repository the variable `WINDWARD_COMMIT` says it.
    """
    if stated := os.environ.get("WINDWARD_COMMIT"):
        return stated
    here = Path(ww.__file__).resolve().parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", *depends)
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what tells records apart. The number of rounds matters only to a method that is told it."""
    return record["objective"], record["problem"], record["method"], record["seed"], record["rounds"]


def records_in(path: Path) -> list[Record]:
    """Return the records of a file, none where there is no file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def played(problem: Problem, unit: Unit, method: str, scale: tuple[float, float]) -> Record:
    """Play one run and judge it."""
    policy = default_methods.methods(unit.objective)[method](problem)
    advised: dict[int, torch.Tensor] = {}

    def advice(turn: int, study: ww.Study) -> None:
        if turn + 1 in MARKS and any(trial.value is not None for trial in study.trials.rows):
            found = study.snapshot().assessment("advice").x
            advised[turn + 1] = numbers_of(problem.space.decision, problem.space.decode_decision(found))

    horizon = unit.rounds if method in default_methods.TOLD else None
    record: Record = {"horizon": horizon, "best": scale[0], "scale": scale[1]}
    began = time.perf_counter()
    try:
        trace, _ = play(
            problem,
            policy,
            unit.rounds,
            world=WORLD,
            case=problem.name,
            seed=unit.seed,
            horizon=horizon,
            after=advice,
            parts=default_methods.PARTS,
        )
    except ww.IncompatibleError as error:
        return record | {"refused": str(error)}
    record["seconds"] = rounded(time.perf_counter() - began, 4)
    return record | regrets(problem, unit.objective, trace, advised, scale[0])


def regrets(problem: Problem, objective: str, trace: Trace, advised: Mapping[int, torch.Tensor], best: float) -> Record:
    """Return the regret of each round's decision and of the decisions advised, and the seconds of the asks."""
    goal, contexts = default_methods.objective(objective, problem), judged(objective, problem)
    rounds = len(trace.decisions)
    decisions = torch.cat([trace.decisions, *(row[None] for row in advised.values())])
    with torch.no_grad():
        regret = (best - problem.worth(goal, decisions, contexts)).tolist()
    return {
        "regret": rounded(regret[:rounds]),
        "advice": dict(zip(map(str, advised), rounded(regret[rounds:]), strict=True)),
        "ask_seconds": rounded(trace.seconds.tolist(), 4),
    }


_JUDGED: dict[tuple[str, int], tuple[Problem, ww.Contexts]] = {}


def judged(objective: str, problem: Problem) -> ww.Contexts:
    """Return the contexts by which a problem is judged, the same object for the same problem: its optimum is kept by it."""
    key = objective, id(problem)
    if key not in _JUDGED:
        _JUDGED.clear()
        _JUDGED[key] = problem, default_methods.judged_on(objective, problem)
    return _JUDGED[key][1]


def scale_of(problem: Problem, objective: str) -> tuple[float, float]:
    """Return the best value and the spread."""
    goal, contexts = default_methods.objective(objective, problem), judged(objective, problem)
    best = problem.optimum(goal, contexts).value
    return best, suite.spread(problem, goal, contexts, AVERAGED.get(objective, suite.AVERAGED))


def work(unit: Unit, play_one: Callable[[Problem, Unit, str, tuple[float, float]], Record] = played) -> list[Record]:
    """Return the records of a unit."""
    torch.set_num_threads(1)
    problem = registered(unit.problem, seed=unit.seed)
    scale = unit.scale or scale_of(problem, unit.objective)
    found = []
    for method in unit.methods:
        key = {
            "objective": unit.objective,
            "problem": unit.problem,
            "method": method,
            "seed": unit.seed,
            "rounds": unit.rounds,
            "commit": unit.commit,
        }
        found.append(key | play_one(problem, unit, method, scale))
    return found


def units(arguments: argparse.Namespace, names: Sequence[str], methods: Sequence[str], made_by: str) -> Iterator[Unit]:
    """Yield what is missing in the file, seed by seed, so that a part of it is a fair sample."""
    known = records_in(arguments.out)
    done = {key_of(record) for record in known}
    scales = {(r["objective"], r["problem"], r["seed"]): (r["best"], r["scale"]) for r in known}
    for seed in range(*arguments.seeds):
        for name in names:
            missing = [
                method for method in methods if (arguments.objective, name, method, seed, arguments.rounds) not in done
            ]
            scale, size = scales.get((arguments.objective, name, seed)), arguments.together or len(methods)
            for start in range(0, len(missing), size):
                some = tuple(missing[start : start + size])
                yield Unit(name, seed, some, arguments.objective, arguments.rounds, made_by, scale)


def problems(arguments: argparse.Namespace) -> list[str]:
    """Return the problems of the half, those wanted of them, and under a robust objective those that go with it."""
    names = [name for name in named(arguments.half) if not arguments.problems or name in arguments.problems]
    if arguments.objective == "expected":
        return names
    return [name for name in names if default_methods.robust_problem(registered(name))]


def named(half: str | None) -> tuple[str, ...]:
    """Return the problems of a part of the suite, or those with hills, which are for choosing alone."""
    if half in ("hills", "choose+hills"):
        return default_trials.HILLS + (suite.CHOOSE if half == "choose+hills" else ())
    return suite.names(half)  # type: ignore[arg-type]


def run(arguments: argparse.Namespace) -> None:
    """Play what is not in the file yet."""
    known = default_methods.methods(arguments.objective)
    unknown = [name for name in arguments.methods if name not in known]
    if unknown:
        raise SystemExit(f"no method {', '.join(unknown)}; there are {', '.join(known)}")
    whole_lines(arguments.out)
    waiting = list(units(arguments, problems(arguments), arguments.methods or list(known), commit()))
    record_all(waiting, arguments.out, arguments.jobs, work)


def record_all(waiting: Sequence[Unit], out: Path, jobs: int, work: Callable[[Unit], list[Record]]) -> None:
    """Write the records of each unit to the file as it is done."""
    began = time.perf_counter()
    runs = sum(len(unit.methods) for unit in waiting)
    print(f"{runs} runs of {len(waiting)} problems and seeds", flush=True)
    for place, found in enumerate(results(waiting, jobs, work)):
        with out.open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in found))
        first = found[0]
        spent = time.perf_counter() - began
        print(f"{place + 1}/{len(waiting)} {first['problem']} seed {first['seed']} after {spent:.0f} s", flush=True)


def results(waiting: Sequence[Unit], jobs: int, work: Callable[[Unit], list[Record]]) -> Iterator[list[Record]]:
    """Yield the records of each unit as it is done."""
    if jobs == 1:
        yield from map(work, waiting)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, unit) for unit in waiting]):
            yield future.result()


def whole_lines(path: Path) -> None:
    """Drop a last line that was cut off, so that what follows stands on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not (text := path.read_text()).endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1])


def listed(arguments: argparse.Namespace) -> None:
    """Print the problems, their halves and what they are."""
    print("| half | problem | decisions | contexts | noise | late |\n| --- | --- | --- | --- | --- | --- |")
    for name in suite.names():
        problem = registered(name)
        late = "no" if problem.delay is None else repr(problem.delay)
        noise = f"{problem.noise:g}" + (f", Student {problem.tail}" if problem.tail else "")
        shape = f"{len(problem.space.decision)} | {len(problem.space.context)}"
        print(f"| {suite.half(name)} | `{name}` | {shape} | {noise} | {late} |")


def report(arguments: argparse.Namespace) -> None:
    """Print the tables, or write them to a file."""
    records = [record for path in arguments.files for record in records_in(path)]
    wanted = set(arguments.problems) if arguments.problems else set(named(arguments.half))
    chosen = [r for r in records if r["objective"] == arguments.objective and r["problem"] in wanted]
    text = page(chosen, arguments.baseline, tuple(arguments.methods), after=arguments.after)
    if arguments.out is None:
        print(text)
    else:
        arguments.out.write_text(text)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = whole.add_subparsers(required=True)
    verbs.add_parser("list", help=listed.__doc__).set_defaults(function=listed)
    running = verbs.add_parser("run", help=run.__doc__)
    running.set_defaults(function=run)
    running.add_argument("--seeds", type=int, nargs=2, default=(0, 20), metavar=("FROM", "TO"))
    running.add_argument("--rounds", type=int, default=60)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument(
        "--together", type=int, help="methods that one process plays one after the other; all, left out"
    )
    running.add_argument("--out", type=Path, required=True)
    reporting = verbs.add_parser("report", help=report.__doc__)
    reporting.set_defaults(function=report)
    reporting.add_argument("files", type=Path, nargs="+")
    reporting.add_argument("--baseline", default="sbo_kde")
    reporting.add_argument("--after", type=int, default=10, help="rounds left out of the sums after the design")
    reporting.add_argument("--out", type=Path)
    for verb in (running, reporting):
        verb.add_argument("--half", choices=HALVES, default="choose" if verb is running else None)
        verb.add_argument("--problems", nargs="+", default=[], choices=(*suite.names(), *default_trials.HILLS))
        verb.add_argument("--methods", nargs="+", default=[])
        verb.add_argument("--objective", choices=OBJECTIVES, default="expected")
    return whole


def main() -> None:
    """Read the command line."""
    arguments = parser().parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
