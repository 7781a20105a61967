"""What to deploy: the best decision by the posterior of what has arrived, what it is worth, and what it is guarded against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from windward.basics import streams
from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.objectives.protocol import Displaying, Reduction
from windward.objectives.situation import Situation
from windward.policy import SAMPLES, Policy
from windward.search.region import Region
from windward.suggest.caution import careful
from windward.suggest.confident import confident
from windward.suggest.prepare import Request, arrived_only, prepare
from windward.suggest.settled import gaps
from windward.suggest.unknown import Unknowns, unknowns
from windward.surrogate import Posterior
from windward.trials.trials import Trials

# The two quantiles of an interval, unless another level is asked for.
INTERVAL = (0.05, 0.95)
# Times the caution with which decisions are looked for, where there is one.
MORE_CAREFUL = (1.0, 3.0)


@dataclass(frozen=True)
class Assessment:
    """One decision `"d"` by the posterior of what has arrived: draws of its value, and what it is guarded against.

    Numbers are oriented so that more is better, and shown as a person sees them. `situation` and `reduction` are what the
    decision was chosen by; its value is judged on `base.unknowns`. Figures draw from the very same.
    """

    x: Tensor
    draws: Tensor  # "s", of its value
    weights: Tensor  # "n", the distribution it is guarded against
    base: Base
    shares: tuple[float, float]  # the deviation of its value that comes from f, and that which comes from the contexts

    @property
    def situation(self) -> Situation:
        """What it was chosen in."""
        return self.base.situation

    @property
    def reduction(self) -> Reduction:
        """What it was chosen by."""
        return self.base.reduction

    @property
    def policy(self) -> Policy:
        """The policy, turned so that more is better."""
        return self.base.policy

    @property
    def contexts(self) -> Contexts:
        """The contexts that it was chosen on."""
        return self.situation.contexts

    @cached_property
    def value(self) -> float:
        """The posterior mean of its value."""
        return float(central(self.draws[:, None])[0])

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of its value."""
        low, high = self.quantiles(INTERVAL)
        return low, high

    def quantiles(self, levels: tuple[float, ...]) -> tuple[float, ...]:
        """Return the quantiles of its value at these levels."""
        wanted = torch.tensor(levels, dtype=self.draws.dtype, device=self.draws.device)
        return tuple(self.draws.quantile(wanted).tolist())

    @cached_property
    def gaps(self) -> Tensor:
        """Draws of by how much the best decision is better than this one; `"s"`."""
        return gaps(self)


@dataclass(frozen=True)
class Base:
    """What every assessment in one state and context shares, and the state of the generator after its contexts were made."""

    situation: Situation
    reduction: Reduction
    policy: Policy
    unknowns: Unknowns
    state: Tensor

    def values(self, x: Tensor) -> Tensor:
        """Return draws of what decisions `"m d"` are worth, as a person sees them, oriented; `"s m"`."""
        return self.displayed(self.unknowns.values(x))

    def displayed(self, values: Tensor) -> Tensor:
        """Return oriented values as a person sees them."""
        shown = self.policy.reported
        return shown.displayed(values) if isinstance(shown, Displaying) else values


def central(draws: Tensor) -> Tensor:
    """Return the mean of draws `"s m"`, or their median where the mean lies outside the interval; `"m"`.

    Of a score with far tails, such as a fragility, a few draws can carry the mean away from nearly all others.
    """
    levels = torch.tensor([INTERVAL[0], 0.5, INTERVAL[1]], dtype=draws.dtype, device=draws.device)
    low, middle, high = draws.quantile(levels, dim=0)
    mean = draws.mean(0)
    return torch.where((low <= mean) & (mean <= high), mean, middle)


def base_of(
    policy: Policy, trials: Trials, request: Request, generator: torch.Generator, posterior: Posterior | None = None
) -> Base | None:
    """Return what decisions are assessed by; None where nothing has arrived, or no context is declared or seen.

    `posterior` is that of what has arrived, where it is known already.
    """
    ready = prepare(policy, trials, request, generator, samples=SAMPLES)
    if ready.contexts is None or not ready.trials.arrived:
        return None
    situation = arrived_only(ready, posterior)
    policy = confident(ready.policy, situation, ready.judged)
    state = generator.get_state()
    judged = ready.judged(far=True)
    judged = situation.contexts if judged is None else judged.to(ready.trials.device)
    drawn = unknowns(situation, policy.reported, policy.surrogate, judged, generator)
    return Base(situation, policy.reported.bind(situation), policy, drawn, state)


def assess(base: Base, x: Tensor | None) -> Assessment:
    """Assess the decision `x` `"d"`, or the best one where None; no imagined value is used."""
    if x is None:
        return best_of(base, base.policy)
    values, (of_function, of_contexts) = base.unknowns.assessed(x[None])
    return _assessment(base, x, values[:, 0], (float(of_function), float(of_contexts)))


def _assessment(base: Base, x: Tensor, values: Tensor, shares: tuple[float, float]) -> Assessment:
    """Return the assessment of a decision with these draws of its value."""
    return Assessment(x, base.displayed(values), _guarded(x, base.situation, base.reduction), base, shares)


def best_of(base: Base, policy: Policy) -> Assessment:
    """Return the decision to deploy: the best by the fit, or with caution the best of a few by all that is unknown.

    The fit takes its hyper-parameters for certain, and so it may be sure of what lies far from all that was tried. With caution
    the decisions that look best with less and with more of it, and the best of those tried, are compared with everything drawn.
    """
    caution = policy.report.caution_in(base.situation.trials)
    if caution == 0.0:
        return assess(base, _by_the_fit(base, policy, 0.0))
    evaluated = policy.among_evaluated
    found = [_by_the_fit(base, policy, times * caution) for times in MORE_CAREFUL]
    found.append(_by_the_fit(base, evaluated, caution))
    x = torch.stack(found)
    values, (of_function, of_contexts) = base.unknowns.assessed(x)
    place = int((values.mean(0) - caution * of_function).argmax())
    return _assessment(base, found[place], values[:, place], (float(of_function[place]), float(of_contexts[place])))


def _by_the_fit(base: Base, policy: Policy, caution: float) -> Tensor:
    """Return the best decision by the posterior mean less `caution` deviations, among the policy's candidates; `"d"`."""
    generator = streams.resumed(base.state)
    situation, reduction = base.situation, base.reduction
    if caution > 0.0:
        acquisition = careful(caution, policy.reported, situation, reduction)
    else:
        acquisition = policy.reporting.belief(situation, reduction, generator)
    evaluated = situation.trials.dataset.x
    if policy.report.candidates == "evaluated":
        evaluated = situation.trials.space.on_steps(evaluated)  # what was done between the steps is not done again
        return evaluated[acquisition(evaluated).argmax()].cpu()
    region = Region(situation.trials.space, hints=evaluated.cpu(), results=len(evaluated), tried=evaluated.cpu())
    return policy.maximize(acquisition, region, generator)


def _guarded(x: Tensor, situation: Situation, reduction: Reduction) -> Tensor:
    """Return the distribution that a decision is guarded against, at the posterior mean."""
    posterior, contexts = situation.posterior, situation.contexts
    values = posterior.marginals(x[None], contexts.points)[0].detach().requires_grad_()
    extra = None
    if reduction.extra == "lower":
        extra = values
    elif reduction.extra == "slopes":
        extra = length(posterior.context_slopes(x[None], contexts.points).mean_gradient, contexts).detach()
    # Danskin: the gradient of a worst case in the values is the distribution that attains it.
    (pull,) = torch.autograd.grad(reduction(values, extra).sum(), values)
    return distribution(pull[0], contexts)


def distribution(pull: Tensor, contexts: Contexts) -> Tensor:
    """Return the gradient as a distribution where it is one up to its size; the reference elsewhere.

    Satisficing divides by a radius; an objective that is not monotone guards against no single distribution.
    """
    total = float(pull.sum())
    if bool((pull >= -1e-9).all()) and total > 0.0:
        return pull.clamp_min(0.0) / pull.clamp_min(0.0).sum()
    return contexts.weights
