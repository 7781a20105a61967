"""What matters: how much of the variation each decision and context accounts for, in numbers and words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from windward.basics import cards, streams
from windward.basics.errors import TrialError
from windward.basics.speech import and_list, percent
from windward.space import Space, Value
from windward.suggest.assess import Assessment
from windward.suggest.in_context import plain
from windward.suggest.sobol_indices import Setting, Shares, pair_variance, setting, shares_of, values_of
from windward.suggest.stage import Stage
from windward.surrogate import Posterior

# Draws of f behind the intervals: each takes a table for every input.
DRAWS = 16
# Inputs among which the strongest interaction is looked for: those that act most together with others.
PAIRED = 4
# Deviations to either end of a 90 % interval.
EDGE = 1.645
# A share of the variation that is not worth a sentence, and half an interval's width from which all of this is rough.
LITTLE, ROUGH = 0.05, 0.2
# A share of the results' range below which f does not vary at all, and of their size below which they do not.
CONSTANT, ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True)
class Influence:
    """How much of the variation one decision or context accounts for; contexts that come together are one.

    `first` is its share by itself, `total` its share with all that it does together with others; each with its 90 % interval.
    `effect` is the mean of f at some of its `levels`, in the study's units, and `effect_interval` the 90 % interval of each;
    empty for several contexts.
    """

    names: tuple[str, ...]
    role: str
    first: float
    first_interval: tuple[float, float]
    total: float
    total_interval: tuple[float, float]
    levels: tuple[Value, ...] = field(default=(), repr=False)
    effect: tuple[float, ...] = field(default=(), repr=False)
    effect_interval: tuple[tuple[float, float], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Interaction:
    """The share of the variation that two inputs account for together, beyond what each does by itself."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    share: float


@dataclass(frozen=True)
class Importance:
    """What matters, the most first. The variation is that of f over all decisions and over contexts as they come.

    `decisions` is the share of all decisions by themselves, `contexts` that of all contexts by themselves; the rest is how
    the two go together. `strongest` is the pair that does most together; None where there are no two inputs.
    """

    inputs: tuple[Influence, ...]
    decisions: float
    contexts: float
    strongest: Interaction | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What matters, in words."""
        said = [self._most(), *self._others(), *self._split(), *self._grouped()]
        rough = max(self.inputs, key=lambda each: each.total_interval[1] - each.total_interval[0])
        low, high = rough.total_interval
        if high - low > 2 * ROUGH:
            said.append(
                f"This is rough: with all that it does together with others, {and_list(rough.names)} may account for "
                f"{percent(low)} to {percent(high)}. More results make it surer."
            )
        return tuple(said)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences."""
        return cards.card("What matters", cards.lines(self.sentences))

    def _most(self) -> str:
        top, pair = self.inputs[0], self.strongest
        verb = "matters" if len(top.names) == 1 else "matter"
        text = f"{_capital(and_list(top.names))} {verb} most: {percent(top.first)} of the variation"
        if any(each.first > top.first for each in self.inputs):  # by itself another one does more
            text = f"{text} by {_itself(top)}, {percent(top.total)} in all"
        if pair is None or pair.share < LITTLE:
            return f"{text}."
        if top.names in pair.names:
            other = next(names for names in pair.names if names != top.names)
            return f"{text}; together with {and_list(other)} {percent(pair.share)} more."
        first, second = (and_list(names) for names in pair.names)
        return f"{text}. Together {first} and {second} do {percent(pair.share)} more than each by itself."

    def _others(self) -> list[str]:
        rest = [each for each in self.inputs[1:] if each.total >= LITTLE]
        none = [and_list(each.names) for each in self.inputs if each.total_interval[1] < LITTLE]
        said = [
            f"{and_list(each.names)} ({percent(each.first)} by {_itself(each)}, {percent(each.total)} in all)"
            for each in rest
        ]
        told = (
            [f"Then {'comes' if sum(len(each.names) for each in rest) == 1 else 'come'} {and_list(said)}."]
            if said
            else []
        )
        if none:
            told.append(f"{_capital(and_list(none))} hardly {'matters' if len(none) == 1 else 'matter'}: below 5 %.")
        return told

    def _split(self) -> list[str]:
        if not any(each.role == "context" for each in self.inputs):
            return []
        rest = max(0.0, 1.0 - self.decisions - self.contexts)
        return [
            f"What is decided accounts for {percent(self.decisions)} of the variation, the contexts for "
            f"{percent(self.contexts)}, and how the two go together for {percent(rest)}."
        ]

    def _grouped(self) -> list[str]:
        return [
            f"{_capital(and_list(each.names))} come together, so they count as one."
            for each in self.inputs
            if len(each.names) > 1
        ]


def _itself(one: Influence) -> str:
    return "itself" if len(one.names) == 1 else "themselves"


def importance_of(call: str, found: Assessment, stage: Stage, sign: float) -> Importance:
    """Return what matters by the model behind an assessment."""
    if stage.first_guess:
        raise TrialError(f"{call}: {stage.sentences[0]}")
    base = found.base
    drawn, space = plain(base), base.situation.trials.space
    at = setting(space, drawn.contexts, list(base.situation.given), streams.resumed(base.state))
    known = [shares_of(each.means, at) for each in drawn.posteriors[:DRAWS]]
    results = base.situation.trials.dataset.y
    spread = float(results.max() - results.min())
    flat = spread <= ROUNDING * float(results.abs().max())
    if flat or not at.inputs or max(each.deviation for each in known) <= CONSTANT * spread:
        raise TrialError(f"{call}: by what has come back nothing makes a difference; tell results that differ.")
    chosen = list(zip(drawn.posteriors, drawn.seeds, strict=False))
    functions = [chosen[place % len(chosen)] for place in range(DRAWS)] if len(chosen) > 1 else chosen * DRAWS
    generators = {seed: streams.repeated(seed) for _, seed in chosen}
    again = streams.repeated(drawn.seeds[0])
    sampled = [shares_of(each.path(generators[seed]), at.redrawn(again)) for each, seed in functions]
    return _gathered(base.situation.trials.space, at, known, sampled, _strongest(drawn.posteriors, at, known), sign)


def _gathered(
    space: Space, at: Setting, known: Sequence[Shares], sampled: Sequence[Shares], pair: Interaction | None, sign: float
) -> Importance:
    first, firsts = _both([each.first for each in known], [each.first for each in sampled])
    total, totals = _both([each.total for each in known], [each.total for each in sampled])
    inputs = []
    for place, one in enumerate(at.inputs):
        effect, effects = _both([each.effects[place] for each in known], [each.effects[place] for each in sampled])
        levels = values_of(space, one)
        curve = (sign * effect).tolist() if levels else []
        band = [(value - half, value + half) for value, half in zip(curve, effects.tolist(), strict=False)]
        inputs.append(
            Influence(
                one.names,
                one.role,
                float(first[place]),
                _within(float(first[place]), float(firsts[place])),
                float(total[place]),
                _within(float(total[place]), float(totals[place])),
                levels,
                tuple(curve),
                tuple(band),
            )
        )
    inputs.sort(key=lambda each: -each.total)
    decisions = sum(each.decisions for each in known) / len(known)
    return Importance(tuple(inputs), decisions, sum(each.contexts for each in known) / len(known), pair)


def _both(known: Sequence[Tensor], sampled: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the mean of what the fits say, and half the width of an interval about it that draws of f call for."""
    mean = torch.stack(list(known)).mean(0)
    return mean, EDGE * (torch.stack(list(sampled)) - mean).square().mean(0).sqrt()


def _within(share: float, half: float) -> tuple[float, float]:
    return max(0.0, share - half), min(1.0, share + half)


def _strongest(posteriors: Sequence[Posterior], at: Setting, known: Sequence[Shares]) -> Interaction | None:
    """Return the pair that does most together, among the inputs that act most together with others."""
    if len(at.inputs) < 2:
        return None
    together = torch.stack([each.total - each.first for each in known]).mean(0)
    likely = together.argsort(descending=True)[:PAIRED].tolist()
    some = posteriors[: max(1, DRAWS // 4)]
    best, share = None, -1.0
    for one, other in itertools.combinations(sorted(likely), 2):
        pair = at.inputs[one], at.inputs[other]
        each_share = [
            float(pair_variance(p.means, at, *pair)) / k.deviation**2 for p, k in zip(some, known, strict=False)
        ]
        found = sum(each_share) / len(each_share)
        if found > share:
            best, share = pair, found
    assert best is not None
    return Interaction((best[0].names, best[1].names), share)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
