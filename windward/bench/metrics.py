"""How a run is judged: a metric turns what was done in each round into one number per round.

    regret              g(x*) - g(x_t), g an objective over the truth or over the reference
    summed_regret       its sum, from the first round or from the end of the design on
    summed_reward       sum of the values without noise
    received_gap        f* less the best value *received* so far (Verma2022)
    received_percent    100 (1 - the best value received so far), for accuracies
    summed_contextual   sum over t of max_x f(x, c_t) - f(x_t, c_t), for contexts known before the decision
    reported            g(r_t), r_t the decision reported after round t
    at_reports          any function of r_t
    best_reported       least g(x*) - g(r_s) of the decisions reported so far (Nguyen2020)
    error_on_test       100 (1 - score on the test data) of the decision reported after each round, or after the last
    seconds             what the suggestions took so far

A number that does not exist yet, such as the best of nothing received, is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from windward.basics.errors import ArgumentError
from windward.bench.problem import Problem
from windward.contexts import Contexts
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in one run, round by round.

    `values` are without noise, `received` with it; `arrived` is the round after whose ask each value was told, -1 where it
    was not, or came too late for the policy to take it; `reports` are the decisions reported after each round, by the name of
    what they were chosen by, NaN before there was anything to report.
    """

    decisions: Tensor  # "t d"
    contexts: Tensor  # "t k"
    values: Tensor  # "t"
    received: Tensor  # "t"
    arrived: Tensor  # "t"
    seconds: Tensor  # "t": of each suggestion
    reports: Mapping[str, Tensor] = field(default_factory=dict)  # "t d" each

    def __len__(self) -> int:
        return len(self.values)


Series: TypeAlias = Callable[[Problem, Trace], Tensor]


@dataclass(frozen=True)
class Metric:
    """A named series; `label` stands on the axis, `lower` says which way is better, `log` that the axis is logarithmic."""

    name: str
    label: str
    series: Series
    lower: bool = True
    log: bool = False


@dataclass(frozen=True)
class Goal:
    """What decisions are judged by: an objective, which may depend on the problem, over its truth or its reference."""

    objective: Callable[[Problem], Objective] = lambda problem: Expected()
    over: Literal["truth", "reference"] = "truth"

    def worth(self, problem: Problem, decisions: Tensor) -> Tensor:
        """Return the objective at decisions `"t d"`; `"t"`."""
        # Over a finite set the same few come again and again.
        rows, place = torch.unique(decisions, dim=0, return_inverse=True)
        return problem.worth(self.objective(problem), rows, self._contexts(problem))[place]

    def best(self, problem: Problem) -> float:
        """Return the largest objective of any decision."""
        return problem.optimum(self.objective(problem), self._contexts(problem)).value

    def _contexts(self, problem: Problem) -> Contexts:
        if self.over == "truth":
            return problem.truth
        if problem.reference is None:
            raise ArgumentError(f"problem {problem.name!r} has no reference to judge by; judge by the truth.")
        return problem.reference


EXPECTED = Goal()


def regret(goal: Goal = EXPECTED) -> Series:
    """Return the regret of each decision."""
    return lambda problem, trace: goal.best(problem) - goal.worth(problem, trace.decisions)


def summed_regret(goal: Goal = EXPECTED, start: int = 0) -> Series:
    """Return the sum of regrets from round `start` on: the rounds before it, an initial design, count nothing."""

    def series(problem: Problem, trace: Trace) -> Tensor:
        each = regret(goal)(problem, trace)
        each[:start] = 0.0
        return each.cumsum(0)

    return series


def summed_reward(problem: Problem, trace: Trace) -> Tensor:
    """Return the sum of the values; `"t"`."""
    return trace.values.cumsum(0)


def best_received(trace: Trace) -> Tensor:
    """Return the best value that had been told after each round, NaN where none had; `"t"`."""
    best, result = math.nan, []
    for turn in range(len(trace)):
        due = trace.received[trace.arrived == turn]
        if len(due):
            top = float(due.max())
            best = top if math.isnan(best) else max(best, top)
        result.append(best)
    return torch.tensor(result, dtype=torch.float64)


def received_gap(problem: Problem, trace: Trace) -> Tensor:
    """Return the optimum less the best value received; `"t"`."""
    return EXPECTED.best(problem) - best_received(trace)


def received_percent(problem: Problem, trace: Trace) -> Tensor:
    """Return the error in percent of the best accuracy received; `"t"`."""
    return 100.0 * (1.0 - best_received(trace))


def summed_contextual(problem: Problem, trace: Trace) -> Tensor:
    """Return the sum of what the best decision for each round's own context would have gained; `"t"`."""
    best: dict[tuple[float, ...], float] = {}
    gaps = []
    for context, value in zip(trace.contexts, trace.values.tolist(), strict=True):
        key = tuple(context.tolist())
        if key not in best:
            best[key] = problem.optimum(Expected(), Contexts.uniform(context[None])).value
        gaps.append(best[key] - value)
    return torch.tensor(gaps, dtype=torch.float64).cumsum(0)


def reported(goal: Goal, report: str) -> Series:
    """Return the objective at the decision reported after each round."""
    return lambda problem, trace: _at_reports(trace, report, lambda decisions: goal.worth(problem, decisions))


def at_reports(function: Callable[[Tensor], Tensor], report: str) -> Series:
    """Return a function of decisions `"t d"` at the decision reported after each round."""
    return lambda problem, trace: _at_reports(trace, report, function)


def best_reported(goal: Goal, report: str) -> Series:
    """Return the least regret of any decision reported so far."""

    def series(problem: Problem, trace: Trace) -> Tensor:
        gaps = goal.best(problem) - reported(goal, report)(problem, trace)
        least = torch.where(gaps.isnan(), math.inf, gaps).cummin(0).values
        return least.masked_fill(least.isinf(), math.nan)

    return series


def error_on_test(report: str, *, last: bool = False) -> Series:
    """Return the error in percent on the problem's test data at the decision reported after each round, or the `last`."""

    def series(problem: Problem, trace: Trace) -> Tensor:
        score = problem.test
        if score is None:
            raise ArgumentError(f"problem {problem.name!r} has no test data to judge by (Problem(test=...)).")
        if not last:
            return 100.0 * (1.0 - _at_reports(trace, report, score))
        result = torch.full((len(trace),), math.nan, dtype=torch.float64)
        result[-1] = 100.0 * (1.0 - score(trace.reports[report][-1:])[0])
        return result

    return series


def summed_seconds(problem: Problem, trace: Trace) -> Tensor:
    """Return the seconds that the suggestions took so far; `"t"`."""
    return trace.seconds.cumsum(0)


def _at_reports(trace: Trace, report: str, function: Callable[[Tensor], Tensor]) -> Tensor:
    known = ~trace.reports[report].isnan().any(-1)
    result = torch.full((len(trace),), math.nan, dtype=torch.float64)
    if bool(known.any()):
        rows, place = torch.unique(trace.reports[report][known], dim=0, return_inverse=True)
        result[known] = function(rows)[place]
    return result


CUMULATIVE_REGRET = Metric("cumulative_regret", "cumulative regret", summed_regret())
REGRET = Metric("regret", "instantaneous regret", regret(), log=True)
CUMULATIVE_REWARD = Metric("cumulative_reward", "cumulative reward", summed_reward, lower=False)
RECEIVED_REGRET = Metric("received_regret", "simple regret of received values", received_gap)
RECEIVED_ERROR = Metric("received_error", "validation error, %", received_percent)
CONTEXTUAL_REGRET = Metric("contextual_regret", "cumulative regret", summed_contextual)
SECONDS = Metric("seconds", "seconds of suggestions", summed_seconds)
