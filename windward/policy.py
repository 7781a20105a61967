"""A policy is one choice along each axis; one round is always the same composition of them (`suggest/suggest.py`).

    events -> Trials --feedback(surrogate)--> posterior ----belief----+
                 `----context model----> contexts --+                 +--> acquisition(x) --maximize--> x --context rule--> c
                              objective.bind(situation) -> reduction -+

A published method is a `Policy` with the right parts: see `windward.papers`. Parts answer for themselves: no class of part is
named here but as a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from windward.basics import arguments, budget, cards, streams
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief, Reported, UpperConfidence
from windward.contexts import ContextModel, Judging
from windward.feedback import Feedback, Hallucinate
from windward.objectives import Expected, Objective
from windward.objectives.protocol import Bound, Reduction, Settling, Turning
from windward.objectives.situation import NothingBelieved, Situation
from windward.rules.contexts import ContextRule, Nature
from windward.rules.guards import Guard, NoGuard
from windward.search.acquisition import Maximizer
from windward.search.design import Design, Sobol
from windward.search.multistart import MultiStart
from windward.space import Space
from windward.surrogate import GaussianProcess, Surrogate
from windward.trials.trials import Trials

# Posterior samples behind an interval: with 1024 of them the ends of a 90 % one are good to a twentieth of the posterior's
# deviation.
SAMPLES = 1024
# Deviations that are taken off where all results are history; see docs/trust.md for what others have cost.
HISTORY = 1.5


@dataclass(frozen=True)
class Report:
    """What `recommend` reports: by which objective (the policy's, where None), among which decisions, and how carefully.

    `caution` is how many deviations of what is unknown of f are taken off a decision's value before the best one is chosen. The
    papers have 0. `"history"` is the share of the results that were added rather than asked for: in a history nobody has looked
    where the model promises most, so its promises are worth less. See docs/trust.md for what each has cost.
    """

    objective: Objective | None = None
    candidates: Literal["space", "evaluated"] = "space"
    caution: float | Literal["history"] = 0.0

    def __post_init__(self) -> None:
        if self.objective is not None:
            check_part("Report", "objective", self.objective)
        arguments.choice("Report", "candidates", self.candidates, ("space", "evaluated"))
        if isinstance(self.caution, str):
            arguments.choice("Report", "caution", self.caution, ("history",))
        else:
            object.__setattr__(self, "caution", arguments.number("Report", "caution", self.caution, low=0.0))

    def caution_in(self, trials: Trials) -> float:
        """Return the caution that these trials call for."""
        if not isinstance(self.caution, str):
            return self.caution
        arrived = trials.arrived
        return HISTORY * sum(trial.asked_at is None for trial in arrived) / max(len(arrived), 1)

    def oriented(self, sign: float) -> Report:
        """Return the report for values times `sign`."""
        return self if self.objective is None else replace(self, objective=_turned(self.objective, sign))


# What each part of a policy is for, for people.
FOR = {
    "context_model": "how contexts are expected to come",
    "objective": "what a good decision is",
    "belief": "how the model stands in for what is unknown",
    "feedback": "what to do about results that are late",
    "context_rule": "which context is evaluated",
    "surrogate": "the model",
    "maximize": "how decisions are searched",
    "design": "the first decisions",
    "guard": "what may not be asked",
    "report": "what is recommended",
}


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
    guard: Guard = field(default_factory=NoGuard)
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            check_part("Policy", name, getattr(self, name))
        self.belief.check(self.objective, self.feedback)
        if self.context_model.blind and self.context_rule.chooses:
            raise IncompatibleError(
                f"Policy(context_model={shown(self.context_model)}, context_rule={shown(self.context_rule)}): without contexts "
                "there is none to choose; use context_rule=Nature()."
            )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each part, with what it is for."""
        rows = [(FOR[name], shown(getattr(self, name))) for name in self.__dataclass_fields__]
        return cards.card("Policy", cards.pairs(rows))

    @property
    def reported(self) -> Objective:
        """The objective by which a recommendation is made."""
        return self.report.objective or self.objective

    @property
    def reporting(self) -> Policy:
        """The policy by which a recommendation is made: its report's objective, at the posterior mean."""
        return replace(self, belief=Reported(), objective=self.reported)

    @property
    def among_evaluated(self) -> Policy:
        """The policy with its report restricted to decisions that were evaluated."""
        return replace(self, report=replace(self.report, candidates="evaluated"))

    def view(self, trials: Trials) -> Trials:
        """Return the trials as this policy sees them: without contexts where its context model is blind."""
        return trials.blind() if self.context_model.blind else trials

    def past_design(self, trials: Trials) -> bool:
        """Return whether more results have arrived than the design asks for: the model then has something to say."""
        return len(self.view(trials).arrived) > max(1.0, self.design.rounds(trials.space))

    def oriented(self, sign: float) -> Policy:
        """Return the policy for values times `sign`: its own outcome quantities, a target or a worst value, turn too."""
        if sign > 0:
            return self
        turned = {name: _turned(getattr(self, name), sign) for name in ("objective", "report", "feedback", "guard")}
        return replace(self, **turned)

    def check(self, space: Space, *, sign: float = 1.0, memory: int | None = None) -> None:
        """Raise `IncompatibleError` where the policy does not go with the space, by trying its parts on it.

        Before that, `ArgumentError` where what it needs is more than `memory`, in bytes. `sign` is -1 for a study that
        minimizes: a part that does not say how it turns is refused.
        """
        self.oriented(sign)
        self.guard.check(self.objective, space, sign)
        trials, generator = self.view(Trials(space)), streams.fixed()
        asked, advised = (self, self.sizes(trials)), (self.reporting, self.reporting.sizes(trials, samples=SAMPLES))
        for one, other in ((asked, advised), (advised, asked)):
            budget.check(
                one[0], trials.space, [one[1]], budget.of(trials.device) if memory is None else memory, [other]
            )
        contexts = self.context_model(trials.space, trials, trials.space.encode_given(None), generator)
        named = [name for name, parameter in trials.space.context.items() if parameter.choices]
        for objective in (self.objective, self.report.objective):
            slopes = _needs_slopes(objective)
            if objective is not None and contexts is not None:
                slopes = slopes or _bound(objective, Situation(contexts, trials=trials)).extra == "slopes"
            self._check_open(objective, trials.space)
            if slopes and named:
                raise IncompatibleError(
                    f"{shown(objective)}: the slope in the context {shown(named[0])} has no meaning, it is a category; use "
                    "Robust(Wasserstein(), radius)."
                )
        self.surrogate.check(trials.space.roles)

    def _check_open(self, objective: Objective | None, space: Space) -> None:
        """Refuse a radius that the contexts seen decide where none are learnt from."""
        if objective is None or not isinstance(objective, Settling) or not objective.open:
            return
        if not isinstance(self.context_model, Judging):
            raise IncompatibleError(
                f"Policy(objective={shown(objective)}, context_model={shown(self.context_model)}): this radius is solved "
                "from the contexts seen, and here none are learnt from; use KernelDensity(), Empirical() or Grid(), or give a "
                "number as the radius."
            )
        if not space.context:
            raise IncompatibleError(
                f"Policy(objective={shown(objective)}): this radius is solved from the contexts seen, and the space has none; "
                "declare a context, or leave the objective out: without contexts there is nothing to guard against."
            )

    def sizes(self, trials: Trials, *, samples: int = 0, given: bool = False) -> budget.Sizes:
        """Return the sizes of a suggestion, or of a recommendation by `samples`; `given`: the whole context is given."""
        return budget.sizes_of(
            self,
            trials.space,
            seen=trials.contexts_seen,
            observations=len(trials.arrived) + (0 if samples else len(trials.imaginable)),
            samples=samples,
            given=given,
        )


def check_policy(call: str, policy: object) -> None:
    """Raise `ArgumentError` unless `policy` is one."""
    if not isinstance(policy, Policy):
        raise ArgumentError(f"{call}(policy={shown(policy)}): give a Policy, such as auto() or papers.sbo_kde().")


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
    "guard": (Guard, "LargestStep(0.1)"),
    "report": (Report, "Report()"),
}


def check_part(call: str, name: str, part: object) -> None:
    """Raise `IncompatibleError` unless `part` can stand in the policy's field `name`."""
    if isinstance(part, type) or part is None:
        raise IncompatibleError(f"{call}({name}={shown(part)}): give a part, with its parentheses if it is a class.")
    kind, example = _KINDS[name]
    if isinstance(part, kind):
        return
    for other, (another, _) in _KINDS.items():
        if isinstance(part, another):
            raise IncompatibleError(
                f"{call}({name}={shown(part)}): this part goes to {other}; give one such as {example}."
            )
    lacking = sorted(member for member in _members(kind) if member not in dir(part))
    if callable(part) and len(lacking) < len(_members(kind)):
        raise IncompatibleError(
            f"{call}({name}={shown(part)}): it lacks {', '.join(lacking)}; see docs/extending.md, or give a part such as "
            f"{example}."
        )
    raise IncompatibleError(f"{call}({name}={shown(part)}): give a part such as {example}.")


def _needs_slopes(objective: object) -> bool:
    return isinstance(objective, budget.Needing) and objective.needs == "slopes"


def _bound(objective: Objective, situation: Situation) -> Reduction:
    try:
        reduction = objective.bind(situation)
    except NothingBelieved:  # such as a radius that reads the posterior: it is asked when there is one
        return Bound(lambda values: values)
    if not isinstance(reduction, Reduction):
        raise IncompatibleError(
            f"{shown(objective)}: bind(situation) returned {shown(reduction)}; return a Bound(function), or "
            "what has `extra` and can be called with values."
        )
    return reduction


def _members(kind: Any) -> set[str]:
    """Return what a protocol asks for."""
    return {name for name in vars(kind) if name == "__call__" or not name.startswith("_")}


def _turned(part: Any, sign: float) -> Any:
    if not isinstance(part, Turning):
        raise IncompatibleError(
            f"{shown(part)}: a study that minimizes must know how this part turns; give it a method oriented(self, sign) that "
            "returns it with its outcome quantities, such as a target, times sign (itself, where it has none)."
        )
    return part.oriented(sign)


# The parts of this room.
PARTS: tuple[type, ...] = (Policy, Report)
