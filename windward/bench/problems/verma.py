"""Problems of Verma2022 (App. C): values come late, after Poisson(10) rounds, or Poisson(3) where contexts are given.

`Delayed(Fixed(10))` makes the deterministic version of any of them. Values are accuracies; regrets are to the best known one,
which `benchmarks/best_known.py` searches again. What the paper leaves open is chosen here and said at each problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.optima import Optimum
from windward.bench.problem import Problem
from windward.bench.problems import learning
from windward.bench.problems.best_known import BEST
from windward.bench.problems.delays import Poisson
from windward.bench.problems.registry import Data, register
from windward.bench.problems.tay import factor, grid, places
from windward.contexts import Contexts
from windward.objectives.protocol import Objective
from windward.space.parameters import Integer, Parameter, Real
from windward.space.space import Space

LATE, CONTEXTUAL = Poisson(10.0), Poisson(3.0)
ROUNDS_PER_CONTEXT = 30
STAGES = 20  # data sets of the problem that grows
SVM_DECISION = {"C": Real(1e-4, 100.0), "gamma": Real(1e-4, 10.0)}
RATES = {"rate": Real(1e-6, 1.0), "decay": Real(1e-6, 1.0)}


@register("gp-1", seeded=True)
def _gp_1(seed: int, data: Data) -> Problem:
    """A draw of a Gaussian process with length-scale 0.02 at 1000 points, scaled to [0, 1]."""
    points = grid(1000, 1)
    gaps = (points - points.T) / 0.02
    draw = factor(torch.exp(-0.5 * gaps.square())) @ torch.randn(
        1000, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    table = (draw - draw.min()) / (draw.max() - draw.min())

    def value(x: Tensor, c: Tensor) -> Tensor:
        looked_up: Tensor = table[places("gp-1", x, 1000)[0]]
        return looked_up.expand(torch.broadcast_shapes(x.shape[:-1], c.shape[:-1]))  # type: ignore[no-untyped-call]

    truth, draw_context = laws.no_context()
    return Problem(
        name="gp-1",
        space=Space(decision={"x": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=draw_context,
        decisions=points,
        delay=LATE,
    )


def tuned(name: str, decision: Mapping[str, Parameter], score: Callable[[tuple[float, ...]], float]) -> Problem:
    """Return a tuning problem without contexts, late, with a best known value."""
    truth, draw = laws.no_context()
    return Problem(
        name=name,
        space=Space(decision=decision),
        value=learning.scored(lambda x, c: score(x)),
        truth=truth,
        draw=draw,
        delay=LATE,
        best=stored(name),
    )


def stored(name: str) -> Callable[[Objective, Contexts], Optimum]:
    """Return what answers with the stored best values of a problem, by context."""
    table = {c: Optimum(v, torch.tensor(x, dtype=torch.float64)) for c, (v, x) in BEST.get(name, {}).items()}
    return learning.known_best(name, table)


def diabetes(data: Data) -> learning.HeldOut:
    """Return the raw features and outcomes, 70/30, stratified."""
    table = np.loadtxt(data.file("diabetes.csv"), delimiter=",", skiprows=1)
    return learning.held_out(table[:, :8], table[:, 8].astype(int), 0.3)


def breast_cancer() -> learning.HeldOut:
    """Return scikit-learn's breast cancer data, raw, 70/30, stratified."""
    features, labels = learning.scikit().datasets.load_breast_cancer(return_X_y=True)
    return learning.held_out(features, labels, 0.3)


def digits() -> learning.HeldOut:
    """Return scikit-learn's digits in [0, 1], 70/30, stratified: in place of MNIST."""
    features, labels = learning.scikit().datasets.load_digits(return_X_y=True)
    return learning.held_out(features / 16.0, labels, 0.3)


@register("svm-diabetes", files=("diabetes.csv",), substitute="svm-breast-cancer")
def _svm_diabetes(seed: int, data: Data) -> Problem:
    """Penalty and kernel width, linear between their bounds. Nearly all of the square has 35.06 % error."""
    parts = diabetes(data)
    return tuned("svm-diabetes", SVM_DECISION, lambda x: learning.svm_accuracy(parts, *x))


@register("svm-breast-cancer")
def _svm_breast_cancer(seed: int, data: Data) -> Problem:
    """The same machine and bounds on breast cancer data: in place of diabetes.csv."""
    parts = breast_cancer()
    return tuned("svm-breast-cancer", SVM_DECISION, lambda x: learning.svm_accuracy(parts, *x))


@register("lr-breast-cancer")
def _lr_breast_cancer(seed: int, data: Data) -> Problem:
    """Logistic regression on standardised features: 20 epochs of Adam, decay by 1 / (1 + decay * step); both chosen here."""
    parts = learning.standardized(breast_cancer())
    weights = [torch.zeros(2, 30), torch.zeros(2)]

    def score(x: tuple[float, ...]) -> float:
        return learning.network_accuracy(
            parts,
            weights,
            lambda w, features, generator: features @ w[0].T + w[1],
            batch=round(x[0]),
            rate=x[1],
            decay=x[2],
            epochs=20,
        )

    return tuned("lr-breast-cancer", {"batch": Integer(32, 128), **RATES}, score)


@register("cnn-digits")
def _cnn_digits(seed: int, data: Data) -> Problem:
    """The paper's network, one convolution of 8 channels, a pool of 3 and 8 nodes, on digits in place of MNIST; 20 epochs."""
    parts = digits()
    weights = learning.initial([(8, 1, 3, 3), (8, 32), (10, 8)])

    def forward(w: list[Tensor], features: Tensor, generator: torch.Generator | None) -> Tensor:
        images = features.reshape(-1, 1, 8, 8)
        pooled = torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(images, w[0], w[1]).relu(), 3)
        hidden = (pooled.flatten(1) @ w[2].T + w[3]).relu()
        return hidden @ w[4].T + w[5]

    def score(x: tuple[float, ...]) -> float:
        return learning.network_accuracy(parts, weights, forward, batch=round(x[0]), rate=x[1], decay=x[2], epochs=20)

    return tuned("cnn-digits", {"batch": Integer(128, 512), **RATES}, score)


def in_order(contexts: Contexts) -> Callable[[int, torch.Generator], Tensor]:
    """Return what gives the contexts one after the other, 30 rounds each, and stays at the last."""
    return lambda turn, generator: contexts.points[min(turn // ROUNDS_PER_CONTEXT, len(contexts) - 1)]


def tables(name: str, accuracy: Tensor, configurations: Tensor, features: Tensor) -> Problem:
    """Return the contextual problem of `accuracy` `"tasks configurations"`; each task's features are given at the ask."""
    truth = Contexts.uniform(features)
    low, high = configurations.amin(0).tolist(), configurations.amax(0).tolist()
    names = ("linear", "polynomial", "radial", "C", "degree", "gamma")

    def value(x: Tensor, c: Tensor) -> Tensor:
        looked_up: Tensor = accuracy[nearest(c, features), nearest(x, configurations)]
        return looked_up

    return Problem(
        name=name,
        space=Space(
            decision={n: Real(a, b) for n, a, b in zip(names, low, high, strict=True)},
            context={f"feature{index + 1}": Real(0, 1) for index in range(features.shape[1])},
        ),
        value=value,
        truth=truth,
        draw=in_order(truth),
        decisions=configurations,
        delay=CONTEXTUAL,
        context_first=True,
    )


def nearest(points: Tensor, rows: Tensor) -> Tensor:
    """Return the index of the row nearest to each point `"*b w"`."""
    return (points[..., None, :] - rows).square().sum(-1).argmin(-1)


@register("svm-tables", files=("svm_tables.npz",), substitute="svm-tables-simulated")
def _svm_tables(seed: int, data: Data) -> Problem:
    """50 tasks in the tables' order, 288 configurations; the first six meta-features are the context.

    Two pairs of tasks share all six; the later one's last feature is moved inward by 1e-6, so that each has its own.
    """
    table = np.load(data.file("svm_tables.npz"))
    features = torch.from_numpy(table["meta"][:, :6]).clone()
    for row in range(1, len(features)):
        while bool((features[:row] == features[row]).all(-1).any()):
            features[row, -1] += 1e-6 if float(features[row, -1]) < 0.5 else -1e-6
    return tables("svm-tables", torch.from_numpy(table["accuracy"]), torch.from_numpy(table["config"]), features)


def growing(name: str, parts: learning.HeldOut) -> Problem:
    """Return the machine on 20 growing data sets, z = 0, ..., 19: the first (z + 1) / 20 of both parts of one split."""
    stages = [parts.prefix((stage + 1) / STAGES) for stage in range(STAGES)]
    truth = Contexts.uniform(torch.arange(STAGES, dtype=torch.float64)[:, None])
    return Problem(
        name=name,
        space=Space(decision=SVM_DECISION, context={"stage": Integer(0, STAGES - 1)}),
        value=learning.scored(lambda x, c: learning.svm_accuracy(stages[round(c[0])], *x)),
        truth=truth,
        draw=in_order(truth),
        delay=CONTEXTUAL,
        context_first=True,
        best=stored(name),
    )


@register("nonstationary-svm", files=("diabetes.csv",), substitute="nonstationary-svm-breast-cancer")
def _nonstationary_svm(seed: int, data: Data) -> Problem:
    return growing("nonstationary-svm", diabetes(data))


@register("nonstationary-svm-breast-cancer")
def _nonstationary_svm_breast_cancer(seed: int, data: Data) -> Problem:
    """The same on breast cancer data: in place of diabetes.csv."""
    return growing("nonstationary-svm-breast-cancer", breast_cancer())
