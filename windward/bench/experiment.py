"""What an experiment is: cases that are run, panels that show them, claims of order that are checked.

A *case* is a problem with its delays; a *method* is a function from the problem to a policy; one *run* is a case, a method and
a seed, and has a series for each metric. A *panel* is a set of curves, each a method on a case, under one metric. Experiments
of the same `world` share their runs: figures that show the same runs in other ways cost nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch

from windward.basics.errors import ArgumentError
from windward.bench.metrics import Metric
from windward.bench.problem import Problem
from windward.objectives.protocol import Objective
from windward.policy import Policy

Record: TypeAlias = dict[str, Any]
"""One run, as JSON data."""

Method: TypeAlias = Callable[[Problem], Policy]
"""From the problem to a policy: what a learner is told of it (its reference, its bounds) may go into the policy."""

Make: TypeAlias = Callable[[int, Path | None], Problem]
"""From a seed and the folder of data (None: not given) to a problem."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem to run: a name in the registry, or a function `(seed, data) -> Problem`.

    `delay` replaces the problem's. `methods` limits which of the experiment's are run on it; `rounds` replaces the
    experiment's, `shorter` those of some methods, by name. `instead` names data that always stand in for the paper's.
    """

    name: str
    problem: str | Make
    delay: Callable[[torch.Generator], int | None] | None = None
    methods: tuple[str, ...] | None = None
    rounds: int | None = None
    shorter: Mapping[str, int] = field(default_factory=dict)
    instead: str = ""


@dataclass(frozen=True)
class Curve:
    """One line of a panel: a method on a case; `series` is another of its series than the panel's metric."""

    label: str
    case: str
    method: str
    series: str | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Curves under one metric. `marks` are the rounds of its table; the last one decides claims.

    `upto` is the last round that is shown of longer runs.
    """

    title: str
    metric: Metric
    curves: tuple[Curve, ...]
    marks: tuple[int, ...]
    upto: int | None = None


Relation: TypeAlias = Literal["ahead", "level", "near"]


@dataclass(frozen=True)
class Claim:
    """In this panel `first` is better than `second` by the paper ("ahead"), about as good ("level") or at least that ("near").

    `said` is the place of the paper's own sentence with its deciding words. It is empty where the order is our reading of a
    figure, or of a sentence that says less.
    """

    panel: str
    first: str
    second: str
    relation: Relation = "ahead"
    said: str = ""


@dataclass(frozen=True)
class Published:
    """Numbers the paper prints for a curve, by mark; `same_data` is False where other data stand in for the paper's.

    `errors` are their standard errors where they are known; elsewhere a number counts as uncertain as the mean here.
    """

    panel: str
    curve: str
    values: Mapping[int, float]
    same_data: bool = True
    errors: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a reader takes away from a paper: claims of order that belong together, or numbers that it prints.

    `says` completes "the paper says that", or names the numbers; `said` is the place of its own sentence with the deciding
    words, or of the numbers. Of the experiments `of` the claims that `claims` takes are meant, all of them of the relation
    "ahead"; without it their published numbers.
    """

    paper: str
    says: str
    said: str
    of: tuple[str, ...]
    claims: Callable[[Claim], bool] | None = None


@dataclass(frozen=True)
class Quick:
    """A size that takes less than three minutes on two cores."""

    seeds: int
    rounds: int
    cases: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OwnRun:
    """A run that is no study: series by name, and the marks their entries stand for."""

    series: Mapping[str, list[float]]
    at: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure or table of a paper.

    `metrics` are recorded for every run; `panels` say what is shown. `reports` are the objectives by which, after every
    round, one of the evaluated decisions is reported, for metrics of reports. `timing` marks a table of seconds, which is
    run one process at a time. `own` replaces the study's loop for what is no study. `hyperparameters` says how those of the
    surrogate are found.
    """

    name: str
    source: str
    shows: str
    cases: tuple[Case, ...]
    methods: Mapping[str, Method]
    seeds: tuple[int, ...]
    rounds: int
    metrics: tuple[Metric, ...]
    panels: tuple[Panel, ...]
    quick: Quick
    claims: tuple[Claim, ...] = ()
    published: tuple[Published, ...] = ()
    reports: Mapping[str, Objective] = field(default_factory=dict)
    world: str = ""
    timing: bool = False
    notes: str = ""
    hyperparameters: str = ""
    own: Callable[[Case, str, int, int], OwnRun] | None = field(default=None)

    def __post_init__(self) -> None:
        if not self.world:
            object.__setattr__(self, "world", self.name)

    def case(self, name: str) -> Case:
        """Return the case of this name, or raise with near names."""
        found = {case.name: case for case in self.cases}
        check_known(f"experiment {self.name!r}", "problem", [name], found, "One of your own comes by --with FILE.")
        return found[name]

    def runs_on(self, case: Case) -> tuple[str, ...]:
        """Return the names of the methods that run on a case."""
        return tuple(self.methods) if case.methods is None else case.methods

    def rounds_of(self, case: Case, method: str) -> int:
        """Return the rounds of a method on a case."""
        return case.shorter.get(method) or case.rounds or self.rounds

    def only(self, cases: Iterable[str] | None = None, methods: Iterable[str] | None = None) -> Experiment:
        """Return the experiment with some of its cases and methods alone; unknown names are refused."""
        kept_cases = self.cases if cases is None else tuple(self.case(name) for name in cases)
        if methods is None:
            return replace(self, cases=kept_cases)
        wanted = tuple(methods)
        check_known(
            f"experiment {self.name!r}", "method", wanted, self.methods, "One of your own comes by --with FILE."
        )
        limited = tuple(
            replace(case, methods=tuple(name for name in self.runs_on(case) if name in wanted)) for case in kept_cases
        )
        return replace(self, cases=limited)

    def with_extras(self, methods: Mapping[str, Method], problems: Mapping[str, Make]) -> Experiment:
        """Return the experiment with more methods, and with more problems shown like its first panel."""
        for name in methods:
            if name in self.methods:
                raise ArgumentError(f"experiment {self.name!r}: it has a method {name!r} already; choose another name.")
        for name in problems:
            if name in {case.name for case in self.cases}:
                raise ArgumentError(
                    f"experiment {self.name!r}: it has a problem {name!r} already; choose another name."
                )
        first = self.cases[0]
        cases = tuple(
            replace(case, methods=None if case.methods is None else (*case.methods, *methods)) for case in self.cases
        )
        more = tuple(Case(name=name, problem=make, rounds=first.rounds) for name, make in problems.items())
        together = {**self.methods, **methods}
        marks, metric = self.panels[0].marks, self.panels[0].metric
        panels = tuple(
            replace(panel, curves=(*panel.curves, *(Curve(n, panel.curves[0].case, n) for n in methods)))
            for panel in self.panels
        )
        own = tuple(
            Panel(title=name, metric=metric, marks=marks, curves=tuple(Curve(m, name, m) for m in together))
            for name in problems
        )
        return replace(self, cases=(*cases, *more), methods=together, panels=(*panels, *own))


def panel_per_case(
    cases: Iterable[Case], methods: Iterable[str], metric: Metric, marks: tuple[int, ...]
) -> tuple[Panel, ...]:
    """Return one panel for each case, with a curve for each method that runs on it."""
    names = tuple(methods)
    return tuple(
        Panel(
            title=case.name,
            metric=metric,
            marks=marks,
            curves=tuple(
                Curve(name, case.name, name) for name in names if case.methods is None or name in case.methods
            ),
        )
        for case in cases
    )


def check_known(where: str, what: str, names: Iterable[str], known: Iterable[str], otherwise: str = "") -> None:
    """Raise `ArgumentError` for the first name that is not known, with the near ones and what else can be done."""
    known = list(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "there is none like it."
            raise ArgumentError(f"{where}: no {what} {name!r}; {hint} Known: {', '.join(known)}. {otherwise}".rstrip())
