"""BoTorch both ways: Windward's objectives as acquisition functions, BoTorch's models as surrogates.

    ContextualAcquisition(model, objective, contexts)   goes into `optimize_acqf`; the model takes (decision, context) rows
    BotorchSurrogate(recipe)                            goes into `Policy(surrogate=...)`; give the study parts=PARTS
    ModelPosterior(model)                               any fitted model with one outcome as Windward's `Posterior`

A model's columns are the decision's, then the context's. BoTorch draws from torch's global generator: wherever it does
here, that is forked, seeded from Windward's own, and restored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError, MissingDependency
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief, PosteriorMean, Thompson, UpperConfidence
from windward.contexts import Contexts
from windward.objectives.protocol import Objective
from windward.objectives.situation import Situation
from windward.space import Roles
from windward.surrogate import Believed
from windward.surrogate.protocol import NO_START, Start
from windward.surrogate.slopes import ContextSlopes
from windward.trials.trials import Dataset

try:
    from botorch.acquisition import AcquisitionFunction
    from botorch.exceptions import InputDataWarning
    from botorch.exceptions.errors import UnsupportedError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.deterministic import MatheronPathModel
    from botorch.models.ensemble import EnsembleModel
    from botorch.models.model import Model
    from botorch.models.transforms import Normalize
    from botorch.posteriors import GPyTorchPosterior
    from botorch.posteriors.ensemble import EnsemblePosterior
    from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
    from botorch.utils.transforms import is_ensemble, t_batch_mode_transform
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.models import GP
    from linear_operator.utils.cholesky import psd_safe_cholesky
except ImportError as error:  # pragma: no cover - exercised in a subprocess without BoTorch
    raise MissingDependency("windward.integrations.botorch needs BoTorch: pip install 'windward[botorch]'.") from error

# A variance below this is rounding; its square root keeps a finite slope.
LEAST_VARIANCE = 1e-14


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
        generator = torch.Generator().manual_seed(arguments.whole(call, "seed", seed, low=0))
        self._value = belief(situation, objective.bind(situation), generator).value

    @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 - BoTorch's name
        """Return the acquisition at decisions `"b 1 d"`; `"b"`."""
        return self._value(X.squeeze(-2))


@dataclass(frozen=True)
class ModelState:
    """A model's parameters by name, flattened: what an `asked` event records of a fit. Empty where they cannot be set again."""

    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """Not known for a model in general."""
        raise IncompatibleError("MicheliWidth reads the noise of GaussianProcess(); use a number for the width.")


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
        with _seeded(0):
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
        with _seeded(0), _quiet():
            model = self.recipe.build(torch.cat([data.x, data.c], 1), data.y[:, None], noise)
        return model, {name: value.shape for name, value in model.named_parameters()}


# What a study needs to read a policy with a `BotorchSurrogate` back; add the class of a recipe of your own.
PARTS: tuple[type, ...] = (BotorchSurrogate, ModelState, SingleTask)


@dataclass(frozen=True, eq=False)
class ModelPosterior:
    """A fitted BoTorch model of one outcome as Windward's `Posterior`; `scale` is the outcome's deviation."""

    model: Model
    hyperparameters: Any = field(default_factory=ModelState)
    size: int = 0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model) or self.model.num_outputs != 1:
            raise IncompatibleError(
                f"ModelPosterior(model={shown(self.model, 60)}): give a BoTorch model with one outcome."
            )
        self.model.eval()

    def log_determinant(self) -> float:
        """Not known for a model in general."""
        raise IncompatibleError("MicheliWidth reads the covariance of GaussianProcess(); use a number for the width.")

    def marginals(self, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of f at every decision `"*b d"` and context `"n k"`; `"*b n"` each."""
        return self._marginals(pairs(x, points))

    def means(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the mean of f at every decision `"b d"` and context `"n k"`; `"b n"`."""
        return self.marginals(x, points)[0]

    def context_slopes(self, x: Tensor, points: Tensor) -> ContextSlopes:
        """Return mean and deviation `"*b n"` with their gradients in the context `"*b n k"`."""
        with torch.enable_grad():
            c = points.expand(*x.shape[:-1], *points.shape).clone().requires_grad_()
            mean, std = self._marginals(torch.cat([_beside(x, len(points)), c], -1))
            slopes = [torch.autograd.grad(each.sum(), c, create_graph=True)[0] for each in (mean, std)]
        found = (mean, std, *slopes)
        return ContextSlopes(*(found if torch.is_grad_enabled() else (each.detach() for each in found)))

    def average(self, x: Tensor, contexts: Contexts) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of sum_i w_i f(x, c_i); `"*b"` each."""
        posterior = self.model.posterior(pairs(x, contexts.points))
        weights = contexts.weights.to(x)
        if isinstance(posterior, EnsemblePosterior):
            each = posterior.values.squeeze(-1) @ weights  # "*b s"
            blended = EnsemblePosterior(each[..., None, None], posterior.weights)
            mean, variance = blended.mean[..., 0, 0], blended.variance[..., 0, 0]
        elif isinstance(posterior, GPyTorchPosterior):
            mean = posterior.distribution.mean @ weights
            variance = (posterior.distribution.covariance_matrix @ weights) @ weights
            if isinstance(posterior, GaussianMixturePosterior):  # "*b s": the law of total variance
                mean, variance = mean.mean(-1), variance.mean(-1) + mean.var(-1, correction=0)
        else:
            raise self._cannot("a joint Gaussian posterior", "another belief than ExpectedImprovement()")
        return mean, variance.clamp_min(LEAST_VARIANCE).sqrt()

    def sample(self, x: Tensor, points: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` joint samples of f at one decision `"d"` and every context `"n k"`; `"count n"`."""
        drawn: Tensor
        with torch.no_grad(), _quiet():
            posterior = self.model.posterior(pairs(x, points))
            if isinstance(posterior, GPyTorchPosterior):
                means, roots = posterior.distribution.mean, psd_safe_cholesky(posterior.distribution.covariance_matrix)
                if isinstance(posterior, GaussianMixturePosterior):  # "s n": each draw from one of the members
                    member = torch.randint(len(means), (count,), generator=generator)
                    means, roots = means[member], roots[member]
                normal = torch.randn(count, len(points), 1, generator=generator, dtype=torch.float64)
                drawn = means + (roots @ normal.to(roots)).squeeze(-1)
            else:
                with _seeded(_drawn(generator)):
                    drawn = posterior.rsample(torch.Size([count])).squeeze(-1)
        return drawn

    def path(self, generator: torch.Generator) -> ModelPath:
        """Return one posterior sample as a function: a Matheron path of a process, a member of an ensemble."""
        seed = _drawn(generator)
        if isinstance(self.model, EnsembleModel):
            share = torch.rand((), generator=generator, dtype=torch.float64)
            return ModelPath(lambda inputs: _member(self.model.posterior(inputs), share))
        cannot = self._cannot("posterior samples that are functions", "belief=UpperConfidence()")
        if not isinstance(self.model, GP) or is_ensemble(self.model):
            raise cannot
        try:
            with _seeded(seed):
                drawn = MatheronPathModel(self.model)
        except (NotImplementedError, UnsupportedError) as error:
            raise cannot from error
        return ModelPath(lambda inputs: drawn(inputs).squeeze(-1))

    def condition(self, x: Tensor, c: Tensor, y: Tensor | None = None) -> ModelPosterior:
        """Return the posterior after `"q"` more observations, nothing refitted; `y=None` imagines them at the mean."""
        if len(x) == 0:
            return self
        inputs = torch.cat([x, c], 1)
        with torch.no_grad(), _quiet():
            mean, _ = self._marginals(inputs)  # also fills the caches that conditioning needs
            values = (mean if y is None else y)[:, None]
            try:
                grown = self._conditioned(inputs, values)
            except (NotImplementedError, UnsupportedError, AttributeError) as error:
                raise self._cannot("conditioning on more observations", "feedback=Ignore()") from error
        return replace(self, model=grown, size=self.size + len(x))

    def _conditioned(self, inputs: Tensor, values: Tensor) -> Model:
        self.model.posterior(inputs)
        likelihood = getattr(self.model, "likelihood", None)
        if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
            return self.model.condition_on_observations(inputs, values)
        noise = likelihood.noise.mean().expand_as(values)  # in the model's own outcomes: that is what it asks for
        return self.model.condition_on_observations(inputs, values, noise=noise)

    def _marginals(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        # Each row a batch of its own: a joint posterior would compute covariances that nobody reads.
        with _quiet():
            posterior = self.model.posterior(inputs.unsqueeze(-2))
            if isinstance(posterior, GaussianMixturePosterior):
                mean, variance = posterior.mixture_mean, posterior.mixture_variance
            else:
                mean, variance = posterior.mean, posterior.variance
        return mean[..., 0, 0], variance[..., 0, 0].clamp_min(LEAST_VARIANCE).sqrt()

    def _cannot(self, what: str, instead: str) -> IncompatibleError:
        return IncompatibleError(f"ModelPosterior: {type(self.model).__name__} has no {what}; use {instead}.")


@dataclass(frozen=True, eq=False)
class ModelPath:
    """One sample of f, a function of input rows `"*b n D"`."""

    function: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor, points: Tensor) -> Tensor:
        """Return values `"*b n"`."""
        return self.function(pairs(x, points))

    def context_gradient(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the gradient in the context; `"*b n k"`."""
        with torch.enable_grad():
            c = points.expand(*x.shape[:-1], *points.shape).clone().requires_grad_()
            values = self.function(torch.cat([_beside(x, len(points)), c], -1))
            gradient = torch.autograd.grad(values.sum(), c, create_graph=True)[0]
        return gradient if torch.is_grad_enabled() else gradient.detach()


def pairs(x: Tensor, points: Tensor) -> Tensor:
    """Return every decision `"*b d"` with every context `"n k"` as rows `"*b n (d + k)"`."""
    c = points.to(x).expand(*x.shape[:-1], *points.shape)
    return torch.cat([_beside(x, len(points)), c], -1)


def _beside(x: Tensor, count: int) -> Tensor:
    return x.unsqueeze(-2).expand(*x.shape[:-1], count, x.shape[-1])


def _member(posterior: EnsemblePosterior, share: Tensor) -> Tensor:
    """Return the values `"*b n"` of the ensemble's member at this share of the members' weights."""
    shares = posterior.weights.double().cumsum(-1)
    member = int(torch.searchsorted(shares, share.to(shares)).clamp_max(len(shares) - 1))
    values: Tensor = posterior.values[..., member, :, 0]
    return values


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


def _drawn(generator: torch.Generator) -> int:
    return int(torch.randint(2**31 - 1, (1,), generator=generator))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Give BoTorch the random numbers of this seed, and leave the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence BoTorch's advice about how data are scaled: decisions are in the unit cube, contexts in their own units."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputDataWarning)
        yield
