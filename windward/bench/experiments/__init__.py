"""The papers' experiments by name: `experiment("huang2024-fig1")`; each is a value that says what is run and what is shown."""

from __future__ import annotations

from windward.bench.experiment import Experiment, Headline, check_known
from windward.bench.experiments import huang, micheli, nguyen, nguyen_tuning, tay, verma
from windward.bench.experiments.headlines import HEADLINES

_BY_NAME: dict[str, Experiment] = {
    found.name: found for module in (huang, micheli, tay, verma, nguyen, nguyen_tuning) for found in module.EXPERIMENTS
}


def experiments() -> dict[str, Experiment]:
    """Return every experiment by its name, in the papers' order."""
    return dict(_BY_NAME)


def experiment(name: str) -> Experiment:
    """Return one experiment; an unknown name is refused with near ones."""
    check_known("windward bench", "experiment", [name], _BY_NAME)
    return _BY_NAME[name]


def headlines() -> tuple[Headline, ...]:
    """Return what a reader takes away from each paper, in the papers' order."""
    return HEADLINES
