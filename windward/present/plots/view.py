"""What the figures draw from: the posterior behind the recommendation, its contexts and its objective, fitted once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from windward.basics.errors import TrialError
from windward.basics.streams import hash_seed
from windward.beliefs.beliefs import PosteriorMean
from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.feedback import fit_arrived
from windward.objectives.protocol import Objective, Reduction
from windward.objectives.satisficing import Satisficing, reported
from windward.policy import Policy, Request
from windward.search.region import Region
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study.study import Study
from windward.suggest.assess import INTERVAL, assess
from windward.surrogate import Believed, Posterior, Start
from windward.trials.trials import Trials

# Posterior samples behind a band: its ends are good to a tenth of the posterior's deviation, enough for a picture.
SAMPLES = 256
PATHS = 64


@dataclass(frozen=True)
class View:
    """One state of a study as its recommendation sees it; tensors are oriented for maximization, `sign` turns them back."""

    space: Space
    trials: Trials
    policy: Policy
    sign: float
    objective: Objective
    reduction: Reduction
    posterior: Posterior
    contexts: Contexts
    adversary: Tensor  # "n", what the recommendation is guarded against
    x: Tensor  # "d", the recommended decision
    value: float
    interval: tuple[float, float]
    seed: int

    def values_at(self, x: Tensor) -> Tensor:
        """Return what decisions `"b d"` are worth by the objective at the posterior mean, in the user's units; `"b"`."""
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            score = PosteriorMean()(Believed(self.posterior), self.trials, self.contexts, generator)
            return self.sign * self._shown(score(self.reduction, x))

    def intervals_at(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the 90 % interval of what decisions `"b d"` are worth, in the user's units; `"b"` each."""
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            draws = self.sign * self._shown(self._draws(x, generator))  # "s b"
        low, high = draws.quantile(torch.tensor(INTERVAL, dtype=draws.dtype), dim=0)
        return low, high

    def mean_values(self, x: Tensor) -> Tensor:
        """Return the posterior mean of decisions `"b d"` on every context, oriented; `"b n"`."""
        with torch.no_grad():
            return self.posterior.marginals(x, self.contexts.points)[0]

    def best(self, objective: Objective) -> Tensor:
        """Return the best decision by another objective at the posterior mean; `"d"`."""
        generator = torch.Generator().manual_seed(self.seed)
        reduction = objective.bind(self.contexts, self.trials.contexts_seen)
        score = PosteriorMean()(Believed(self.posterior), self.trials, self.contexts, generator)
        region = Region(self.space, hints=self.trials.dataset.x)
        return self.policy.maximize(lambda x: score(reduction, x), region, generator)

    @property
    def decision(self) -> Mapping[str, Value]:
        """The recommended decision in the user's units."""
        return self.space.decode_decision(self.x)

    def _draws(self, x: Tensor, generator: torch.Generator) -> Tensor:
        points = self.contexts.points
        if self.reduction.extra != "slopes":
            columns = []
            for row in x:
                # The same draws everywhere: neighbours then differ by what is believed of them alone.
                generator.manual_seed(self.seed)
                samples = self.posterior.sample(row, points, SAMPLES, generator)
                columns.append(self.reduction(samples, samples if self.reduction.extra == "lower" else None))
            return torch.stack(columns, dim=1)
        paths = (self.posterior.path(generator) for _ in range(PATHS))  # a slope needs a function; each holds a table
        return torch.stack(
            [self.reduction(p(x, points), length(p.context_gradient(x, points), self.contexts)) for p in paths]
        )

    def _shown(self, scores: Tensor) -> Tensor:
        return reported(scores, self.objective.target) if isinstance(self.objective, Satisficing) else scores


_views: WeakKeyDictionary[Study, tuple[int, View]] = WeakKeyDictionary()


def view(study: Study) -> View:
    """Return the view of a study as it is in its journal now, kept for as long as nothing new is written."""
    events = study.journal.read(study.name)
    head = events[-1].seq
    kept = _views.get(study)
    if kept is not None and kept[0] == head:
        return kept[1]
    study.sync()
    trials, policy = study.trials, study.policy
    # The stream of the recommendation itself: figures show the very contexts it was judged on.
    generator = torch.Generator().manual_seed(hash_seed(study.seed, 2**32 + head))
    found = assess(policy, trials, Request(seed=study.seed, memory=study.memory), None, generator)
    if found is None:
        raise TrialError(f"study {study.name!r}: nothing has arrived yet; there is nothing to draw.")
    turned, seen = policy.oriented(trials.sign), policy.view(trials)
    objective = turned.report.objective or turned.objective
    ends = [trials.sign * end for end in found.interval]
    made = View(
        space=seen.space,
        trials=seen,
        policy=turned,
        sign=trials.sign,
        objective=objective,
        reduction=objective.bind(found.contexts, seen.contexts_seen),
        posterior=fit_arrived(seen, turned.surrogate, Start()),
        contexts=found.contexts,
        adversary=found.weights,
        x=found.x,
        value=trials.sign * found.value,
        interval=(min(ends), max(ends)),
        seed=study.seed,
    )
    _views[study] = (head, made)
    return made
