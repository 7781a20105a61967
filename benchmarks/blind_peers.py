"""BoTorch, Optuna and Ax as their users run them: what `default_peers.py` plays. They see decisions and values, no contexts.

| name | what it is | design | advice |
| --- | --- | --- | --- |
| `botorch_qlogei` | `SingleTaskGP`, `qLogExpectedImprovement` from the best value seen | 2 d of Sobol | best posterior mean |
| `botorch_qlognei` | the same with `qLogNoisyExpectedImprovement` | 2 d of Sobol | best posterior mean |
| `optuna_gp` | `GPSampler()` | its own: 10 random | `study.best_params`, the best value seen |
| `ax` | `Client()` | its own: the centre, then Sobol, 5 in all | `get_best_parameterization()` |

All advise a decision that was tried and whose value has come. BoTorch's has the best posterior mean of a model fitted then.
Ax goes by its model too, and by the best value seen where there is no model yet or cross-validation finds it poor.

BoTorch's options are those of its tutorial of a closed loop: 256 Sobol samples, 10 restarts, 512 raw points, batches of 5, 200
iterations; the design is that of its TuRBO tutorial. Decisions are in the unit cube (logarithms where a parameter asks for
them), as the priors of `SingleTaskGP` suppose. qLogEI takes the best value seen for the truth, which "would require noiseless
observations" (the docstring of qLogNEI). To a method that sees no contexts nearly every value is noisy. qLogNEI is made for
that, and Ax chooses it for one objective, so both are here.

A value that has not come is pending: `X_pending` in BoTorch, a running trial in Optuna and in Ax. Ax may exceed its
initialization budget while values are late, or it would refuse to suggest; where none is late that changes nothing.
BoTorch is refused spaces with whole numbers or categories, which `optimize_acqf` does not take. Optuna and Ax take them.

Ax is in no extra of Windward. It installs beside what `constraints.txt` pins, and changes none of it (Ax 1.3.1):

    python -m pip install ax-platform -c constraints.txt
"""

from __future__ import annotations

import importlib.metadata
import logging
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

import windward as ww
from windward.space.parameters import Parameter, Value

SAMPLES, RESTARTS, RAW = 256, 10, 512
OPTIONS: dict[str, bool | float | int | str] = {"batch_limit": 5, "maxiter": 200}
OUTCOME = "outcome"

Decision: TypeAlias = Mapping[str, Value]


class Peer(Protocol):
    """A method that sees decisions and values: asked once a round, told a value by the number of its ask, from 0."""

    def ask(self) -> Decision:
        """Return the next decision."""
        ...

    def tell(self, place: int, value: float) -> None:
        """Take the value of the decision that was asked at `place`."""
        ...

    def advice(self) -> Decision:
        """Return the decision that its user would deploy now; at least one value has come."""
        ...


class BoTorch:
    """BoTorch's closed loop for one point at a time."""

    def __init__(self, space: ww.Space, seed: int, *, noisy: bool) -> None:
        other = [name for name, parameter in space.decision.items() if not parameter.continuous]
        if other:
            raise ww.IncompatibleError(f"optimize_acqf takes no whole numbers and no categories: {', '.join(other)}.")
        self.space, self.noisy = space, noisy
        self.design = torch.quasirandom.SobolEngine(len(space.decision), scramble=True, seed=seed)
        self.rows: list[Tensor] = []
        self.values: dict[int, float] = {}

    def ask(self) -> Decision:
        width = len(self.space.decision)
        if len(self.rows) < 2 * width or len(self.values) < 2:
            x = self.design.draw(1, dtype=torch.float64)[0]
        else:
            x = self._suggestion(width)
        self.rows.append(x)
        return self.space.decode_decision(x)

    def tell(self, place: int, value: float) -> None:
        self.values[place] = value

    def advice(self) -> Decision:
        x, y = self._data()
        if len(y) == 1:
            return self.space.decode_decision(x[0])
        model = self._model(x, y)
        with torch.no_grad():
            means = model.posterior(x).mean[:, 0]
        return self.space.decode_decision(x[int(means.argmax())])

    def _data(self) -> tuple[Tensor, Tensor]:
        places = sorted(self.values)
        y = torch.tensor([[self.values[place]] for place in places], dtype=torch.float64)
        return torch.stack([self.rows[place] for place in places]), y

    def _model(self, x: Tensor, y: Tensor) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _suggestion(self, width: int) -> Tensor:
        from botorch.acquisition import qLogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.sampling.normal import SobolQMCNormalSampler

        x, y = self._data()
        waiting = [row for place, row in enumerate(self.rows) if place not in self.values]
        rest = {
            "sampler": SobolQMCNormalSampler(torch.Size([SAMPLES])),
            "X_pending": torch.stack(waiting) if waiting else None,
        }
        model = self._model(x, y)
        if self.noisy:
            acquisition = qLogNoisyExpectedImprovement(model, X_baseline=x, **rest)
        else:
            acquisition = qLogExpectedImprovement(model, best_f=y.max(), **rest)
        bounds = torch.stack([torch.zeros(width), torch.ones(width)]).to(torch.float64)
        found, _ = optimize_acqf(acquisition, bounds, 1, RESTARTS, RAW, dict(OPTIONS))
        return found[0]


class Optuna:
    """Optuna's Gaussian process sampler with its defaults."""

    def __init__(self, space: ww.Space, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
        self.ranges = {name: self._range(parameter) for name, parameter in space.decision.items()}
        self.trials: list[Any] = []

    @staticmethod
    def _range(parameter: Parameter) -> Any:
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if parameter.choices:
            return CategoricalDistribution(list(parameter.choices))
        kind = FloatDistribution if parameter.continuous else IntDistribution
        return kind(parameter.low, parameter.high, log=parameter.log)

    def ask(self) -> Decision:
        self.trials.append(self.study.ask(self.ranges))
        return self.trials[-1].params

    def tell(self, place: int, value: float) -> None:
        self.study.tell(self.trials[place], value)

    def advice(self) -> Decision:
        return self.study.best_params


class Ax:
    """Ax by its `Client`, with its defaults."""

    def __init__(self, space: ww.Space, seed: int) -> None:
        from ax.api.client import Client
        from ax.utils.common.logger import set_stderr_log_level

        set_stderr_log_level(logging.ERROR)
        self.client = Client()  # all its randomness is numpy's and torch's, seeded for the run
        self.client.configure_experiment([self._parameter(name, each) for name, each in space.decision.items()])
        self.client.configure_optimization(OUTCOME)
        self.client.configure_generation_strategy(allow_exceeding_initialization_budget=True)
        self.trials: list[int] = []

    @staticmethod
    def _parameter(name: str, parameter: Parameter) -> Any:
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        if parameter.choices:
            values: list[Any] = list(parameter.choices)
            kind = type(values[0]).__name__
            assert kind in ("str", "int", "float", "bool")
            return ChoiceParameterConfig(name=name, values=values, parameter_type=kind, is_ordered=False)
        return RangeParameterConfig(
            name=name,
            bounds=(parameter.low, parameter.high),
            parameter_type="float" if parameter.continuous else "int",
            scaling="log" if parameter.log else None,
        )

    def ask(self) -> Decision:
        ((trial, decision),) = self.client.get_next_trials(1).items()
        self.trials.append(trial)
        return decision

    def tell(self, place: int, value: float) -> None:
        self.client.complete_trial(self.trials[place], {OUTCOME: value})

    def advice(self) -> Decision:
        return self.client.get_best_parameterization()[0]


PEERS: dict[str, Callable[[ww.Space, int], Peer]] = {
    "botorch_qlogei": lambda space, seed: BoTorch(space, seed, noisy=False),
    "botorch_qlognei": lambda space, seed: BoTorch(space, seed, noisy=True),
    "optuna_gp": Optuna,
    "ax": Ax,
}
PACKAGES = {"botorch_qlogei": "botorch", "botorch_qlognei": "botorch", "optuna_gp": "optuna", "ax": "ax-platform"}


def version(name: str) -> str:
    """Return the package of a peer and its version, or leave with what installs it."""
    package = PACKAGES[name]
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"{name} needs {package}: python -m pip install {package} -c constraints.txt") from None


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators, from which the peers draw, and put them back."""
    before = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
