"""What the figures draw from: the posterior behind the recommendation, its contexts and its objective, fitted once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from windward.basics import streams
from windward.basics.errors import TrialError
from windward.contexts import Contexts
from windward.objectives.protocol import Objective
from windward.objectives.situation import Situation
from windward.present.snapshot import Source
from windward.search.acquisition import Acquisition
from windward.search.region import Region
from windward.space import Outcome, Space, Value
from windward.suggest.assess import INTERVAL, Assessment, central
from windward.trials.trials import Trials


@dataclass(frozen=True)
class View:
    """A recommendation as figures see it; tensors are oriented for maximization, `sign` turns them back."""

    found: Assessment
    sign: float
    seed: int
    early: bool = False  # so few results that the decision is a first guess
    drawn: dict[str, Tensor] = field(default_factory=dict, compare=False, repr=False)

    @property
    def situation(self) -> Situation:
        """What it was made in."""
        return self.found.situation

    @property
    def trials(self) -> Trials:
        """The trials as the policy sees them."""
        return self.situation.trials

    @property
    def space(self) -> Space:
        """The space as the policy sees it."""
        return self.trials.space

    @property
    def outcome(self) -> Outcome:
        """What comes back, with its unit."""
        return self.trials.outcome

    @property
    def contexts(self) -> Contexts:
        """The contexts that it was judged on."""
        return self.situation.contexts

    @property
    def adversary(self) -> Tensor:
        """What it is guarded against; `"n"`."""
        return self.found.weights

    @property
    def x(self) -> Tensor:
        """The recommended decision; `"d"`."""
        return self.found.x

    @property
    def objective(self) -> Objective:
        """What it is judged by, turned so that more is better."""
        return self.found.policy.reported

    @property
    def value(self) -> float:
        """Its value in the user's units."""
        return self.sign * self.found.value

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of its value in the user's units."""
        low, high = sorted(self.sign * end for end in self.found.interval)
        return low, high

    def values_at(self, x: Tensor) -> Tensor:
        """Return what decisions `"b d"` are worth, as `study.assess` says it; `"b"`."""
        return self.sign * central(self._drawn(x))

    def intervals_at(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the 90 % interval of what decisions `"b d"` are worth, in the user's units; `"b"` each."""
        draws = self.sign * self._drawn(x)
        low, high = draws.quantile(torch.tensor(INTERVAL, dtype=draws.dtype, device=draws.device), dim=0)
        return low, high

    def _drawn(self, x: Tensor) -> Tensor:
        """Return draws of what decisions are worth, kept for the next question about the same ones."""
        kept = self.drawn.get("x"), self.drawn.get("draws")
        if kept[0] is not x:
            self.drawn.update(x=x, draws=self.found.base.values(x))
        return self.drawn["draws"]

    def mean_values(self, x: Tensor) -> Tensor:
        """Return the posterior mean of decisions `"b d"` on every context, oriented; `"b n"`."""
        with torch.no_grad():
            return self.situation.posterior.marginals(x, self.contexts.points)[0]

    def best(self, objective: Objective) -> Tensor:
        """Return the best decision by another objective at the posterior mean; `"d"`."""
        generator = streams.drawing(self.seed)
        mean = self.found.policy.reporting.belief(self.situation, objective.bind(self.situation), generator)
        seen = self.trials.dataset.x.cpu()
        region = Region(self.space, hints=seen, tried=seen, results=len(seen))
        return self.found.policy.maximize(Acquisition(mean.value), region, generator)

    @property
    def named(self) -> str:
        """What the decision is called beside its mark."""
        return "first guess" if self.early else "recommended"

    @property
    def subject(self) -> str:
        """What the decision is called in a sentence."""
        return "first guess" if self.early else "recommendation"

    @property
    def decision(self) -> Mapping[str, Value]:
        """The recommended decision in the user's units."""
        return self.space.decode_decision(self.x)


def view(study: Source) -> View:
    """Return the view of a study as it is in its journal now: of the very recommendation that is shown beside it."""
    seen = study.snapshot()
    if not seen.policy.view(seen.trials).arrived:
        raise TrialError(f"study {seen.name!r}: nothing has arrived yet; there is nothing to draw.")
    found = seen.assessment("study.recommend")
    return View(found, seen.trials.sign, seen.seed, seen.stage().first_guess)
