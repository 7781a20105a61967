"""Why a decision is suggested, and what it is expected to bring beside the status quo; no random number is drawn."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from windward.beliefs.outlook import Outlook, outlook, probability_below, worth
from windward.objectives.protocol import Aim, Averaging
from windward.objectives.situation import Situation
from windward.suggest.guarded import Choice
from windward.surrogate import Posterior
from windward.trials.reasons import Beside, Kind, Reason

# A decision looks best where no known one is better than it by this share of its own deviation.
NEARLY = 0.1
# Of the decisions that came back, so many are judged by an objective that is no expectation: those with the best averages.
JUDGED = 6


def design_reason(round: int, rounds: float, choice: Choice) -> Reason:
    """Return the reason for a decision of the design, the `round`-th from 0 of so many."""
    of = int(rounds) if math.isfinite(rounds) else None
    return Reason("status_quo" if choice.nothing_else else "design", round + 1, of, guards=choice.held)


def fitted_reason(choice: Choice, situation: Situation, aim: Aim, sign: float, *, far: bool = False) -> Reason:
    """Return the reason for a decision that was searched for; numbers that are not finite are left out.

    `far` says that it was asked for as one far from all that were tried.
    """
    posterior = known(situation)
    found = outlook(choice.x[None], situation, aim, posterior)
    value, deviation = float(found.value), float(found.deviation)
    if not math.isfinite(value + deviation):
        return Reason("status_quo" if choice.nothing_else else "far" if far else "learn", guards=choice.held)
    kind: Kind = "status_quo" if choice.nothing_else else "far"
    if not choice.nothing_else and not far:
        kind = "learn" if _beaten(situation, aim, posterior, value + NEARLY * deviation) else "best"
    beside = _beside(found, situation, aim, sign)
    return Reason(kind, value=sign * value, deviation=deviation, status_quo=beside, guards=choice.held)


def known(situation: Situation) -> Posterior:
    """Return the posterior of what has arrived: what is imagined of the rest makes nothing surer."""
    believed = situation.believed
    assert believed is not None
    return believed.posterior if believed.arrived is None else believed.arrived


def _beaten(situation: Situation, aim: Aim, posterior: Posterior, value: float) -> bool:
    """Return whether a decision that came back is worth more than this at the posterior mean.

    An objective that is no expectation may take long: some decisions are judged, together. One by one they would take several
    times as long, and the first of them alone takes nearly as long as all.
    """
    tried = situation.trials.dataset.x
    if isinstance(aim.objective, Averaging):
        return _any_above(outlook(tried, situation, aim, posterior).value, value)
    with torch.no_grad():
        means = posterior.means(tried, situation.contexts.points) @ situation.contexts.weights
    likely = tried[means.argsort(descending=True)[:JUDGED]]
    return _any_above(worth(likely, situation, aim, posterior), value)


def _any_above(values: Tensor, value: float) -> bool:
    return bool((values[torch.isfinite(values)] > value).any())


def _beside(found: Outlook, situation: Situation, aim: Aim, sign: float) -> Beside | None:
    if situation.status_quo is None:
        return None
    at = situation.trials.space.encode_decisions([situation.status_quo])
    base = outlook(at, situation, aim, found.posterior)
    value, deviation, gap = float(base.value), float(base.deviation), float(found.value - base.value)
    if not math.isfinite(value + deviation):
        return None
    worse = None
    if torch.equal(at, found.x.cpu()):
        worse = 0.0
    elif (spread := found.variance_beside(base)) is not None:
        worse = probability_below(gap, math.sqrt(float(spread)))
    return Beside(dict(situation.status_quo), sign * value, deviation, sign * gap, worse)
