"""A fitted BoTorch model as Windward's `Posterior`, and the random numbers that BoTorch draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError, MissingDependency
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.surrogate.left_out import LeftOut, leave_out
from windward.surrogate.slopes import ContextSlopes

try:
    from botorch.exceptions import InputDataWarning
    from botorch.exceptions.errors import UnsupportedError
    from botorch.models.deterministic import MatheronPathModel
    from botorch.models.ensemble import EnsembleModel
    from botorch.models.model import Model
    from botorch.posteriors import GPyTorchPosterior
    from botorch.posteriors.ensemble import EnsemblePosterior
    from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
    from botorch.utils.transforms import is_ensemble
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
    from gpytorch.means import ConstantMean
    from gpytorch.models import GP, ExactGP
    from linear_operator.utils.cholesky import psd_safe_cholesky
    from linear_operator.utils.warnings import NumericalWarning
except ImportError as error:  # pragma: no cover - exercised in a subprocess without BoTorch
    raise MissingDependency("windward.integrations.botorch needs BoTorch: pip install 'windward[botorch]'.") from error

# A variance below this is rounding; its square root keeps a finite slope.
LEAST_VARIANCE = 1e-14


@dataclass(frozen=True)
class ModelState:
    """A model's parameters by name, flattened: what an `asked` event records of a fit. Empty where they cannot be set again."""

    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """Not known for a model in general."""
        raise IncompatibleError(
            "MicheliWidth and VermaWidth read the noise of GaussianProcess(); use a number for the width."
        )


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
        raise IncompatibleError(
            "MicheliWidth and VermaWidth read the covariance of GaussianProcess(); use a number for the width."
        )

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
        """Return `count` joint samples of f at one decision `"d"`, or some `"m d"`, and every context; `"count (m) n"`."""
        drawn: Tensor
        inputs = pairs(x, points)
        with torch.no_grad(), quiet():
            posterior = self.model.posterior(inputs.flatten(0, -2))
            if isinstance(posterior, GPyTorchPosterior):
                means, roots = posterior.distribution.mean, psd_safe_cholesky(posterior.distribution.covariance_matrix)
                if isinstance(posterior, GaussianMixturePosterior):  # "s n": each draw from one of the members
                    member = torch.randint(len(means), (count,), generator=generator)
                    means, roots = means[member], roots[member]
                normal = torch.randn(count, means.shape[-1], 1, generator=generator, dtype=torch.float64)
                drawn = means + (roots @ normal.to(roots)).squeeze(-1)
            else:
                with seeded(_drawn(generator)):
                    drawn = posterior.rsample(torch.Size([count])).squeeze(-1)
        return drawn.reshape(count, *inputs.shape[:-1])

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
            with seeded(seed):
                drawn = MatheronPathModel(self.model)
        except (NotImplementedError, UnsupportedError) as error:
            raise cannot from error
        return ModelPath(lambda inputs: drawn(inputs).squeeze(-1))

    def condition(self, x: Tensor, c: Tensor, y: Tensor | None = None) -> ModelPosterior:
        """Return the posterior after `"q"` more observations, nothing refitted; `y=None` imagines them at the mean."""
        if len(x) == 0:
            return self
        inputs = torch.cat([x, c], 1)
        with torch.no_grad(), quiet():
            mean, _ = self._marginals(inputs)  # also fills the caches that conditioning needs
            values = (mean if y is None else y)[:, None]
            try:
                grown = self._conditioned(inputs, values)
            except (NotImplementedError, UnsupportedError, AttributeError) as error:
                raise self._cannot("conditioning on more observations", "feedback=Ignore()") from error
        return replace(self, model=grown, size=self.size + len(x))

    def left_out(self) -> LeftOut:
        """Return every observation beside its prediction from the others: of an exact process, in closed form.

        A constant mean is refitted without each; nothing else is.
        """
        model, cannot = self.model, self._cannot("predictions of its own observations", "surrogate=GaussianProcess()")
        if not isinstance(model, ExactGP) or is_ensemble(model) or not isinstance(model.train_inputs, tuple):
            raise cannot
        with torch.no_grad(), quiet():
            inputs, values = model.train_inputs[0], model.train_targets
            prior = model.likelihood(model.forward(inputs), inputs)
            factor = psd_safe_cholesky(prior.covariance_matrix)
            inverse = torch.linalg.solve_triangular(factor, torch.eye(len(factor)).to(factor), upper=False)
            held = not isinstance(getattr(model, "mean_module", None), ConstantMean)
            found = leave_out(inverse, values - prior.mean, held=held)
            own = [prior.mean + found.observed, prior.mean + found.mean, found.std]
            if not hasattr(model, "outcome_transform"):
                return found._replace(observed=own[0], mean=own[1])
            normal = GPyTorchPosterior(MultivariateNormal(own[1], own[2].square().diag()))
            shown_again = model.outcome_transform.untransform_posterior(normal)
            if not isinstance(shown_again, GPyTorchPosterior):  # no longer normal: it has no deviation in closed form
                raise cannot
            observed = model.outcome_transform.untransform(own[0][:, None])[0].flatten()
            mean, variance = shown_again.mean.flatten(), shown_again.variance.flatten()
            return found._replace(observed=observed, mean=mean, std=variance.sqrt())

    def _conditioned(self, inputs: Tensor, values: Tensor) -> Model:
        self.model.posterior(inputs)
        likelihood = getattr(self.model, "likelihood", None)
        if not isinstance(likelihood, FixedNoiseGaussianLikelihood):
            return self.model.condition_on_observations(inputs, values)
        noise = likelihood.noise.mean().expand_as(values)  # in the model's own outcomes: that is what it asks for
        return self.model.condition_on_observations(inputs, values, noise=noise)

    def _marginals(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        # Each row a batch of its own: a joint posterior would compute covariances that nobody reads.
        with quiet():
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


def _drawn(generator: torch.Generator) -> int:
    return int(torch.randint(2**31 - 1, (1,), generator=generator))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Give BoTorch the random numbers of this seed, and leave the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Silence advice about what is meant here.

    Decisions are in the unit cube and contexts in their own units, whatever BoTorch would prefer. Covariances of contexts
    that lie close together are singular up to rounding; their jitter is expected.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputDataWarning)
        warnings.simplefilter("ignore", NumericalWarning)
        yield
