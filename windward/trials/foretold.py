"""`Forecast`: what somebody expects of a context that has not come yet, checked and as JSON. No torch."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from windward.basics import arguments
from windward.basics.errors import ArgumentError, SpaceError, did_you_mean
from windward.basics.speech import and_list, shown
from windward.space.cyclic import Circular
from windward.space.numeric import arrays
from windward.space.parameters import Parameter, Value

# More samples than this are thinned, evenly by their weights: the log keeps them all.
MOST_SAMPLES = 256
# Chances may miss a sum of one by rounding, as 0.33 three times does.
ROUNDING = 0.011
WAYS = ("samples", "quantiles", "chances", "point", "distribution")


@runtime_checkable
class Named(Protocol):
    """A distribution by its name in scipy.stats and its parameters, such as `windward.Distribution`."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, float]: ...


class Family(NamedTuple):
    """The same without the numbers behind it."""

    name: str
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Forecast:
    """What somebody expects of a context that has not come yet; give it in one of five ways.

    * `samples`, values that are equally probable, or as probable as their `weights` say; for several contexts together
      each sample is a dict from their names to values, and the dependence between them is kept;
    * `quantiles`, a dict from probabilities to values: `{0.1: 20, 0.5: 35, 0.9: 60}`;
    * `chances`, a dict from the choices of a category to their probabilities;
    * `point`, one value, whose error is learnt from the points that were forecast before;
    * `distribution`, a `windward.Distribution`; it may also be given by itself.

    >>> Forecast(quantiles={0.1: 20, 0.9: 60}).way
    'quantiles'
    """

    samples: Sequence[Any] | None = None
    weights: Sequence[float] | None = None
    quantiles: Mapping[float, float] | None = field(default=None, kw_only=True)
    chances: Mapping[Value, float] | None = field(default=None, kw_only=True)
    point: Value | None = field(default=None, kw_only=True)
    distribution: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            said = f"it has {and_list(ways)}" if ways else "it is empty"
            raise ArgumentError(f"Forecast: give one of samples, quantiles, chances, point and distribution; {said}.")
        if self.weights is not None and self.samples is None:
            raise ArgumentError("Forecast(weights=...): weights go with samples.")
        {"samples": self._check_samples, "quantiles": self._check_quantiles, "chances": self._check_chances}.get(
            ways[0], self._check_rest
        )()

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in (self.way, "weights") if getattr(self, name) is not None}
        return f"Forecast({', '.join(f'{name}={shown(value, 80)}' for name, value in given.items())})"

    @property
    def way(self) -> str:
        """In which of the five ways it was given."""
        return next(way for way in WAYS if getattr(self, way) is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The contexts that its samples name; none for a forecast of one context."""
        first = None if self.samples is None else self.samples[0]
        return tuple(first) if isinstance(first, Mapping) else ()

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights of the samples, which sum to one."""
        assert self.samples is not None
        return tuple(self.weights) if self.weights is not None else (1.0 / len(self.samples),) * len(self.samples)

    def column(self, name: str) -> Forecast:
        """Return the forecast of one context alone."""
        if not self.names:
            return self
        assert self.samples is not None
        return replace(self, samples=[sample[name] for sample in self.samples])

    def _check_samples(self) -> None:
        samples = _listed(self.samples)
        if samples is None:
            raise ArgumentError(f"Forecast(samples={shown(self.samples, 80)}): give a list of values, or of dicts.")
        if not samples:
            raise ArgumentError("Forecast(samples=[]): give at least one sample.")
        for place, sample in enumerate(samples):
            if isinstance(sample, float) and not math.isfinite(sample):
                raise ArgumentError(
                    f"Forecast(samples=...): sample {place} is {sample!r}; every sample must be finite."
                )
            if isinstance(sample, Mapping) != isinstance(samples[0], Mapping):
                raise ArgumentError("Forecast(samples=...): give values or dicts, not both.")
            if isinstance(sample, Mapping) and (not sample or set(sample) != set(samples[0])):
                raise ArgumentError(
                    f"Forecast(samples=...): sample {place} names {shown(list(sample))}, the first {shown(list(samples[0]))}; "
                    "every sample must name the same contexts, at least one."
                )
        object.__setattr__(self, "samples", tuple(samples))
        if self.weights is not None:
            object.__setattr__(self, "weights", self._checked_weights(len(samples)))

    def _checked_weights(self, count: int) -> tuple[float, ...]:
        listed = _listed(self.weights)
        if listed is None or len(listed) != count:
            got = type(self.weights).__name__ if listed is None else len(listed)
            raise ArgumentError(f"Forecast(weights=...): give {count} weights, one for each sample; got {got}.")
        return _shares("weights", dict(enumerate(listed)))

    def _check_quantiles(self) -> None:
        if not isinstance(self.quantiles, Mapping):
            raise ArgumentError(
                f"Forecast(quantiles={shown(self.quantiles)}): give a dict such as {{0.1: 20, 0.9: 60}}."
            )
        clean: dict[float, float] = {}
        for level, value in self.quantiles.items():
            at = arguments.number(
                "Forecast(quantiles=...)", "probability", level, low=0, high=1, open_low=True, open_high=True
            )
            clean[at] = arguments.number("Forecast", f"quantiles[{at:g}]", value)
        ordered = sorted(clean.items())
        if len(ordered) < 2:
            raise ArgumentError(
                f"Forecast(quantiles={shown(dict(self.quantiles))}): give at least two quantiles; for one value use "
                "Forecast(point=...)."
            )
        for (low, one), (high, other) in itertools.pairwise(ordered):
            if other < one:
                raise ArgumentError(
                    f"Forecast(quantiles=...): they cross: {one:g} at {low:g} and {other:g} at {high:g}; a higher probability "
                    "needs a value that is no lower."
                )
        object.__setattr__(self, "quantiles", dict(ordered))

    def _check_chances(self) -> None:
        if not isinstance(self.chances, Mapping) or not self.chances:
            raise ArgumentError(
                f"Forecast(chances={shown(self.chances)}): give a dict from choices to probabilities, such as "
                "{'dry': 0.7, 'wet': 0.3}."
            )
        total = sum(arguments.number("Forecast", f"chances[{shown(k)}]", v, low=0.0) for k, v in self.chances.items())
        if abs(total - 1.0) > ROUNDING:
            raise ArgumentError(f"Forecast(chances={shown(dict(self.chances))}): they must sum to 1, got {total:g}.")
        object.__setattr__(self, "chances", dict(zip(self.chances, _shares("chances", self.chances), strict=True)))

    def _check_rest(self) -> None:
        if self.point is not None:
            point = _plain(self.point)
            if not isinstance(point, str | bool | numbers.Real):
                raise ArgumentError(f"Forecast(point={shown(self.point)}): give one value.")
            if not isinstance(point, str | bool):
                arguments.number("Forecast", "point", point)
            object.__setattr__(self, "point", point)
            return
        given = self.distribution
        if not isinstance(given, Named) or isinstance(given, type):
            raise ArgumentError(
                f"Forecast(distribution={shown(given)}): give a Distribution, such as "
                "Distribution('norm', {'loc': 35, 'scale': 5})."
            )
        object.__setattr__(self, "distribution", Family(given.name, dict(given.parameters)))

    # -- with a space ----------------------------------------------------------------------------------------------

    def accepted(self, where: str, parameters: Mapping[str, Parameter]) -> Forecast:
        """Return the forecast with values in canonical form and at most `MOST_SAMPLES` samples, or raise `SpaceError`."""
        round_and_round = [name for name, parameter in parameters.items() if isinstance(parameter, Circular)]
        if round_and_round:
            raise SpaceError(
                f"{where}: {shown(round_and_round[0])} comes round, and such contexts cannot be forecast yet; give its "
                "value, or leave it out."
            )
        if self.samples is not None:
            return self._with_samples(where, parameters)
        (parameter,) = parameters.values()
        if self.chances is not None:
            return replace(self, chances=_chances_of(where, parameter, self.chances))
        if self.point is not None:
            return replace(self, point=parameter.accepted(f"{where}: the point", self.point, strict=False))
        if parameter.choices:
            raise SpaceError(f"{where}: it is a category and has no {self.way}; use Forecast(chances={{...}}).")
        if self.quantiles is None:
            return self
        if parameter.log and min(self.quantiles.values()) <= 0:
            raise SpaceError(f"{where}: every quantile must be > 0, because the context is on a log scale.")
        return self

    def _with_samples(self, where: str, parameters: Mapping[str, Parameter]) -> Forecast:
        assert self.samples is not None
        rows: list[Any] = []
        for place, sample in enumerate(self.samples):
            if isinstance(sample, Mapping):
                rows.append(
                    {
                        n: p.accepted(f"{where}: sample {place}, {n!r}", sample[n], strict=False)
                        for n, p in parameters.items()
                    }
                )
            else:
                (parameter,) = parameters.values()
                rows.append(parameter.accepted(f"{where}: sample {place}", sample, strict=False))
        if len(rows) <= MOST_SAMPLES:
            return replace(self, samples=rows)
        (first,) = parameters.values() if len(parameters) == 1 else (None,)
        order = (
            range(len(rows))
            if self.names or (first is not None and first.choices)
            else np.argsort(np.array(rows, dtype=float), kind="stable")
        )
        ladder = np.cumsum([self.shares[place] for place in order])
        steps = (np.arange(MOST_SAMPLES) + 0.5) / MOST_SAMPLES * ladder[-1]
        kept = np.searchsorted(ladder, steps).clip(max=len(rows) - 1)
        return Forecast([rows[order[place]] for place in kept])

    def data(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        if self.samples is not None:
            weights = None if self.weights is None else list(self.weights)
            return {"samples": [dict(s) if isinstance(s, Mapping) else s for s in self.samples], "weights": weights}
        if self.quantiles is not None:
            return {"quantiles": [list(pair) for pair in self.quantiles.items()]}
        if self.chances is not None:
            return {"chances": [list(pair) for pair in self.chances.items()]}
        if self.point is not None:
            return {"point": self.point}
        return {"distribution": {"name": self.distribution.name, "parameters": dict(self.distribution.parameters)}}


def read_forecast(where: str, data: object) -> Forecast:
    """Return the forecast in plain JSON data: an object with one of the five ways, and `weights` beside samples."""
    allowed = (*WAYS, "weights")
    if not isinstance(data, Mapping) or not data:
        raise ArgumentError(f"{where}: give an object with one of {', '.join(WAYS)}; got {shown(data, 60)}.")
    unknown = next((name for name in data if name not in allowed), None)
    if unknown is not None:
        raise ArgumentError(
            f"{where}: unknown field {shown(unknown, 60)}{did_you_mean(str(unknown), allowed)}; "
            f"it may have {', '.join(allowed)}."
        )
    found = {name: entry for name, entry in data.items() if entry is not None}
    for name in ("quantiles", "chances"):
        if name in found:
            found[name] = _pairs(where, name, found[name])
    if "quantiles" in found:
        found["quantiles"] = {_level(where, level): value for level, value in found["quantiles"].items()}
    if "distribution" in found:
        found["distribution"] = _family(where, found["distribution"])
    return Forecast(**found)


def _pairs(where: str, name: str, entry: object) -> dict[Any, Any]:
    if isinstance(entry, Mapping):
        return dict(entry)
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        pairs: list[Any] = [
            pair for pair in entry if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        ]
        if len(pairs) == len(entry) and not any(isinstance(key, list | dict) for key, _ in pairs):
            return dict(pairs)
    raise ArgumentError(f"{where}: {name} must be an object, or a list of pairs; got {shown(entry, 60)}.")


def _level(where: str, level: object) -> object:
    if not isinstance(level, str):
        return level
    try:
        return float(level)
    except ValueError as error:
        raise ArgumentError(
            f"{where}: {level[:40]!r} is no probability; quantiles go from probabilities to values."
        ) from error


def _family(where: str, entry: object) -> Family:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ArgumentError(f"{where}: a distribution is an object with a name and parameters; got {shown(entry, 60)}.")
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"{where}: parameters must be an object from names to numbers; got {shown(parameters, 60)}."
        )
    clean = {str(n): arguments.number(where, str(n), v) for n, v in parameters.items()}
    return Family(entry["name"], clean)


def _listed(values: object) -> list[Any] | None:
    """Return a sequence, an array or a tensor of one dimension as a list of plain values; None for anything else."""
    if isinstance(values, Mapping | str | bytes):
        return None
    if isinstance(values, Sequence):
        return [_plain(value) for value in values]
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return None
    return array.tolist() if array.ndim == 1 and array.dtype.kind in "biufUSO" else None


def _plain(value: Any) -> Any:
    """Return an array or a tensor of one number as that number, anything else as it is."""
    return value.item() if isinstance(value, arrays()) and math.prod(value.shape) == 1 else value


def _shares(name: str, weights: Mapping[Any, Any]) -> tuple[float, ...]:
    """Return weights that sum to one."""
    clean = [arguments.number("Forecast", f"{name}[{key!r}]", weight, low=0.0) for key, weight in weights.items()]
    total = math.fsum(clean)
    if total <= 0.0:
        raise ArgumentError(f"Forecast({name}=...): at least one must be above 0.")
    return tuple(weight / total for weight in clean)


def _chances_of(where: str, parameter: Parameter, chances: Mapping[Any, float]) -> dict[Value, float]:
    if not parameter.choices:
        raise SpaceError(
            f"{where}: chances are for categories, and it is a number; use samples with weights, or quantiles."
        )
    clean: dict[Value, float] = {}
    for key, chance in chances.items():
        choice = key
        if isinstance(key, str) and key not in parameter.choices:  # as JSON writes the names of numbers
            choice = parameter.read(where, key)
        choice = parameter.accepted(where, choice, strict=False)
        clean[choice] = clean.get(choice, 0.0) + chance
    return clean
