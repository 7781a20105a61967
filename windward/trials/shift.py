"""Whether the contexts that came lately are unlike those before, said with a false-alarm rate that holds at every look.

A function of the log and the study's seed alone, and without torch. `windward.trials.wealth` has the method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from windward.basics import arguments, streams
from windward.basics.speech import counted, day, number
from windward.space.parameters import Value
from windward.space.space import Space
from windward.trials.records import Trial
from windward.trials.wealth import FIRST, Raised, Watched, alarms

LEVEL = 0.01
# Earlier changes that are listed one by one: a season brings many.
LISTED = 3
Change: TypeAlias = Literal[
    "higher", "lower", "farther apart", "closer together", "more often", "less often", "elsewhere"
]
CHANGES: dict[tuple[str, bool], Change] = {
    ("location", True): "higher",
    ("location", False): "lower",
    ("spread", True): "farther apart",
    ("spread", False): "closer together",
    ("choice", True): "more often",
    ("choice", False): "less often",
}


@dataclass(frozen=True)
class Alarm:
    """One change of a context. `since` is the trial with which it probably began, `raised` the one that raised the alarm.

    `change` says how the values since then differ: higher, farther apart; for a category that `choice` comes more or less
    often; for what comes round only `"elsewhere"`. `count` values have come since then, up to the next alarm's change.
    """

    context: str
    change: Change
    choice: Value | None
    since: int
    since_when: datetime | None  # None for history without dates
    raised: int
    count: int


@dataclass(frozen=True)
class Shift:
    """Whether contexts have changed: the alarms, oldest first, in numbers and in words.

    Where the contexts could have come in any other order as well, the probability of an alarm, ever, is at most `level`.
    `watched` says how many values of each context were looked at. `wealth` is what the bets against that have
    made of 1 since the last alarm; it raises the next one at 1 / `level`, doubled by each alarm before.
    """

    level: float
    alarms: tuple[Alarm, ...]
    watched: dict[str, int]
    wealth: float
    sentences: tuple[str, ...]


def forgets(model: object) -> bool:
    """Return whether a context model, as the log has it, has a half-life."""
    return isinstance(model, Mapping) and model.get("half_life") is not None


def shift_of(
    space: Space, trials: Sequence[Trial], seed: int, *, level: float = LEVEL, followed: bool = False
) -> Shift:
    """Return whether the contexts of a study changed; `followed`: its context model forgets, and need not be told to.

    A context counts where nature showed it: what was given at the ask, chosen by a rule or known from the time does not. The
    order is that of the rounds, as for half-lives. Ties are broken by the seed and the trial's id, so the answer replays.
    """
    level = arguments.number("study.shift", "level", level, low=0.0, high=1.0, open_low=True, open_high=True)
    rows = sorted(
        (trial for trial in trials if trial.context_source != "chosen"),
        key=lambda trial: (trial.happened or datetime.min.replace(tzinfo=UTC), trial.id),
    )
    watched = [_watched(space, rows, name) for name in space.context if name not in space.dated]
    ties = [streams.breaking_ties(seed, trial.id) for trial in rows]
    raised, wealth = alarms(watched, ties, level)
    named = {each.name: each for each in watched}
    ends = [later.since for later in raised[1:]] + [len(rows)] * bool(raised)
    found = tuple(_alarm(space, rows, named[one.name], one, end) for one, end in zip(raised, ends, strict=True))
    counts = {each.name: sum(value is not None for value in each.values) for each in watched}
    return Shift(level, found, counts, wealth, _sentences(level, found, counts, followed))


def _watched(space: Space, rows: Sequence[Trial], name: str) -> Watched:
    parameter = space.context[name]
    counts = [name in trial.context and name not in (trial.context_planned or {}) for trial in rows]
    seen = [trial.context[name] for trial, counted in zip(rows, counts, strict=True) if counted]
    points = iter(parameter.to_own(seen).tolist() if seen else ())
    choices = len(parameter.choices)
    values = [next(points) if counted else None for counted in counts]
    if choices:
        return Watched(name, choices, [None if row is None else (float(row.index(max(row))),) for row in values])
    return Watched(name, 0, [None if row is None else tuple(row) for row in values])


def _alarm(space: Space, rows: Sequence[Trial], watched: Watched, one: Raised, end: int) -> Alarm:
    parameter, began = space.context[one.name], rows[one.since]
    choice = parameter.choices[one.place] if parameter.choices else None
    # A column of what comes round is one coordinate on a circle: up or down says nothing to a reader.
    change: Change = "elsewhere" if not parameter.choices and parameter.width > 1 else CHANGES[one.kind, one.up]
    count = sum(value is not None for value in watched.values[one.since : end])
    return Alarm(one.name, change, choice, began.id, began.when, rows[one.turn].id, count)


def _sentences(level: float, found: Sequence[Alarm], counts: dict[str, int], followed: bool) -> tuple[str, ...]:
    most = max(counts.values(), default=0)
    if not counts:
        return ("There is no context to watch.",)
    if not most:
        return ("No context is watched: none has come yet that was not given, chosen, or known from the time.",)
    if found:
        left = max(len(found) - 1 - LISTED, 0)
        before = [f"An earlier change of {each.context} began {_since(each)}." for each in found[left:-1]]
        if left:
            more = "one more," if left == 1 else f"{left} more, the first"
            before.append(f"Before these came {more} {_since(found[0])}.")
        return (
            _changed(found[-1]),
            *before,
            f"Where nothing changes, there is an alarm in at most {number(100.0 * level)} % of studies. Contexts that depend "
            "on the time, such as a season or a slow swing, raise it too.",
            "Advice follows the newer ones by the half-life of the context model."
            if followed
            else 'To let advice follow the newer ones, give the context model half_life="learnt": '
            "KernelDensity and Empirical take it.",
        )
    if most < FIRST:
        return (f"Changes of the contexts are looked for from the {FIRST}th on; {most} came so far.",)
    return (
        f"The {counted(most, 'context')} seen look as if they could have come in any other order: there is no alarm.",
    )


def _changed(alarm: Alarm) -> str:
    values = (
        f"last value of {alarm.context} is" if alarm.count == 1 else f"last {alarm.count} values of {alarm.context} are"
    )
    if alarm.choice is not None:
        how = f": {str(alarm.choice)!r} comes {alarm.change}"
    else:
        how = "" if alarm.change == "elsewhere" else f": they are {alarm.change}"
    return f"The {values} unlike the earlier ones, since {_since(alarm)}{how}."


def _since(alarm: Alarm) -> str:
    trial = f"about trial {alarm.since}"
    return trial if alarm.since_when is None else f"about {day(alarm.since_when)} (trial {alarm.since})"
