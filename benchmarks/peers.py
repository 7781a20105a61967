"""BoTorch's side of the comparisons: the same acquisitions, in the fastest form found for it."""

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
from windward.trials.trials import Dataset, Trials

LARGEST_GROUP = 32


def botorch_model(data: Dataset, hyperparameters: Hyperparameters) -> SingleTaskGP:
    """Return BoTorch's exact model of the same data with the same hyper-parameters, on the data's device."""
    device, data = data.x.device, data.to(torch.device("cpu"))
    model = SingleTaskGP(
        torch.cat([data.x, data.c], dim=1),
        data.y[:, None],
        covar_module=RBFKernel(ard_num_dims=data.x.shape[1] + data.c.shape[1]),
        outcome_transform=Standardize(m=1),
    ).double()
    model.covar_module.lengthscale = torch.tensor(hyperparameters.length_scales, dtype=torch.float64)
    model.mean_module.constant.data.fill_(hyperparameters.mean)
    model.likelihood.noise = torch.tensor([hyperparameters.noise], dtype=torch.float64)
    return model.to(device).eval()


@dataclass
class Counted:
    """The batches an acquisition was asked for: points and whether their gradient was wanted."""

    batches: list[tuple[Tensor, bool]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(len(points) for points, _ in self.batches)

    def points(self, with_gradient: bool) -> Tensor:
        """Return the points asked for with, or without, a gradient; `"n d"`."""
        return torch.cat([points for points, wanted in self.batches if wanted is with_gradient])


class OverContexts(AcquisitionFunction):
    """An acquisition of the upper bound mean + width * deviation at every context.

    The posterior is asked for `b x M/q x q x d`, M/q joint posteriors of q contexts each. With all contexts in one it has
    M x M covariances that nobody needs; with `b x M x 1 x d` it copies the training inputs for each context. Groups of
    16 to 32, the largest that divide M, take a half to a fifth of either's time; their values are the same.
    """

    # Entries of the kernel between a batch of decisions, at all contexts, and the observations: of 1 to 50 decisions at once
    # those with about this many were the fastest, at n = 100, 300 and 1000.
    batch_entries = 800_000

    def __init__(self, model: SingleTaskGP, contexts: Tensor, width: float) -> None:
        super().__init__(model)
        self.contexts, self.width, self.counted = contexts.to(model.train_targets.device), width, Counted()
        self.group = max(q for q in range(1, LARGEST_GROUP + 1) if len(contexts) % q == 0)

    def upper(self, X: Tensor, contexts: Tensor) -> Tensor:
        """Return the bound for decisions `b x 1 x d` at contexts `b x M x k` (or `M x k`, the same for all); `b x M`."""
        b, m, k = len(X), contexts.shape[-2], contexts.shape[-1]
        grouped = contexts.expand(b, m, k).reshape(b, m // self.group, self.group, k) if m > 1 else contexts[:, None]
        decisions = X[:, None].expand(*grouped.shape[:3], X.shape[-1])
        posterior = self.model.posterior(torch.cat([decisions, grouped], dim=-1))
        upper = posterior.mean + self.width * posterior.variance.clamp_min(1e-12).sqrt()
        return upper.reshape(b, m)

    def count(self, X: Tensor) -> None:
        self.counted.batches.append((X.detach()[:, 0, :], X.requires_grad))


class ExpectedUpperConfidence(OverContexts):
    """Mean of the upper bound over context samples."""

    def forward(self, X: Tensor) -> Tensor:
        self.count(X)
        return self.upper(X, self.contexts).mean(-1)


class LipschitzUpperConfidence(OverContexts):
    """Mean upper bound over the contexts seen less radius times its largest slope in the context (Micheli2025, Eq. 13).

    Slopes are autograd's; only the steepest one, a context for each decision, is derived a second time.
    """

    batch_entries = 320_000

    def __init__(self, model: SingleTaskGP, contexts: Contexts, width: float, radius: float) -> None:
        super().__init__(model, contexts.points, width)
        self.weights, self.radius = contexts.weights.to(self.contexts.device), radius

    def forward(self, X: Tensor) -> Tensor:
        self.count(X)
        with torch.enable_grad():
            c = self.contexts.expand(len(X), *self.contexts.shape).clone().requires_grad_()
            upper = self.upper(X, c)
            (slope,) = torch.autograd.grad(upper.sum(), c, retain_graph=X.requires_grad)
            steepness = slope.square().sum(-1)
            steepest, place = steepness.max(-1)
            if X.requires_grad:
                there = c.detach()[torch.arange(len(X)), place][:, None, :].requires_grad_()
                (slope,) = torch.autograd.grad(self.upper(X, there).sum(), there, create_graph=True)
                steepest = slope[:, 0].square().sum(-1)
            return upper @ self.weights - self.radius * (steepest + 1e-30).sqrt()


def batch_rows(acquisition: OverContexts, observations: int) -> int:
    """Return how many decisions BoTorch takes at once: on a processor what its cache favours."""
    if acquisition.contexts.is_cuda:
        return 64
    return min(64, max(1, acquisition.batch_entries // (len(acquisition.contexts) * observations)))


def botorch_suggestion(
    acquisition: OverContexts, decisions: int, *, raw: int, restarts: int, batch: int
) -> tuple[Tensor, float]:
    """Return BoTorch's maximiser and the seconds it took."""
    bounds = torch.stack([torch.zeros(decisions), torch.ones(decisions)]).to(acquisition.contexts)
    options = {"init_batch_limit": batch, "batch_limit": min(batch, restarts)}
    began = time.perf_counter()
    x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=restarts, raw_samples=raw, options=options)
    decision = x[0].cpu()  # waits for the device
    return decision, time.perf_counter() - began


def botorch_seconds(peer: OverContexts, points: Tensor, wants_gradient: bool, batch: int) -> float:
    """Return the seconds BoTorch takes for evaluations at points `"n d"`, without its optimiser."""
    began = time.perf_counter()
    with torch.set_grad_enabled(wants_gradient):
        for block in points.split(batch):
            x = block[:, None, :].clone().requires_grad_(wants_gradient)
            value = peer(x)
            (torch.autograd.grad(value.sum(), x)[0] if wants_gradient else value).cpu()
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
