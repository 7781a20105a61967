"""The context model for a distribution that is known: points with weights, samples, or named scipy distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.contexts.circle import on_circle
from windward.contexts.density import conditional_weights
from windward.contexts.weighted import Contexts, merged, sobol, uniform_over_reach, whole_where_integer
from windward.space.parameters import Parameter, Value
from windward.space.space import Given, Space
from windward.trials.trials import Trials


@dataclass(frozen=True)
class Distribution:
    """A distribution of scipy.stats by its name, with its shape parameters, `loc` and `scale`.

    >>> Distribution("norm", {"loc": 0.5, "scale": 0.1}).quantile(torch.tensor([0.5]))
    tensor([0.5000], dtype=torch.float64)
    """

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.parameters, Mapping):
            raise ArgumentError(f"Distribution(parameters={shown(self.parameters)}): give a dict like {{'loc': 0.5}}.")
        clean = {
            key: arguments.number(f"Distribution({shown(self.name)})", str(key), v)
            for key, v in self.parameters.items()
        }
        object.__setattr__(self, "parameters", MappingProxyType(clean))
        self._frozen()

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.parameters.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Distribution, (self.name, dict(self.parameters)))

    def quantile(self, u: Tensor) -> Tensor:
        """Return the quantiles at `u`, of the same shape."""
        return torch.from_numpy(np.asarray(self._frozen().ppf(u.numpy()), dtype=np.float64))

    def _frozen(self) -> Any:
        import scipy.stats  # here: its import takes half a second

        family = getattr(scipy.stats, self.name, None) if isinstance(self.name, str) else None
        if not isinstance(family, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
            raise ArgumentError(f"Distribution({shown(self.name)}): scipy.stats has no distribution of that name.")
        try:
            frozen = family(**self.parameters)
        except TypeError as error:
            raise ArgumentError(f"Distribution({shown(self.name)}, {dict(self.parameters)}): {error}.") from error
        if not np.isfinite(frozen.ppf(0.5)):
            raise ArgumentError(
                f"Distribution({shown(self.name)}, {dict(self.parameters)}): these parameters are not valid."
            )
        return frozen


@dataclass(frozen=True)
class Known:
    """A known distribution of the context.

    Either `points`, a dict from each context to its values, one per point, with `weights` (equal ones when left out, so
    that samples can be given as they are); or `distributions`, a dict from each context to a `Distribution` (for a
    categorical context, its probabilities in the order of the choices), independent of each other, drawn as `count`
    quasi-Monte Carlo points clipped to the declared bounds.

    >>> Known({"demand": [0.2, 0.8]}, weights=[0.75, 0.25]).weights
    (0.75, 0.25)
    """

    points: Mapping[str, Sequence[Value]] | None = None
    weights: Sequence[float] | None = None
    distributions: Mapping[str, Distribution | Sequence[float]] | None = field(default=None, kw_only=True)
    count: int = field(default=128, kw_only=True)
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.whole("Known", "count", self.count, low=1)
        if (self.points is None) == (self.distributions is None):
            raise ArgumentError("Known(): give either points (with or without weights) or distributions.")
        if self.distributions is not None:
            if self.weights is not None:
                raise ArgumentError("Known(weights=...): weights go with points, not with distributions.")
            object.__setattr__(self, "distributions", MappingProxyType(_checked_distributions(self.distributions)))
            return
        columns, weights = _checked_points(self.points, self.weights)
        object.__setattr__(self, "points", MappingProxyType(columns))
        object.__setattr__(self, "weights", weights)

    def __hash__(self) -> int:
        named = self.points if self.points is not None else self.distributions
        return hash((tuple(named.items()) if named is not None else None, self.weights, self.count))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [dict(part) if part is not None else None for part in (self.points, self.distributions)]
        return (_known, (parts[0], self.weights, parts[1], self.count))

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many contexts it makes at most."""
        return self.count if self.points is None else len(next(iter(self.points.values())))

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it makes at most `most` contexts."""
        return f"give at most {most:,} points" if self.points is not None else f"lower count to {most:,}"

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        named = self.points if self.points is not None else self.distributions
        assert named is not None
        if set(named) != set(space.context):
            raise IncompatibleError(
                f"Known(): it describes the contexts {sorted(named)}, the space has {sorted(space.context)}."
            )
        if given.complete:
            return uniform_over_reach(space, trials.seen_contexts, given, generator, 1)
        if self.distributions is not None:
            points = torch.where(given.known, given.values, self._drawn(space, generator))
            return merged(points, torch.full((len(points),), 1.0 / len(points), dtype=torch.float64))
        return self._listed(space, given)

    def _listed(self, space: Space, given: Given) -> Contexts:
        assert self.points is not None and self.weights is not None
        names = list(self.points)
        rows = [dict(zip(names, values, strict=True)) for values in zip(*self.points.values(), strict=True)]
        points = space.encode_contexts([space.check_context("Known(points=...)", row) for row in rows])
        weights = torch.tensor(self.weights, dtype=torch.float64)
        if not bool(given.known.any()):
            return Contexts(points, weights / weights.sum())
        # Points that agree exactly with what is given condition exactly, those of weight zero among them; without one of
        # positive weight, the kernel's conditional. Points that cannot happen any more are left out.
        agree = ((points == given.values) | ~given.known).all(-1)
        if float(weights[agree].sum()) > 0.0:
            kept, mass = agree, weights
        else:
            mass = conditional_weights(space, points, given, weights)
            kept = mass > 0
        return merged(torch.where(given.known, given.values, points)[kept], mass[kept] / mass[kept].sum())

    def _drawn(self, space: Space, generator: torch.Generator) -> Tensor:
        assert self.distributions is not None
        u = sobol(len(space.context), self.count, generator).clamp(1e-9, 1.0 - 1e-9)
        blocks = []
        for index, (name, parameter) in enumerate(space.context.items()):
            distribution = self.distributions[name]
            if isinstance(distribution, Distribution):
                if parameter.choices:
                    raise IncompatibleError(f"Known(): context {shown(name)} is categorical; give its probabilities.")
                values = distribution.quantile(u[:, index])
                if name in space.circles:
                    blocks.append(on_circle(space.circles[name], values))
                    continue
                own = torch.from_numpy(parameter.to_own(values.numpy()))
                low, high = parameter.own_bounds()[0]
                blocks.append(own.clamp(low, high))
            else:
                blocks.append(_categories(name, parameter, distribution, u[:, index]))
        points = torch.cat(blocks, dim=1)
        if not bool(torch.isfinite(points).all()):
            raise IncompatibleError("Known(): a distribution gives values its context cannot have (a log of zero?).")
        return whole_where_integer(space, points)


def _categories(name: str, parameter: Parameter, probabilities: Sequence[float], u: Tensor) -> Tensor:
    if len(probabilities) != len(parameter.choices):
        raise IncompatibleError(
            f"Known(): context {shown(name)} needs a Distribution, or a probability for each choice."
        )
    ladder = torch.tensor(probabilities, dtype=torch.float64).cumsum(0)
    place = torch.searchsorted(ladder / ladder[-1], u.contiguous()).clamp_max(parameter.width - 1)
    return torch.nn.functional.one_hot(place, parameter.width).to(u)


def _checked_points(points: object, weights: object) -> tuple[dict[str, tuple[Value, ...]], tuple[float, ...]]:
    if not isinstance(points, Mapping) or not points:
        raise ArgumentError(f"Known({shown(points)}): give a dict from context names to lists of values.")
    columns = {}
    for name, values in points.items():
        _check_name("points", name)
        listed = _listed(values)
        if listed is None:
            raise ArgumentError(f"Known({{{shown(name)}: {shown(values)}}}): give a list of values.")
        columns[name] = tuple(listed)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ArgumentError(f"Known(points=...): each context needs the same number of values, got {lengths}.")
    count = next(iter(lengths.values()))
    if weights is None:
        return columns, (1.0 / count,) * count
    listed = _listed(weights)
    if listed is None or len(listed) != count:
        given = type(weights).__name__ if listed is None else len(listed)
        raise ArgumentError(f"Known(weights={_short(weights)}): give {count} weights, one per point; got {given}.")
    return columns, _probabilities("weights", listed)


def _checked_distributions(distributions: object) -> dict[str, Distribution | tuple[float, ...]]:
    if not isinstance(distributions, Mapping) or not distributions:
        raise ArgumentError(
            f"Known(distributions={shown(distributions)}): give a dict from context names to Distribution."
        )
    clean: dict[str, Distribution | tuple[float, ...]] = {}
    for name, entry in distributions.items():
        _check_name("distributions", name)
        if isinstance(entry, Distribution):
            clean[name] = entry
        elif listed := _listed(entry):
            clean[name] = _probabilities(f"distributions[{shown(name)}]", listed)
        else:
            raise ArgumentError(
                f"Known(distributions={{{shown(name)}: {shown(entry)}}}): give a Distribution or probabilities."
            )
    return clean


def _check_name(argument: str, name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentError(f"Known({argument}={{{shown(name)}: ...}}): the keys are the names of contexts.")


def _listed(values: object) -> list[Any] | None:
    """Return a sequence or an array of one dimension as a list of plain values, None for anything else, texts among it."""
    if isinstance(values, np.ndarray | Tensor):
        return values.tolist() if values.ndim == 1 else None
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        return None
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= 80 else f"{told[:77]}..."


def _probabilities(name: str, weights: Sequence[Any]) -> tuple[float, ...]:
    clean = tuple(
        arguments.number("Known", f"{name}[{place}]", weight, low=0.0) for place, weight in enumerate(weights)
    )
    total = sum(clean)
    if abs(total - 1.0) > 1e-6:
        raise ArgumentError(f"Known({name}=...): they must sum to 1, got {total:g}.")
    return clean


def _known(points: Any, weights: Any, distributions: Any, count: int) -> Known:
    return Known(points, weights, distributions=distributions, count=count)
