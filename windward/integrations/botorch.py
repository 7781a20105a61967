"""BoTorch both ways: Windward's objectives as acquisition functions, BoTorch's models as surrogates.

    ContextualAcquisition(model, objective, contexts)   goes into `optimize_acqf`; the model takes (decision, context) rows
    BotorchSurrogate(recipe)                            goes into `Policy(surrogate=...)`; give the study parts=PARTS
    ModelPosterior(model)                               any fitted model with one outcome as Windward's `Posterior`

A model's columns are the decision's, then the context's. BoTorch draws from torch's global generator: wherever it does
here, that is forked, seeded from Windward's own, and restored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments, streams
from windward.basics.errors import ArgumentError, IncompatibleError, MissingDependency
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief, PosteriorMean, Thompson, UpperConfidence
from windward.contexts import Contexts
from windward.objectives.protocol import Objective
from windward.objectives.situation import Situation
from windward.space import Roles
from windward.surrogate import Believed
from windward.surrogate.protocol import NO_START, Start
from windward.trials.trials import Dataset

try:
    from botorch.acquisition import AcquisitionFunction
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.model import Model
    from botorch.models.transforms import Normalize
    from botorch.utils.transforms import t_batch_mode_transform
    from gpytorch.mlls import ExactMarginalLogLikelihood
except ImportError as error:  # pragma: no cover - exercised in a subprocess without BoTorch
    raise MissingDependency("windward.integrations.botorch needs BoTorch: pip install 'windward[botorch]'.") from error

from windward.integrations.botorch_models import ModelPosterior, ModelState, quiet, seeded

__all__ = [
    "PARTS",
    "BotorchSurrogate",
    "ContextualAcquisition",
    "ModelPosterior",
    "ModelState",
    "Recipe",
    "SingleTask",
]


class ContextualAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """A Windward objective, bound to contexts, of what a BoTorch model believes: for `optimize_acqf` over decisions.

    The model's inputs are decision columns, then `contexts.points`' columns. `belief` is how the model stands in for the
    function: `UpperConfidence(width)` (the default, for monotone objectives), `PosteriorMean()` or `Thompson()`, one
    sample drawn with `seed`. `seen` is the number of contexts seen, for radii that shrink with it.
    """

    def __init__(
        self,
        model: Model,
        objective: Objective,
        contexts: Contexts,
        *,
        belief: Belief | None = None,
        seen: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model=model)
        call = "ContextualAcquisition"
        if isinstance(objective, type) or not isinstance(objective, Objective):
            raise ArgumentError(f"{call}(objective={shown(objective)}): give an objective such as Expected().")
        if not isinstance(contexts, Contexts):
            raise ArgumentError(f"{call}(contexts={shown(contexts)}): give Contexts(points, weights).")
        belief = UpperConfidence() if belief is None else belief
        if not isinstance(belief, UpperConfidence | PosteriorMean | Thompson) or callable(
            getattr(belief, "width", 0.0)
        ):
            raise IncompatibleError(
                f"{call}(belief={shown(belief)}): give UpperConfidence(width) or Thompson(width) with a number, or "
                "PosteriorMean()."
            )
        if isinstance(belief, UpperConfidence) and not objective.monotone:
            raise IncompatibleError(
                f"{call}(objective={shown(objective)}): the objective at the upper confidence bound is no bound, because it "
                "can fall where values rise; use belief=Thompson()."
            )
        seen = len(contexts) if seen is None else arguments.whole(call, "seen", seen, low=0)
        situation = Situation(contexts, seen, believed=Believed(ModelPosterior(model)))
        generator = streams.generator(arguments.whole(call, "seed", seed, low=0))
        self._value = belief(situation, objective.bind(situation), generator).value

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 - BoTorch's name
        """Return the acquisition at decisions `"b 1 d"`; `"b"`."""
        return self._value(X.squeeze(-2))


@runtime_checkable
class Recipe(Protocol):
    """How a model is made: a frozen dataclass of your own, listed in the study's `parts`.

    `build` returns a model of inputs `"n D"`, values `"n 1"` and noise variances `"n 1"` (None where not all are known),
    not fitted; `fit` fits it in place.
    """

    def build(self, inputs: Tensor, values: Tensor, noise: Tensor | None) -> Model: ...

    def fit(self, model: Model) -> None: ...


@dataclass(frozen=True)
class SingleTask:
    """BoTorch's default: `SingleTaskGP` with normalized inputs and standardized outcomes, fitted by marginal likelihood."""

    def build(self, inputs: Tensor, values: Tensor, noise: Tensor | None) -> Model:
        """Return the model, not fitted."""
        return SingleTaskGP(inputs, values, noise, input_transform=Normalize(inputs.shape[-1]))

    def fit(self, model: Model) -> None:
        """Fit it by its marginal likelihood."""
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))


@dataclass(frozen=True)
class BotorchSurrogate:
    """Any BoTorch model as the surrogate of a policy: `Policy(surrogate=BotorchSurrogate(SingleTask()), ...)`.

    Parameters are recorded with each suggestion and set again where a fit is kept. A model that makes its parameters while
    it is fitted (by Monte Carlo, say) is fitted again instead, with the same random numbers.
    """

    recipe: Recipe = field(default_factory=SingleTask)

    def __post_init__(self) -> None:
        if isinstance(self.recipe, type) or not isinstance(self.recipe, Recipe):
            raise ArgumentError(f"BotorchSurrogate(recipe={shown(self.recipe)}): give a recipe with build and fit.")

    def fit(self, data: Dataset, start: Start = NO_START) -> ModelPosterior:
        """Return the posterior of the fitted model, searched from the parameters of `start` or, where it says so, with them."""
        state: Any = start.hyperparameters
        if start.keep and state is not None:
            return self.at(data, state)
        model, before = self._built(data)
        if isinstance(state, ModelState):
            _set(model, state)
        with seeded(0):
            self.recipe.fit(model)
        state = ModelState({name: value.detach().flatten().tolist() for name, value in model.named_parameters()})
        fixed_shape = before == {name: value.shape for name, value in model.named_parameters()}
        return _posterior(model, data, state if fixed_shape else ModelState())

    def due(self, data: Dataset, fitted: int) -> bool:
        """Return True: every ask fits anew."""
        return True

    def check(self, roles: Roles) -> None:
        """Take any columns."""

    def at(self, data: Dataset, hyperparameters: Any) -> ModelPosterior:
        """Return the posterior with these parameters, nothing fitted unless the model cannot be set to them."""
        model, _ = self._built(data)
        if not isinstance(hyperparameters, ModelState) or not _set(model, hyperparameters):
            return self.fit(data)
        return _posterior(model, data, hyperparameters)

    def _built(self, data: Dataset) -> tuple[Model, dict[str, torch.Size]]:
        if data.floor is not None:
            raise IncompatibleError(
                "BotorchSurrogate: Censor() needs a prior mean at the worst value; use GaussianProcess(), or another feedback."
            )
        known = ~data.noise.isnan()
        if bool(known.any()) and not bool(known.all()):
            raise IncompatibleError(
                f"BotorchSurrogate: {int(known.sum())} of {len(known)} values came with a noise; give it for all or for none."
            )
        noise = data.noise.square()[:, None] if len(known) and bool(known.all()) else None
        with seeded(0), quiet():
            model = self.recipe.build(torch.cat([data.x, data.c], 1), data.y[:, None], noise)
        return model, {name: value.shape for name, value in model.named_parameters()}


# What a study needs to read a policy with a `BotorchSurrogate` back; add the class of a recipe of your own.
PARTS: tuple[type, ...] = (BotorchSurrogate, ModelState, SingleTask)


def _posterior(model: Model, data: Dataset, state: ModelState) -> ModelPosterior:
    model.requires_grad_(False)
    spread = float(data.y.std()) if len(data.y) > 1 else 1.0
    return ModelPosterior(model, state, len(data.y), spread if spread > 0.0 else 1.0)


def _set(model: Model, state: ModelState) -> bool:
    """Set a model's parameters, where it has these and no others."""
    own = dict(model.named_parameters())
    sizes = {name: value.numel() for name, value in own.items()}
    if not state.parameters or sizes != {name: len(values) for name, values in state.parameters.items()}:
        return False
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(torch.tensor(state.parameters[name], dtype=value.dtype).reshape(value.shape))
    return True
