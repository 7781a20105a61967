"""What must hold: a model of each trial in plain Python, made from the calls alone, and checks of what a study hands out.

A rule of the model returns what would be right: the trial as it then is, or the class of the refusal; `Wrong` is raised for
input that must be refused whatever the trial is.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import torch

import windward as ww
from windward.present import records
from windward.space.cyclic import Cyclic
from windward.space.parameters import Categorical, Integer, Parameter
from windward.space.space import Space
from windward.trials.records import Trial

LARGEST = 1e150
# How far, relative to the sizes of its terms, a suggestion may break a linear constraint.
CONSTRAINTS_HOLD_TO = 1e-6


class Failure(AssertionError):
    """Something did not hold."""


class Wrong(Exception):
    """Input that a study must refuse."""


@dataclass(frozen=True)
class Kept:
    """One trial as the calls have made it."""

    decision: dict[str, Any]
    asked: dict[str, Any]  # the decision it began with
    turn: int | None  # how many were asked before it; None: it was added
    context: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)  # of the context, when it was asked
    seen: frozenset[str] = frozenset()  # contexts that were revealed, told or amended: another value is refused
    value: float | None = None
    noise: float | None = None
    set_aside: float | None = None  # told without its whole context, then lost
    lost: str | None = None
    delay: int | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        return "lost" if self.lost is not None else "pending" if self.value is None else "told"


Outcome: TypeAlias = Kept | type[ww.WindwardError]


def expect(held: object, said: str) -> None:
    """Raise `Failure` unless something holds."""
    if not held:
        raise Failure(said)


# -- what input means ------------------------------------------------------------------------------------------------


def clean_number(value: object, low: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise Wrong
    try:
        result = float(value)
    except OverflowError:
        raise Wrong from None
    if not (abs(result) <= LARGEST and result >= low):
        raise Wrong
    return result


def clean_value(parameter: Parameter, value: Any, *, strict: bool) -> Any:
    """Return a value as the study keeps it; `strict` ones may not lie outside the bounds."""
    if isinstance(value, np.generic | np.ndarray | torch.Tensor) and not isinstance(parameter, Categorical):
        if math.prod(value.shape) != 1:
            raise Wrong
        value = value.item()
    if isinstance(parameter, Categorical):
        value = value.item() if isinstance(value, np.generic) else value
        for choice in parameter.choices:
            if isinstance(value, str | bool | int | float) and value == choice:
                return choice
        raise Wrong
    result: float = clean_number(value)
    if isinstance(parameter, Integer) or getattr(parameter, "whole", False):
        if result != math.floor(result):
            raise Wrong
        result = int(result)
    if isinstance(parameter, Cyclic):
        left = math.fmod(result, parameter.period)
        left += parameter.period if left < 0 else 0.0
        left = 0.0 if left >= parameter.period else left
        return int(left) if parameter.whole else left
    if parameter.log and result <= 0:
        raise Wrong
    if parameter.low is not None and result < parameter.low:
        nearest = parameter.low
    elif parameter.high is not None and result > parameter.high:
        nearest = parameter.high
    else:
        return result
    if strict or parameter.outside == "error":
        raise Wrong
    return result if parameter.outside == "keep" else type(result)(nearest)


def clean_values(
    parameters: Mapping[str, Parameter], values: object, *, partial: bool = False, strict: bool = False
) -> dict[str, Any]:
    if not isinstance(values, Mapping) or not set(values) <= set(parameters):
        raise Wrong
    if not partial and set(values) != set(parameters):
        raise Wrong
    return {name: clean_value(parameters[name], values[name], strict=strict) for name in parameters if name in values}


def clean_text(text: object) -> str:
    """Return a text that may enter the log: no half surrogate pair, no control character but newline and tab."""
    if not isinstance(text, str) or not text.strip():
        raise Wrong
    if any(0xD800 <= ord(c) <= 0xDFFF or (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in text):
        raise Wrong
    return text


# -- what calls do to a trial ----------------------------------------------------------------------------------------


def after_reveal(kept: Kept, space: Space, context: object) -> Outcome:
    clean = clean_values(space.context, context, partial=True)
    if not clean:
        raise Wrong
    return _seen(kept, space, clean)


def _seen(kept: Kept, space: Space, context: dict[str, Any]) -> Outcome:
    if any(name in kept.seen and kept.context[name] != value for name, value in context.items()):
        return ww.TrialError
    result = replace(kept, context={**kept.context, **context}, seen=kept.seen | set(context))
    if result.set_aside is not None and len(result.context) == len(space.context):  # its value counts after all
        result = replace(result, value=result.set_aside, set_aside=None, lost=None)
    return result


def clean_told(space: Space, value: object, context: object, noise: object, decision: object) -> tuple[Any, ...]:
    """Return what a tell says: its value, context, noise and decision."""
    return (
        clean_number(value),
        {} if context is None else clean_values(space.context, context, partial=True),
        None if noise is None else clean_number(noise, 0.0),
        None if decision is None else clean_values(space.decision, decision),
    )


def after_tell(kept: Kept, space: Space, asks: int, told: tuple[Any, ...]) -> Outcome:
    """Return the trial after what `clean_told` returns was told, and `asks` trials were asked."""
    value, context, noise, done = told
    result = _seen(kept, space, context)
    if isinstance(result, type):
        return result
    if kept.value is None:
        delay = None if kept.turn is None else asks - kept.turn - 1
        decision = result.decision if done is None else done
        return replace(result, value=value, noise=noise, decision=decision, set_aside=None, lost=None, delay=delay)
    same = value == kept.value and noise in (None, kept.noise) and done in (None, kept.decision)
    return result if same else ww.TrialError


def after_lose(kept: Kept, space: Space, reason: object) -> Outcome:
    text = clean_text(reason)
    if kept.value is not None and len(kept.context) == len(space.context):
        return ww.TrialError
    if kept.lost is not None:
        return kept
    return replace(kept, lost=text, value=None, set_aside=kept.value)


def after_amend(kept: Kept, space: Space, changes: Mapping[str, Any]) -> Outcome:
    changes = {name: entry for name, entry in changes.items() if entry is not None}
    clean: dict[str, Any] = {}
    if "value" in changes:
        clean["value"] = clean_number(changes["value"])
    if "noise" in changes:
        clean["noise"] = clean_number(changes["noise"], 0.0)
    if "decision" in changes:
        clean["decision"] = clean_values(space.decision, changes["decision"])
    context = clean_values(space.context, changes.get("context", {}), partial=True)
    if "reason" in changes:
        clean["lost"] = clean_text(changes["reason"])
    if not changes or ("context" in changes and not context):
        raise Wrong
    if ({"value", "noise"} & set(clean) and kept.value is None) or not set(context) <= set(kept.context):
        return ww.TrialError
    if "lost" in clean and kept.lost is None:
        return ww.TrialError
    changed = {**kept.context, **context}
    same = changed == kept.context and all(getattr(kept, name) == entry for name, entry in clean.items())
    return kept if same else replace(kept, **clean, context=changed, seen=kept.seen | set(context))


def after_note(kept: Kept, space: Space, said: tuple[Any, Any]) -> Outcome:
    note, tags = said
    if (note is None and tags is None) or isinstance(tags, str) or tags == ["a, b"]:
        raise Wrong
    empty = isinstance(note, str) and not note.strip()
    text = kept.note if note is None else None if empty else clean_text(note).strip()
    return replace(kept, note=text, tags=kept.tags if tags is None else tuple(tags))


def after_add(space: Space, decision: object, value: object, context: object, noise: object) -> Kept:
    done = clean_values(space.decision, decision)
    seen = clean_values(space.context, {} if context is None else context)
    deviation = None if noise is None else clean_number(noise, 0.0)
    return Kept(done, done, None, seen, seen=frozenset(seen), value=clean_number(value), noise=deviation)


# -- what a study hands out ------------------------------------------------------------------------------------------


def difference(kept: Kept, trial: Trial) -> str | None:
    """Return in what a trial is not as it should be."""
    pairs = {
        "decision": (kept.decision, dict(trial.decision)),
        "planned": (kept.asked if kept.asked != kept.decision else None, _planned(kept, trial)),
        "context": (kept.context, dict(trial.context)),
        "context_planned": (kept.given, dict(trial.context_planned or {})),
        "context_seen": (kept.seen, trial.context_seen),
        "value": (kept.value, trial.value),
        "noise": (kept.noise, trial.noise),
        "set_aside": (kept.set_aside, trial.set_aside),
        "lost": (kept.lost, trial.lost),
        "state": (kept.state, trial.state),
        "delay": (kept.delay, trial.delay),
        "note": (kept.note, trial.note),
        "tags": (kept.tags, trial.tags),
        "turn": (kept.turn, trial.turn),
        "asked_at": (kept.turn is None, trial.asked_at is None),
    }
    for name, (right, found) in pairs.items():
        if right != found:
            return f"its {name} should be {right!r} and is {found!r}"
    return None


def _planned(kept: Kept, trial: Trial) -> dict[str, Any] | None:
    # Done otherwise and then amended back, both are there and the same.
    planned = None if trial.planned is None else dict(trial.planned)
    return None if planned == kept.decision else planned


def check_decision(space: Space, decision: Mapping[str, Any], *, constrained: bool = True) -> None:
    """What is suggested or recommended can be done: inside the bounds, whole, among the choices, within the constraints."""
    expect(list(decision) == list(space.decision), f"the decision {decision!r} has other names than the space")
    for name, parameter in space.decision.items():
        _check_kind(parameter, name, decision[name])
        if not isinstance(parameter, Categorical):
            assert parameter.low is not None and parameter.high is not None
            inside = parameter.low <= decision[name] <= parameter.high
            expect(inside, f"{name!r}={decision[name]!r} lies outside [{parameter.low!r}, {parameter.high!r}]")
    for constraint in space.constraints if constrained else ():
        terms = {name: weight * float(decision[name]) for name, weight in constraint.coefficients.items()}
        sizes = [abs(w) * max(map(abs, space.decision[n].own_bounds()[0])) for n, w in constraint.coefficients.items()]
        total, room = sum(terms.values()), CONSTRAINTS_HOLD_TO * sum(sizes)
        low = -math.inf if constraint.lower is None else constraint.lower
        high = math.inf if constraint.upper is None else constraint.upper
        expect(low - room <= total <= high + room, f"{constraint!r} does not hold at {decision!r}: {total!r}")


def check_context(space: Space, context: Mapping[str, Any], *, whole: bool = True) -> None:
    """Numbers are finite, whole numbers whole, categories among the choices."""
    right = list(context) == list(space.context) if whole else set(context) <= set(space.context)
    expect(right, f"the context {context!r} has other names than the space")
    for name, value in context.items():
        _check_kind(space.context[name], name, value)


def _check_kind(parameter: Parameter, name: str, value: object) -> None:
    if isinstance(parameter, Categorical):
        among = any(value == choice and type(value) is type(choice) for choice in parameter.choices)
        expect(among, f"{name!r}={value!r} is not among {parameter.choices!r}")
        return
    kind = int if isinstance(parameter, Integer) or getattr(parameter, "whole", False) else float
    expect(type(value) is kind, f"{name!r}={value!r} is {type(value).__name__}, not {kind.__name__}")
    expect(math.isfinite(value), f"{name!r}={value!r} is not finite")  # type: ignore[arg-type]


def check_recommendation(space: Space, found: ww.Recommendation, *, constrained: bool, blind: bool) -> None:
    """Its numbers are finite, its interval has an order, its weights are distributions over its contexts."""
    check_decision(space, found.decision, constrained=constrained)
    low, high = found.interval
    expect(math.isfinite(found.value), f"the recommended value is {found.value!r}")
    expect(math.isfinite(low) and math.isfinite(high) and low <= high, f"the interval is {found.interval!r}")
    sizes = {len(found.contexts), len(found.reference), len(found.adversary)}
    expect(len(sizes) == 1 and 0 not in sizes, f"{len(found.contexts)} contexts, {len(found.reference)} weights")
    for name, weights in (("reference", found.reference), ("adversary", found.adversary)):
        right = all(math.isfinite(w) and w >= -1e-9 for w in weights) and abs(sum(weights) - 1.0) < 1e-6
        expect(right, f"the weights of the {name} sum to {sum(weights)!r}, the least is {min(weights)!r}")
    for context in found.contexts:
        check_context(space.without_context() if blind else space, context)


def check_counts(study: ww.Study, kept: Sequence[Kept]) -> None:
    """How many are in which state, in every place that counts them."""
    trials, space = study.trials, study.space
    whole = [one for one in kept if len(one.context) == len(space.context)]
    right = {
        "trials": len(kept),
        **{state: sum(one.state == state for one in kept) for state in ("told", "pending", "lost")},
        "arrived": sum(one.state == "told" for one in whole),
    }
    right["awaiting_context"] = right["told"] - right["arrived"]
    found = records.counts(trials)
    expect(found == right, f"counted {found}, should be {right}")
    expect(len(trials.pending) == right["pending"] and len(trials.lost) == right["lost"], f"{trials!r}, {right}")


def check_records(study: ww.Study, now: datetime) -> None:
    """What is exported can be written as strict JSON and as UTF-8, and numbers in it are finite."""
    status = {**records.status(study), "trials": [records.trial(one, now) for one in study.trials]}
    check_sendable(status)
    text = records.csv_text(study.space, study.trials)
    text.encode()
    repr(study).encode()


def check_sendable(data: object) -> None:
    """Plain data can be sent: as JSON without NaN, as UTF-8."""
    try:
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise Failure(f"cannot be sent ({error}): {data!r:.300}") from error


def check_plain(error: BaseException) -> None:
    """An error says something, in text that any terminal or log can take."""
    text = str(error)
    expect(text.strip(), f"{type(error).__name__} says nothing")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure(f"{type(error).__name__} cannot be written as UTF-8: {text!r}") from None
    for sign in ("Traceback", " object at 0x", "<lambda>", "<function"):
        expect(sign not in text, f"{type(error).__name__} shows the inside of the program: {text}")


def check_round_trip(part: object) -> None:
    """A space or a policy goes to JSON and back."""
    text = ww.to_json(part)
    text.encode()
    expect(ww.from_json(text) == part, f"{part!r} came back from JSON as {ww.from_json(text)!r}")
