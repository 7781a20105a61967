"""A sampler for Optuna: `WindwardSampler(policy, contexts={...})` picks the parameters of an Optuna study's trials.

    optuna                                  windward
    parameters suggested in every trial     decisions; a step makes a whole number of steps, a choice a category
    user attributes named like a context    the trial's context, as far as it is set (see `reveal`)
    a RUNNING trial, by its start time      pending; what it was given before it suggested anything is known
    a COMPLETE trial                        told; without its whole context it teaches nothing
    a FAILED or PRUNED trial                lost: a place not to go again at once

Optuna's storage is the log: nothing is kept in the sampler. What a trial is about to do is written to its system
attributes before it is done, and read again after: of two trials that start at once, in whatever process, the second to
look recomputes, so they never get the same continuous parameters.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from windward import papers
from windward.basics import arguments, streams
from windward.basics.errors import (
    ArgumentError,
    IncompatibleError,
    MissingDependency,
    SolverError,
    SpaceError,
    TrialError,
)
from windward.basics.speech import shown
from windward.policy import Policy
from windward.space.parameters import Categorical, Integer, Parameter, Real, Value
from windward.space.space import Space
from windward.study.ask import attempts
from windward.suggest.prepare import Request
from windward.suggest.recommend import assessed, base, recommendation
from windward.suggest.suggest import suggest
from windward.trials.records import Recommendation, Trial
from windward.trials.trials import Trials

try:
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.search_space import intersection_search_space
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:  # pragma: no cover - exercised in a subprocess without Optuna
    raise MissingDependency("windward.integrations.optuna needs Optuna: pip install 'windward[optuna]'.") from error

if TYPE_CHECKING:
    from optuna.study import Study

logger = logging.getLogger("windward")

# The system attribute in which a trial says what it is about to do.
CLAIM = "windward:claim"
# Trials that start at the very same moment recompute at most this often.
MOST_CLAIMS = 50


def reveal(trial: optuna.Trial, context: Mapping[str, Value]) -> None:
    """Say what a trial's context is, whole or in part: before its first `suggest_...` it is planned for, later it is learnt.

    The same as `trial.set_user_attr(name, value)` for each, checked against the sampler's contexts.
    """
    sampler = trial.study.sampler
    if not isinstance(sampler, WindwardSampler):
        raise ArgumentError(
            f"reveal: the study's sampler is {sampler}; give it a WindwardSampler, or use set_user_attr."
        )
    known = trial.user_attrs
    for name, value in sampler.checked("reveal", context).items():
        if name in known and known[name] != value:
            raise TrialError(
                f"reveal: trial {trial.number} has {name}={shown(known[name])} already, got {shown(value)}."
            )
        trial.set_user_attr(name, value)


class WindwardSampler(optuna.samplers.BaseSampler):
    """Sample an Optuna study's parameters by a Windward policy.

    `contexts` declares what the world will show, by name; set each as a user attribute of the trial (see `reveal`).
    `policy` left out is `papers.sbo_kde()`, or `papers.gp_ucb()` without contexts. Parameters that not every trial has, and
    those of the first trial, are drawn at random: Optuna does not know them before they are asked for. A value that is
    not finite counts as lost.
    """

    def __init__(
        self, policy: Policy | None = None, contexts: Mapping[str, Parameter] | None = None, *, seed: int = 0
    ) -> None:
        # The contexts are checked as those of a space with some decision.
        self._contexts = Space({"\0": Real(0, 1)}, {} if contexts is None else contexts).context
        if policy is None:
            policy = papers.sbo_kde() if self._contexts else papers.gp_ucb()
        if not isinstance(policy, Policy):
            raise ArgumentError(f"WindwardSampler(policy={shown(policy)}): give a Policy, such as papers.sbo_kde().")
        self._policy = policy
        self._seed = arguments.whole("WindwardSampler", "seed", seed, low=0, high=2**32 - 1)
        self._unreadable = set[int]()  # trials whose context could not be read, each said once
        self._independent = optuna.samplers.RandomSampler(seed=self._seed)

    def __getstate__(self) -> dict[str, Any]:  # a mappingproxy does not pickle
        return {**self.__dict__, "_contexts": dict(self._contexts)}

    def reseed_rng(self) -> None:
        """Give independent parameters another stream; the others are drawn by the trial's number."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that every finished trial has had, with the same distribution."""
        return self._space_of(study)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw one parameter at random."""
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the policy's decision, given what the trial's user attributes say of its context."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        seen = self._view(study, search_space)
        self._policy.check(seen.space)
        given = self._given("WindwardSampler", trial.user_attrs)
        fixed = seen.fixed(trial.system_attrs.get("fixed_params", {}))
        before = seen.others(study, trial.number)
        for _ in attempts(MOST_CLAIMS):
            generator = streams.asking(self._seed, trial.number)
            request = Request(given, fixed, datetime.now(UTC), self._seed, round=trial.number)
            proposal = suggest(self._policy, seen.trials(before), request, generator)
            decision = seen.space.decode_decision(proposal.x) | fixed
            chosen = None if proposal.context is None else seen.space.decode_context(proposal.context)
            imagined = None if proposal.stand_in is None else seen.space.decode_context(proposal.stand_in) | given
            params = seen.params(decision)
            claim = {"params": seen.internal(params), "stand_in": imagined, "chosen": chosen}
            study._storage.set_trial_system_attr(trial._trial_id, CLAIM, claim)
            after = seen.others(study, trial.number)
            if _claims(after) == _claims(before):
                self._choose(study, trial, chosen)
                return params
            before = after  # somebody else came meanwhile: plan around what they do
        raise SolverError(
            f"WindwardSampler: other trials started first {MOST_CLAIMS} times in a row; start trial {trial.number} again."
        )

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Refuse a value without its context: once a trial is finished Optuna takes no context any more."""
        if state != TrialState.COMPLETE or self._policy.context_model.blind:
            return
        missing = [name for name in self._contexts if name not in trial.user_attrs]
        if missing:
            raise ArgumentError(
                f"WindwardSampler: trial {trial.number} has a value but no {shown(missing[0])}, and teaches nothing without "
                f"it; call windward.integrations.optuna.reveal(trial, {{{shown(missing[0])}: ...}}) before it ends."
            )

    def recommend(self, study: Study, *, context: Mapping[str, Value] | None = None) -> Recommendation:
        """Return what to deploy: the parameters best by the objective, not those of the luckiest trial."""
        self._raise_error_if_multi_objective(study)
        search_space = self._space_of(study)
        if not search_space:
            raise TrialError("WindwardSampler.recommend: no trial is complete, or no parameter is in all of them.")
        seen = self._view(study, search_space)
        given = {} if context is None else self.checked("WindwardSampler.recommend", context)
        trials = seen.trials(seen.others(study, None))
        request = Request(given, {}, datetime.now(UTC), self._seed)
        found = recommendation(
            assessed(base("WindwardSampler.recommend", self._policy, trials, request), trials), trials
        )
        return replace(found, decision=seen.params(found.decision))

    def checked(self, call: str, context: Mapping[str, Value]) -> dict[str, Value]:
        """Return a clean copy of a context, whole or in part, or raise `SpaceError`."""
        return Space({"\0": Real(0, 1)}, self._contexts).check_context(call, context, partial=True)

    def _view(self, study: Study, search_space: dict[str, BaseDistribution]) -> _View:
        return _View(search_space, Space(_parameters(search_space), self._contexts), _sign(study), self._unreadable)

    def _given(self, call: str, attributes: Mapping[str, Any]) -> dict[str, Value]:
        return self.checked(call, {name: attributes[name] for name in self._contexts if name in attributes})

    def _space_of(self, study: Study) -> dict[str, BaseDistribution]:
        found = intersection_search_space(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in found.items() if not distribution.single()}

    def _choose(self, study: Study, trial: FrozenTrial, chosen: Mapping[str, Value] | None) -> None:
        """Tell the objective which context the policy's rule wants: as the trial's user attributes."""
        for name, value in (chosen or {}).items():
            study._storage.set_trial_user_attr(trial._trial_id, name, value)
            trial.user_attrs[name] = value


@dataclass(frozen=True)
class _View:
    """An Optuna study as Windward sees it."""

    search_space: dict[str, BaseDistribution]
    space: Space
    sign: float
    unreadable: set[int] = field(default_factory=set)  # grows: what was warned of

    def others(self, study: Study, number: int | None) -> list[FrozenTrial]:
        """Return all trials but this one that have parameters, or have claimed some, in this search space."""
        every = study.get_trials(deepcopy=False)
        return [other for other in every if other.number != number and self.internal_of(other) is not None]

    def trials(self, others: Sequence[FrozenTrial]) -> Trials:
        """Return Windward's trials; a complete one without its context, or outside the space, is left out."""
        starts = sorted(_utc(other.datetime_start) for other in others if other.datetime_start is not None)
        rows = list[Trial]()
        for other in others:
            row = self._row(other, len(rows), starts)
            if row is not None:
                rows.append(row)
        return Trials(self.space, tuple(rows), self.sign)

    def _row(self, other: FrozenTrial, id: int, starts: Sequence[datetime]) -> Trial | None:
        claim = other.system_attrs.get(CLAIM, {})
        context = self._context_of(other)
        value = _finite(other)
        if value is not None and len(context) < len(self.space.context):
            return None  # Optuna takes no context for a finished trial
        internal = self.internal_of(other)
        assert internal is not None
        begun = None if other.datetime_start is None else _utc(other.datetime_start)
        ended = None if other.datetime_complete is None else _utc(other.datetime_complete)
        delay = None
        if value is not None and begun is not None and ended is not None:
            delay = max(0, bisect_left(starts, ended) - bisect_left(starts, begun) - 1)
        return Trial(
            id,
            self.decision(internal),
            context=context,
            context_source=("chosen" if claim.get("chosen") else "revealed") if context else None,
            stand_in=claim.get("stand_in"),
            value=value,
            lost=None if value is not None or not other.state.is_finished() else other.state.name.lower(),
            asked_at=begun,
            told_at=ended if value is not None else None,
            turn=id,
            delay=delay,
        )

    def _context_of(self, other: FrozenTrial) -> dict[str, Value]:
        """Return what is known of a trial's context: nothing where it cannot be read, for that ends no other trial."""
        attributes = {name: other.user_attrs[name] for name in self.space.context if name in other.user_attrs}
        try:
            return self.space.check_context(f"trial {other.number}", attributes, partial=True)
        except SpaceError as error:
            if other._trial_id not in self.unreadable:
                self.unreadable.add(other._trial_id)
                logger.warning("WindwardSampler: %s The trial counts as one whose context is not known.", error)
            return {}

    def internal_of(self, other: FrozenTrial) -> dict[str, float] | None:
        """Return a trial's parameters in Optuna's own numbers, those it has or has claimed, or None."""
        if other.state == TrialState.WAITING:
            return None
        claimed = other.system_attrs.get(CLAIM, {}).get("params", {})
        found = {}
        for name, distribution in self.search_space.items():
            if other.distributions.get(name) == distribution:
                found[name] = distribution.to_internal_repr(other.params[name])
            elif name in claimed and name not in other.params and distribution._contains(claimed[name]):
                found[name] = claimed[name]
            else:
                return None
        return found

    def fixed(self, params: Mapping[str, Any]) -> dict[str, Value]:
        """Return the decisions that an enqueued trial fixes."""
        internal = {
            name: distribution.to_internal_repr(params[name])
            for name, distribution in self.search_space.items()
            if name in params
        }
        return self.decision({n: v for n, v in internal.items() if self.search_space[n]._contains(v)})

    def decision(self, internal: Mapping[str, float]) -> dict[str, Value]:
        """Return Windward's values for Optuna's own numbers."""
        return {name: _to_windward(self.search_space[name], value) for name, value in internal.items()}

    def params(self, decision: Mapping[str, Value]) -> dict[str, Any]:
        """Return Optuna's parameters for a decision."""
        return {name: _to_optuna(self.search_space[name], value) for name, value in decision.items()}

    def internal(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return parameters in Optuna's own numbers, which every storage keeps."""
        return {name: float(self.search_space[name].to_internal_repr(value)) for name, value in params.items()}


def _parameters(search_space: Mapping[str, BaseDistribution]) -> dict[str, Parameter]:
    return {name: _parameter(name, distribution) for name, distribution in search_space.items()}


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(range(len(distribution.choices)))
    if isinstance(distribution, FloatDistribution | IntDistribution) and _stepped(distribution):
        return Integer(0, round((distribution.high - distribution.low) / float(distribution.step or 1)))
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        return Integer(distribution.low, distribution.high, log=distribution.log)
    raise IncompatibleError(
        f"WindwardSampler: parameter {shown(name)} has the unknown distribution {shown(distribution)}."
    )


def _to_windward(distribution: BaseDistribution, internal: float) -> Value:
    if isinstance(distribution, FloatDistribution | IntDistribution) and _stepped(distribution):
        return round((internal - distribution.low) / float(distribution.step or 1))
    return float(internal) if isinstance(distribution, FloatDistribution) else int(internal)


def _to_optuna(distribution: BaseDistribution, value: Value) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value)]
    if isinstance(distribution, IntDistribution):
        return distribution.low + int(value) * distribution.step if _stepped(distribution) else int(value)
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is None:
        return float(value)
    return min(distribution.low + int(value) * distribution.step, distribution.high)


def _stepped(distribution: FloatDistribution | IntDistribution) -> bool:
    return distribution.step is not None and (isinstance(distribution, FloatDistribution) or distribution.step != 1)


def _claims(others: Sequence[FrozenTrial]) -> dict[int, Any]:
    """Return what each trial has claimed; None where it was drawn at random. That one has ended since changes nothing."""
    return {other.number: other.system_attrs.get(CLAIM, {}).get("params") for other in others}


def _finite(other: FrozenTrial) -> float | None:
    if other.state != TrialState.COMPLETE or other.value is None or not abs(other.value) <= arguments.LARGEST:
        return None
    return None if math.isnan(other.value) else float(other.value)


def _sign(study: Study) -> float:
    return 1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else -1.0


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)  # Optuna writes local time without a zone, which this reads as such
