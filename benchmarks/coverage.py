"""How often intervals hold the truth: recommendations of many invented problems, beside what is true of them.

    python benchmarks/coverage.py list
    python benchmarks/coverage.py run --half choose --seeds 24 --modes history --out FILE.jsonl
    python benchmarks/coverage.py trails --half choose --seeds 8              # plays runs and keeps them, nothing else
    python benchmarks/coverage.py run --half third --processes 16 --seconds 400 --out FILE.jsonl
    python benchmarks/coverage.py report BEFORE.jsonl AFTER.jsonl

`run` goes on where it stopped: what is in the file is not done again. Runs are kept in a file of their own (`--trails`): only
asks can change them, so a change of the interval is measured on the same runs. `--old` measures a version whose recommendation
has one interval and no `between(level)`. `--caution 0 1` recommends with each caution in turn; references and comparisons are
left out then, unless `--full` asks for them.
Problems are split by their names (`coverage_problems.py`): choose with one half, confirm once with
the held one. `new` are those written after the held ones had been looked at, `third` those after the new ones.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from coverage_cases import MODES, SIZES, Measuring, Options, Trails, check_library
from coverage_problem import Problem
from coverage_problems import HALVES, chosen, half_of, problems
from coverage_report import page
from side_by_side import done_by

import windward as ww

TRAILS = Path("bench-results/coverage-trails.jsonl")


def commit() -> str:
    """Return the commit of the library that is measured, with a plus where its files differ from it.

    On a copy without a repository it is what `WINDWARD_COMMIT` says.
    """
    if "WINDWARD_COMMIT" in os.environ:
        return os.environ["WINDWARD_COMMIT"]
    here = Path(ww.__file__).resolve().parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "windward")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def key_of(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("problem", "mode", "n", "seed", "caution"))


def records_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    """Measure what is not in the file yet, seed by seed, so that a part of it is a fair sample."""
    options = Options(
        sizes=tuple(sorted(arguments.sizes)),
        old=arguments.old,
        cautions=tuple(arguments.caution) if arguments.caution else (None,),
        full=arguments.full or not arguments.caution,
        commit=commit(),
    )
    check_library(options)
    began, new = time.perf_counter(), 0
    some, done = chosen(arguments.half, arguments.only), {key_of(record) for record in records_in(arguments.out)}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    know_the_best(arguments.processes, some)
    tasks = wanted(arguments, options, some, done)
    for found in done_by(arguments.processes, Measuring.__call__, tasks):
        fresh = [one for one in found if key_of(one) not in done]
        with arguments.out.open("a") as file:  # whole cases alone: a line is written at once
            file.write("".join(json.dumps(one) + "\n" for one in fresh))
        new += len(fresh)
        if fresh and not new % 300:
            print(f"{new} records in {time.perf_counter() - began:.0f} s", flush=True)
        if time.perf_counter() - began > arguments.seconds:
            print("more to measure", flush=True)
            break
    print(f"{new} records in {time.perf_counter() - began:.0f} s", flush=True)


def wanted(
    arguments: argparse.Namespace, options: Options, some: list[Problem], done: set[tuple[Any, ...]]
) -> Iterator[Measuring]:
    """Yield what is not in the file yet, seed by seed."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for problem in some:
            for mode in arguments.modes:
                keys = {(problem.name, mode, n, seed, k) for n in options.sizes for k in options.cautions}
                if not keys <= done:
                    yield Measuring(problem.name, mode, seed, options, arguments.trails)


def know_the_best(processes: int, some: list[Problem]) -> None:
    """Find the best decision of each problem once, before other processes are forked: each would search for it."""
    if processes > 1:
        for name, best in done_by(processes, best_of, [problem.name for problem in some]):
            vars(problems()[name])["best"] = best  # what the cached property would keep


def best_of(name: str) -> tuple[str, Any]:
    return name, problems()[name].best


def play(arguments: argparse.Namespace) -> None:
    """Play runs and keep them; nothing is recommended."""
    trails = Trails(arguments.trails, commit())
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for problem in chosen(arguments.half, arguments.only):
            trails.rows(problem, seed, SIZES[-1])
        print(f"seed {seed}", flush=True)


def listed(arguments: argparse.Namespace) -> None:
    """Print the problems and their halves."""
    for name, problem in problems().items():
        half, kinds = half_of(name), ", ".join(sorted(problem.tags))
        shape = f"{len(problem.space.decision)} + {len(problem.space.context)}"
        print(f"{half:6} {name:32} {problem.kind:8} {shape}  {kinds}")


def report(arguments: argparse.Namespace) -> None:
    """Print the tables of each file."""
    for path in arguments.files:
        print(page(path.stem, records_in(path)))


def caution(word: str) -> float | str:
    """Return a caution as `Report` takes it: a number, or a word."""
    try:
        return float(word)
    except ValueError:
        return word


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = whole.add_subparsers(required=True)
    for name, function in (("run", run), ("trails", play)):
        verb = verbs.add_parser(name, help=function.__doc__)
        verb.set_defaults(function=function)
        verb.add_argument("--half", choices=HALVES, default="choose")
        verb.add_argument("--seeds", type=int, default=70)
        verb.add_argument("--first-seed", type=int, default=0)
        verb.add_argument("--only", nargs="+", default=[], metavar="NAME")
        verb.add_argument("--trails", type=Path, default=TRAILS)
        if name == "run":
            verb.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
            verb.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
            verb.add_argument("--caution", nargs="+", type=caution, metavar="K")
            verb.add_argument("--full", action="store_true")
            verb.add_argument("--old", action="store_true")
            verb.add_argument("--processes", type=int, default=1)
            verb.add_argument("--seconds", type=float, default=float("inf"), help="nothing more is begun after that")
            verb.add_argument("--out", type=Path, required=True)
    verbs.add_parser("list", help=listed.__doc__).set_defaults(function=listed)
    verb = verbs.add_parser("report", help=report.__doc__)
    verb.set_defaults(function=report)
    verb.add_argument("files", nargs="+", type=Path)
    return whole


def main(words: list[str]) -> None:
    torch.set_num_threads(1)
    arguments = parser().parse_args(words)
    arguments.function(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
