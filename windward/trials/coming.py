"""What is known of a coming context: values for some of it, forecasts for some, nothing of the rest. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from windward.basics.codec import dumps
from windward.basics.errors import SpaceError, did_you_mean
from windward.basics.speech import and_list, shown
from windward.basics.times import moment
from windward.space.dates import GIVE_WHEN, dated
from windward.space.parameters import Value
from windward.space.space import Space
from windward.trials.foretold import Forecast, Named, read_forecast

Forecasts: TypeAlias = Mapping[str, Forecast]


@dataclass(frozen=True)
class Awaited:
    """What is known of a coming context: `given` values, and `forecasts` by name, one of several under each of its names."""

    given: Mapping[str, Value] = field(default_factory=dict)
    forecasts: Forecasts = field(default_factory=dict)

    @cached_property
    def said(self) -> list[dict[str, Any]] | None:
        """The forecasts as plain JSON data, each with its names; None without any."""
        return [{"names": list(names), **found.data()} for names, found in grouped(self.forecasts)] or None

    def at(self, call: str, space: Space, when: datetime) -> Awaited:
        """Return the same with what is known from the time."""
        return replace(self, given=dated(call, space, self.given, when, remedy=GIVE_WHEN)) if space.dated else self

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What tells it apart from others."""
        return tuple(self.given.items()), dumps(self.said)


# What a caller may say of a coming context: names to values, forecasts or distributions; or one forecast of several.
ComingContext: TypeAlias = Mapping[Any, Any] | Forecast | Awaited


def grouped(forecasts: Forecasts) -> list[tuple[tuple[str, ...], Forecast]]:
    """Return each forecast once, with its names."""
    found: dict[int, tuple[tuple[str, ...], Forecast]] = {}
    for name, forecast in forecasts.items():
        names, _ = found.get(id(forecast), ((), forecast))
        found[id(forecast)] = (*names, name), forecast
    return list(found.values())


def known_of(call: str, space: Space, context: ComingContext | None) -> Awaited:
    """Return what is known of a coming context, checked by the space."""
    if isinstance(context, Awaited):
        return context
    if isinstance(context, Forecast):
        context = {context.names: context}
    given: dict[Any, Any] = {}
    forecasts: dict[str, Forecast] = {}
    if isinstance(context, Mapping):
        for key, entry in context.items():
            forecast = (
                Forecast(distribution=entry)
                if isinstance(entry, Named) and not isinstance(entry, type | Forecast)
                else entry
            )
            if not isinstance(forecast, Forecast):
                given[key] = entry
                continue
            names = _names(call, space, key, forecast)
            taken = next((name for name in names if name in forecasts), None)
            if taken is not None:
                raise SpaceError(f"{call}: two forecasts of {shown(taken)}; give one.")
            where = f"{call}: the forecast of {and_list([repr(name) for name in names])}"
            accepted = forecast.accepted(where, {name: space.context[name] for name in names})
            forecasts |= dict.fromkeys(names, accepted)
        both = next((name for name in forecasts if name in given), None)
        if both is not None:
            raise SpaceError(f"{call}: {shown(both)} has a value and a forecast; give one of them.")
    else:
        given = {} if context is None else context  # the space says what is wrong with it
    clean = space.check_context(call, given, partial=True)
    return Awaited(clean, {name: forecasts[name] for name in space.context if name in forecasts})


def coming_at(call: str, space: Space, context: ComingContext | None, when: datetime | None) -> Awaited:
    """Return what is known of a coming context at a time: what was said, and what the calendar says."""
    known = known_of(call, space, context)
    return known if when is None else known.at(call, space, moment(call, "when", when))


def _names(call: str, space: Space, key: object, forecast: Forecast) -> tuple[str, ...]:
    names = key if isinstance(key, tuple) else (key,)
    if not names:
        raise SpaceError(
            f"{call}: this forecast names no context; use context={{name: Forecast(...)}}, or samples that are dicts."
        )
    unknown = next((name for name in names if name not in space.context), None)
    if unknown is not None:
        near = did_you_mean(unknown, space.context) if isinstance(unknown, str) else ""
        known = ", ".join(repr(name) for name in space.context) or "none"
        raise SpaceError(f"{call}: forecast of an unknown context {shown(unknown)}{near}; the space has {known}.")
    known_already = next((name for name in names if name in space.dated), None)
    if known_already is not None:
        raise SpaceError(f"{call}: a forecast of {shown(known_already)}, which is known from the time; leave it out.")
    own = forecast.names or names
    if set(own) != set(names) or len(set(names)) < len(names) or (len(names) > 1 and not forecast.names):
        raise SpaceError(
            f"{call}: a forecast of {and_list([repr(name) for name in names])} "
            + (
                f"has samples that name {and_list([repr(n) for n in own])}"
                if forecast.names
                else "needs samples that are dicts"
            )
            + "; give one forecast of several contexts as {('a', 'b'): Forecast(samples=[{'a': ..., 'b': ...}, ...])}."
        )
    return tuple(name for name in space.context if name in names)


def read_coming(
    call: str,
    space: Space,
    context: Mapping[str, Any] | None,
    forecast: object = None,
    columns: Mapping[Any, Forecast] | None = None,
) -> Awaited:
    """Return what JSON says of a coming context: objects among the values are forecasts, `forecast` is one of several.

    `columns` are forecasts that were read from a file.
    """
    known: dict[Any, Any] = {}
    for name, entry in (context or {}).items():
        known[name] = (
            read_forecast(f"{call}: the forecast of {shown(name, 60)}", entry) if isinstance(entry, Mapping) else entry
        )
    if forecast is not None:
        one = read_forecast(f"{call}: forecast", forecast)
        known[one.names] = one
    both = next((name for name in columns or {} if name in known), None)
    if both is not None:
        raise SpaceError(f"{call}: {shown(both)} stands in the file too; give it once.")
    return known_of(call, space, {**known, **(columns or {})})


def said_forecasts(space: Space, said: Any) -> dict[str, Forecast]:
    """Return the forecasts that a log holds, by name."""
    found: dict[str, Forecast] = {}
    for entry in said or ():
        names = [str(name) for name in entry["names"]]
        read = read_forecast("body", {key: value for key, value in entry.items() if key != "names"})
        accepted = read.accepted("body", {name: space.context[name] for name in names})
        found |= dict.fromkeys(names, accepted)
    return found
