"""A study in sentences, for a person who knows the problem and not the method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windward.basics.speech import ages, and_list, counted, number, percent
from windward.divergences import ChiSquare, Divergence, KullbackLeibler, TotalVariation, Wasserstein
from windward.objectives.plain import CVaR, Expected, MeanVariance, Minimum, VaR
from windward.objectives.protocol import Objective
from windward.objectives.radii import resolved
from windward.objectives.robust import LipschitzRobust, MeanRisk, Robust, Sensitivity, Tradeoff
from windward.objectives.satisficing import Satisficing
from windward.space.parameters import Value
from windward.study.study import Study, utc_now
from windward.trials.records import Recommendation
from windward.trials.trials import Trials

# A context counts as moved by the adversary where its mean moves by this share of its spread, or a category's chance by
# this much: less is rounding to a reader.
MOVED = 0.05


@dataclass(frozen=True)
class Advice:
    """A recommendation as sentences: what to do, what it is worth, how sure that is, what it guards against, on what."""

    decision: str
    value: str
    interval: str
    protection: str
    basis: str

    def lines(self) -> list[str]:
        """Return the sentences in order."""
        return [self.decision, self.value, self.interval, self.protection, self.basis]


def advice(study: Study, found: Recommendation) -> list[str]:
    """Return a recommendation in a few sentences."""
    return advised(study, found).lines()


def advised(study: Study, found: Recommendation) -> Advice:
    """Return a recommendation as sentences."""
    objective = study.policy.report.objective or study.policy.objective
    seen = study.policy.view(study.trials).contexts_seen if study.space.context else 0
    low, high = (number(end) for end in found.interval)
    interval = f"With 90 % probability that figure lies between {low} and {high}"
    interval += f", as far as the {_seen(seen)} typical of those to come." if seen else "."
    return Advice(
        f"Set {joined(found.decision)}.",
        _value_sentence(study, objective, found.value),
        interval,
        _protection_sentence(study, objective, found),
        basis(study.trials),
    )


def joined(values: Mapping[str, Value]) -> str:
    """Return values in words: `order to 0.22 and route to rail`."""
    return and_list([f"{name} to {number(value)}" for name, value in values.items()])


def basis(trials: Trials) -> str:
    """Return what a recommendation rests on, and what is missing."""
    arrived, pending, waiting = len(trials.arrived), trials.pending, len(trials.awaiting_context)
    lost = len(trials.lost)
    text = f"This rests on the {counted(arrived, 'result')} that {_have(arrived)} arrived."
    if not arrived:
        text = "No result has come back together with its context."
    rest = []
    if pending:
        asked = [trial.asked_at for trial in pending if trial.asked_at is not None]
        oldest = f" (the oldest was asked {ages((utc_now() - min(asked)).total_seconds())} ago)" if asked else ""
        rest.append(f"{counted(len(pending), 'result')} {_are(len(pending))} still on the way{oldest}")
    if waiting:
        rest.append(f"{waiting} {_have(waiting)} a value but not yet the whole context")
    if lost:
        rest.append(f"{counted(lost, 'result')} {_are(lost, past=True)} lost")
    missing = "it" if len(pending) + waiting + lost == 1 else "them"
    return text if not rest else f"{text} {_capital(and_list(rest))}; nothing is assumed about {missing} here."


def ambiguity(study: Study, objective: Objective) -> str | None:
    """Return what may happen that the objective guards against, as a clause; None for an objective without a ball."""
    if isinstance(objective, Minimum):
        return "the least favourable context of those considered comes"
    if isinstance(objective, LipschitzRobust):
        return f"contexts lie {number(_radius(study, objective))} away from those seen, on average, to the bad side"
    if isinstance(objective, Robust | Tradeoff):
        return _drift(objective.divergence, _radius(study, objective))
    return None


def objective_name(objective: Objective) -> str:
    """Return what an objective looks at, in a few words."""
    names = {
        Expected: "average value",
        Minimum: "worst value",
        Robust: "worst average value under drift",
        LipschitzRobust: "worst average value under drift (bound)",
        Tradeoff: "worst average value, less a price for fragility",
        Sensitivity: "insensitivity to drift",
        MeanRisk: "average value, less a price for fragility",
        MeanVariance: "average value, less a price for spread",
        Satisficing: "safety of the target",
        VaR: "value that most contexts reach",
        CVaR: "average value over the bad contexts",
    }
    return names.get(type(objective), type(objective).__name__)


def _value_sentence(study: Study, objective: Objective, value: float) -> str:
    v, better = number(value), "or more" if study.direction == "maximize" else "or less"
    least = "at least" if study.direction == "maximize" else "at most"
    if not study.policy.view(study.trials).space.context:
        return f"Its estimated value is {v}."
    if isinstance(objective, Expected):
        return f"Its estimated value is {v} on average over the contexts, as often as they have come so far."
    if isinstance(objective, Minimum):
        return f"Its estimated value is {v} {better}, whichever of the contexts considered comes."
    if isinstance(objective, Robust | LipschitzRobust):
        return f"Its estimated value is {least} {v} on average, even if {ambiguity(study, objective)}."
    if isinstance(objective, CVaR):
        return f"Its estimated value is {v} on average over the worst {objective.tail:.3g} share of the contexts."
    if isinstance(objective, VaR):
        return f"Its estimated value is {v} {better} in all but the worst {objective.tail:.3g} share of the contexts."
    if isinstance(objective, Satisficing):
        return _target_sentence(objective, study.trials.sign * value, better)
    return f"By what this study looks at ({objective_name(objective)}) it scores {v}; the score is no plain value."


def _target_sentence(objective: Satisficing, score: float, better: str) -> str:
    target = number(objective.target)
    if score >= 0.0:
        return f"It is estimated to reach the target of {target} {better} on average, however the contexts drift."
    return (
        f"The target is {target} {better} on average; the decision is the one whose average misses it by least "
        f"as the contexts drift (score {number(score)}; 0 would be never)."
    )


def _protection_sentence(study: Study, objective: Objective, found: Recommendation) -> str:
    seen = study.policy.view(study.trials).space
    if not study.space.context:
        return "There are no contexts to be protected against."
    if not seen.context:
        return "The method does not look at contexts: they count as noise, and nothing is protected against them."
    if isinstance(objective, Expected):
        return (
            "It is not protected against contexts that come differently from before: it is the best for the average of "
            "what has been seen."
        )
    moved = moves(study, found)
    if not moved:
        return "Within what is guarded against, no shift of the contexts would make it notably worse."
    return f"It is protected against {and_list(moved)}."


def moves(study: Study, found: Recommendation) -> list[str]:
    """Return how the contexts that a decision is guarded against differ from those expected, largest moves first."""
    ranked: list[tuple[float, str]] = []
    for name, parameter in study.policy.view(study.trials).space.context.items():
        values = [context[name] for context in found.contexts]
        if parameter.choices:
            ranked += _category_moves(name, parameter.choices, values, found)
            continue
        numbers = [float(value) for value in values]
        beyond = _beyond_the_seen(study.trials, name, numbers, found)
        mean = sum(w * n for w, n in zip(found.reference, numbers, strict=True))
        worst = sum(w * n for w, n in zip(found.adversary, numbers, strict=True))
        spread = math.sqrt(sum(w * (n - mean) ** 2 for w, n in zip(found.reference, numbers, strict=True)))
        # A shift, or the same middle with more at the ends.
        width = math.sqrt(sum(w * (n - worst) ** 2 for w, n in zip(found.adversary, numbers, strict=True)))
        if spread > 0.0 and abs(worst - mean) > MOVED * spread:
            side = "lower" if worst < mean else "higher"
            text = f"{side} {name} than expected ({number(worst)} on average instead of {number(mean)})"
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
    cases = number(float(f"{100 * share:.2g}"))
    text = f"{cases} % of the cases at {name} near {number(near)}, which has not been seen"
    return f"{text} (so far {number(low)} to {number(high)})"


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


def _radius(study: Study, objective: Robust | LipschitzRobust | Tradeoff) -> float:
    trials = study.policy.view(study.trials)
    return resolved(type(objective).__name__, objective.radius, trials.contexts_seen, trials.space.context_width)


def _drift(divergence: Divergence, radius: float) -> str:
    if isinstance(divergence, TotalVariation):
        cases = percent(min(radius / 2, 1.0))
        return f"up to {cases} of the cases turn out as the least favourable contexts instead of as before"
    if isinstance(divergence, Wasserstein):
        return f"contexts lie {number(radius)} away from those seen, on average, to the bad side"
    names = {ChiSquare: "chi-square divergence", KullbackLeibler: "Kullback-Leibler divergence"}
    kind = names.get(type(divergence), type(divergence).__name__)
    return f"the contexts drift from those seen by as much as a {kind} of {number(radius)}"


def _seen(count: int) -> str:
    return "1 context seen so far is" if count == 1 else f"{count} contexts seen so far are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _are(count: int, *, past: bool = False) -> str:
    return ("was" if count == 1 else "were") if past else ("is" if count == 1 else "are")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
