"""Cases of `coverage.py`: a study from a history or from its own asks, what it recommends, and the truth beside it."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from coverage_problem import Columns, Problem, Values
from coverage_problems import problems
from coverage_references import references

import windward as ww
from windward.suggest import assess

SIZES = (15, 30, 60, 120)
LEVELS = (0.5, 0.8, 0.9, 0.95)
MODES = ("history", "run")
# Two decisions anywhere are compared in one of so many seeds.
ANYWHERE = 3
# What a recommendation says of itself besides its interval, where it does.
PARTS = ("unknown_function", "unknown_contexts", "allowed_shift")


@dataclass(frozen=True)
class Options:
    """How cases are measured: `old` for a library whose recommendation knows one interval only."""

    sizes: tuple[int, ...] = SIZES
    old: bool = False
    cautions: tuple[float | str | None, ...] = (None,)
    full: bool = True  # with references and comparisons
    commit: str = ""


def check_library(options: Options) -> None:
    """Refuse options that this version of the library does not know."""
    if any(caution is not None for caution in options.cautions) and not has_field(ww.Report, "caution"):
        raise SystemExit("--caution: Report has no field 'caution' in this version; leave the option out.")
    if not options.old and not hasattr(ww.Recommendation, "between"):
        raise SystemExit("Recommendation has no between(level) in this version; give --old.")
    if options.old and hasattr(ww.Recommendation, "between"):
        raise SystemExit("--old: Recommendation has between(level) in this version; leave the option out.")


def has_field(part: type, name: str) -> bool:
    return name in {field.name for field in fields(part)}


def chance_of(problem: Problem, mode: str, seed: int, stream: int = 0) -> np.random.Generator:
    """Return random numbers of one case, the same in every version of the library; stream 0 makes its rows."""
    return np.random.default_rng([zlib.crc32(problem.name.encode()), MODES.index(mode), seed, stream])


# -- rows: what was decided, which context came, what was measured ---------------------------------------------------


def history(problem: Problem, seed: int, count: int = SIZES[-1]) -> list[ww.Past]:
    """Return an imported history: contexts by nature, decisions by habit."""
    chance = chance_of(problem, "history", seed)
    contexts = problem.contexts(SIZES[-1], chance)
    decisions = problem.habit(problem, contexts, chance)
    values = problem.f(decisions, contexts)
    told = values + problem.noise(values, chance)
    rows = zip(problem.rows(decisions), told.tolist(), problem.rows(contexts), strict=True)
    return [ww.Past(*row) for row in rows][:count]


def trail(problem: Problem, seed: int, count: int) -> list[ww.Past]:
    """Return what a study asks by its own policy, and what came back; a part that is given is known at the ask."""
    chance = chance_of(problem, "run", seed)
    columns = problem.contexts(SIZES[-1], chance)
    contexts, luck = problem.rows(columns), chance.integers(2**63, size=SIZES[-1])
    study = ww.Study(problem.space, problem.policy, seed=seed, direction=problem.direction)
    rows = []
    for place in range(count):
        known = {name: contexts[place][name] for name in problem.given}
        asked = study.ask(context=known or None)
        told = evaluated(problem, asked.decision, columns, place, np.random.default_rng(int(luck[place])))
        study.tell(asked.id, told, context=contexts[place])
        rows.append(ww.Past(dict(asked.decision), told, contexts[place]))
    return rows


def evaluated(problem: Problem, decision: Values, columns: Columns, place: int, chance: np.random.Generator) -> float:
    """Return f and noise of one decision in one context."""
    here = {name: column[place : place + 1] for name, column in columns.items()}
    values = problem.f({name: np.array([value]) for name, value in decision.items()}, here)
    return float((values + problem.noise(values, chance))[0])


class Trails:
    """Runs that were played before, kept in a file: a change of the interval alone moves no ask, so they serve again."""

    def __init__(self, path: Path, commit: str) -> None:
        self.path, self.commit = path, commit

    @cached_property
    def places(self) -> dict[tuple[str, int], int]:
        """Where in the file each run stands."""
        found: dict[tuple[str, int], int] = {}
        if self.path.exists():
            with self.path.open("rb") as file:
                for line in iter(file.readline, b""):
                    kept = json.loads(line)
                    if len(kept["rows"]) >= SIZES[-1]:
                        found[kept["problem"], kept["seed"]] = file.tell() - len(line)
        return found

    def rows(self, problem: Problem, seed: int, count: int) -> list[ww.Past]:
        """Return the first rows of a run, played now where it was not."""
        if (problem.name, seed) not in self.places:
            rows = trail(problem, seed, count)
            if count == SIZES[-1]:
                self._keep(problem, seed, rows)
            return rows
        with self.path.open("rb") as file:
            file.seek(self.places[problem.name, seed])
            return [ww.Past(*row) for row in json.loads(file.readline())["rows"]][:count]

    def _keep(self, problem: Problem, seed: int, rows: Sequence[ww.Past]) -> None:
        kept = [[dict(row.decision), row.value, dict(row.context or {})] for row in rows]
        line = json.dumps({"problem": problem.name, "seed": seed, "commit": self.commit, "rows": kept})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            self.places[problem.name, seed] = file.tell()
            file.write(line.encode() + b"\n")


# -- cases -------------------------------------------------------------------------------------------------------------


def played(problem: Problem, mode: str, seed: int, options: Options, trails: Trails) -> Iterator[dict[str, Any]]:
    """Yield a record for each size and caution: one study that grows, and a recommendation at each size.

    In a run the rows are asked, not added: a study may trust its own asks more than what was imported. They are asked from a
    design that does not end, with the decision fixed to the one of the trail, so that asking costs nothing.
    """
    most = max(options.sizes)
    rows = history(problem, seed, most) if mode == "history" else trails.rows(problem, seed, most)
    policy = replayed(problem)
    study = ww.Study(problem.space, policy, seed=seed, direction=problem.direction)  # type: ignore[arg-type]
    done = 0
    for size in options.sizes:
        feed(problem, study, mode, rows[done:size])
        done = size
        for caution in options.cautions:
            if caution is not None:
                study.use(replace(policy, report=replace(policy.report, caution=caution)))
            record = measured(problem, study, options)
            if options.full:
                chances = [chance_of(problem, mode, seed, 2 * size + place) for place in range(2)]
                record["references"] = references(problem, study, record["decision"], chances[0])
                anywhere = seed % ANYWHERE == 0
                record["comparisons"] = comparisons(problem, study, record["decision"], chances[1], anywhere=anywhere)
            named = {"problem": problem.name, "mode": mode, "n": size, "seed": seed, "caution": caution}
            yield named | {"commit": options.commit} | record


def replayed(problem: Problem) -> ww.Policy:
    """Return the problem's policy with a design that does not end: it asks at once what is fixed, and recommends the same."""
    return replace(problem.policy, design=ww.RandomDesign())


def feed(problem: Problem, study: ww.Study, mode: str, rows: Sequence[ww.Past]) -> None:
    """Give a study more rows, imported or asked."""
    if mode == "history":
        study.add_many(rows, again=True)
        return
    for row in rows:
        assert row.context is not None
        known = {name: row.context[name] for name in problem.given}
        asked = study.ask(context=known or None, fix=row.decision)
        study.tell(asked.id, row.value, context=row.context)


def measured(problem: Problem, study: ww.Study, options: Options) -> dict[str, Any]:
    """Return what the study recommends and what is true of it."""
    began = time.perf_counter()
    with drawn() if options.old else nothing() as draws:
        found = study.recommend(context=problem.given or None)
    seconds = time.perf_counter() - began
    decision = dict(found.decision)
    _, best, spread = problem.best
    return {
        "decision": decision,
        "truth": problem.truth.value(decision),
        "best": best,
        "spread": spread,
        "status_quo": problem.truth.value(problem.status_quo),
        "value": found.value,
        "intervals": intervals(problem, found, draws),
        "parts": {name: plain(getattr(found, name)) for name in PARTS if hasattr(found, name)},
        "least": least_seen(problem, study),
        "seconds": seconds,
    }


def intervals(problem: Problem, found: Any, draws: Sequence[torch.Tensor]) -> dict[str, list[float]]:
    """Return the interval at each level, by the recommendation itself or by the draws of an old one."""
    if not draws:
        return {str(level): [float(end) for end in found.between(level)] for level in LEVELS}
    both = {}
    for level in LEVELS:
        ends = torch.tensor([0.5 - level / 2.0, 0.5 + level / 2.0], dtype=torch.float64)
        both[str(level)] = sorted((problem.sign * draws[-1].quantile(ends)).tolist())
    return both


@contextmanager
def drawn() -> Iterator[list[torch.Tensor]]:
    """Keep the draws behind the interval of a version that has one level only."""
    kept: list[torch.Tensor] = []
    original = assess._draws  # type: ignore[attr-defined]

    def keep(*arguments: Any) -> torch.Tensor:
        kept.append(original(*arguments))
        return kept[-1]

    assess._draws = keep  # type: ignore[attr-defined]
    try:
        yield kept
    finally:
        assess._draws = original  # type: ignore[attr-defined]


@contextmanager
def nothing() -> Iterator[list[torch.Tensor]]:
    yield []


def plain(value: Any) -> Any:
    """Return a number or a pair of them as JSON takes it."""
    return (
        [float(part) for part in value] if isinstance(value, tuple | list) else None if value is None else float(value)
    )


def least_seen(problem: Problem, study: ww.Study) -> int | None:
    """Return how often the least frequent category of a context was seen, or the one that is given; None without any."""
    counts = []
    for name, parameter in problem.space.context.items():
        seen = [trial.context.get(name) for trial in study.trials]
        asked = [problem.given[name]] if name in problem.given else parameter.choices
        counts += [seen.count(choice) for choice in asked if parameter.choices]
    return min(counts, default=None)


def comparisons(
    problem: Problem, study: ww.Study, decision: Values, chance: np.random.Generator, *, anywhere: bool
) -> list[dict[str, Any]]:
    """Return what the study says of pairs of decisions, and the truth; nothing where it cannot compare.

    The recommended one against the status quo, and two decisions anywhere.
    """
    both = [
        problem.space.decode_decision(torch.from_numpy(x)) for x in chance.random((2, problem.space.decision_width))
    ]
    if not hasattr(study, "compare"):
        return []
    pairs = {"advice": (problem.status_quo, decision)} | ({"anywhere": tuple(both)} if anywhere else {})
    found = []
    for kind, (one, other) in pairs.items():
        before, after = problem.truth.values([one, other])
        if abs(after - before) < 1e-9 * problem.best[2]:  # the same decision: neither is better
            continue
        given: Mapping[str, Any] = {"context": problem.given} if problem.given else {}
        said = study.compare(one, other, **given)
        found.append(
            {
                "kind": kind,
                "truth": float(after - before),
                "better": bool(problem.sign * (after - before) > 0.0),
                "difference": float(said.difference),
                "interval": [float(end) for end in said.interval],
                "probability": float(said.probability),
            }
        )
    return found


@dataclass(frozen=True)
class Measuring:
    """One study of a problem to measure, in a process of its own or not."""

    problem: str
    mode: str
    seed: int
    options: Options
    trails: Path

    def __call__(self) -> list[dict[str, Any]]:
        """Return a record for each size and caution."""
        options = self.options
        return list(
            played(problems()[self.problem], self.mode, self.seed, options, Trails(self.trails, options.commit))
        )
