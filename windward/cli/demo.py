"""The demo: a newsvendor who orders before demand is known, with Windward's default, with SBO-KDE and with plain GP-UCB.

    profit(x, c) = 9 min(x, c) + max(0, x - c) - 5 x,   demand c ~ Burr XII(2, 20) clipped to [0, 1]

(Huang2024, App. B.2.) The learner sees neither the formula nor the distribution: one day it orders, then sees the demand
and the profit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from windward import papers
from windward.basics import streams
from windward.basics.errors import MissingDependency
from windward.default import auto
from windward.policy import Policy
from windward.space.parameters import Real
from windward.space.space import Space
from windward.study.study import Study
from windward.trials.records import Result, Suggestion

PRICE, SALVAGE, COST = 9.0, 1.0, 5.0
TAIL = 20.0  # of the Burr XII distribution, whose other shape is 2


def profit(order: float, demand: float) -> float:
    """Return the day's profit."""
    return PRICE * min(order, demand) + SALVAGE * max(0.0, order - demand) - COST * order


def demand_at(quantile: float) -> float:
    """Return the demand at a quantile: the inverse of 1 - (1 + c^2)^-20, clipped to [0, 1]."""
    return min(1.0, math.sqrt((1.0 - quantile) ** (-1.0 / TAIL) - 1.0))


def expected_profit(order: float) -> float:
    """Return the true expectation: (PRICE - COST) x - (PRICE - SALVAGE) * integral of P(c <= u) over u < x."""
    u = torch.linspace(0.0, order, 20001, dtype=torch.float64)
    below = 1.0 - (1.0 + u**2) ** -TAIL
    return (PRICE - COST) * order - (PRICE - SALVAGE) * float(torch.trapezoid(below, u))


def best_order() -> float:
    """Return the best order: where P(c <= x) = (PRICE - COST) / (PRICE - SALVAGE), the newsvendor's critical ratio."""
    return demand_at((PRICE - COST) / (PRICE - SALVAGE))


def sold_day(demand: float) -> Callable[[Suggestion], Result]:
    """Return one day's evaluation at a given demand."""

    def evaluate(suggestion: Suggestion) -> Result:
        return Result(profit(float(suggestion.decision["order"]), demand), context={"demand": demand})

    return evaluate


def run_demo(rounds: int, seed: int, output: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Run each method on the same days, print how they compare, and write a report of the first."""
    console = Console(quiet=quiet)
    result: dict[str, Any] = {"rounds": rounds, "optimum": {"order": best_order()}}
    space = Space(decision={"order": Real(0, 1)}, context={"demand": Real(0, 1)})
    demands = [demand_at(q) for q in torch.rand(rounds, generator=streams.generator(seed)).double().tolist()]
    optimum = best_order()
    console.print(
        f"A newsvendor orders stock each morning, then sees the demand and the day's profit. {rounds} days, demand "
        "unknown.\n",
        highlight=False,
    )
    studies: list[Study] = []
    methods: dict[str, Policy] = {"default": auto(), "SBO-KDE": papers.sbo_kde(), "GP-UCB": papers.gp_ucb()}
    table = Table(title="What each would order from now on")
    for heading in ("method", "order", "expected profit", "regret", "regret over the days"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    columns = (TextColumn("{task.description:8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        for name, policy in methods.items():
            study = Study(space, policy, name=name, seed=seed)
            _sell(study, demands, bars, bars.add_task(name, total=rounds))
            order = float(study.recommend().decision["order"])
            paid = sum(expected_profit(float(trial.decision["order"])) for trial in study.trials)
            value, best = expected_profit(order), expected_profit(optimum)
            table.add_row(name, f"{order:.4f}", f"{value:.4f}", f"{best - value:.4f}", f"{rounds * best - paid:.3f}")
            result[name] = {"order": order, "expected_profit": value, "regret": best - value}
            studies.append(study)
    table.add_section()
    table.add_row("optimum", f"{optimum:.4f}", f"{expected_profit(optimum):.4f}", "0.0000", "0.000")
    console.print(table)
    console.print(
        "Regret: expected profit given up against the best fixed order, had the demand's distribution been known;\n"
        "per day from now on, and summed over the days played.",
        highlight=False,
    )
    return {**result, "report": _write_report(studies[0], output, console)}


def _write_report(study: Study, output: Path, console: Console) -> str | None:
    """Write the report and say where; where plotly is missing, say how to get one."""
    from windward.present.report import write_report  # here: it stands on plots, which the demo can do without

    try:
        write_report(study, output)
    except MissingDependency as error:
        console.print(f"\nNo report was written: {error}", highlight=False)
        return None
    place = str(output.absolute())
    console.print(
        f"\nA report of the {study.name} study, to open in a browser: {place}", highlight=False, soft_wrap=True
    )
    return place


def _sell(study: Study, demands: list[float], bars: Progress, bar: TaskID) -> None:
    for demand in demands:
        study.run(sold_day(demand), rounds=1, progress=False)
        bars.advance(bar)
