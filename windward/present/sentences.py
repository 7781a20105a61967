"""A study in sentences, for a person who knows the problem and not the method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from windward.basics.speech import ages, and_list, counted, number, percent
from windward.objectives.protocol import Displaying, Objective, Speaking, scored
from windward.present.snapshot import Snapshot, Source
from windward.space import Outcome, Space, Value, sectioned
from windward.trials.records import Beyond, Comparison, Recommendation
from windward.trials.trials import Trials

# A context counts as moved by the adversary where its mean moves by this share of its spread, or a category's chance by
# this much: less is rounding to a reader.
MOVED = 0.05
# An outcome that nobody named: "value", without a unit.
UNNAMED = Outcome()


@dataclass(frozen=True)
class Advice:
    """A recommendation as sentences: what to do, what it is worth, how sure that is, what it guards against, on what."""

    decision: str
    value: str
    interval: str
    protection: str
    basis: str
    warnings: tuple[str, ...] = ()  # what nobody has tried or seen
    beside: str | None = None  # the status quo
    early: tuple[str, ...] = ()  # why this is no advice yet
    drift: str | None = None  # whether outcomes change with time

    def lines(self) -> list[str]:
        """Return the sentences in order."""
        return [*self.early, self.decision, *self.warnings, *self.said, self.basis]

    @property
    def said(self) -> list[str]:
        """What is said of the decision itself."""
        more = [each for each in (self.beside, self.drift) if each is not None]
        return [self.value, self.interval, *more, self.protection]


def advice(study: Source, found: Recommendation) -> list[str]:
    """Return a recommendation in a few sentences."""
    return advised(study, found).lines()


def advised(study: Source, found: Recommendation) -> Advice:
    """Return a recommendation as sentences."""
    study = study.snapshot()
    objective = study.policy.reported
    return Advice(
        f"The first guess is {study.space.named(found.decision)}."
        if found.first_guess
        else f"Set {joined(study.space, found.decision)}.",
        _value_sentence(study, objective, found),
        _interval_sentence(study, found),
        _protection_sentence(study, objective, found),
        basis(study.trials, study.now),
        tuple(warnings(study, found)),
        _status_quo_sentence(study, found),
        study.stage().sentences if found.first_guess else (),
        None if found.drift is None else found.drift.sentence,
    )


def assessed(study: Source, found: Recommendation) -> list[str]:
    """Return what a decision that somebody asks about is worth, in sentences."""
    study = study.snapshot()
    said = advised(study, found)
    quo = study.status_quo is not None and dict(found.decision) == dict(study.status_quo)
    beside = "This is the status quo." if quo else said.beside
    more = [each for each in (beside, said.drift) if each is not None]
    about = f"This is what {study.space.named(found.decision)} would be worth."
    return [about, *said.early, said.value, said.interval, *more, said.protection, *said.warnings, said.basis]


def compared(study: Source, found: Comparison) -> list[str]:
    """Return a comparison in sentences: the difference, its interval, the probability that the second is better."""
    study = study.snapshot()
    first, second = (study.space.named(each.decision) for each in (found.first, found.second))
    if dict(found.first.decision) == dict(found.second.decision):
        return [f"Both decisions are {first}."]
    better = f"{_capital(second)} is better than {first} with {chance(found.probability)} probability{_chosen(found)}."
    if not _subtracts(study):
        return [better]
    return [
        f"The {study.outcome.name} of {second} is expected to be {_apart(study, found)} than that of {first}.",
        _difference_sentence(study, found),
        better,
    ]


def settled(delta: float | None, probability: float, outcome: Outcome = UNNAMED) -> str:
    """Return how probable it is that no decision is better than the recommended one by more than delta."""
    if delta is None:
        rest = chance(1.0 - probability)
        return (
            f"With more than {rest} probability another decision reaches the target and the recommended one does not."
        )
    better = f"no decision is better than the recommended one by more than {outcome.text(delta)}"
    return f"With {chance(probability)} probability {better}."


def chance(probability: float) -> str:
    """Return a probability in words; one that comes from draws is never certain.

    >>> chance(0.87), chance(1.0), chance(0.001)
    ('87 %', 'more than 99 %', 'less than 1 %')
    """
    if probability > 0.99:
        return "more than 99 %"
    return "less than 1 %" if probability < 0.01 else percent(probability)


def warnings(study: Source, found: Recommendation) -> list[str]:
    """Return what nobody has tried or seen of a recommendation, with the best decision that was tried."""
    study = study.snapshot()
    space, outcome = study.space, study.outcome
    said = [_beyond_sentence(space, one) for one in found.beyond]
    if found.best_tried is not None and said:
        span = outcome.span(*found.best_tried.interval, "to")
        best = f"{space.named(found.best_tried.decision)}: {outcome.text(found.best_tried.value)}"
        said.append(f"The best of the decisions that were tried is {best} ({span} with 90 % probability).")
    for name, choices in found.unseen.items():
        listed = and_list([f"{name} = {space.said(name, choice)}" for choice in choices])
        said.append(f"{listed} {_have(len(choices))} not been seen yet, so the value there is a guess.")
    return said


def _beyond_sentence(space: Space, one: Beyond) -> str:
    if one.kind == "together":
        return "Nothing near this combination has been tried."
    if one.kind == "choice":
        return f"{one.name} = {space.said(one.name, one.limit)} has not been tried."
    return f"No {one.name} {one.kind} {space.said(one.name, one.limit)} has been tried."


def _interval_sentence(study: Snapshot, found: Recommendation) -> str:
    """Return the interval, where it comes from, and the average without the shift that is guarded against."""
    span = study.outcome.span(*found.interval)
    said = f"With 90 % probability that figure lies between {span}.{_why_wide(study, found)}"
    if found.allowed_shift is None:
        return said
    average = found.value + study.trials.sign * found.allowed_shift
    return f"{said} If the contexts do not drift, the average is estimated at {study.outcome.text(average)}."


def _why_wide(study: Snapshot, found: Recommendation) -> str:
    """Return what an interval comes from; nothing where only f is unknown."""
    seen = study.policy.view(study.trials).contexts_seen
    if not seen or found.unknown_contexts == 0.0:
        return ""
    results = "the results near this decision are few or noisy"
    contexts = "the one context seen so far" if seen == 1 else f"the {seen} contexts seen so far"
    contexts = f"{contexts} may not be typical"
    if found.forecast:
        contexts = f"the forecast of {and_list(found.forecast)} may be off"
    if found.unknown_contexts > found.unknown_function:
        return f" The range is this wide mostly because {contexts}."
    if found.unknown_contexts > 0.5 * found.unknown_function:
        return f" The range is this wide because {results}, and because {contexts}."
    return f" The range is this wide mostly because {results}."


def _status_quo_sentence(study: Snapshot, found: Recommendation) -> str | None:
    """Return the decision beside the status quo, where there is one."""
    beside = found.beside_status_quo
    if beside is None:
        same = study.status_quo is not None and dict(found.decision) == dict(study.status_quo)
        return "This is the status quo: nothing else looks better." if same else None
    quo = f"the status quo, {study.space.named(beside.first.decision)},"
    better = f"{chance(beside.probability)} probability{_chosen(beside)}"
    gain = study.trials.sign * beside.difference
    if _subtracts(study) and (gain > 0.0 > beside.probability - 0.5 or gain < 0.0 < beside.probability - 0.5):
        # The mean and the middle of what is left open say different things.
        apart = f"its {study.outcome.name} is expected to be {_apart(study, beside)}"
        doubt = f"It is not clear whether it is better than {quo}"
        return f"{doubt[:-1]}: it is with {better}, but {apart}. {_difference_sentence(study, beside)}"
    said = f"It is better than {quo} with {better}."
    if beside.probability < 0.5:
        said += " By this the status quo is at least as good."
    if not _subtracts(study):
        return said
    expected = f"Its {study.outcome.name} is expected to be {_apart(study, beside)}."
    return f"{said} {expected} {_difference_sentence(study, beside)}"


def _subtracts(study: Snapshot) -> bool:
    """Whether two values of the objective can be subtracted as they are shown: a fragility and a shortfall cannot."""
    return not isinstance(study.policy.reported, Displaying)


def _chosen(found: Comparison) -> str:
    chosen = "the recommended decision was picked because it looked best"
    return f" (this allows for the fact that {chosen})" if found.corrected else ""


def _apart(study: Snapshot, found: Comparison) -> str:
    return f"{study.outcome.text(abs(found.difference))} {'higher' if found.difference >= 0 else 'lower'}"


def _difference_sentence(study: Snapshot, found: Comparison) -> str:
    return f"With 90 % probability the difference lies between {study.outcome.span(*found.interval)}."


def joined(space: Space, values: Mapping[str, Value]) -> str:
    """Return values in words: `order to 0.22 and route to rail`."""
    return and_list([f"{name} to {space.said(name, value)}" for name, value in values.items()])


def basis(trials: Trials, now: datetime) -> str:
    """Return what a recommendation rests on, and what is missing."""
    arrived, pending, waiting = len(trials.arrived), trials.pending, len(trials.awaiting_context)
    lost = len(trials.lost)
    text = f"This rests on the {counted(arrived, 'result')} that {_have(arrived)} arrived."
    if not arrived:
        text = "No result has come back together with its context."
    rest = []
    if pending:
        asked = [trial.asked_at for trial in pending if trial.asked_at is not None]
        oldest = f" (the oldest was asked {ages((now - min(asked)).total_seconds())} ago)" if asked else ""
        rest.append(f"{counted(len(pending), 'result')} {_are(len(pending))} still on the way{oldest}")
    if waiting:
        rest.append(f"{waiting} {_have(waiting)} a value but not yet the whole context")
    if lost:
        rest.append(f"{counted(lost, 'result')} {_are(lost, past=True)} lost")
    missing = "it" if len(pending) + waiting + lost == 1 else "them"
    return text if not rest else f"{text} {_capital(and_list(rest))}; nothing is assumed about {missing} here."


def objective_name(objective: Objective, outcome: Outcome = UNNAMED) -> str:
    """Return what an objective looks at, in a few words, with the name of the outcome."""
    return outcome.titled(objective.title) if isinstance(objective, Speaking) else type(objective).__name__


def _value_sentence(study: Snapshot, objective: Objective, found: Recommendation) -> str:
    if not study.policy.view(study.trials).space.context:
        return f"{study.speech.estimated} {study.outcome.text(found.value)}."
    if isinstance(objective, Speaking):
        return objective.sentence(found.value, replace(study.speech, forecast=found.forecast))
    return scored(objective_name(objective), found.value, study.speech)


def _protection_sentence(study: Snapshot, objective: Objective, found: Recommendation) -> str:
    seen = study.policy.view(study.trials).space
    if not study.space.context:
        return "There are no contexts to be protected against."
    if not seen.context:
        return "The method does not look at contexts: they count as noise, and nothing is protected against them."
    if isinstance(objective, Speaking) and objective.unprotected is not None:
        return "It is not protected against a wrong forecast." if found.forecast else objective.unprotected
    how = None if found.radius is None else found.radius.how
    if how == "constant":
        return (
            "The contexts make no difference to the best average decision, so there is nothing to be protected against."
        )
    if how == "minimum":
        return "What has been seen leaves even the worst context open: it is protected against that one alone."
    moved = moves(study, found)
    if not moved:
        return "Within what is guarded against, no shift of the contexts would make it notably worse."
    return f"It is protected against {and_list(moved)}."


def moves(study: Source, found: Recommendation) -> list[str]:
    """Return how the contexts that a decision is guarded against differ from those expected, largest moves first."""
    study = study.snapshot()
    ranked: list[tuple[float, str]] = []
    space = study.policy.view(study.trials).space
    circles = space.circles
    for name, parameter in space.context.items():
        values = [context[name] for context in found.contexts]
        if parameter.choices:
            ranked += _category_moves(name, parameter.choices, values, found)
            continue
        if name in circles:
            labels, places = sectioned(parameter, circles[name], values)
            ranked += _category_moves(name, labels, [labels[place] for place in places], found)
            continue
        numbers = [float(value) for value in values]
        measure = space.measure(name)
        beyond = _beyond_the_seen(study.trials, name, numbers, found)
        mean = sum(w * n for w, n in zip(found.reference, numbers, strict=True))
        worst = sum(w * n for w, n in zip(found.adversary, numbers, strict=True))
        spread = math.sqrt(sum(w * (n - mean) ** 2 for w, n in zip(found.reference, numbers, strict=True)))
        # A shift, or the same middle with more at the ends.
        width = math.sqrt(sum(w * (n - worst) ** 2 for w, n in zip(found.adversary, numbers, strict=True)))
        if spread > 0.0 and abs(worst - mean) > MOVED * spread:
            side = "lower" if worst < mean else "higher"
            text = f"{side} {name} than expected ({measure.text(worst)} on average instead of {measure.text(mean)})"
            ranked.append((abs(worst - mean) / spread, beyond or text))
        elif spread > 0.0 and abs(width - spread) > 2 * MOVED * spread:
            text = f"{name} {'more' if width > spread else 'less'} spread out than expected"
            ranked.append((abs(width - spread) / spread, beyond or text))
    return [text for _, text in sorted(ranked, key=lambda pair: -pair[0])]


def _beyond_the_seen(trials: Trials, name: str, numbers: Sequence[float], found: Recommendation) -> str | None:
    """Return the move where most of what the adversary adds lies beyond all that was seen: fear of it rests on no data."""
    seen = [float(t.context[name]) for t in trials if name in t.context and t.context_source != "chosen"]
    added = [max(0.0, worst - before) for worst, before in zip(found.adversary, found.reference, strict=True)]
    if not seen or sum(added) <= 0.0:
        return None
    low, high = min(seen), max(seen)
    sides = (
        [(mass, n) for mass, n in zip(added, numbers, strict=True) if n < low],
        [(mass, n) for mass, n in zip(added, numbers, strict=True) if n > high],
    )
    side = max(sides, key=lambda pairs: sum(mass for mass, _ in pairs))
    share = sum(mass for mass, _ in side)
    if share <= sum(added) / 2:
        return None
    near = sum(mass * n for mass, n in side) / share
    measure = trials.space.measure(name)
    cases = number(float(f"{100 * share:.2g}"))
    text = f"{cases} % of the cases at {name} near {measure.text(near)}, which has not been seen"
    return f"{text} (so far {measure.span(low, high)})"


def _category_moves(
    name: str, choices: Sequence[Value], values: Sequence[Value], found: Recommendation
) -> list[tuple[float, str]]:
    result = []
    for choice in choices:
        before = sum(w for w, v in zip(found.reference, values, strict=True) if v == choice)
        after = sum(w for w, v in zip(found.adversary, values, strict=True) if v == choice)
        if after - before > MOVED:
            text = f"{name} = {choice} more often than expected ({percent(after)} instead of {percent(before)} of the time)"
            result.append((4 * (after - before), text))
    return result


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _are(count: int, *, past: bool = False) -> str:
    return ("was" if count == 1 else "were") if past else ("is" if count == 1 else "are")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
