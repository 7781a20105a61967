"""A policy is one choice along each axis; one round is always the same composition of them.

    events -> Trials --feedback(surrogate)--> posterior --belief--> score ---------+
                 `----context model----> contexts --+                              +--> acquisition(x) --maximize--> x
                                objective.bind(contexts, seen) -> reduction -------+                --context rule--> c

A published method is a `Policy` with the right parts: see `papers.py`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

import torch

from windward.basics import arguments, budget
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief, ExpectedImprovement, PosteriorMean, Thompson, UpperConfidence
from windward.beliefs.widths import DelayedWidth
from windward.contexts import ContextModel, NoContext
from windward.feedback import Censor, Feedback, Hallucinate
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.objectives.robust import LipschitzRobust
from windward.objectives.satisficing import Satisficing
from windward.rules.contexts import ContextRule, Nature
from windward.search.acquisition import Maximizer
from windward.search.design import Design, Sobol
from windward.search.multistart import MultiStart
from windward.space.parameters import Value
from windward.space.space import Given, Space
from windward.surrogate import GaussianProcess, Start, Surrogate
from windward.trials.trials import Trials

# Posterior samples behind an interval: with 1024 of them the ends of a 90 % one are good to a twentieth of the posterior's
# deviation.
SAMPLES = 1024


@dataclass(frozen=True)
class Report:
    """What `recommend` reports: by which objective (the policy's, where None), among which decisions."""

    objective: Objective | None = None
    candidates: Literal["space", "evaluated"] = "space"

    def __post_init__(self) -> None:
        if self.objective is not None:
            _check_part("Report", "objective", self.objective)
        arguments.choice("Report", "candidates", self.candidates, ("space", "evaluated"))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One choice of each part; build it from parts, or take a published one from `windward.papers`."""

    context_model: ContextModel
    objective: Objective = field(default_factory=Expected)
    belief: Belief = field(default_factory=UpperConfidence)
    feedback: Feedback = field(default_factory=Hallucinate)
    context_rule: ContextRule = field(default_factory=Nature)
    surrogate: Surrogate = field(default_factory=GaussianProcess)
    maximize: Maximizer = field(default_factory=MultiStart)
    design: Design = field(default_factory=Sobol)
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            _check_part("Policy", name, getattr(self, name))
        if self.belief.needs_monotone and not self.objective.monotone:
            raise IncompatibleError(
                f"Policy(objective={shown(self.objective)}, belief={shown(self.belief)}): the objective at the upper "
                "confidence bound is no bound, because this objective can fall where values rise; use belief=Thompson()."
            )
        width = self.belief.width if isinstance(self.belief, UpperConfidence | Thompson) else None
        if isinstance(width, DelayedWidth) and not isinstance(self.feedback, Censor):
            raise IncompatibleError(
                f"Policy(belief={shown(self.belief)}, feedback={shown(self.feedback)}): delayed_width() reads the patience of "
                "the feedback; use feedback=Censor(worst, patience)."
            )
        if isinstance(self.context_model, NoContext) and not isinstance(self.context_rule, Nature):
            raise IncompatibleError(
                f"Policy(context_model=NoContext(), context_rule={shown(self.context_rule)}): without contexts there is none "
                "to choose; use context_rule=Nature()."
            )
        if isinstance(self.belief, ExpectedImprovement) and not isinstance(self.objective, Expected):
            raise IncompatibleError(
                f"Policy(objective={shown(self.objective)}, belief=ExpectedImprovement()): expected improvement is known in "
                "closed form for Expected() alone; use belief=Thompson()."
            )

    @property
    def reporting(self) -> Policy:
        """The policy by which a recommendation is made: its report's objective, at the posterior mean."""
        return replace(self, belief=PosteriorMean(), objective=self.report.objective or self.objective)

    def view(self, trials: Trials) -> Trials:
        """Return the trials as this policy sees them: without contexts under `NoContext()`."""
        return trials.blind() if isinstance(self.context_model, NoContext) else trials

    def oriented(self, sign: float) -> Policy:
        """Return the policy for values times `sign`: its own outcome quantities, a target or a worst value, turn too."""
        if sign > 0:
            return self
        turned = {
            "objective": _turned(self.objective),
            "report": replace(self.report, objective=_turned(self.report.objective)),
            "feedback": _turned(self.feedback),
        }
        return replace(self, **turned)

    def check(self, space: Space, *, memory: int | None = None) -> None:
        """Raise `IncompatibleError` where the policy does not go with the space, by trying its parts on it.

        Before that, `ArgumentError` where what it needs is more than `memory`, in bytes.
        """
        trials, generator = self.view(Trials(space)), torch.Generator().manual_seed(0)
        request = Request(memory=memory)
        asked = (self, _sizes(self, trials, request, 0))
        advised = (self.reporting, _sizes(self.reporting, trials, request, SAMPLES))
        for one, other in ((asked, advised), (advised, asked)):
            budget.check(one[0], trials.space, [one[1]], _memory(trials, request), [other])
        contexts = self.context_model(trials.space, trials, trials.space.encode_given(None), generator)
        named = [n for n, parameter in trials.space.context.items() if parameter.choices]
        for objective in (self.objective, self.report.objective):
            slopes = isinstance(objective, LipschitzRobust)
            if objective is not None and contexts is not None:
                slopes = objective.bind(contexts, trials.contexts_seen).extra == "slopes"
            if slopes and named:
                raise IncompatibleError(
                    f"{shown(objective)}: the slope in the context {shown(named[0])} has no meaning, it is a category; use "
                    "Robust(Wasserstein(), radius)."
                )
        if isinstance(self.surrogate, GaussianProcess):
            self.surrogate.fit(trials.dataset)  # fixed length-scales: too many are refused now, not rounds later


def check_policy(call: str, policy: object) -> None:
    """Raise `ArgumentError` unless `policy` is one."""
    if not isinstance(policy, Policy):
        raise ArgumentError(f"{call}(policy={shown(policy)}): give a Policy, such as papers.sbo_kde().")


@dataclass(frozen=True)
class Request:
    """What one suggestion is asked with, besides the trials."""

    given: dict[str, Value] = field(default_factory=dict)
    fixed: dict[str, Value] = field(default_factory=dict)
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    seed: int = 0
    start: Start = field(default_factory=Start)
    round: int | None = None  # of the design, where trials are numbered elsewhere; else how many trials there are
    memory: int | None = None  # bytes it may take; None for what its device has

    def known(self, space: Space) -> Given:
        """Return what is given of the context, as far as the space has it."""
        return space.encode_given({name: value for name, value in self.given.items() if name in space.context})


def check_memory(policy: Policy, trials: Trials, request: Request, *, samples: int = 0) -> None:
    """Raise `ArgumentError` where a suggestion, or a recommendation with so many samples, takes more than the request allows.

    Called before the context model: it may be what takes too much.
    """
    sizes = _sizes(policy, trials, request, samples)
    budget.check(policy, trials.space, [sizes], _memory(trials, request))


def _memory(trials: Trials, request: Request) -> int:
    return budget.of(trials.device) if request.memory is None else request.memory


def _sizes(policy: Policy, trials: Trials, request: Request, samples: int) -> budget.Sizes:
    return budget.sizes_of(
        policy,
        trials.space,
        seen=trials.contexts_seen,
        observations=len(trials.arrived) + (0 if samples else len(trials.imaginable)),
        samples=samples,
        given=request.known(trials.space).complete,
    )


def _turned(part: Any) -> Any:
    if isinstance(part, Satisficing):
        return replace(part, target=-part.target)
    return replace(part, worst=-part.worst) if isinstance(part, Censor) else part


# What a part must offer to stand in each field, and one that does.
_KINDS: dict[str, tuple[type, str]] = {
    "context_model": (ContextModel, "KernelDensity()"),
    "objective": (Objective, "Expected()"),
    "belief": (Belief, "UpperConfidence()"),
    "feedback": (Feedback, "Hallucinate()"),
    "context_rule": (ContextRule, "Nature()"),
    "surrogate": (Surrogate, "GaussianProcess()"),
    "maximize": (Maximizer, "MultiStart()"),
    "design": (Design, "Sobol()"),
    "report": (Report, "Report()"),
}


def _check_part(call: str, name: str, part: object) -> None:
    if isinstance(part, type) or part is None:
        raise IncompatibleError(f"{call}({name}={shown(part)}): give a part, with its parentheses if it is a class.")
    kind, example = _KINDS[name]
    if not isinstance(part, kind):
        raise IncompatibleError(f"{call}({name}={shown(part)}): give a part such as {example}.")
    # Several kinds differ in nothing but what they are called with; a part may have names of its own for that, but not
    # those of another kind.
    called_with = _parameters(type(part))
    for other, (another, _) in _KINDS.items():
        if called_with and called_with == _parameters(another) != _parameters(kind):
            raise IncompatibleError(
                f"{call}({name}={shown(part)}): this part goes to {other}; give one such as {example}."
            )
    if callable(part) and _parameters(kind):
        needed = _parameters(kind)[1:]
        try:
            inspect.signature(part).bind(*needed)
        except (TypeError, ValueError) as error:
            raise IncompatibleError(
                f"{call}({name}={shown(part)}): it cannot be called with ({', '.join(needed)}); give one such as {example}."
            ) from error


def _parameters(kind: type) -> tuple[str, ...]:
    code = getattr(kind.__call__, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]
