"""What was asked and what has come back, as a person reads it: what a study hands out and what it takes in.

A trial has two clocks: its context may be seen before, with or after its value. It trains the surrogate once both are
there; its context trains the context model as soon as it is seen (unless a rule of the policy chose it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal, TypeAlias

from windward.basics import arguments, cards
from windward.basics.speech import number
from windward.space.parameters import Value
from windward.trials.drifts import Drift
from windward.trials.foretold import Forecast
from windward.trials.reasons import Reason

Values: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True)
class Tell:
    """What came back for one trial: see `Study.tell` for the fields."""

    id: int
    value: float
    context: Values | None = None
    noise: float | None = None
    decision: Values | None = None
    key: str | None = None


@dataclass(frozen=True)
class Past:
    """A finished trial from elsewhere, such as a line of history; `at` is when it happened, where that is known.

    `note` and `tags` are what a person wants to remember of it: see `Study.note`.
    """

    decision: Values
    value: float
    context: Values | None = None
    noise: float | None = None
    at: datetime | None = None
    note: str | None = None
    tags: Sequence[str] = ()


ContextSource: TypeAlias = Literal["given", "revealed", "chosen"]
State: TypeAlias = Literal["pending", "told", "lost"]

# What a trial does not show of itself.
EMPTY: tuple[object, ...] = ({}, (), frozenset())


@dataclass(frozen=True)
class Trial:
    """One decision and what is known of its outcome; times are the study's clock.

    `stand_in` is the context imagined for it while its own is not known. `turn` counts the asks before it, `delay` the asks
    between it and its value: 0 where the value came before the next ask.
    """

    id: int
    decision: Mapping[str, Value]
    planned: Mapping[str, Value] | None = None  # what was asked, where something else was done
    context: Mapping[str, Value] = field(default_factory=dict)  # as far as it is known
    context_planned: Mapping[str, Value] | None = None  # given or chosen when it was asked; the context may differ
    context_seen: frozenset[str] = frozenset()  # the names that were seen, not only planned
    context_source: ContextSource | None = None
    forecast: Mapping[str, Forecast] = field(
        default_factory=dict
    )  # by context, given when it was asked; see `context` for what came
    stand_in: Mapping[str, Value] | None = None  # imagined when it was asked, for as long as the context is not known
    value: float | None = None
    noise: float | None = None  # standard deviation of the value, where the caller knows it
    set_aside: float | None = None  # a value told without its whole context, of a trial that was given up since
    lost: str | None = None  # the reason, where it was given up; None again once a value counts
    when: datetime | None = None  # when it takes place: as was said, else when it was asked; of history its date
    asked_at: datetime | None = None  # None for history that was added
    context_at: datetime | None = None
    told_at: datetime | None = None
    turn: int | None = None  # how many were asked before it; None for history that was added
    delay: int | None = None  # how many were asked after it before its value was told
    note: str | None = None  # what a person wants to remember of it
    tags: tuple[str, ...] = ()  # words to find it by
    far: bool = False  # asked for as a decision far from all that had been tried
    changed: int = 0  # the last event that said anything of it

    def __repr__(self) -> str:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in known.items()
            if not (value is None or value is False or value in EMPTY)
        )
        return f"Trial({shown})"

    @property
    def happened(self) -> datetime | None:
        """When its round was: when it was asked, or the date of history that was added; None where nobody knows."""
        return self.asked_at or self.context_at or self.told_at

    @property
    def state(self) -> State:
        """`"told"` once it has a value that counts, else `"lost"` or `"pending"`."""
        if self.value is not None:
            return "told"
        return "pending" if self.lost is None else "lost"


@dataclass(frozen=True)
class Suggestion:
    """A decision to try. `context` is what is known of it already: given at `ask`, or chosen by the policy's rule.

    `reason` says why it is suggested; None for one that was asked by an older version, which did not record it. `when` is the
    time that was given at `ask`.
    """

    id: int
    decision: Mapping[str, Value]
    context: Mapping[str, Value] | None = None
    reason: Reason | None = field(default=None, compare=False, repr=False)
    when: datetime | None = None
    sentences: tuple[str, ...] = field(default=(), compare=False, repr=False)  # why it is suggested, in words
    named: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)  # its values with their units

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what to try, and why."""
        values = {**self.decision, **(self.context or {})}
        rows = [
            (f"{name} (context)" if name not in self.decision else name, self._said(name, values)) for name in values
        ]
        return cards.card(f"Trial {self.id}: try this", cards.pairs(rows), cards.lines(self.sentences))

    def _said(self, name: str, values: Values) -> str:
        return self.named.get(name) or number(values[name])


@dataclass(frozen=True)
class Result:
    """What an evaluation returns when it is more than a number: see `Study.tell` for the fields."""

    value: float
    context: Mapping[str, Value] | None = None
    noise: float | None = None
    decision: Mapping[str, Value] | None = None


@dataclass(frozen=True)
class Beyond:
    """In what a decision lies far from all that was tried: a number, a choice, or all of it together."""

    kind: Literal["above", "below", "choice", "together"]
    name: str = ""
    limit: Value | None = None  # the highest or lowest that was tried, or the choice


@dataclass(frozen=True)
class SolvedRadius:
    """A radius that was solved from `contexts` seen, so that they leave as much open with this `confidence`.

    `how` is `"root"`; `"minimum"` where even the worst context of all is left open; `"constant"` where contexts make no
    difference to the best average decision; `"known"` where nothing is unknown of the context.
    """

    value: float
    confidence: float
    contexts: int
    how: Literal["root", "minimum", "constant", "known"]


@dataclass(frozen=True)
class Recommendation:
    """A decision with its value by the objective, how sure that is, and what it is guarded against.

    `value` is the mean of what the decision may be worth, and `interval` holds it with 90 % probability; `between(0.5)` is
    another one. Both cover what is unknown of f, of its hyper-parameters, and of the contexts' distribution, with a share
    for contexts that have not been seen. `unknown_function` and `unknown_contexts` are the deviations that come from the
    one and the other. `allowed_shift` is by how much the value lies below the plain average, because the objective guards
    against a shift of the contexts; None where it guards against nothing. docs/trust.md says how often the intervals held.

    `beyond` says in what the decision lies far from all that was tried; `best_tried` is then the best decision among those.
    `unseen` are declared categories of the context that have not come yet. With `first_guess` so few results have come back
    that nothing should rest on this yet: `Study.stage()` says what it takes.

    `contexts` are the context points it was chosen on, `reference` their weights by the context model, `adversary` the
    weights it is guarded against: for an expectation or a worst case (`Expected`, `Robust`, `CVaR`, `Minimum`) the decision
    was chosen by the expectation under them; for `Satisficing` they are those of the worst case at its radius; for an
    objective that no single distribution attains (`Tradeoff`, `Sensitivity`), or a missed target, they are the reference.
    """

    decision: Mapping[str, Value]
    value: float
    interval: tuple[float, float]
    contexts: tuple[Mapping[str, Value], ...] = field(default=(), repr=False)
    reference: tuple[float, ...] = field(default=(), repr=False)
    adversary: tuple[float, ...] = field(default=(), repr=False)
    unknown_function: float = 0.0
    unknown_contexts: float = 0.0
    allowed_shift: float | None = None
    beyond: tuple[Beyond, ...] = ()
    best_tried: Recommendation | None = None
    unseen: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    radius: SolvedRadius | None = None  # where the contexts seen decided it: `Confidence`
    drift: Drift | None = (
        None  # whether outcomes change with time, where the model looked; the advice is then about now
    )
    forecast: tuple[str, ...] = ()  # contexts that were forecast: it is judged by what the forecast leaves open
    beside_status_quo: Comparison | None = None  # the status quo first, this decision second
    first_guess: bool = False
    sentences: tuple[str, ...] = field(
        default=(), compare=False, repr=False
    )  # what to do and how sure that is, in words
    quantiles: tuple[float, ...] = field(default=(), repr=False)  # at 1/200, 2/200, ..., 199/200

    def between(self, level: float) -> tuple[float, float]:
        """Return the interval that holds the value with this probability, from 0 to 0.99."""
        return _between("Recommendation.between", self.quantiles, level)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences."""
        low, high = self.interval
        plain = [f"{name} = {number(value)}" for name, value in self.decision.items()]
        plain.append(
            f"It is worth {number(self.value)}, between {number(low)} and {number(high)} with 90 % probability."
        )
        title, *rest = self.sentences or plain
        return cards.card(title, cards.lines(rest))


@dataclass(frozen=True)
class Comparison:
    """Two decisions side by side: by how much the second is worth more, and how probable it is that it is better.

    `difference` is the value of the second less that of the first, in the study's units; `interval` holds it with 90 %
    probability. `probability` is that of the second being the better one, whichever way is better. Both decisions are
    judged on the same draws of what is unknown, so what moves both alike does not count. `corrected` where one of them is
    the recommended decision and was chosen with little caution: it was picked because it looked best, so the difference
    counts as less sure.
    """

    first: Recommendation
    second: Recommendation
    difference: float
    interval: tuple[float, float]
    probability: float
    corrected: bool = False
    sentences: tuple[str, ...] = field(
        default=(), compare=False, repr=False
    )  # the difference and how sure it is, in words
    quantiles: tuple[float, ...] = field(default=(), repr=False)  # at 1/200, 2/200, ..., 199/200

    def between(self, level: float) -> tuple[float, float]:
        """Return the interval that holds the difference with this probability, from 0 to 0.99."""
        return _between("Comparison.between", self.quantiles, level)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences."""
        return cards.card("Two decisions side by side", cards.lines(self.sentences or (repr(self),)))


@dataclass(frozen=True)
class Settled:
    """Stop once, with this `probability`, no decision is better than the recommended one by more than `delta`.

    `delta` is in the units of the value. For `Study.run(until=Settled(...))`; `looks` rounds in a row must say so: one
    round may do so by chance. A model may be sure of a corner that it has never seen, and wrong: with `checks` above 0 a run
    that would stop tries decisions far from all others first (`Study.ask(far=True)`), that many altogether, and goes on where
    they change its mind.

    >>> Settled(delta=0.5).probability
    0.95
    """

    delta: float
    probability: float = 0.95
    looks: int = 2
    checks: int = 0

    def __post_init__(self) -> None:
        arguments.number("Settled", "delta", self.delta, low=0.0, open_low=True)
        arguments.number("Settled", "probability", self.probability, low=0.0, high=1.0, open_low=True)
        arguments.whole("Settled", "looks", self.looks, low=1)
        arguments.whole("Settled", "checks", self.checks, low=0)


def _between(call: str, quantiles: tuple[float, ...], level: float) -> tuple[float, float]:
    """Return two quantiles, between those at 1/200, 2/200, ..., 199/200, that hold a share of `level`."""
    level = arguments.number(call, "level", level, low=0.0, high=0.99)
    ends = []
    for side in (1.0 - level, 1.0 + level):
        place = side * 100.0 - 1.0
        left = min(int(place), len(quantiles) - 2)
        share = place - left
        ends.append((1.0 - share) * quantiles[left] + share * quantiles[left + 1])
    return ends[0], ends[1]
