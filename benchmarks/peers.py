"""BoTorch's side of the comparisons: the same acquisitions, as its own documentation would have one write them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from gpytorch.kernels import RBFKernel
from torch import Tensor

from windward.contexts import Contexts
from windward.surrogate import Hyperparameters
from windward.trials import Dataset, Trials


def botorch_model(data: Dataset, hyperparameters: Hyperparameters) -> SingleTaskGP:
    """Return BoTorch's exact model of the same data with the same hyper-parameters."""
    model = SingleTaskGP(
        torch.cat([data.x, data.c], dim=1),
        data.y[:, None],
        covar_module=RBFKernel(ard_num_dims=data.x.shape[1] + data.c.shape[1]),
        outcome_transform=Standardize(m=1),
    ).double()
    model.covar_module.lengthscale = torch.tensor(hyperparameters.length_scales, dtype=torch.float64)
    model.mean_module.constant.data.fill_(hyperparameters.mean)
    model.likelihood.noise = torch.tensor([hyperparameters.noise], dtype=torch.float64)
    return model.eval()


@dataclass
class Counted:
    """The batches an acquisition was asked for: points and whether their gradient was wanted."""

    batches: list[tuple[Tensor, bool]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(len(points) for points, _ in self.batches)


class ExpectedUpperConfidence(AcquisitionFunction):
    """Mean over context samples of mean + width * deviation; batched as b x M x 1 x d, never one joint posterior."""

    cached_entries = 700_000

    def __init__(self, model: SingleTaskGP, contexts: Tensor, width: float) -> None:
        super().__init__(model)
        self.contexts, self.width, self.counted = contexts, width, Counted()

    def forward(self, X: Tensor) -> Tensor:
        self.counted.batches.append((X.detach()[:, 0, :], X.requires_grad))
        b, m = len(X), len(self.contexts)
        joined = torch.cat(
            [X[:, None, :, :].expand(b, m, 1, X.shape[-1]), self.contexts[None, :, None, :].expand(b, m, 1, -1)], dim=-1
        )
        posterior = self.model.posterior(joined)
        values = posterior.mean[..., 0, 0] + self.width * posterior.variance[..., 0, 0].clamp_min(1e-12).sqrt()
        return values.mean(-1)


def batch_rows(acquisition: ExpectedUpperConfidence | LipschitzUpperConfidence, observations: int) -> int:
    """Return how many decisions BoTorch takes at once: as many as keep its kernel matrices in the cache.

    Measured: with the 64 raw points and 50 restarts of one batch SBO-KDE at n = 100 takes 31 s, with 8 and 5 11 s.
    """
    entries = len(acquisition.contexts) * observations
    return min(64, max(1, acquisition.cached_entries // entries))


def botorch_suggestion(
    acquisition: AcquisitionFunction, decisions: int, *, raw: int, restarts: int, batch: int
) -> tuple[Tensor, float]:
    """Return BoTorch's maximiser and the seconds it took."""
    bounds = torch.stack([torch.zeros(decisions), torch.ones(decisions)]).double()
    options = {"init_batch_limit": batch, "batch_limit": min(batch, restarts)}
    began = time.perf_counter()
    x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=restarts, raw_samples=raw, options=options)
    return x[0], time.perf_counter() - began


class LipschitzUpperConfidence(AcquisitionFunction):
    """Mean upper bound over the contexts seen less radius times its largest slope in the context (Micheli2025, Eq. 13).

    The slope is autograd's, with a graph of its own, so that the penalty has its gradient in the decision.
    """

    cached_entries = 200_000  # the second derivative keeps several such matrices

    def __init__(self, model: SingleTaskGP, contexts: Contexts, width: float, radius: float) -> None:
        super().__init__(model)
        self.contexts, self.weights, self.width, self.radius = contexts.points, contexts.weights, width, radius
        self.counted = Counted()

    def forward(self, X: Tensor) -> Tensor:
        self.counted.batches.append((X.detach()[:, 0, :], X.requires_grad))
        b, m = len(X), len(self.contexts)
        with torch.enable_grad():
            c = self.contexts[None, :, None, :].expand(b, m, 1, -1).clone().requires_grad_()
            joined = torch.cat([X[:, None, :, :].expand(b, m, 1, X.shape[-1]), c], dim=-1)
            posterior = self.model.posterior(joined)
            upper = posterior.mean[..., 0, 0] + self.width * posterior.variance[..., 0, 0].clamp_min(1e-12).sqrt()
            (slope,) = torch.autograd.grad(upper.sum(), c, create_graph=X.requires_grad)
        steepest = (slope[..., 0, :].square().sum(-1) + 1e-30).sqrt().amax(-1)
        return upper @ self.weights - self.radius * steepest


def botorch_seconds(peer: AcquisitionFunction, counted: Counted) -> float:
    """Return the seconds BoTorch takes for counted evaluations, without its optimiser."""
    began = time.perf_counter()
    for points, wants_gradient in counted.batches:
        x = points[:, None, :].clone().requires_grad_(wants_gradient)
        value = peer(x)
        if wants_gradient:
            torch.autograd.grad(value.sum(), x)
    return time.perf_counter() - began


def optuna_seconds(trials: Trials, repeats: int = 3) -> float:
    """Return the median seconds of a suggestion by Optuna's GPSampler with these decisions and values, no contexts."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = list(trials.space.decision)
    seconds = []
    for seed in range(repeats):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
        ranges = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
        study.add_trials(
            [optuna.trial.create_trial(params=dict(t.decision), distributions=ranges, value=t.value) for t in trials]
        )
        began = time.perf_counter()
        asked = study.ask(ranges)
        assert set(asked.params) == set(names)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
