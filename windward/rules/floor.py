"""A floor under what a try may bring: where the objective's value is at least so much, with so much probability.

    P(V(x) >= floor) = mean over theta of Phi((m_theta(x) - floor) / s_theta(x)) >= confidence

theta are draws of the model's hyper-parameters: a fit that takes its length-scales for certain is surest where nothing was
tried. Given theta, V is normal to first order: V(x) ~ V(m) + q'(f - m), q its gradient at the mean m of the fit, with

    m_theta = V(m) + q'(m_theta - m)        s_theta^2 = q' S_theta q + what is unknown of the contexts' distribution

S_theta is the posterior covariance of f over the contexts at x. The contexts' weights are Dirichlet, worth A contexts: for
an average that adds sum_i w_i (m_i - m)^2 / (A + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import number, percent, shown
from windward.beliefs.outlook import Outlook, outlook
from windward.contexts import Contexts
from windward.objectives.plain import Expected
from windward.objectives.protocol import Aim, Averaging, Objective, Speech, Targeting
from windward.objectives.situation import Situation
from windward.rules.guards import around
from windward.search.acquisition import Function
from windward.search.limits import Limits
from windward.space import Space
from windward.surrogate import Posterior
from windward.surrogate.crowd import crowd

# Decisions `"b d"` to the means and variances of their values under each posterior, `"T b"` each.
Normals: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]

# Before enough has come back a floor can vouch for nothing but the status quo and what is this near to it, as a share of each
# range: changes of this size are made without a model too.
NEIGHBOURHOOD = 0.025
# A floor vouches for nothing farther from what has come back than this share of a range: a model of values that were all
# seen in one corner does not know how deep the next one is.
REACH = 0.1
# Results before which no model says what another decision would bring.
FEWEST = 5
# Where the objective is no average, every so many of the plausible posteriors are looked at.
EVERY = 4


@dataclass(frozen=True)
class Floor:
    """The objective's value is at least `value` with probability `confidence`, by the posterior of what has arrived.

    Without a value the floor is what the status quo brings, less `slack`: what a try may cost. For an objective whose value
    is a score, such as `Satisficing`, the floor is one of the average value. A study that minimizes has a ceiling: at most
    `value`. Until five results have come back there is no model to go by: the status quo is asked, and what lies within
    2.5 % of each range of it. After that no number moves by more than 10 % of its range beyond what has come back.

    >>> Floor(12.0, confidence=0.95).value
    12.0
    """

    value: float | None = None
    slack: float | None = None
    confidence: float = 0.9
    title: ClassVar[str] = "floor"
    needs_status_quo: ClassVar[bool] = True
    wary: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        arguments.number("Floor", "confidence", self.confidence, low=0.0, high=1.0, open_low=True, open_high=True)
        if (self.value is None) == (self.slack is None):
            raise ArgumentError(
                f"Floor(value={shown(self.value)}, slack={shown(self.slack)}): give either a value, or a slack: what a try may "
                "cost against the status quo."
            )
        if self.value is not None:
            object.__setattr__(self, "value", arguments.number("Floor", "value", self.value))
        else:
            slack = arguments.number("Floor", "slack", self.slack, low=0.0, open_low=True)
            object.__setattr__(self, "slack", slack)

    def oriented(self, sign: float) -> Floor:
        """Return it with its value times `sign`."""
        return self if sign > 0 or self.value is None else replace(self, value=-self.value)

    def check(self, objective: Objective, space: Space, sign: float) -> None:
        """Refuse a floor beyond an objective's target: whatever it allows would meet the target already."""
        if self.value is None or not isinstance(objective, Targeting):
            return
        if sign * objective.target < sign * self.value:
            side = "below" if sign > 0 else "above"
            raise IncompatibleError(
                f"{shown(self)} contradicts {shown(objective)}: what the floor allows meets the target of "
                f"{number(objective.target)} already; give a floor {side} the target."
            )

    def __call__(self, situation: Situation) -> Limits:
        space = situation.trials.space
        assert situation.status_quo is not None  # a guard that needs a status quo is not called without
        if situation.believed is None or len(situation.trials.arrived) < FEWEST:
            return around(space, situation.status_quo, NEIGHBOURHOOD)
        return replace(Limits.anywhere(space), margin=self._margin(situation))

    def _margin(self, situation: Situation) -> Function:
        """Return by how much the probability of the floor is above the confidence, as a function of decisions."""
        assert situation.status_quo is not None
        base = situation.trials.space.encode_decisions([situation.status_quo])[0] if self.value is None else None
        distance = _from_tried(situation)
        above = _averaged(situation, base) if _averages(situation) else _to_first_order(situation, base)
        least = -(self.slack or 0.0) if self.value is None else self.value

        def margin(x: Tensor) -> Tensor:
            with torch.no_grad():
                mean, variance = above(x)
                deviation = variance.sqrt().clamp_min(1e-300)
                chance = 0.5 * torch.erfc((least - mean) / deviation / 2.0**0.5)
                sure = (chance.mean(0) - self.confidence).to(x.device)
            return torch.minimum(sure, REACH - distance(x))

        return margin

    def sentence(self, speech: Speech) -> str:
        """Return the rule in words."""
        sure = f"with {percent(self.confidence)} probability"
        if self.value is None:
            worse = "less" if speech.sign > 0 else "more"
            slack = f"{speech.text(self.slack or 0.0)} {worse}"
            return f"A decision is asked only if {sure} it brings at most {slack} than the status quo."
        return f"A decision is asked only if {sure} it brings {speech.text(self.value)} {speech.better}."


def _from_tried(situation: Situation) -> Function:
    """Return how far decisions are from one that came back, in the number that differs most; categories are the model's."""
    space, tried = situation.trials.space, situation.trials.dataset.x.cpu()
    numbers = torch.ones(space.decision_width, dtype=torch.bool)
    for name, parameter in space.decision.items():
        numbers[space.decision_columns[name]] = not parameter.choices
    if not bool(numbers.any()):
        return lambda x: torch.zeros(len(x), dtype=torch.float64)
    known = torch.unique(tried[:, numbers], dim=0)
    return lambda x: torch.cdist(x.detach()[:, numbers], known, p=torch.inf).amin(1)


def _averages(situation: Situation) -> bool:
    """Whether the floor is one of the average: the objective is one, or its value is a score."""
    return situation.aim is None or isinstance(situation.aim.objective, Averaging | Targeting)


def _fitted(situation: Situation) -> Posterior:
    believed = situation.believed
    assert believed is not None
    return believed.posterior if believed.arrived is None else believed.arrived


def _averaged(situation: Situation, base: Tensor | None) -> Normals:
    """Return the average of decisions, less that of the status quo, under every plausible posterior."""
    contexts = situation.contexts if situation.judged is None else situation.judged
    posterior, many = _fitted(situation), crowd(situation.plausible or (_fitted(situation),), contexts)
    if many is None:
        expected = Expected()
        judged = replace(
            situation, contexts=contexts, aim=Aim(expected, expected.bind(replace(situation, contexts=contexts)))
        )
        return _to_first_order(judged, base)

    def above(x: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance = many.averages(x, base)
        return mean, variance + unknown_contexts(x, base, contexts, posterior)

    return above


def _to_first_order(situation: Situation, base: Tensor | None) -> Normals:
    """Return the value of decisions, less that of the status quo, to first order around the mean of the fit."""
    aim, contexts, posterior = situation.aim, situation.contexts, _fitted(situation)
    assert aim is not None
    others = situation.plausible[::EVERY] or (posterior,)
    quo = None if base is None else outlook(base[None], situation, aim, posterior)

    def above(x: Tensor) -> tuple[Tensor, Tensor]:
        found = outlook(x, situation, aim, posterior)
        pairs = [_beside(found.under(one), None if quo is None else quo.under(one)) for one in others]
        means, variances = (torch.stack(part) for part in zip(*pairs, strict=True))
        return means, variances + unknown_contexts(x, base, contexts, posterior, found.pull, situation.judged)

    return above


def _beside(found: Outlook, quo: Outlook | None) -> tuple[Tensor, Tensor]:
    """Return the values of decisions less that of the status quo, and their variances; `"b"` each."""
    if quo is None:
        return found.value, found.variance
    variance = found.variance_beside(quo)
    if variance is None:  # whatever the correlation
        same = (found.x == quo.x).all(-1)
        variance = torch.where(same, 0.0, (found.deviation + quo.deviation).square())
    return found.value - quo.value, variance


def unknown_contexts(
    x: Tensor,
    base: Tensor | None,
    contexts: Contexts,
    posterior: Posterior,
    pull: Tensor | None = None,
    judged: Contexts | None = None,
) -> Tensor:
    """Return the variance of values, less that of `base`, by what is unknown of the contexts' distribution; `"b"`.

    An adversary, or a tail, rests on fewer contexts: as many as its weights are worth, and where its edge lies is unknown too.
    """
    unknown = (contexts if judged is None else judged).unknown
    if unknown is None:
        return torch.zeros(len(x), dtype=torch.float64, device=contexts.weights.device)
    values = posterior.means(x.detach().to(contexts.points.device), contexts.points)
    if base is not None:
        values = values - posterior.means(base[None].to(values.device), contexts.points)
    share = contexts.weights[None] if pull is None else pull.clamp_min(0.0)
    total = share.sum(-1, keepdim=True)
    share = torch.where(total > 0.0, share / total.clamp_min(1e-300), contexts.weights)
    held = (contexts.weights.square().sum() / share.square().sum(-1)).clamp_max(1.0)
    spread = (share * (values - (share * values).sum(-1, keepdim=True)).square()).sum(-1)
    return spread * (2.0 - held) / (float(unknown.mass.sum()) * held + 1.0)
