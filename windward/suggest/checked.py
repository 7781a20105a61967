"""What a check of the model found, and in words: for each finding what it means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

from windward.basics import cards
from windward.basics.speech import and_list, counted, number, percent
from windward.space.outcomes import Outcome
from windward.space.parameters import Value

# How often a model that is right may be doubted, by each kind of warning.
LEVEL = 0.01
# The range of a row.
RANGE = 0.9
# The share of the variation below which a model explains little, whatever chance has to do with it.
LITTLE = 0.1
# Results below which a check is rough.
ROUGH = 20
# Outliers told one by one.
MOST_TOLD = 3


@dataclass(frozen=True)
class CheckedTrial:
    """One result beside its prediction from the others, in the user's units.

    `low` and `high` are the 90 % range of the result, noise included. `residual` says by how many deviations the result lies
    above its prediction, as a normal score: 1.64 is the edge of the range.
    """

    id: int
    observed: float
    predicted: float
    low: float
    high: float
    residual: float

    @property
    def inside(self) -> bool:
        """Whether the result lies in its 90 % range."""
        return abs(self.residual) <= edge(RANGE)


@dataclass(frozen=True)
class Coverage:
    """How many results lie in their range of this `level`, and how many are expected to."""

    level: float
    inside: int
    expected: float

    @property
    def chances(self) -> tuple[float, float]:
        """The probabilities of so few inside, and of so many, where the ranges are right."""
        from scipy.special import bdtr, bdtrc

        count = round(self.expected / self.level)
        return float(bdtr(self.inside, count, self.level)), float(bdtrc(self.inside - 1, count, self.level))


@dataclass(frozen=True)
class ModelCheck:
    """How well the model predicts results that it has not seen: each is left out and predicted from the others.

    `explained` is the share of the results' variation that is predicted, 1 - (sum of squared errors) / (that of the others'
    mean), outliers aside. It is below zero where the others' mean predicts better. `explained_linear` is that of a
    straight-line model in decisions and contexts. `surely` says whether predictions and results go up together beyond chance.
    The log scores are the mean log density of a result by its prediction, higher is better: of the model, of a constant, and
    of the straight-line model. `outliers` are the ids of trials that are improbable given all others. `noise_depends_on` names
    the decisions and contexts with which results become harder to predict, and where: `"high"`, `"low"`, a choice, or a
    section of what comes round.

    `sentences` say all of this in words. `warnings` are those of them that ask for something to be done.
    """

    trials: tuple[CheckedTrial, ...] = field(repr=False)  # by id
    coverage: tuple[Coverage, ...]
    explained: float
    explained_linear: float
    surely: bool
    log_score: float
    log_score_constant: float
    log_score_linear: float
    outliers: tuple[int, ...]
    noise_depends_on: Mapping[str, Value]
    outcome: Outcome = field(default=Outcome(), repr=False)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words."""
        return tuple(text for text, _ in self._said())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The sentences that ask for something to be done."""
        return tuple(text for text, doubt in self._said() if doubt)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences."""
        return cards.card("Can the model be trusted?", cards.lines(self.sentences))

    def _said(self) -> list[tuple[str, bool]]:
        said = [self._explains(), self._covers()]
        said += [(text, True) for text in self._strange()]
        said += [(_harder(name, where), True) for name, where in self.noise_depends_on.items()]
        if len(self.trials) < ROUGH:
            said.append(
                (f"With {counted(len(self.trials), 'result')} this check is rough. Look again at {ROUGH}.", False)
            )
        return said

    def _explains(self) -> tuple[str, bool]:
        if self.explained < LITTLE:
            text = (
                "The model explains little: the average of the results predicts them as well. Do not trust the advice"
            )
            if self.outliers:
                return f"{text} before you have checked {_named(self.outliers)}.", True
            return f"{text} yet. Wait for more results, or record something else that matters to them.", True
        share = f"{percent(self.explained)} of the variation of the results"
        if self.outliers:
            share += f", {_named(self.outliers)} aside"
        if not self.surely:
            return f"The model seems to explain {share}, but that may be chance. Wait for more results.", True
        return f"The model explains {share}.", False

    def _covers(self) -> tuple[str, bool]:
        level = LEVEL / (2 * len(self.coverage))  # either side of each range
        narrow = [each for each in self.coverage if each.chances[0] < level]
        wide = [each for each in self.coverage if each.chances[1] < level]
        told = min(narrow or wide, key=lambda each: min(each.chances), default=self.coverage[-1])
        expected = (
            number(round(told.expected)) if told.expected == round(told.expected) else f"about {told.expected:.0f}"
        )
        text = (
            f"Left out one at a time, {'only ' if narrow else ''}{told.inside} of {len(self.trials)} results fell into their "
            f"{percent(told.level)} range; {expected} were expected."
        )
        if narrow:
            return f"{text} The model is too sure of itself: expect results to differ more than it says.", True
        if wide:
            return f"{text} The model is surer than it says: results come closer to its predictions.", False
        return text, False

    def _strange(self) -> list[str]:
        rows = {row.id: row for row in self.trials}
        texts = [
            f"Trial {id} is far from what the others suggest ({self.outcome.text(rows[id].observed)}; "
            f"{self.outcome.span(rows[id].low, rows[id].high, 'to')} was expected). Make sure that it is right. If it is not, "
            "correct it with amend."
            for id in self.outliers[:MOST_TOLD]
        ]
        rest = [str(id) for id in self.outliers[MOST_TOLD:]]
        return texts + ([f"So {'are trials' if len(rest) > 1 else 'is trial'} {and_list(rest)}."] if rest else [])


def edge(level: float) -> float:
    """Return how many deviations a central range of this level reaches to either side of a normal's mean.

    >>> round(edge(0.9), 3)
    1.645
    """
    return NormalDist().inv_cdf(0.5 + 0.5 * level)


def _named(ids: tuple[int, ...]) -> str:
    return f"{'trial' if len(ids) == 1 else 'trials'} {and_list([str(id) for id in ids])}"


def _harder(name: str, where: Value) -> str:
    return (
        f"Results are harder to predict where {name} is {where}: be more careful with what is said of such decisions. If you "
        "know how much a result varies, tell it as its noise."
    )
