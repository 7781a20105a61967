"""One run: a study in memory plays a problem for some rounds, and becomes a record.

The world's randomness (contexts, noise, delays) comes from generators seeded by the world's name, the case, the seed and
the purpose, never by the method: methods meet the same world, and start from the same design where it is of one kind.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from windward.basics import streams
from windward.basics.errors import ArgumentError
from windward.bench.experiment import Case, Experiment, Record
from windward.bench.listed import PARTS, among_listed
from windward.bench.metrics import Trace
from windward.bench.problem import Problem
from windward.bench.problems import entry
from windward.bench.problems import problem as registered
from windward.bench.problems.registry import DATA_VARIABLE
from windward.bench.provenance import commit
from windward.feedback import Censoring
from windward.objectives.protocol import Objective, Radial
from windward.policy import Policy
from windward.space.parameters import Parameter, Value
from windward.study.ask import versions
from windward.study.study import Study
from windward.suggest.prepare import Request, arrived_only, prepare
from windward.trials.foretold import Forecast
from windward.trials.records import Suggestion, Trial

# Version of a record's fields; a reader refuses what it does not know.
FORMAT = 1
# Digits kept of what is recorded: enough for any figure, a third of the bytes.
DIGITS = 7


def world_seed(world: str, case: str, seed: int, purpose: str) -> int:
    """Return the seed of one stream of the world's randomness: the same on every machine and for every method."""
    text = "\x1f".join((world, case, str(seed), purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def stand_in(case: Case, data: Path | None, substitutes: bool) -> str | None:
    """Return the problem that takes the place of a case whose data are missing, None where its own is used."""
    if not substitutes or not isinstance(case.problem, str):
        return None
    found = entry(case.problem)
    folder = data or os.environ.get(DATA_VARIABLE)
    missing = [name for name in found.files if folder is None or not (Path(folder) / name).is_file()]
    return found.substitute if missing else None


def make_problem(case: Case, seed: int, data: Path | None, substitutes: bool = False) -> Problem:
    """Return the case's problem for a seed; with `substitutes`, one that needs no data where its own are missing."""
    if isinstance(case.problem, str):
        name = stand_in(case, data, substitutes) or case.problem
        made = registered(name, seed=seed, data=data)
    else:
        made = case.problem(seed, data)
    return made if case.delay is None else replace(made, delay=case.delay)


@dataclass
class World:
    """What nature does in each round: one draw per round and purpose, needed or not, so that methods stay paired.

    `draw(turn)` gives the context, the noise of the value and the rounds after which it comes, None where it never does. Rounds
    are drawn one after another.
    """

    problem: Problem
    contexts: torch.Generator
    noise: torch.Generator
    delays: torch.Generator

    @staticmethod
    def of(problem: Problem, world: str, case: str, seed: int) -> World:
        streams = [
            torch.Generator().manual_seed(world_seed(world, case, seed, name))
            for name in ("contexts", "noise", "delays")
        ]
        return World(problem, *streams)

    def draw(self, turn: int) -> tuple[Tensor, float, int | None]:
        context = self.problem.draw(turn, self.contexts)
        noise = float(torch.randn(1, generator=self.noise, dtype=torch.float64))
        tail = self.problem.tail
        if tail is not None:  # Student's, scaled to a standard deviation of one
            squares = torch.randn(tail, generator=self.noise, dtype=torch.float64).square().sum()
            noise *= math.sqrt((tail - 2) / float(squares))
        noise *= self.problem.noise
        return context, noise, 0 if self.problem.delay is None else self.problem.delay(self.delays)


def play(
    problem: Problem,
    policy: Policy,
    rounds: int,
    *,
    world: str,
    case: str,
    seed: int,
    reports: Mapping[str, Objective] | None = None,
    horizon: int | None = None,
    after: Callable[[int, Study], None] | None = None,
    parts: Sequence[type] = (),
) -> tuple[Trace, float]:
    """Play the rounds; return what happened, and the seconds that reports took.

    A value is told after the ask at which it is due: a delay of 0 is told before the next ask. Contexts are revealed at
    once. `reports` are objectives by which one of the evaluated decisions is reported after every round. The study is told the
    `horizon`. `after(round, study)` is called at the end of every round. `parts` are the policy's own.
    """
    nature = World.of(problem, world, case, seed)
    policy = among_listed(policy, problem)
    study_seed = world_seed(world, case, seed, "study") % 2**53
    study = Study(problem.space, policy, seed=study_seed, parts=[*PARTS, *parts], horizon=horizon)
    asked: list[tuple[Tensor, Tensor, float, float]] = []
    due: dict[int, list[int]] = {}
    reports = reports or {}
    reported: dict[str, list[Tensor]] = {name: [] for name in reports}
    arrived, ask_seconds, report_seconds = [-1] * rounds, [], 0.0
    for turn in range(rounds):
        context, noise, delay = nature.draw(turn)
        given = values_of(problem.space.context, context) if problem.context_first else None
        coming, radius = foretold_at(problem, policy, turn)
        began = time.perf_counter()
        suggestion = study.ask(context=given if coming is None else coming, radius=radius)
        ask_seconds.append(time.perf_counter() - began)
        if given is None:
            context = _met(study, suggestion, context)
        decision = numbers_of(problem.space.decision, suggestion.decision)
        value = float(problem.value(decision[None], context[None])[0])
        asked.append((decision, context, value, value + noise))
        if delay is not None:
            due.setdefault(turn + delay, []).append(suggestion.id)
        for id in due.pop(turn, []):
            study.tell(id, asked[id][3])
            arrived[id] = -1 if dropped(policy, study.trials.rows[id]) else turn
        if reports:
            began = time.perf_counter()
            for name, decision in report_decisions(study, reports).items():
                reported[name].append(decision)
            report_seconds += time.perf_counter() - began
        if after is not None:
            after(turn, study)
    return _trace(asked, arrived, ask_seconds, reported), report_seconds


def foretold_at(problem: Problem, policy: Policy, turn: int) -> tuple[Forecast | None, float | None]:
    """Return what the learner is told at the ask of a round: a distribution, and a radius where the objective has one."""
    if problem.foretold is None:
        return None, None
    law, radius = problem.foretold(turn)
    heavy = law.weights > 0.0
    rows = [values_of(problem.space.context, row) for row in law.points[heavy]]
    weights = (law.weights[heavy] / law.weights[heavy].sum()).tolist()
    return Forecast(rows, weights), radius if isinstance(policy.objective, Radial) else None


def _trace(
    asked: Sequence[tuple[Tensor, Tensor, float, float]],
    arrived: Sequence[int],
    seconds: Sequence[float],
    reported: Mapping[str, Sequence[Tensor]],
) -> Trace:
    """Return what happened: each round's decision, context, value and what was received of it."""
    decisions, contexts, values, received = zip(*asked, strict=True)
    return Trace(
        decisions=torch.stack(decisions),
        contexts=torch.stack(contexts),
        values=torch.tensor(values, dtype=torch.float64),
        received=torch.tensor(received, dtype=torch.float64),
        arrived=torch.tensor(arrived),
        seconds=torch.tensor(seconds, dtype=torch.float64),
        reports={name: torch.stack(list(rows)) for name, rows in reported.items()},
    )


def dropped(policy: Policy, trial: Trial) -> bool:
    """Whether a value came after the patience of a policy that takes no such values."""
    return isinstance(policy.feedback, Censoring) and policy.feedback.censored(trial)


def _met(study: Study, suggestion: Suggestion, context: Tensor) -> Tensor:
    """Return the context a decision meets after the ask: what the rule chose, a simulator's setting, or what nature shows."""
    parameters = study.space.context
    if suggestion.context is not None:
        return numbers_of(parameters, suggestion.context)
    if parameters:
        study.reveal(suggestion.id, values_of(parameters, context))
    return context


def run_one(
    experiment: Experiment,
    case_name: str,
    method: str,
    seed: int,
    rounds: int,
    data: Path | None = None,
    *,
    substitutes: bool = False,
) -> Record:
    """Run one case with one method and one seed; return its record."""
    began = time.perf_counter()
    case = experiment.case(case_name)
    record: Record = {
        "format": FORMAT,
        "experiment": experiment.name,
        "world": experiment.world,
        "problem": case.name,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "stand_in": stand_in(case, data, substitutes),
        "versions": versions(),
        "commit": commit(),
        "threads": torch.get_num_threads(),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if experiment.own is not None:
        result = experiment.own(case, method, seed, rounds)
        record["series"] = {name: rounded(values) for name, values in result.series.items()}
        record["at"] = list(result.at)
    else:
        problem = make_problem(case, seed, data, substitutes)
        record |= _study_fields(experiment, case, problem, method, seed, rounds)
    record["seconds"] = rounded(time.perf_counter() - began)
    return record


def _study_fields(
    experiment: Experiment, case: Case, problem: Problem, method: str, seed: int, rounds: int
) -> dict[str, Any]:
    policy = experiment.methods[method](problem)
    trace, report_seconds = play(
        problem, policy, rounds, world=experiment.world, case=case.name, seed=seed, reports=experiment.reports
    )
    return {
        "decisions": rounded(trace.decisions.tolist()),
        "contexts": rounded(trace.contexts.tolist()),
        "values": rounded(trace.values.tolist()),
        "received": rounded(trace.received.tolist()) if problem.noise else None,
        "arrived": trace.arrived.tolist() if problem.delay is not None else None,
        "reports": {name: rounded(rows.tolist()) for name, rows in trace.reports.items()} or None,
        "series": {metric.name: rounded(metric.series(problem, trace).tolist()) for metric in experiment.metrics},
        "ask_seconds": rounded(trace.seconds.tolist(), 4),
        "ask_total": rounded(float(trace.seconds.sum())),
        "report_seconds": rounded(report_seconds, 4),
    }


def report_decisions(study: Study, objectives: Mapping[str, Objective]) -> dict[str, Tensor]:
    """Return, for each objective, the evaluated decision that is best by the posterior mean; NaN while there is none.

    It is what `recommend()` gives under `Report(objective, "evaluated")`, without intervals and with one fit for all.
    """
    trials = study.policy.view(study.trials)
    width = len(study.space.decision)
    if not trials.arrived:
        return dict.fromkeys(objectives, torch.full((width,), math.nan, dtype=torch.float64))
    # The seed is of context models that draw; those of the papers that report do not.
    situation = arrived_only(prepare(study.policy, study.trials, Request(memory=study.memory), streams.generator(0)))
    with torch.no_grad():
        mean = situation.posterior.marginals(trials.dataset.x, situation.contexts.points)[0]
    found = {}
    for name, objective in objectives.items():
        place = int(objective.bind(situation)(mean).argmax())
        found[name] = numbers_of(study.space.decision, trials.arrived[place].decision)
    return found


def values_of(parameters: Mapping[str, Parameter], row: Tensor) -> dict[str, Value]:
    """Return a row of numbers as the values a study takes: categories by their index, whole numbers as such."""
    if len(row) != len(parameters):
        raise ArgumentError(f"a problem gave {len(row)} numbers for {list(parameters)}; give one for each.")
    return {
        name: _value(parameter, number)
        for (name, parameter), number in zip(parameters.items(), row.tolist(), strict=True)
    }


def numbers_of(parameters: Mapping[str, Parameter], values: Mapping[str, Value]) -> Tensor:
    """Return a study's values as numbers in the space's order of names; `"d"`."""
    row = [
        parameter.choices.index(values[name]) if parameter.choices else values[name]
        for name, parameter in parameters.items()
    ]
    return torch.tensor(row, dtype=torch.float64)


def _value(parameter: Parameter, number: float) -> Value:
    if parameter.choices:
        return parameter.choices[round(number)]
    return number if parameter.step is None else round(number)


def rounded(values: Any, digits: int = DIGITS) -> Any:
    """Return numbers, or lists of numbers, with `digits` significant digits; None for what is not a number."""
    if isinstance(values, Sequence):
        return [rounded(value, digits) for value in values]
    if isinstance(values, int):
        return values
    return float(f"{values:.{digits}g}") if math.isfinite(values) else None
