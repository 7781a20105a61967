"""Models that are trained and scored: the inner functions of the tuning problems, each a plain function of numbers.

Every score is an accuracy, deterministic: splits, orders and initial weights come from fixed seeds. scikit-learn is loaded
when the first of them is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from windward.basics.errors import IncompatibleError, MissingDependency
from windward.bench.optima import Optimum
from windward.contexts import Contexts
from windward.objectives.plain import CVaR, Expected, Minimum, VaR
from windward.objectives.protocol import Objective
from windward.objectives.robust import Robust

Array: TypeAlias = NDArray[np.float64]
Score: TypeAlias = Callable[[tuple[float, ...], tuple[float, ...]], float]
# Adam's usual constants.
FIRST, SECOND, GUARD = 0.9, 0.999, 1e-8


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows to train on and rows to score on: features `"n p"` and labels `"n"`."""

    features: Array
    labels: NDArray[Any]
    held_features: Array
    held_labels: NDArray[Any]

    def prefix(self, share: float) -> HeldOut:
        """Return the first share of both parts."""
        train, held = math.ceil(share * len(self.labels)), math.ceil(share * len(self.held_labels))
        return HeldOut(self.features[:train], self.labels[:train], self.held_features[:held], self.held_labels[:held])


def scikit() -> Any:
    """Return the scikit-learn package with the parts used here loaded."""
    try:
        import sklearn.datasets
        import sklearn.linear_model
        import sklearn.model_selection
        import sklearn.preprocessing
        import sklearn.svm
    except ImportError as error:
        raise MissingDependency(
            "this problem trains models with scikit-learn: pip install 'windward[bench]'."
        ) from error
    return sklearn


def held_out(features: Array, labels: NDArray[Any], held: float, seed: int = 0) -> HeldOut:
    """Return a stratified split with the share `held` to score on."""
    train, other, train_labels, other_labels = scikit().model_selection.train_test_split(
        features, labels, test_size=held, random_state=seed, stratify=labels
    )
    return HeldOut(train, train_labels, other, other_labels)


def standardized(parts: HeldOut) -> HeldOut:
    """Return the split with features of mean zero and deviation one on the rows to train on."""
    scaler = scikit().preprocessing.StandardScaler().fit(parts.features)
    return HeldOut(
        scaler.transform(parts.features), parts.labels, scaler.transform(parts.held_features), parts.held_labels
    )


def scored(score: Score) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a value function that calls `score(decision, context)` once for each pair it has not seen before."""
    remembered = lru_cache(maxsize=2**16)(score)

    def value(x: Tensor, c: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(x.shape[:-1], c.shape[:-1])  # type: ignore[no-untyped-call]
        xs, cs = x.expand(*shape, x.shape[-1]), c.expand(*shape, c.shape[-1])
        decisions, contexts = xs.reshape(-1, x.shape[-1]).tolist(), cs.reshape(math.prod(shape), c.shape[-1]).tolist()
        scores = [remembered(tuple(a), tuple(b)) for a, b in zip(decisions, contexts, strict=True)]
        return torch.tensor(scores, dtype=torch.float64).reshape(shape)

    return value


def known_best(name: str, table: Mapping[tuple[float, ...], Optimum]) -> Callable[[Objective, Contexts], Optimum]:
    """Return what answers for the optimum at one context from a table of the best known values."""

    def best(objective: Objective, contexts: Contexts) -> Optimum:
        key = tuple(contexts.points[0].tolist())
        plain = isinstance(objective, Expected | Minimum | Robust | VaR | CVaR)
        if len(contexts) != 1 or key not in table or not plain:
            raise IncompatibleError(
                f"problem {name!r}: each value trains a model, so the best known values are stored, one for each context of "
                f"its truth and for objectives that are the value itself there; got {len(contexts)} contexts and {objective!r}."
            )
        return table[key]

    return best


def unknown_best(name: str, instead: str) -> Callable[[Objective, Contexts], Optimum]:
    """Return what refuses to name an optimum and says what the problem is judged by."""

    def best(objective: Objective, contexts: Contexts) -> Optimum:
        raise IncompatibleError(f"problem {name!r}: each value trains a model and its optimum is not known; {instead}")

    return best


def svm_accuracy(parts: HeldOut, penalty: float, gamma: float) -> float:
    """Return the accuracy of a support vector machine with the radial kernel."""
    machine = scikit().svm.SVC(C=penalty, gamma=gamma).fit(parts.features, parts.labels)
    return float(machine.score(parts.held_features, parts.held_labels))


def elastic_net_accuracy(parts: HeldOut, l1: float, l2: float, epochs: int = 20) -> float:
    """Return the accuracy of a linear classifier (hinge loss) trained by stochastic gradients with both penalties."""
    model = scikit().linear_model.SGDClassifier(
        penalty="elasticnet", alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), max_iter=epochs, tol=None, random_state=0
    )
    return float(model.fit(parts.features, parts.labels).score(parts.held_features, parts.held_labels))


def network_accuracy(
    parts: HeldOut,
    weights: list[Tensor],
    forward: Callable[[list[Tensor], Tensor, torch.Generator | None], Tensor],
    *,
    batch: int,
    rate: float,
    decay: float,
    epochs: int,
) -> float:
    """Return the accuracy of a network trained by Adam on cross-entropy, step s at rate / (1 + decay s).

    `forward(weights, features, generator)` gives one output per class; the generator is for what is random in training
    and is None when the network is scored.
    """
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.from_numpy(parts.features).float(), torch.from_numpy(parts.labels).long()
    weights = [weight.clone().requires_grad_() for weight in weights]
    first, second = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    step = 0
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(labels), generator=generator), batch):
            loss = torch.nn.functional.cross_entropy(forward(weights, features[rows], generator), labels[rows])
            gradients = torch.autograd.grad(loss, weights)
            step += 1
            now = rate / (1.0 + decay * (step - 1))
            with torch.no_grad():
                for w, g, m, v in zip(weights, gradients, first, second, strict=True):
                    m.mul_(FIRST).add_(g, alpha=1.0 - FIRST)
                    v.mul_(SECOND).addcmul_(g, g, value=1.0 - SECOND)
                    size = (v / (1.0 - SECOND**step)).sqrt_().add_(GUARD)
                    w.addcdiv_(m, size, value=-now / (1.0 - FIRST**step))
    with torch.no_grad():
        guesses = forward(weights, torch.from_numpy(parts.held_features).float(), None).argmax(-1)
    return float((guesses.numpy() == parts.held_labels).mean())


def initial(shapes: list[tuple[int, ...]]) -> list[Tensor]:
    """Return weights and a bias for each layer's shape, uniform within 1 / sqrt(inputs), the same on every call."""
    generator = torch.Generator().manual_seed(0)
    weights = []
    for shape in shapes:
        bound = 1.0 / math.sqrt(math.prod(shape[1:]))
        weights += [(2.0 * torch.rand(size, generator=generator) - 1.0) * bound for size in (shape, shape[:1])]
    return weights


def dropped(x: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
    """Return x with a share of its entries at zero and the rest scaled up; x itself where there is no generator."""
    if generator is None or rate == 0.0:
        return x
    kept = torch.rand(x.shape, generator=generator) >= rate
    return x * kept / (1.0 - rate)
