"""The laws of a surrogate: its marginals, samples, averages and derivatives tell of one posterior."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.space import Real, Space
from windward.surrogate import Averaged, Doubting, LeavingOut, Posterior, Start, Surrogate, Weighing
from windward.testing.holding import even, normal, require, require_own_randomness
from windward.trials.trials import Ages, Dataset

# Of a thousand comparisons with a true moment, one is five standard errors off in about a thousand runs.
ERRORS = 5.0
# A central difference of this step is right to about its square, and to rounding over it.
STEP = 1e-4


def check_surrogate(
    surrogate: Surrogate, *, observations: int = 20, draws: int = 1000, tolerance: float = 1e-8, seed: int = 0
) -> None:
    """Hold a surrogate, fitted to a smooth function of two decisions and a context, to its laws.

    Marginals have the leading shape of the decisions and deviations above zero; means alone are theirs; samples and paths
    have their moments; a path is one function; an average has the mean of the marginals and the deviation of the samples;
    gradients are those of differences; a fit that keeps the hyper-parameters of the first is the first; what is imagined
    moves no mean and raises no deviation, and an observation draws the mean to itself; with `left_out()`, an observation has
    no say in its own prediction. Other plausible posteriors (`nearby`), where the surrogate offers them, are of the same data,
    sound, and the same for the same generator; averages by several sets of weights, where the posterior knows them, are those
    of each set. `tolerance` is for numbers that two ways of computing must share, relative to the outcome's scale.

    >>> import windward as ww
    >>> check_surrogate(ww.GaussianProcess(), draws=200)
    """
    data = _data(observations, torch.Generator().manual_seed(seed))
    surrogate.check(data.roles)
    posterior = require_own_randomness(surrogate, lambda: surrogate.fit(data))
    generator = torch.Generator().manual_seed(seed + 1)
    x, points = even(generator, 4, 2), even(generator, 3, 1)
    slack = tolerance * (1.0 + float(data.y.abs().max()))
    require(posterior.size == observations, f"{surrogate!r}: its size is {posterior.size}, it saw {observations}.")
    _check_marginals(surrogate, posterior, x, points, slack)
    _check_samples(surrogate, posterior, x, points, draws, generator)
    _check_average(surrogate, posterior, x, points, draws, slack, generator)
    _check_weighted(surrogate, posterior, x, points, slack)
    _check_nearby(surrogate, data, posterior, x, points, seed)
    _check_derivatives(surrogate, posterior, x, points, float(data.y.abs().max()))
    _check_condition(surrogate, posterior, x, points, slack)
    _check_left_out(surrogate, posterior, data)
    kept = Start(posterior.hyperparameters, keep=True, fitted=observations)
    again = surrogate.fit(data, kept).marginals(x, points)
    near = all((a - b).abs().max() <= slack for a, b in zip(again, posterior.marginals(x, points), strict=True))
    require(near, f"{surrogate!r}: a fit that keeps the hyper-parameters of the first is another posterior.")


def _data(n: int, generator: torch.Generator) -> Dataset:
    x, c = even(generator, n, 2), even(generator, n, 1)
    y = torch.sin(5.0 * x.sum(-1)) + c[:, 0] * x[:, 0] + 0.1 * normal(generator, n)
    space = Space({"a": Real(0, 1), "b": Real(0, 1)}, {"c": Real(0, 1)})
    ages = torch.arange(n, 0, -1, dtype=torch.float64)
    unknown = torch.full((n,), math.nan, dtype=torch.float64)
    return Dataset(x, c, y, unknown, space.roles, ages=Ages(ages, ages - 1.0))


def _check_marginals(part: object, posterior: Posterior, x: Tensor, points: Tensor, slack: float) -> None:
    mean, std = posterior.marginals(x, points)
    require(
        mean.shape == std.shape == (4, 3), f"{part!r}: marginals of 4 decisions and 3 contexts are {tuple(mean.shape)}."
    )
    require(
        torch.isfinite(mean).all() and (std > 0).all(), f"{part!r}: a mean is not finite, or a deviation not above 0."
    )
    require(
        (posterior.means(x, points) - mean).abs().max() <= slack, f"{part!r}: means() are not those of the marginals."
    )
    stacked = posterior.marginals(x.reshape(2, 2, 2), points)
    shape = tuple(stacked[0].shape)
    require(shape == (2, 2, 3), f"{part!r}: marginals of 2 x 2 decisions and 3 contexts have the shape {shape}.")
    for here, there in zip(stacked, (mean, std), strict=True):
        require((here.reshape(4, 3) - there).abs().max() <= slack, f"{part!r}: marginals depend on the leading shape.")


def _check_moments(part: object, kind: str, drawn: Tensor, mean: Tensor, std: Tensor) -> None:
    """Compare moments of `drawn` `"s ..."` with those they must have: std / sqrt(s), and std / sqrt(2 s)."""
    count = len(drawn)
    off = ((drawn.mean(0) - mean).abs() / std).max()
    require(
        off <= ERRORS / math.sqrt(count), f"{part!r}: the mean of {count} {kind} is {float(off):.2g} deviations off."
    )
    ratio = (drawn.std(0) / std - 1.0).abs().max()
    bound = ERRORS / math.sqrt(2.0 * count)
    require(ratio <= bound, f"{part!r}: the deviation of {count} {kind} is off by a share of {float(ratio):.2g}.")


def _check_samples(
    part: object, posterior: Posterior, x: Tensor, points: Tensor, draws: int, generator: torch.Generator
) -> None:
    mean, std = posterior.marginals(x, points)
    samples = require_own_randomness(part, lambda: posterior.sample(x[0], points, draws, generator))
    require(tuple(samples.shape) == (draws, 3), f"{part!r}: samples have the shape {tuple(samples.shape)}.")
    _check_moments(part, "samples", samples, mean[0], std[0])
    paths = [require_own_randomness(part, lambda: posterior.path(generator)) for _ in range(draws)]
    _check_moments(part, "paths", torch.stack([path(x, points) for path in paths]), mean, std)
    whole, piece = paths[0](x, points), paths[0](x[2:3], points[1:2])
    near = abs(float(whole[2, 1] - piece[0, 0])) <= 1e-9 * (1.0 + float(whole.abs().max()))
    require(near and torch.equal(whole, paths[0](x, points)), f"{part!r}: a path is not one function.")


def _check_average(
    part: object, posterior: Posterior, x: Tensor, points: Tensor, draws: int, slack: float, generator: torch.Generator
) -> None:
    contexts = Contexts(points, torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64))
    mean, std = posterior.average(x, contexts)
    want = posterior.marginals(x, points)[0] @ contexts.weights
    require((mean - want).abs().max() <= slack, f"{part!r}: an average has another mean than the marginals.")
    drawn = posterior.sample(x[0], points, draws, generator) @ contexts.weights
    _check_moments(part, "averaged samples", drawn[:, None], mean[:1], std[:1])


def _check_left_out(part: Surrogate, posterior: Posterior, data: Dataset) -> None:
    """A value has no say in its own prediction, but for what it does to the scale of all."""
    if not isinstance(posterior, LeavingOut):
        return
    left, n = posterior.left_out(), len(data.y)
    shapes = {tuple(each.shape) for each in (left.observed, left.mean, left.std)}
    require(shapes == {(n,)}, f"{part!r}: left_out() of {n} observations has the shapes {shapes}.")
    finite = torch.isfinite(left.mean).all() and torch.isfinite(left.std).all() and (left.std > 0).all()
    require(finite, f"{part!r}: left_out() has a mean that is not finite, or a deviation not above 0.")
    moved = data.y.clone()
    moved[0] += float(data.y.std())
    again = part.fit(replace(data, y=moved), Start(posterior.hyperparameters, keep=True))
    assert isinstance(again, LeavingOut)
    say = abs(float((again.left_out().mean[0] - left.mean[0]) / (moved[0] - data.y[0])))
    require(say <= 3.0 / n, f"{part!r}: an observation has a share of {say:.2g} in its own left_out() prediction.")


def _check_weighted(part: object, posterior: Posterior, x: Tensor, points: Tensor, slack: float) -> None:
    """Averages by several sets of weights at once, where the posterior knows them."""
    weights = torch.tensor([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]], dtype=torch.float64)
    each = [posterior.average(x, Contexts(points, row)) for row in weights]
    mean, std = (torch.stack([one[which] for one in each]) for which in range(2))
    if isinstance(posterior, Averaged):
        means, covariances = posterior.averages(x, points, weights)
        shape = tuple(covariances.shape)
        require(
            means.shape == (2, 4) and shape == (2, 4, 4), f"{part!r}: averages are {tuple(means.shape)} and {shape}."
        )
        near = (means - mean).abs().max() <= slack
        near = near and (covariances.diagonal(dim1=1, dim2=2) - std.square()).abs().max() <= slack
        require(near, f"{part!r}: averages() differ from average() with the same weights.")
        require((covariances - covariances.mT).abs().max() <= slack, f"{part!r}: a covariance of averages is lopsided.")
        marginal = posterior.average_marginals(x, points, weights)
        near = (marginal[0] - mean).abs().max() <= slack and (marginal[1] - std).abs().max() <= slack
        require(near, f"{part!r}: average_marginals() differ from average() with the same weights.")
    if isinstance(posterior, Weighing):
        found = posterior.weighted_deviation(x[:2], points, -2.0 * weights)  # a gradient may be of any size and sign
        near = (found - 2.0 * std.diagonal()).abs().max() <= slack
        require(near, f"{part!r}: weighted_deviation() is not that of the average with the same weights.")


def _check_nearby(
    surrogate: Surrogate, data: Dataset, posterior: Posterior, x: Tensor, points: Tensor, seed: int
) -> None:
    """Other posteriors that the data allow, where the surrogate offers them."""
    if not isinstance(surrogate, Doubting):
        return

    def drawn() -> tuple[Posterior, ...]:
        generator = torch.Generator().manual_seed(seed)
        found: tuple[Posterior, ...] = require_own_randomness(
            surrogate, lambda: surrogate.nearby(data, posterior, 8, generator)
        )
        return found

    found, again = drawn(), drawn()
    require(1 <= len(found) <= 8, f"{surrogate!r}: nearby() gave {len(found)} posteriors where 8 were asked for.")
    for one, other in zip(found, again, strict=True):
        require(one.size == posterior.size, f"{surrogate!r}: a nearby posterior has other data than the fit.")
        mean, std = one.marginals(x, points)
        sound = bool(torch.isfinite(mean).all()) and bool((std > 0).all())
        require(sound, f"{surrogate!r}: a nearby posterior has a mean that is not finite, or a deviation not above 0.")
        same = torch.equal(mean, other.marginals(x, points)[0])
        require(same, f"{surrogate!r}: nearby() gave other posteriors for the same generator.")


def _differences(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Return central differences of the sum of a function in each entry of `at`."""
    found = torch.zeros_like(at)
    for place in range(at.numel()):
        step = torch.zeros_like(at)
        step.view(-1)[place] = STEP
        found.view(-1)[place] = (function(at + step).sum() - function(at - step).sum()) / (2.0 * STEP)
    return found


def _check_derivatives(part: object, posterior: Posterior, x: Tensor, points: Tensor, size: float) -> None:
    for which, name in enumerate(("mean", "deviation")):
        moving = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(posterior.marginals(moving, points)[which].sum(), moving)
        want = _differences(lambda at, which=which: posterior.marginals(at, points)[which].detach(), x)  # type: ignore[misc]
        off = float((gradient - want).abs().max())
        require(
            off <= 1e-3 * (1.0 + size), f"{part!r}: the gradient of the {name} in the decision is off by {off:.2g}."
        )
    slopes = posterior.context_slopes(x, points)
    pairs = (("mean", 0, slopes.mean_gradient), ("deviation", 1, slopes.std_gradient))
    for name, which, gradient in pairs:
        want = _differences(lambda at, which=which: posterior.marginals(x, at)[which].detach(), points)  # type: ignore[misc]
        off = float((gradient.sum(0) - want).abs().max())
        require(off <= 1e-3 * (1.0 + size), f"{part!r}: the slope of the {name} in the context is off by {off:.2g}.")


def _check_condition(part: object, posterior: Posterior, x: Tensor, points: Tensor, slack: float) -> None:
    mean, std = posterior.marginals(x, points)
    imagined = posterior.condition(x[:1], points[:1])
    require(imagined.size == posterior.size + 1, f"{part!r}: an imagined observation is not counted.")
    there = imagined.marginals(x, points)
    require((there[0] - mean).abs().max() <= slack, f"{part!r}: imagining a value at the mean moves a mean.")
    require((there[1] <= std + slack).all(), f"{part!r}: imagining a value raises a deviation.")
    require(float(there[1][0, 0]) < float(std[0, 0]), f"{part!r}: imagining a value does not lower its own deviation.")
    y = mean[0, :1] + 2.0 * std[0, :1]
    seen = float(posterior.condition(x[:1], points[:1], y).marginals(x, points)[0][0, 0])
    require(float(mean[0, 0]) < seen <= float(y) + slack, f"{part!r}: an observation does not draw the mean to itself.")
