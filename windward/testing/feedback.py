"""The laws of a feedback: it fits what it says it fits, and says whether pending trials have a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import torch
from torch import Tensor

from windward.feedback import Feedback
from windward.space import Roles
from windward.surrogate import Believed, GaussianProcess, Posterior, Start
from windward.surrogate.protocol import NO_START
from windward.testing.holding import require, require_json, require_own_randomness, require_turning
from windward.testing.situations import NOW, trials_of
from windward.trials.trials import Dataset, Trials

# More trials than a patience of a few asks: some are beyond it.
ARRIVED = (1, 8, 20)


def check_feedback(feedback: Feedback, *, seed: int = 0) -> None:
    """Hold a feedback to its laws on trials that have arrived, are pending, were lost or have no context yet.

    The surrogate is fitted to `dataset`, once; every trial that has arrived is in it; every pending one is in it, at a value,
    where `fills_pending` says so, and none is where it does not. The posterior answers for new decisions, and the same trials
    give the same one. A study that minimizes minus f is fitted as one that maximizes f. Turned twice the feedback is itself.
    It goes to JSON and back.

    >>> import windward as ww
    >>> check_feedback(ww.Hallucinate())
    """
    require_json(feedback)
    require_turning(feedback)
    patience = feedback.patience
    right = patience is None or (isinstance(patience, int | timedelta) and not isinstance(patience, bool))
    require(right, f"{feedback!r}: patience is {patience!r}; give None, a number of asks, or a timedelta.")
    for arrived in ARRIVED:
        trials = trials_of(seed, arrived=arrived)
        _check_rows(feedback, trials)
        believed, fitted = _believed(feedback, trials)
        require(len(fitted) == 1, f"{feedback!r} fitted the surrogate {len(fitted)} times; fit it once.")
        _check_same(feedback, fitted[0], feedback.dataset(trials))
        mean, deviation = _marginals(believed, trials)
        require((deviation > 0.0).all(), f"{feedback!r}: a deviation of its posterior is not above zero.")
        again = _marginals(_believed(feedback, trials)[0], trials)
        same = torch.equal(mean, again[0]) and torch.equal(deviation, again[1])
        require(same, f"{feedback!r}: the same trials gave two beliefs.")
    _check_mirror(feedback, seed)


@dataclass(frozen=True)
class _Recording:
    """A Gaussian process that remembers what it was fitted to."""

    fitted: list[Dataset] = field(default_factory=list)

    def fit(self, data: Dataset, start: Start = NO_START) -> Posterior:
        self.fitted.append(data)
        return GaussianProcess().fit(data, start)

    def due(self, data: Dataset, fitted: int) -> bool:
        return True

    def check(self, roles: Roles) -> None: ...


def _believed(feedback: Feedback, trials: Trials) -> tuple[Believed, list[Dataset]]:
    surrogate = _Recording()
    found = require_own_randomness(feedback, lambda: feedback(trials, surrogate, NOW, Start()))
    require(isinstance(found, Believed), f"{feedback!r} gave {found!r}; give Believed(posterior).")
    assert isinstance(found, Believed)
    return found, surrogate.fitted


def _marginals(believed: Believed, trials: Trials) -> tuple[Tensor, Tensor]:
    x = torch.linspace(0.05, 0.95, 6, dtype=torch.float64).reshape(3, 2)
    points = torch.tensor([[0.2], [0.7]], dtype=torch.float64)
    with torch.no_grad():
        return believed.posterior.marginals(x, points)


def _check_rows(feedback: Feedback, trials: Trials) -> None:
    data = feedback.dataset(trials)
    count = len(data.y)
    require(
        len(data.x) == len(data.c) == len(data.noise) == count and torch.isfinite(data.y).all(),
        f"{feedback!r}: dataset must have a finite value for every row.",
    )
    for trial in trials.arrived:
        require(
            _has(data, trials.decisions([trial])), f"{feedback!r}: trial {trial.id} has arrived, and dataset lacks it."
        )
    for trial in trials.pending:
        there = _has(data, trials.decisions([trial]))
        said = f"{feedback!r}: fills_pending is {feedback.fills_pending}, and the pending trial {trial.id} is"
        require(there == feedback.fills_pending, f"{said} {'there' if there else 'missing'} in dataset.")


def _has(data: Dataset, decision: Tensor) -> bool:
    return bool((data.x == decision).all(-1).any())


def _check_same(feedback: Feedback, fitted: Dataset, said: Dataset) -> None:
    same = all(
        torch.equal(getattr(fitted, name).nan_to_num(-1.0), getattr(said, name).nan_to_num(-1.0))
        for name in ("x", "c", "y", "noise")
    )
    right = same and (fitted.floor, fitted.changed) == (said.floor, said.changed)
    require(right, f"{feedback!r}: the surrogate was fitted to other data than dataset gives.")


def _check_mirror(feedback: Feedback, seed: int) -> None:
    there, here = feedback.dataset(trials_of(seed, sign=-1.0)), feedback.dataset(trials_of(seed))
    same = torch.equal(there.y, here.y)
    require(same, f"{feedback!r}: a study that minimizes minus f must be fitted as one that maximizes f.")
