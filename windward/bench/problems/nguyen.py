"""Problems of Nguyen2020: n contexts are known, and a decision is judged by its worst expectation around their uniform weights.

Synthetic ones draw n = 10 contexts w for each seed; truth and reference are these samples, as in the paper's Eq. 9. In the
tuning ones the context is a fold of a cross-validation and `test` is the accuracy of a model trained on all folds, on data that
none of them holds. What the paper leaves open is chosen here and said at each problem.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems import functions, learning
from windward.bench.problems.registry import Data, register
from windward.contexts import Contexts
from windward.space.parameters import Categorical, Parameter, Real
from windward.space.space import Space

SAMPLES = 10
# Bounds of contexts that are normal: where the surrogate's unit comes from; samples beyond them are kept.
NORMAL = Real(-3, 3)
SVM_DECISION: dict[str, Parameter] = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-4, 10.0, log=True)}


def sampled(
    name: str, seed: int, decision: dict[str, Parameter], contexts: list[str], value: Callable[[Tensor, Tensor], Tensor]
) -> Problem:
    """Return a problem over ten standard normal contexts drawn for the seed."""
    generator = torch.Generator().manual_seed(seed)
    truth = Contexts.uniform(torch.randn(SAMPLES, len(contexts), generator=generator, dtype=torch.float64))
    return Problem(
        name=name,
        space=Space(decision=decision, context=dict.fromkeys(contexts, NORMAL)),
        value=value,
        truth=truth,
        draw=laws.listed_draw(truth),
        reference=truth,
    )


@register("logistic", seeded=True)
def _logistic(seed: int, data: Data) -> Problem:
    """-log(1 + exp(x.w)), w ~ N(0, I), d = 2. The domain of x is not printed: [-1, 1]^2 here."""

    def value(x: Tensor, w: Tensor) -> Tensor:
        return -torch.nn.functional.softplus((x * w).sum(-1))

    return sampled("logistic", seed, {"x1": Real(-1, 1), "x2": Real(-1, 1)}, ["w1", "w2"], value)


def moved(name: str, seed: int, width: int, low: float, high: float, function: Callable[[Tensor], Tensor]) -> Problem:
    """Return -f(x + w): one w ~ N(0, 1) is added to every input, in the function's own units."""
    decision: dict[str, Parameter] = {f"x{index + 1}": Real(low, high) for index in range(width)}
    return sampled(name, seed, decision, ["w"], lambda x, w: -function(x + w))


def moved_in_unit(
    name: str, seed: int, width: int, low: float, high: float, function: Callable[[Tensor], Tensor]
) -> Problem:
    """Return -f(x + w) with x in the unit cube and w added there, before both are stretched to the function's own units."""
    decision: dict[str, Parameter] = {f"x{index + 1}": Real(0, 1) for index in range(width)}
    return sampled(name, seed, decision, ["w"], lambda x, w: -function(low + (high - low) * (x + w)))


@register("beale", seeded=True)
def _beale(seed: int, data: Data) -> Problem:
    return moved("beale", seed, 2, -4.5, 4.5, functions.beale)


@register("beale-unit", seeded=True)
def _beale_unit(seed: int, data: Data) -> Problem:
    """The other reading of App. C: w is added to x in the unit cube, where it reaches over the whole range."""
    return moved_in_unit("beale-unit", seed, 2, -4.5, 4.5, functions.beale)


@register("eggholder", seeded=True)
def _eggholder(seed: int, data: Data) -> Problem:
    return moved("eggholder", seed, 2, -512.0, 512.0, functions.eggholder)


@register("eggholder-unit", seeded=True)
def _eggholder_unit(seed: int, data: Data) -> Problem:
    return moved_in_unit("eggholder-unit", seed, 2, -512.0, 512.0, functions.eggholder)


@register("hartmann-6", seeded=True)
def _hartmann_6(seed: int, data: Data) -> Problem:
    """Hartmann in six dimensions; the paper does not say which.

    Moved by w of deviation one, a function of the unit cube is nearly zero in most contexts, and so is its robust value.
    """

    def hills(z: Tensor) -> Tensor:
        return -functions.hartmann(z, z[..., :0], functions.RATES_6, functions.PLACES_6)

    return moved("hartmann-6", seed, 6, 0.0, 1.0, hills)


@register("levy", seeded=True)
def _levy(seed: int, data: Data) -> Problem:
    """Levy in two dimensions; the paper does not say how many."""
    return moved("levy", seed, 2, -10.0, 10.0, functions.levy)


@register("levy-unit", seeded=True)
def _levy_unit(seed: int, data: Data) -> Problem:
    return moved_in_unit("levy-unit", seed, 2, -10.0, 10.0, functions.levy)


def expected_logistic(x: Tensor) -> Tensor:
    """Return the expectation of `logistic` at decisions `"*b 2"` over all w, not the samples alone; `"*b"`.

    x.w is normal with deviation |x|. The function is smooth: 64 nodes are exact to rounding.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    at = x.square().sum(-1, keepdim=True).sqrt() * torch.from_numpy(nodes)
    found: Tensor = -torch.nn.functional.softplus(at) @ torch.from_numpy(weights / weights.sum())
    return found


def cross_validated(
    name: str,
    parts: learning.HeldOut,
    decision: dict[str, Parameter],
    accuracy: Callable[[learning.HeldOut, tuple[float, ...]], float],
    *,
    count: int,
    seed: int = 0,
) -> Problem:
    """Return the accuracy on each of `count` stratified folds of the rows to train on; `test` holds the others."""
    model_selection = learning.scikit().model_selection
    cut = model_selection.StratifiedKFold(count, shuffle=True, random_state=seed).split(parts.features, parts.labels)
    folds = [
        learning.HeldOut(parts.features[train], parts.labels[train], parts.features[held], parts.labels[held])
        for train, held in cut
    ]
    tested = learning.scored(lambda x, c: accuracy(parts, x))
    truth = Contexts.uniform(torch.arange(count, dtype=torch.float64)[:, None])
    return Problem(
        name=name,
        space=Space(decision=decision, context={"fold": Categorical([f"fold {index}" for index in range(count)])}),
        value=learning.scored(lambda x, c: accuracy(folds[round(c[0])], x)),
        truth=truth,
        draw=laws.listed_draw(truth),
        reference=truth,
        best=learning.unknown_best(name, "the paper judges by problem.test(decisions), the accuracy on other data."),
        test=lambda x: tested(x, torch.zeros(0, dtype=torch.float64)),
    )


def digits() -> learning.HeldOut:
    """Return scikit-learn's digits in [0, 1], 80/20, stratified: in place of MNIST."""
    features, labels = learning.scikit().datasets.load_digits(return_X_y=True)
    return learning.held_out(features / 16.0, labels, 0.2)


@register("elastic-net-digits")
def _elastic_net_digits(seed: int, data: Data) -> Problem:
    """Both penalties of a linear classifier, 1e-6 to 0.1 on log axes and 20 epochs, chosen here; 10 folds."""
    decision: dict[str, Parameter] = {"l1": Real(1e-6, 0.1, log=True), "l2": Real(1e-6, 0.1, log=True)}
    return cross_validated(
        "elastic-net-digits", digits(), decision, lambda s, x: learning.elastic_net_accuracy(s, x[0], x[1]), count=10
    )


@register("cnn-cv-digits")
def _cnn_cv_digits(seed: int, data: Data) -> Problem:
    """Two convolutions (8 and 16 channels), each pooled by 2 with dropout; 20 epochs of Adam, batches of 128; 10 folds.

    The learning rate is 1e-5 to 0.1 on a log axis, both dropout rates 0 to 0.8, chosen here.
    """
    weights = learning.initial([(8, 1, 3, 3), (16, 8, 3, 3), (10, 64)])

    def accuracy(parts: learning.HeldOut, x: tuple[float, ...]) -> float:
        def forward(w: list[Tensor], features: Tensor, generator: torch.Generator | None) -> Tensor:
            images = features.reshape(-1, 1, 8, 8)
            for layer, rate in ((0, x[1]), (2, x[2])):
                images = torch.nn.functional.conv2d(images, w[layer], w[layer + 1], padding=1).relu()
                images = learning.dropped(torch.nn.functional.max_pool2d(images, 2), rate, generator)
            return images.flatten(1) @ w[4].T + w[5]

        return learning.network_accuracy(parts, weights, forward, batch=128, rate=x[0], decay=0.0, epochs=20)

    decision: dict[str, Parameter] = {
        "rate": Real(1e-5, 0.1, log=True),
        "dropout1": Real(0, 0.8),
        "dropout2": Real(0, 0.8),
    }
    return cross_validated("cnn-cv-digits", digits(), decision, accuracy, count=10)


def machine(name: str, features: learning.Array, labels: np.ndarray, seed: int) -> Problem:
    """Return the support vector machine on standardised features: 80/20 and 5 folds, both by the seed.

    Penalty and kernel width are on log axes, 0.01 to 1000 and 1e-4 to 10, chosen here.
    """
    return cross_validated(
        name,
        learning.held_out(features, labels, 0.2, seed),
        SVM_DECISION,
        lambda parts, x: learning.svm_accuracy(learning.standardized(parts), *x),
        count=5,
        seed=seed,
    )


def table(data: Data, file: str) -> tuple[learning.Array, np.ndarray]:
    """Return features and labels, the last column, of a file without a header."""
    rows = np.loadtxt(data.file(file), delimiter=",", dtype=str)
    return rows[:, :-1].astype(np.float64), rows[:, -1]


@register("svm-glass", seeded=True, files=("glass.csv",), substitute="svm-wine")
def _svm_glass(seed: int, data: Data) -> Problem:
    return machine("svm-glass", *table(data, "glass.csv"), seed)


@register("svm-sonar", seeded=True, files=("sonar.csv",), substitute="svm-cv-breast-cancer")
def _svm_sonar(seed: int, data: Data) -> Problem:
    return machine("svm-sonar", *table(data, "sonar.csv"), seed)


@register("svm-wine", seeded=True)
def _svm_wine(seed: int, data: Data) -> Problem:
    """The same machine on scikit-learn's wine data: in place of glass.csv."""
    features, labels = learning.scikit().datasets.load_wine(return_X_y=True)
    return machine("svm-wine", features, labels, seed)


@register("svm-cv-breast-cancer", seeded=True)
def _svm_cv_breast_cancer(seed: int, data: Data) -> Problem:
    """The same machine on scikit-learn's breast cancer data: in place of sonar.csv."""
    features, labels = learning.scikit().datasets.load_breast_cancer(return_X_y=True)
    return machine("svm-cv-breast-cancer", features, labels, seed)
